//go:build cgo

package forgex402

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const weather = `{"temperature": 1.10, "sky":"clear"}`

func paidJSON(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("PAYMENT-RESPONSE", receipt())
	io.WriteString(w, weather)
}

func TestAPaidAnswerCarriesOneIDEverywhere(t *testing.T) {
	m := serveForTest(t, Options{}, paidJSON)
	response, body := m.paid(t, "GET", "/weather", nil)
	id := response.Header.Get("Forge-Feedback-Id")
	if state, err := m.engine.VerifyID(id, time.Time{}); err != nil || state != IDValid {
		t.Fatalf("id %q: %v, %v", id, state, err)
	}
	if !strings.HasPrefix(body, weather[:len(weather)-1]+`,"feedback_id":"`+id+`","feedback_url":"https://api.example.com/feedback/rate?feedback_id=`+id) {
		t.Errorf("body %s", body)
	}
	decoded, _ := base64.StdEncoding.DecodeString(response.Header.Get("PAYMENT-RESPONSE"))
	if !bytes.Contains(decoded, []byte(`"feedback_id":"`+id+`"`)) {
		t.Errorf("receipt %s", decoded)
	}
}

func TestAnUnpaidRequestIsNotTouched(t *testing.T) {
	m := serveForTest(t, Options{}, paidJSON)
	response, body := m.ask(t, "GET", "/weather", nil)
	if body != weather || response.Header.Get("Forge-Feedback-Id") != "" {
		t.Error(response.Header, body)
	}
}

// P17
func TestP17InterimAnswersComeFirstAndTheChallengeIsDecorated(t *testing.T) {
	m := serveForTest(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("Link")
		w.Header().Set("PAYMENT-REQUIRED", challenge)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusPaymentRequired)
		io.WriteString(w, "{}")
	})
	conn, in := m.conversation(t)
	io.WriteString(conn, "GET /weather HTTP/1.1\r\nHost: x\r\n\r\n")
	interim, err := http.ReadResponse(in, nil)
	if err != nil || interim.StatusCode != 103 || interim.Header.Get("Link") == "" {
		t.Fatal(interim, err)
	}
	final, err := http.ReadResponse(in, nil)
	if err != nil || final.StatusCode != 402 {
		t.Fatal(final, err)
	}
	body, _ := io.ReadAll(final.Body)
	decoded, _ := base64.StdEncoding.DecodeString(final.Header.Get("PAYMENT-REQUIRED"))
	if !bytes.Contains(decoded, []byte("please rate this service")) || string(body) != "{}" {
		t.Errorf("%s %s", decoded, body)
	}
}

// P14: the length is set by the handler, by the server, in lower case, or not at all.
func TestP14FramingHoldsHoweverTheLengthIsSet(t *testing.T) {
	large := `{"data":"` + strings.Repeat("x", 5000) + `"}`
	handlers := map[string]http.HandlerFunc{
		"set by the handler": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(len(large)))
			io.WriteString(w, large)
		},
		"set in lower case": func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["content-length"] = []string{strconv.Itoa(len(large))}
			io.WriteString(w, large)
		},
		"written in parts": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(len(large)))
			for part := range strings.SplitAfterSeq(large, "xxxxx") {
				io.WriteString(w, part)
			}
		},
		"small, set by the server": func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, weather) },
		"chunked":                  func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, large) },
		"copied from a reader": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(200)
			io.Copy(w, strings.NewReader(large))
		},
	}
	for name, handler := range handlers {
		t.Run(name, func(t *testing.T) {
			m := serveForTest(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				handler(w, r)
			})
			conn, in := m.conversation(t)
			for range 2 { // The connection is reusable.
				io.WriteString(conn, "GET /weather HTTP/1.1\r\nHost: x\r\nPAYMENT-SIGNATURE: "+payment+"\r\n\r\n")
				response, err := http.ReadResponse(in, nil)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(response.Body)
				if err != nil || !strings.Contains(string(body), `"feedback_id":"`+response.Header.Get("Forge-Feedback-Id")+`"`) {
					t.Fatalf("%v %s", err, body)
				}
				if response.ContentLength >= 0 && response.ContentLength != int64(len(body)) {
					t.Error(response.ContentLength, len(body))
				}
			}
		})
	}
}

