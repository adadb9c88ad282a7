//go:build cgo

package forgex402

// How engines and exchanges begin and end: options, Close, layers, panics, clients that go away.

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

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

// What the client has seen the beginning of keeps the status it came with.
func TestC30AnAnswerThatBeganKeepsItsStatusWhenTheHandlerPanics(t *testing.T) {
	c := newCollector(t)
	m := serveForTest(t, Options{BackendURL: c.URL}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		io.WriteString(w, "data: 1\n\n")
		panic(http.ErrAbortHandler)
	})
	conn, _ := m.conversation(t)
	io.WriteString(conn, "GET /weather HTTP/1.1\r\nHost: x\r\nPAYMENT-SIGNATURE: "+payment+"\r\n\r\n")
	var events []map[string]any
	waitFor(t, func() bool { events = m.flushed(t, c, "interaction"); return len(events) == 1 })
	if events[0]["status"] != 200.0 || events[0]["outcome"] == "delivered" {
		t.Errorf("%v", events)
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
