//go:build cgo

package forgex402

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// P16: what the inner writer offers is offered, what it does not is not faked.

func TestP16ExactlyTheOfferedInterfacesAreOffered(t *testing.T) {
	e := openForTest(t, Options{})
	for set := range 1 << 5 {
		w := &writer{inner: httptest.NewRecorder(), engine: e}
		inner := others[set](w) // Something that offers this set.
		offered, _ := wrap(inner, kindOf(inner).offered, e, nil, nil)
		_, flush := offered.(http.Flusher)
		_, hijack := offered.(http.Hijacker)
		_, read := offered.(io.ReaderFrom)
		_, push := offered.(http.Pusher)
		_, notify := offered.(http.CloseNotifier) //nolint:staticcheck
		got := 0
		for bit, is := range []bool{flush, hijack, read, push, notify} {
			if is {
				got |= 1 << bit
			}
		}
		if got != set {
			t.Errorf("%05b is offered as %05b", set, got)
		}
	}
}

func TestP16RealServersOfferWhatTheyOfferWithoutUs(t *testing.T) {
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		var bare, ours [5]bool
		look := func(into *[5]bool) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				if r.Proto != protocol {
					t.Error(r.Proto)
				}
				_, into[0] = w.(http.Flusher)
				_, into[1] = w.(http.Hijacker)
				_, into[2] = w.(io.ReaderFrom)
				_, into[3] = w.(http.Pusher)
				_, into[4] = w.(http.CloseNotifier) //nolint:staticcheck
			}
		}
		mux := http.NewServeMux()
		mux.HandleFunc("/bare", look(&bare))
		mux.Handle("/ours", openForTest(t, Options{}).Middleware(look(&ours)))
		server := httptest.NewUnstartedServer(mux)
		server.EnableHTTP2 = protocol == "HTTP/2.0"
		server.StartTLS()
		for _, path := range []string{"/bare", "/ours"} {
			response, err := server.Client().Get(server.URL + path)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
		}
		server.Close()
		if bare != ours || !bare[0] {
			t.Errorf("%s: %v, without us %v", protocol, ours, bare)
		}
	}
}

func TestP16HTTP2CarriesThePaidAnswer(t *testing.T) {
	server := httptest.NewUnstartedServer(openForTest(t, Options{}).Middleware(http.HandlerFunc(paidJSON)))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	request, _ := http.NewRequest("GET", server.URL+"/weather", nil)
	request.Header.Set("PAYMENT-SIGNATURE", payment)
	response, err := server.Client().Do(request)
	if err != nil || response.ProtoMajor != 2 {
		t.Fatal(response, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if id := response.Header.Get("Forge-Feedback-Id"); err != nil || id == "" || !strings.Contains(string(body), id) {
		t.Error(err, response.Header, string(body))
	}
}

// A wrapper that hides everything but leads on with Unwrap, as logging middleware does.
func TestP16ResponseControllerReachesThroughNestedWrappers(t *testing.T) {
	for _, paid := range []bool{true, false} {
		e := openForTest(t, Options{})
		ours := e.Middleware(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if _, is := w.(http.Flusher); is {
				t.Error("a Flusher where the inner writer is none")
			}
			if _, is := w.(http.Hijacker); is {
				t.Error("a Hijacker where the inner writer is none")
			}
			control := http.NewResponseController(w)
			if err := errors.Join(control.SetReadDeadline(time.Now().Add(time.Minute)), control.SetWriteDeadline(time.Now().Add(time.Minute))); err != nil {
				t.Error(err)
			}
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"part":`)
			if err := control.Flush(); err != nil {
				t.Error(err)
			}
			io.WriteString(w, `1}`)
		}))
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { ours.ServeHTTP(unwrapping{w}, r) }))
		request, _ := http.NewRequest("GET", server.URL, nil)
		if paid {
			request.Header.Set("PAYMENT-SIGNATURE", payment)
		}
		response, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		server.Close()
		// Flushed: the body goes as it is, the id in the header.
		if err != nil || string(body) != `{"part":1}` || (response.Header.Get("Forge-Feedback-Id") != "") != paid {
			t.Error(paid, err, response.Header, string(body))
		}
	}
}

func TestP16WhatNobodyOffersIsNotSupported(t *testing.T) {
	e := openForTest(t, Options{})
	e.Middleware(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		control := http.NewResponseController(w)
		if err := control.Flush(); !errors.Is(err, http.ErrNotSupported) {
			t.Error(err)
		}
		if _, _, err := control.Hijack(); !errors.Is(err, http.ErrNotSupported) {
			t.Error(err)
		}
	})).ServeHTTP(struct{ http.ResponseWriter }{httptest.NewRecorder()}, httptest.NewRequest("GET", "/", nil))
}

// The shape of a websocket upgrade: 101, then both sides speak on the raw connection.
func TestP16AnUpgradeSpeaksOnTheRawConnection(t *testing.T) {
	for _, how := range []string{"Hijacker", "ResponseController", "through a wrapper"} {
		c := newCollector(t)
		e := openForTest(t, Options{BackendURL: c.URL})
		ours := e.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var conn net.Conn
			var buffered *bufio.ReadWriter
			var err error
			if how == "Hijacker" {
				conn, buffered, err = w.(http.Hijacker).Hijack()
			} else {
				conn, buffered, err = http.NewResponseController(w).Hijack()
			}
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			io.WriteString(buffered, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n")
			buffered.Flush()
			line, _ := buffered.ReadString('\n')
			io.WriteString(buffered, "echo "+line)
			buffered.Flush()
		}))
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if how == "through a wrapper" {
				w = unwrapping{w}
			}
			ours.ServeHTTP(w, r)
		}))
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(10 * time.Second))
		in := bufio.NewReader(conn)
		io.WriteString(conn, "GET /chat HTTP/1.1\r\nHost: x\r\nUpgrade: echo\r\nConnection: Upgrade\r\nPAYMENT-SIGNATURE: "+payment+"\r\n\r\nhello\n")
		response, err := http.ReadResponse(in, nil)
		if err != nil || response.StatusCode != 101 || response.Header.Get("Forge-Feedback-Id") != "" {
			t.Fatal(how, response, err)
		}
		if line, err := in.ReadString('\n'); line != "echo hello\n" {
			t.Error(how, line, err)
		}
		conn.Close()
		server.Close()
	}
}

// SSE: the first event is read while the handler runs.
func TestP16ServerSentEventsArriveWhileTheHandlerRuns(t *testing.T) {
	for _, contentType := range []string{"text/event-stream", "application/json"} { // C33
		read := make(chan struct{})
		m := serveForTest(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", contentType)
			io.WriteString(w, "data: 1\n\n")
			w.(http.Flusher).Flush()
			select {
			case <-read:
			case <-time.After(10 * time.Second):
				t.Error("the first event never arrived")
			}
			io.WriteString(w, "data: 2\n\n")
		})
		conn, in := m.conversation(t)
		io.WriteString(conn, "GET /events HTTP/1.1\r\nHost: x\r\nPAYMENT-SIGNATURE: "+payment+"\r\n\r\n")
		response, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		events := bufio.NewReader(response.Body)
		if line, err := events.ReadString('\n'); line != "data: 1\n" {
			t.Fatal(line, err)
		}
		close(read)
		rest, err := io.ReadAll(events)
		if string(rest) != "\ndata: 2\n\n" || response.Header.Get("Forge-Feedback-Id") == "" {
			t.Error(string(rest), err, response.Header)
		}
	}
}