// P14: a handler that writes more than it stated gets the error it gets without us, and the client the bytes.
func TestP14AStatedLengthThatIsTooSmallFailsAsWithoutUs(t *testing.T) {
	errs := make(chan error, 2)
	handler := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "20")
		io.WriteString(w, `{"a":1,"b":`)
		_, err := io.WriteString(w, `"longer than stated"}`)
		errs <- err
	}
	m := serveForTest(t, Options{}, handler)
	bare := httptest.NewServer(http.HandlerFunc(handler))
	defer bare.Close()
	read := func(address string) string {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nPAYMENT-SIGNATURE: "+payment+"\r\n\r\n")
		all, _ := io.ReadAll(conn)
		_, body, _ := strings.Cut(string(all), "\r\n\r\n")
		return body
	}
	without, with := read(bare.Listener.Addr().String()), read(m.Listener.Addr().String())
	if first, second := <-errs, <-errs; !errors.Is(first, http.ErrContentLength) || !errors.Is(second, http.ErrContentLength) {
		t.Error(first, second)
	}
	if with != without {
		t.Errorf("%q, without us %q", with, without)
	}
}

// P15: large answers, unread uploads, clients that go away.
func TestP15LargeFilesAreServedAsWithoutUs(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "file")
	if err != nil {
		t.Fatal(err)
	}
	content := bytes.Repeat([]byte("0123456789abcdef"), 5<<20/16)
	file.Write(content)
	for _, contentType := range []string{"application/octet-stream", "application/json"} {
		m := serveForTest(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", contentType)
			http.ServeContent(w, r, "", time.Time{}, file)
		})
		response, body := m.paid(t, "GET", "/file", nil)
		if body != string(content) || response.Header.Get("Forge-Feedback-Id") == "" {
			t.Errorf("%s: %d bytes, %v", contentType, len(body), response.Header)
		}
	}
}

func TestP15AnUploadNobodyReadsIsNotHeld(t *testing.T) {
	m := serveForTest(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("PAYMENT-REQUIRED", challenge)
		w.WriteHeader(http.StatusPaymentRequired)
	})
	conn, in := m.conversation(t)
	// The body is never sent: the 402 comes all the same.
	io.WriteString(conn, "POST /weather HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\nExpect: 100-continue\r\n\r\n")
	response, err := http.ReadResponse(in, nil)
	if err != nil || response.StatusCode != 402 {
		t.Fatal(response, err)
	}
}

func TestC31AClientThatGoesAwayIsReported(t *testing.T) {
	c := newCollector(t)
	gone := make(chan struct{})
	m := serveForTest(t, Options{BackendURL: c.URL}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: 1\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(gone)
	})
	conn, in := m.conversation(t)
	io.WriteString(conn, "GET /weather HTTP/1.1\r\nHost: x\r\nPAYMENT-SIGNATURE: "+payment+"\r\n\r\n")
	if _, err := http.ReadResponse(in, nil); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	<-gone
	waitFor(t, func() bool { return len(m.flushed(t, c, "interaction")) == 1 })
}

