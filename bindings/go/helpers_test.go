//go:build cgo

package forgex402

import (
	"bytes"
	"io"
	"log/slog"
	"sync"
	"testing"
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
