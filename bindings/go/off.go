//go:build !cgo

package forgex402

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// ErrNoCgo is what Open returns with Strict: true in a program that was built with CGO_ENABLED=0.
var ErrNoCgo = errors.New("forge-x402: built with CGO_ENABLED=0, where there is no engine")

// Engine is a pass-through in this build: see the package's documentation.
type Engine struct{}

// Open warns that all traffic passes unchanged, or fails with [ErrNoCgo] if options.Strict is set.
func Open(options Options) (*Engine, error) {
	if options.Strict {
		return nil, ErrNoCgo
	}
	options.logger().Warn("forge-x402 is off, all traffic passes unchanged: built with CGO_ENABLED=0")
	return &Engine{}, nil
}

// Middleware is next.
func (e *Engine) Middleware(next http.Handler) http.Handler { return next }

// Stats are all zero.
func (e *Engine) Stats() Stats { return Stats{} }

// Flush has nothing to do.
func (e *Engine) Flush(context.Context) error { return nil }

// Close has nothing to do.
func (e *Engine) Close(context.Context) error { return nil }

// MintID fails with [ErrNoCgo].
func (e *Engine) MintID() (string, error) { return "", ErrNoCgo }

// VerifyID fails with [ErrNoCgo].
func (e *Engine) VerifyID(string, time.Time) (IDState, error) { return IDMalformed, ErrNoCgo }

// EnqueueEvent fails with [ErrNoCgo].
func (e *Engine) EnqueueEvent([]byte) error { return ErrNoCgo }

// EnrichOpenAPI returns the document as it is.
func (e *Engine) EnrichOpenAPI(document []byte) []byte { return document }
