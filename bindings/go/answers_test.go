//go:build cgo

package forgex402

// What becomes of answers on a real server: framing, trailers, ranges, streams, interim answers.

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
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