func TestC30AHandlerThatPanicsIsReportedAndThePanicGoesOn(t *testing.T) {
	c := newCollector(t)
	e := openForTest(t, Options{BackendURL: c.URL})
	r := httptest.NewRequest("GET", "/weather", nil)
	r.Header.Set("PAYMENT-SIGNATURE", payment)
	func() {
		defer func() {
			if said := recover(); said != "boom" {
				t.Errorf("panic %v", said)
			}
		}()
		e.Middleware(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"half":`)
			panic("boom")
		})).ServeHTTP(httptest.NewRecorder(), r)
	}()
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	events := c.of("interaction")
	if len(events) != 1 || events[0]["status"] != 500.0 {
		t.Errorf("%v", events)
	}
}

// C28: trailers, announced or not, still follow.
func TestC28TrailersFollowTheBody(t *testing.T) {
	for _, announced := range []bool{true, false} {
		m := serveForTest(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			name := http.TrailerPrefix + "X-Sum"
			if announced {
				w.Header().Set("Trailer", "X-Sum")
				name = "X-Sum"
			}
			w.WriteHeader(200)
			io.WriteString(w, `{"data":"`+strings.Repeat("x", 5000)+`"}`)
			w.Header().Set(name, "42")
		})
		response, body := m.paid(t, "GET", "/weather", nil)
		if response.Trailer.Get("X-Sum") != "42" || response.Header.Get("Forge-Feedback-Id") == "" || !strings.HasPrefix(body, `{"data":"xx`) {
			t.Errorf("announced %v: %v %v %.40s", announced, response.Header, response.Trailer, body)
		}
	}
}

func TestAHeaderSetAfterTheHeadDoesNotReachIt(t *testing.T) {
	m := serveForTest(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		paidJSON(w, r)
		w.Header().Set("X-Late", "1")
		w.Header().Del("Content-Type")
	})
	response, body := m.paid(t, "GET", "/weather", nil)
	if response.Header.Get("X-Late") != "" || response.Header.Get("Content-Type") != "application/json" || !strings.Contains(body, "feedback_id") {
		t.Error(response.Header, body)
	}
}

// P18: partial answers are byte-identical.
func TestP18RangesAreLeftAlone(t *testing.T) {
	handler := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("ETag", `"1"`)
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(weather))
	}
	m := serveForTest(t, Options{}, handler)
	response, body := m.paid(t, "GET", "/weather", nil, "Range", "bytes=3-9")
	if response.StatusCode != 206 || body != weather[3:10] || response.Header.Get("ETag") != `"1"` || response.Header.Get("Content-Range") != fmt.Sprintf("bytes 3-9/%d", len(weather)) {
		t.Error(response.StatusCode, response.Header, body)
	}
}

// C23, P12: HEAD has the headers of GET and no body; the next answer on the connection parses.
func TestP12HeadKeepsTheConnectionInOrder(t *testing.T) {
	m := serveForTest(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(weather)))
		paidJSON(w, r)
	})
	conn, in := m.conversation(t)
	for _, method := range []string{"HEAD", "GET"} {
		io.WriteString(conn, method+" /weather HTTP/1.1\r\nHost: x\r\nPAYMENT-SIGNATURE: "+payment+"\r\n\r\n")
		response, err := http.ReadResponse(in, &http.Request{Method: method})
		if err != nil || response.StatusCode != 200 {
			t.Fatal(method, err)
		}
		body, err := io.ReadAll(response.Body)
		if err != nil || (method == "HEAD") != (len(body) == 0) {
			t.Fatal(method, err, body)
		}
	}
}

// C19
func TestC19AnEmptyAnswerGetsTheHeaderOnly(t *testing.T) {
	m := serveForTest(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
	})
	response, body := m.paid(t, "GET", "/weather", nil)
	if body != "" || response.Header.Get("Forge-Feedback-Id") == "" || response.StatusCode != 200 {
		t.Error(response.Header, body)
	}
}

// D24
func TestD24RepeatedHeadersStayInOrder(t *testing.T) {
	m := serveForTest(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Set-Cookie", "a=1")
		w.Header().Add("Set-Cookie", "b=2")
		paidJSON(w, r)
	})
	response, _ := m.paid(t, "GET", "/weather", nil)
	if got := response.Header["Set-Cookie"]; len(got) != 2 || got[0] != "a=1" || got[1] != "b=2" {
		t.Error(got)
	}
}

func TestAgentContextIsCutFromBodyAndQuery(t *testing.T) {
	for _, chunked := range []bool{false, true} {
		var seen, query, length string
		m := serveForTest(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			seen, query, length = string(body), r.RequestURI+" "+r.URL.RawQuery, fmt.Sprint(r.ContentLength)
			paidJSON(w, r)
		})
		var sent io.Reader = strings.NewReader(`{"city":"Oslo","agent_context":{"agent_type":"Claude Code"},"n":1.10}`)
		if chunked {
			sent = io.MultiReader(sent)
		}
		m.paid(t, "POST", "/weather?agent_type=codex&unit=c", sent, "Content-Type", "application/json")
		if seen != `{"city":"Oslo","n":1.10}` || query != "/weather?unit=c unit=c" {
			t.Errorf("%q %q", seen, query)
		}
		if want := map[bool]string{false: fmt.Sprint(len(seen)), true: "-1"}[chunked]; length != want {
			t.Errorf("length %s", length)
		}
	}
}

