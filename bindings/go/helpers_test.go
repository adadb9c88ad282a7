//go:build cgo

package forgex402

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

const testKey = "ffk_test_0123456789abcdef"

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// recorder is a logger whose lines a test reads.
type recorder struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (r *recorder) Write(line []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(line)
}

func (r *recorder) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

func (r *recorder) logger() *slog.Logger { return slog.New(slog.NewTextHandler(r, nil)) }

func openForTest(t testing.TB, options Options) *Engine {
	t.Helper()
	options.APIKey, options.Strict = testKey, true
	if options.PublicURL == "" {
		options.PublicURL = "https://api.example.com"
	}
	if options.Logger == nil {
		options.Logger = quiet()
	}
	e, err := Open(options)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// merchant is a real server behind the middleware.
type merchant struct {
	*httptest.Server
	engine *Engine
}

func serveForTest(t *testing.T, options Options, handler http.HandlerFunc) *merchant {
	t.Helper()
	e := openForTest(t, options)
	server := httptest.NewUnstartedServer(e.Middleware(handler))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Start()
	t.Cleanup(server.Close)
	return &merchant{server, e}
}

// payment is what decodes as an x402 v2 payment; nobody here checks more.
var payment = base64.StdEncoding.EncodeToString([]byte(`{"x402Version":2,"payload":{"authorization":{"from":"0x0000000000000000000000000000000000000001"}},"accepted":{"scheme":"exact","network":"eip155:84532","amount":"1000"}}`))

// challenge is a v2 PAYMENT-REQUIRED value.
var challenge = base64.StdEncoding.EncodeToString([]byte(`{"x402Version":2,"error":"Payment required","resource":{"url":"https://api.example.com/weather","description":"Weather."},"accepts":[{"scheme":"exact","network":"eip155:84532","amount":"1000"}]}`))

func receipt() string {
	return base64.StdEncoding.EncodeToString([]byte(`{"success":true,"transaction":"0x01","network":"eip155:84532","payer":"0x0000000000000000000000000000000000000001"}`))
}

// paid asks with a payment and returns the answer with its whole body.
func (m *merchant) paid(t *testing.T, method, target string, body io.Reader, headers ...string) (*http.Response, string) {
	t.Helper()
	return m.ask(t, method, target, body, append(headers, "PAYMENT-SIGNATURE", payment)...)
}

func (m *merchant) ask(t *testing.T, method, target string, body io.Reader, headers ...string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequest(method, m.URL+target, body)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Add(headers[i], headers[i+1])
	}
	response, err := m.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(text)
}

// conversation writes bytes on one connection and reads answers.
func (m *merchant) conversation(t *testing.T) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", m.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	return conn, bufio.NewReader(conn)
}

// collector takes events, ratings and summaries as the backend does.
type collector struct {
	*httptest.Server
	mu     sync.Mutex
	events []map[string]any
}

func newCollector(t *testing.T) *collector {
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/events":
			var batch struct {
				Events []map[string]any `json:"events"`
			}
			if json.NewDecoder(r.Body).Decode(&batch) != nil {
				w.WriteHeader(400)
				return
			}
			c.mu.Lock()
			c.events = append(c.events, batch.Events...)
			c.mu.Unlock()
		case "/v1/feedback":
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `{"recorded":true}`)
		default:
			w.WriteHeader(404)
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// of are the events of a type received so far.
func (c *collector) of(kind string) []map[string]any {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []map[string]any
	for _, event := range c.events {
		if event["type"] == kind {
			found = append(found, event)
		}
	}
	return found
}

// flushed ends the engine's work and returns the events of a type.
func (m *merchant) flushed(t *testing.T, c *collector, kind string) []map[string]any {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := m.engine.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	return c.of(kind)
}
