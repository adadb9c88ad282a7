//go:build cgo

package forgex402

// What becomes of requests on a real server: uploads, agent context, rating routes, route patterns.

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"os"
	"strings"
	"sync/atomic"
	"testing"
)

func TestAnUnpaidRequestIsNotTouched(t *testing.T) {
	m := serveForTest(t, Options{}, paidJSON)
	response, body := m.ask(t, "GET", "/weather", nil)
	if body != weather || response.Header.Get("Forge-Feedback-Id") != "" {
		t.Error(response.Header, body)
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