// P20: bodies over the limit pass whole.
func TestP20LargeUploadsReachTheHandlerWhole(t *testing.T) {
	upload := `{"agent_context":{},"data":"` + strings.Repeat("x", 3<<20) + `"}`
	for _, chunked := range []bool{false, true} {
		m := serveForTest(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
			if body, err := io.ReadAll(r.Body); err != nil || string(body) != upload {
				t.Error(err, len(body))
			}
			paidJSON(w, r)
		})
		var sent io.Reader = strings.NewReader(upload)
		if chunked {
			sent = io.MultiReader(sent)
		}
		m.paid(t, "POST", "/weather", sent, "Content-Type", "application/json")
	}
}

func TestAnUploadThatBreaksOffBreaksOffForTheHandler(t *testing.T) {
	e := openForTest(t, Options{})
	broken := errors.New("broken")
	r := httptest.NewRequest("POST", "/weather", io.MultiReader(strings.NewReader(`{"a":`), failing{broken}))
	r.Header.Set("PAYMENT-SIGNATURE", payment)
	r.Header.Set("Content-Type", "application/json")
	e.Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if string(body) != `{"a":` || !errors.Is(err, broken) {
			t.Errorf("%s %v", body, err)
		}
	})).ServeHTTP(httptest.NewRecorder(), r)
}

func TestFilesOfAFormAreRemovedByTheServer(t *testing.T) {
	var name atomic.Value
	m := serveForTest(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseMultipartForm(1); err != nil {
			t.Error(err)
			return
		}
		file, err := r.MultipartForm.File["f"][0].Open()
		if err != nil {
			t.Error(err)
			return
		}
		defer file.Close()
		name.Store(file.(*os.File).Name())
	})
	var form bytes.Buffer
	writer := multipart.NewWriter(&form)
	part, _ := writer.CreatePart(textproto.MIMEHeader{"Content-Disposition": {`form-data; name="f"; filename="f"`}})
	part.Write(bytes.Repeat([]byte("x"), 20<<20))
	writer.Close()
	m.paid(t, "POST", "/?agent_type=codex", &form, "Content-Type", writer.FormDataContentType())
	waitFor(t, func() bool { _, err := os.Stat(name.Load().(string)); return os.IsNotExist(err) })
}

func TestRatingRoutesAreAnswered(t *testing.T) {
	c := newCollector(t)
	m := serveForTest(t, Options{BackendURL: c.URL}, paidJSON)
	response, _ := m.paid(t, "GET", "/weather", nil)
	id := response.Header.Get("Forge-Feedback-Id")
	if rated, body := m.ask(t, "GET", "/feedback/rate?feedback_id="+id+"&outcome=fully", nil); rated.StatusCode != 200 || body != `{"recorded":true}` {
		t.Error(rated.StatusCode, body)
	}
	noted := strings.NewReader(`{"feedback_id":"` + id + `","outcome":"fully","note":"good"}`)
	if rated, body := m.ask(t, "POST", "/feedback", noted, "Content-Type", "application/json"); rated.StatusCode != 200 || body != `{"recorded":true}` {
		t.Error(rated.StatusCode, body)
	}
	if rated, body := m.ask(t, "POST", "/feedback", strings.NewReader(strings.Repeat("[", 20<<10))); rated.StatusCode != 413 { // D15
		t.Error(rated.StatusCode, body)
	}
	if rated, body := m.ask(t, "POST", "/feedback", strings.NewReader(strings.Repeat("[", 10<<10))); rated.StatusCode != 400 { // D14
		t.Error(rated.StatusCode, body)
	}
	if form, body := m.ask(t, "HEAD", "/feedback", nil); form.StatusCode != 200 || body != "" {
		t.Error(form.StatusCode, body)
	}
	if preflight, _ := m.ask(t, "OPTIONS", "/feedback", nil, "Origin", "https://a.example", "Access-Control-Request-Method", "POST"); preflight.StatusCode != 204 { // D13
		t.Error(preflight.StatusCode)
	}
	interactions := m.flushed(t, c, "interaction")
	if len(interactions) != 1 || interactions[0]["feedback_id"] != id || interactions[0]["status"] != 200.0 {
		t.Errorf("%v", interactions)
	}
}

