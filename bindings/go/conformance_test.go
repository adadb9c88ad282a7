//go:build cgo

package forgex402

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"
)

// Every case of tests/conformance: through the calls themselves with the body shown when asked for, with the body shown at
// once, the result a second time, and through Middleware.

func TestConformance(t *testing.T) {
	strictly(t, readFile(t, "texts.json"), &texts)
	for _, one := range loadCases(t) {
		t.Run(one.file+"/"+one.ID, func(t *testing.T) {
			n := one.open(t)
			f := fill{}
			if one.hasOwn {
				f.ownID, _ = n.mintID()
			}
			for _, before := range one.Before {
				run(n, before.Request, before.Answer, f, false)
			}
			first := run(n, one.Request, one.Answer, f, false)
			one.check(t, n, first, f)

			if first.shown && len(f.bytes(one.Answer.Body)) <= first.limit {
				again := one.open(t)
				for _, before := range one.Before {
					run(again, before.Request, before.Answer, f, true)
				}
				atOnce := run(again, one.Request, one.Answer, f, true)
				one.check(t, again, atOnce, f)
			}
			one.twiceIsOnce(t, first, f)
		})
	}
}

func (c *testCase) open(t *testing.T) *native {
	n, err := openNative(c.options())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// result is what became of one exchange.
type result struct {
	head     outcome
	body     []byte
	id       string
	nothing  bool
	shown    bool
	wantBody bool
	limit    int
	first    outcome
}

func run(n *native, request testRequest, answer testResponse, f fill, atOnce bool) result {
	requestHead, responseHead := &head{}, &head{}
	requestHead.begin(bodyUnread, 0, request.Method, request.Target, "", "", "", "")
	for _, l := range f.lines(request.Headers) {
		requestHead.line(l.name, l.value)
	}
	lines, body := f.lines(answer.Headers), f.bytes(answer.Body)
	out := result{head: asCame(lines), first: asCame(lines), body: body}

	x := n.onRequest(requestHead)
	out.nothing = x == nil
	if x == nil && answer.Status != 402 {
		return out
	}
	if x != nil && x.action() == actionWantBody {
		x.onRequestBody(f.bytes(request.Body))
	}
	show := func(flags uint32, body []byte) {
		responseHead.begin(flags, uint32(answer.Status), "", "", "", "", "", "")
		for _, l := range lines {
			responseHead.line(l.name, l.value)
		}
		if x != nil {
			x.onResponse(responseHead, body)
		} else {
			x = n.onResponseLate(requestHead, responseHead, body)
		}
	}
	if atOnce {
		show(bodyWhole, body)
	} else {
		show(bodyUnread, nil)
	}
	if x == nil {
		return out
	}
	defer x.end(delivered, answer.Status, int64(len(body)))
	out.shown, out.wantBody = true, x.action() == actionWantBody
	out.limit = x.bodyLimit()
	out.first.apply(x)
	if out.wantBody && len(body) <= x.bodyLimit() {
		show(bodyWhole, body)
	}
	out.head.apply(x)
	if replaced, is := x.body(); is {
		out.body = bytes.Clone(replaced)
	}
	out.id = x.feedbackID()
	return out
}

func (c *testCase) check(t *testing.T, n *native, got result, f fill) {
	t.Helper()
	f.id = got.id
	lines := f.lines(c.Answer.Headers)
	if want := f.expected(lines, c.Expect.Edits); !reflect.DeepEqual(want, got.head) {
		t.Errorf("%s\nhead expected %v\n          got %v", c.Title, want, got.head)
	}
	want := f.bytes(c.Answer.Body)
	if c.Expect.Body != nil {
		want = f.bytes(c.Expect.Body)
	}
	if !bytes.Equal(want, got.body) {
		t.Errorf("%s\nbody expected %.2000q\n          got %.2000q", c.Title, want, got.body)
	}
	switch c.Expect.ID {
	case "":
		if got.id != "" {
			t.Errorf("an id: %s", got.id)
		}
	case "own":
		if got.id != f.ownID {
			t.Errorf("id %s, not %s", got.id, f.ownID)
		}
	case "new":
		state, err := n.verifyID(got.id, 0)
		if err != nil || state != IDValid || got.id == f.ownID {
			t.Errorf("id %q is %v, %v", got.id, state, err)
		}
	default:
		t.Fatalf("expect.id %s", c.Expect.ID)
	}
	if c.Expect.Verdict == "nothing" && !got.nothing {
		t.Error("an exchange")
	}
	if got.wantBody && c.Expect.WantBody != nil && !*c.Expect.WantBody {
		t.Error("wants the body")
	}
	if c.Expect.FirstEdits != nil && got.wantBody {
		if want := f.expected(lines, *c.Expect.FirstEdits); !reflect.DeepEqual(want, got.first) {
			t.Errorf("%s\nfirst head expected %v\n                got %v", c.Title, want, got.first)
		}
	}
}

// twiceIsOnce gives the final head and body to a fresh engine: they come out unchanged.
func (c *testCase) twiceIsOnce(t *testing.T, got result, f fill) {
	t.Helper()
	n := c.open(t)
	for _, before := range c.Before {
		run(n, before.Request, before.Answer, f, false)
	}
	lines := got.head.kept
	for l, times := range got.head.appended {
		for range times {
			lines = append(lines, l)
		}
	}
	headers := make([][]any, len(lines))
	for i, l := range lines {
		headers[i] = []any{l.name, raw(l.value)}
	}
	again := run(n, c.Request, testResponse{c.Answer.Status, headers, raw(string(got.body))}, f, false)
	if !reflect.DeepEqual(again.head, asCame(lines)) || !bytes.Equal(again.body, got.body) {
		t.Errorf("twice is not once\n%v\n%v", again.head, lines)
	}
}

// raw makes a value that is taken as it is: bytes without placeholders.
func raw(text string) any {
	const digits = "0123456789abcdef"
	var hex strings.Builder
	for i := range len(text) {
		hex.WriteByte(digits[text[i]>>4])
		hex.WriteByte(digits[text[i]&15])
	}
	return map[string]any{"hex": hex.String()}
}

// The same cases through Middleware and a recorded response. http.Header has no order and no two spellings of one name, so
// the heads are compared as such.
func TestConformanceThroughMiddleware(t *testing.T) {
	strictly(t, readFile(t, "texts.json"), &texts)
	for _, one := range loadCases(t) {
		t.Run(one.file+"/"+one.ID, func(t *testing.T) {
			e := &Engine{native: one.open(t), log: quiet(), glance: glance{always: true}}
			f := fill{}
			if one.hasOwn {
				f.ownID, _ = e.MintID()
			}
			for _, before := range one.Before {
				serve(e, before.Request, before.Answer, f)
			}
			if !asHeader(f.lines(one.Answer.Headers)).canStand || !asHeader(f.lines(one.Request.Headers)).canStand {
				return // net/http cannot have sent or received it.
			}
			got := serve(e, one.Request, one.Answer, f)
			lines := f.lines(one.Answer.Headers)
			f.id = got.Header().Get("Forge-Feedback-Id")
			want := f.expected(lines, one.Expect.Edits)
			all := want.kept
			for l := range want.appended {
				all = append(all, l)
			}
			if expected := asHeader(all).header; !reflect.DeepEqual(expected, got.Header()) {
				t.Errorf("%s\nhead expected %q\n          got %q", one.Title, expected, got.Header())
			}
			body := f.bytes(one.Answer.Body)
			if one.Expect.Body != nil {
				body = f.bytes(one.Expect.Body)
			}
			if !bytes.Equal(body, got.Body.Bytes()) {
				t.Errorf("%s\nbody expected %.2000q\n          got %.2000q", one.Title, body, got.Body.Bytes())
			}
			if got.Code != one.Answer.Status {
				t.Errorf("status %d", got.Code)
			}
		})
	}
}

type standing struct {
	header   http.Header
	canStand bool
}

func asHeader(lines []line) standing {
	s := standing{http.Header{}, true}
	for _, l := range lines {
		key := http.CanonicalHeaderKey(l.name)
		s.header[key] = append(s.header[key], l.value)
		// Content-Length that is no number, or stands twice, never leaves net/http.
		if key == "Content-Length" && (len(s.header[key]) > 1 || contentLength(s.header) < 0) {
			s.canStand = false
		}
	}
	return s
}

func serve(e *Engine, request testRequest, answer testResponse, f fill) *httptest.ResponseRecorder {
	r := httptest.NewRequest(request.Method, "/", bytes.NewReader(f.bytes(request.Body)))
	r.RequestURI = request.Target
	r.Host = ""
	r.Header = asHeader(f.lines(request.Headers)).header
	w := httptest.NewRecorder()
	body := f.bytes(answer.Body)
	e.Middleware(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for name, values := range asHeader(f.lines(answer.Headers)).header {
			w.Header()[name] = values
		}
		w.WriteHeader(answer.Status)
		// Two writes, so that holding is more than handing on.
		w.Write(body[:len(body)/2])
		w.Write(body[len(body)/2:])
	})).ServeHTTP(w, r)
	return w
}

