//go:build cgo

package forgex402

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

// requestCase is a case of requests.json: what becomes of a request, or what it is answered.
type requestCase struct {
	ID      string                      `json:"id"`
	Title   string                      `json:"title"`
	Why     string                      `json:"why"`
	Options map[string]*json.RawMessage `json:"options"`
	Before  []testExchange              `json:"before"`
	Request testRequest                 `json:"request"`
	Expect  struct {
		Verdict  string        `json:"verdict"`
		WantBody bool          `json:"want_body"`
		Waits    bool          `json:"waits"`
		Target   *string       `json:"target"`
		Edits    [][]any       `json:"edits"`
		Body     any           `json:"body"`
		Answer   *testResponse `json:"answer"`
	} `json:"expect"`
}

func TestConformanceOfRequests(t *testing.T) {
	strictly(t, readFile(t, "texts.json"), &texts)
	var cases []requestCase
	strictly(t, readFile(t, "requests.json"), &cases)
	if len(cases) < 60 {
		t.Fatal(len(cases))
	}
	for _, one := range cases {
		t.Run(one.ID, one.run)
	}
}

func (c *requestCase) run(t *testing.T) {
	n, err := openNative(optionsOver(c.Options))
	if err != nil {
		t.Fatal(err)
	}
	f := fill{}
	f.ownID, _ = n.mintID()
	for _, before := range c.Before {
		run(n, before.Request, before.Answer, f, false)
	}
	lines, body, target := f.lines(c.Request.Headers), f.bytes(c.Request.Body), string(f.bytes(c.Request.Target))
	request := &head{}
	request.begin(bodyUnread, 0, c.Request.Method, target, "", "", "", "")
	for _, l := range lines {
		request.line(l.name, l.value)
	}

	x := n.onRequest(request)
	if (x == nil) != (c.Expect.Verdict == "nothing") {
		t.Fatalf("an exchange: %v", x != nil)
	}
	if x == nil {
		return
	}
	defer x.end(delivered, 0, 0)
	if wants := x.action() == actionWantBody; wants != c.Expect.WantBody {
		t.Errorf("wants the body: %v", wants)
	}
	if x.action() == actionWantBody {
		x.onRequestBody(body[:min(len(body), x.bodyLimit()+1)])
	}
	if waits := x.action() == actionWait; waits != c.Expect.Waits {
		t.Errorf("waits: %v", waits)
	}
	if x.action() == actionWait {
		x.wait(3 * time.Second)
	}
	switch c.Expect.Verdict {
	case "pass":
		c.checkPassed(t, x, f, target, lines, body)
	case "reply":
		c.checkAnswer(t, x, f)
	default:
		t.Fatalf("verdict %s", c.Expect.Verdict)
	}
}

func (c *requestCase) checkPassed(t *testing.T, x *exchange, f fill, target string, lines []line, body []byte) {
	if x.action() != actionPass {
		t.Fatalf("action %d", x.action())
	}
	wantTarget := target
	if c.Expect.Target != nil {
		wantTarget = *c.Expect.Target
	}
	if replaced, is := x.target(); is {
		target = replaced
	}
	if target != wantTarget {
		t.Errorf("target %s, not %s", target, wantTarget)
	}
	got := asCame(lines)
	got.apply(x)
	if want := f.expected(lines, c.Expect.Edits); !reflect.DeepEqual(want, got) {
		t.Errorf("head expected %v\n          got %v", want, got)
	}
	want := body
	if c.Expect.Body != nil {
		want = f.bytes(c.Expect.Body)
	}
	if replaced, is := x.body(); is {
		body = replaced
	}
	if !bytes.Equal(body, want) {
		t.Errorf("body expected %.2000q\n          got %.2000q", want, body)
	}
}

func (c *requestCase) checkAnswer(t *testing.T, x *exchange, f fill) {
	if x.action() != actionReply || x.status() != c.Expect.Answer.Status {
		t.Fatalf("action %d, status %d", x.action(), x.status())
	}
	got, want := asCame(nil), asCame(nil)
	got.apply(x)
	for _, l := range f.lines(c.Expect.Answer.Headers) {
		want.edit(editAdd, l.name, l.value)
	}
	if !reflect.DeepEqual(want.appended, got.appended) || len(got.kept) > 0 {
		t.Errorf("head expected %v\n          got %v", want, got)
	}
	if body, _ := x.body(); !bytes.Equal(body, f.bytes(c.Expect.Answer.Body)) {
		t.Errorf("body expected %.2000q\n          got %.2000q", f.bytes(c.Expect.Answer.Body), body)
	}
}