func TestTheRoutePatternIsReported(t *testing.T) {
	c := newCollector(t)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /weather/{city}", paidJSON)
	m := serveForTest(t, Options{BackendURL: c.URL}, mux.ServeHTTP)
	m.paid(t, "GET", "/weather/oslo", nil)
	if events := m.flushed(t, c, "interaction"); len(events) != 1 || events[0]["route"] != "GET /weather/{city}" {
		t.Errorf("%v", events)
	}
}

// D12
func TestD12ARatingRouteThatHidesOneOfTheMerchantsIsReported(t *testing.T) {
	said := &recorder{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /feedback", paidJSON)
	mux.HandleFunc("/", paidJSON)
	e := openForTest(t, Options{Logger: said.logger()})
	handler := e.Middleware(mux)
	for range 2 {
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
	}
	if strings.Count(said.String(), "hides a route of yours (POST /feedback)") != 1 || strings.Count(said.String(), "hides") != 1 {
		t.Error(said)
	}
}

func TestTwoLayersAreOne(t *testing.T) {
	c := newCollector(t)
	e := openForTest(t, Options{BackendURL: c.URL})
	second := openForTest(t, Options{BackendURL: c.URL})
	between := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(unwrapping{w}, r) })
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "/weather", nil)
	r.Header.Set("PAYMENT-SIGNATURE", payment)
	e.Middleware(between(second.Middleware(http.HandlerFunc(paidJSON)))).ServeHTTP(w, r)
	e.Close(context.Background())
	second.Close(context.Background())
	if strings.Count(w.Body.String(), `"feedback_id"`) != 1 || len(c.of("interaction")) != 1 {
		t.Error(w.Body, c.of("interaction"))
	}
}

type unwrapping struct{ http.ResponseWriter }

func (u unwrapping) Unwrap() http.ResponseWriter { return u.ResponseWriter }

// What net/http would hold back by itself is held, and not a byte more of what the engine does not edit.
func TestALongAnswerThatIsNotEditedStreamsFromTheTwoThousandthByteOn(t *testing.T) {
	for _, status := range []int{http.StatusOK, http.StatusPaymentRequired} {
		w := httptest.NewRecorder()
		var early, late int
		handler := openForTest(t, Options{}).Middleware(http.HandlerFunc(func(offered http.ResponseWriter, _ *http.Request) {
			offered.Header().Set("Content-Type", "application/octet-stream")
			offered.WriteHeader(status)
			offered.Write(make([]byte, 2048))
			early = w.Body.Len()
			offered.Write(make([]byte, 1))
			late = w.Body.Len()
		}))
		r := httptest.NewRequest("GET", "/weather", nil)
		r.Header.Set("PAYMENT-SIGNATURE", payment)
		handler.ServeHTTP(w, r)
		if early != 0 || late != 2049 || w.Code != status {
			t.Errorf("%d: %d bytes out after 2048, %d after 2049", w.Code, early, late)
		}
	}
}