// F01, F05: ids minted and judged by another implementation.
func TestIDsOfAnotherImplementationAreJudgedAlike(t *testing.T) {
	var rows []struct {
		ID     string `json:"id"`
		Key    string `json:"api_key"`
		Value  string `json:"value"`
		NowMs  int64  `json:"now_ms"`
		TTLMs  int64  `json:"ttl_ms"`
		Expect string `json:"expect"`
	}
	strictly(t, readFile(t, "ids.json"), &rows)
	if len(rows) < 60 {
		t.Fatal(len(rows))
	}
	for _, row := range rows {
		e, err := Open(Options{APIKey: row.Key, TTLMs: row.TTLMs, Strict: true, Logger: quiet()})
		if err != nil {
			t.Fatal(row.ID, err)
		}
		state, err := e.VerifyID(row.Value, time.UnixMilli(row.NowMs))
		if err != nil || state.String() != row.Expect {
			t.Errorf("%s: %v, %v; expected %s", row.ID, state, err, row.Expect)
		}
	}
}

// Options are one list for all languages.
func TestOptionsAreThoseOfOptionsJSON(t *testing.T) {
	var listed []struct {
		Name string `json:"name"`
		Type string `json:"type"`
		Doc  string `json:"doc"`
		Any  any    `json:"default"`
	}
	strictly(t, readFile(t, "../../options.json"), &listed)
	want := map[string]bool{}
	for _, option := range listed {
		want[option.Name] = true
	}
	got := map[string]bool{}
	for i := range reflect.TypeFor[Options]().NumField() {
		name, _, _ := strings.Cut(reflect.TypeFor[Options]().Field(i).Tag.Get("json"), ",")
		if name != "-" {
			got[name] = true
		}
	}
	if !reflect.DeepEqual(want, got) {
		t.Errorf("options.json has %v, Options has %v", want, got)
	}
	if _, err := json.Marshal(Options{}); err != nil {
		t.Error(err)
	}
}
