//go:build !cgo

package forgex402

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// P29: without cgo everything passes, with one clear message.
func TestP29WithoutCgoEverythingPasses(t *testing.T) {
	if _, err := Open(Options{APIKey: "k", Strict: true}); !errors.Is(err, ErrNoCgo) {
		t.Error(err)
	}
	var said bytes.Buffer
	e, err := Open(Options{APIKey: "k", Logger: slog.New(slog.NewTextHandler(&said, nil))})
	if err != nil || strings.Count(said.String(), "CGO_ENABLED=0") != 1 {
		t.Fatal(err, said.String())
	}
	next := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(402) })
	w := httptest.NewRecorder()
	e.Middleware(next).ServeHTTP(w, httptest.NewRequest("GET", "/feedback", nil))
	if w.Code != 402 || len(w.Header()) != 0 {
		t.Error(w.Code, w.Header())
	}
	if err := errors.Join(e.Flush(context.Background()), e.Close(context.Background())); err != nil || e.Stats() != (Stats{}) {
		t.Error(err)
	}
}