func TestP36AKeyFileMakesTheIDsOfTheKeyItself(t *testing.T) {
	const key, id = "ffk_test_0123456789abcdef", "awzJAAABAgMEBU0fS7Pmqw"
	file := filepath.Join(t.TempDir(), "key")
	for text, good := range map[string]bool{
		key: true, key + "\n": true, key + "\r\n": true, key + "\n\n": false, key + "\x00": false, " " + key: false, key + "\xff": false, "": false,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		e, err := Open(Options{APIKeyFile: file, Strict: true})
		if !good {
			if err == nil || !strings.Contains(err.Error(), "api_key_file") {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if state, err := e.VerifyID(id, time.UnixMilli(1796000000999)); err != nil || state != IDValid {
			t.Errorf("%q: %v, %v", text, state, err)
		}
		e.Close(context.Background())
	}
	for _, explicit := range []string{key + "\n", key + "\x00", " " + key} {
		if _, err := Open(Options{APIKey: explicit, Strict: true}); err == nil || !strings.Contains(err.Error(), "api_key: ") {
			t.Errorf("%q: %v", explicit, err)
		}
	}
}

// D21, D22, D23
func TestBadOptionsAreTold(t *testing.T) {
	if _, err := Open(Options{APIKey: testKey, PublicURL: "https://api.example.com/path", Strict: true}); err == nil || !strings.Contains(err.Error(), "public_url") {
		t.Error(err)
	}
	said := &recorder{}
	e, err := Open(Options{APIKey: "key\nwith a line end", Logger: said.logger()})
	if err != nil || !strings.Contains(said.String(), "api_key") {
		t.Fatal(err, said)
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "/weather", nil)
	r.Header.Set("PAYMENT-SIGNATURE", payment)
	e.Middleware(http.HandlerFunc(paidJSON)).ServeHTTP(w, r)
	if w.Body.String() != weather {
		t.Error(w.Body)
	}
}

func TestCloseKeepsItsLimitAndTrafficGoesOn(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	m := serveForTest(t, Options{BackendURL: "http://" + silent.Addr().String()}, paidJSON)
	m.paid(t, "GET", "/weather", nil)
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	begun := time.Now()
	if err := m.engine.Close(ctx); err == nil {
		t.Error("nothing was taken, and Close says so")
	}
	if took := time.Since(begun); took > 3*time.Second {
		t.Error(took)
	}
	if _, body := m.paid(t, "GET", "/weather", nil); !strings.Contains(body, "feedback_id") {
		t.Error(body)
	}
	if err := m.engine.Flush(context.Background()); err == nil {
		t.Error("flushed after Close")
	}
	if m.engine.Stats().Dropped == 0 {
		t.Error(m.engine.Stats())
	}
}

// Engines and exchanges go while the collector works at full speed: nothing is freed twice or too early.
func TestGarbageCollectionFreesEnginesAfterTheirRequests(t *testing.T) {
	for range 50 {
		handler := openForTest(t, Options{}).Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			runtime.GC()
			paidJSON(w, r)
		}))
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", "/weather", nil)
		r.Header.Set("PAYMENT-SIGNATURE", payment)
		handler.ServeHTTP(w, r)
		if !strings.Contains(w.Body.String(), "feedback_id") {
			t.Fatal(w.Body)
		}
	}
	runtime.GC()
}

func TestManyAtOnce(t *testing.T) {
	c := newCollector(t)
	m := serveForTest(t, Options{BackendURL: c.URL}, paidJSON)
	const each = 50
	done := make(chan map[string]bool)
	for range 8 {
		go func() {
			ids := map[string]bool{}
			for range each {
				response, body := m.paid(t, "GET", "/weather", nil)
				if id := response.Header.Get("Forge-Feedback-Id"); strings.Contains(body, id) {
					ids[id] = true
				}
			}
			done <- ids
		}()
	}
	all := map[string]bool{}
	for range 8 {
		for id := range <-done {
			all[id] = true
		}
	}
	if len(all) != 8*each || len(m.flushed(t, c, "interaction")) != 8*each {
		t.Error(len(all), len(c.of("interaction")))
	}
}

func waitFor(t *testing.T, holds func() bool) {
	t.Helper()
	for range 400 {
		if holds() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("never came true")
}

// A body that is complete goes out although the handler works on.
func TestABodyOfTheStatedLengthIsNotHeldUntilTheHandlerReturns(t *testing.T) {
	read := make(chan struct{})
	m := serveForTest(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(weather)))
		paidJSON(w, r)
		w.(http.Flusher).Flush()
		select {
		case <-read:
		case <-time.After(10 * time.Second):
			t.Error("the body never arrived")
		}
	})
	conn, in := m.conversation(t)
	io.WriteString(conn, "GET /weather HTTP/1.1\r\nHost: x\r\nPAYMENT-SIGNATURE: "+payment+"\r\n\r\n")
	response, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	close(read)
	if err != nil || !strings.Contains(string(body), `"feedback_id"`) {
		t.Error(err, string(body))
	}
}
