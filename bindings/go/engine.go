//go:build cgo

package forgex402

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// Engine is the shared half: options, ids, the queue of events. Open one per program. All methods may be called from any
// goroutine.
type Engine struct {
	native  *native
	options Options
	log     *slog.Logger
	glance  glance
	// When diagnostics were last pulled, in seconds.
	pulled atomic.Int64
}

// Open makes an engine; it starts no thread and opens no socket. A bad option is an error with options.Strict, and otherwise
// a warning to options.Logger and an engine that lets everything pass.
func Open(options Options) (*Engine, error) {
	document, err := json.Marshal(options)
	if err != nil {
		return nil, err
	}
	opened, err := openNative(document)
	if err != nil {
		return nil, err
	}
	e := &Engine{native: opened, options: options, log: options.logger(), glance: newGlance(&options)}
	e.report()
	return e, nil
}

// Stats are the counts so far in this process.
func (e *Engine) Stats() Stats { return e.native.stats() }

// Flush posts the events that are queued now. It blocks until then, or until ctx is done, at most five seconds if ctx has no
// deadline; what is still queued goes on being tried.
func (e *Engine) Flush(ctx context.Context) error { return within(ctx, e.native.flush) }

// Close posts what is queued and stops the worker. It blocks as Flush does. Requests still under way, and later ones, are
// served as before, but their events are dropped and counted. A second call has nothing left to do.
func (e *Engine) Close(ctx context.Context) error {
	err := within(ctx, e.native.shutdown)
	e.report()
	return err
}

// MintID makes a feedback id, for answers that do not go through Middleware.
func (e *Engine) MintID() (string, error) { return e.native.mintID() }

// VerifyID says whether id is one of ours that can be used at that time; the zero time is now.
func (e *Engine) VerifyID(id string, at time.Time) (IDState, error) {
	if at.IsZero() {
		return e.native.verifyID(id, 0)
	}
	return e.native.verifyID(id, uint64(max(at.UnixMilli(), 1))) // 0 would be now
}

// EnqueueEvent queues one event of your own: a JSON object with a text "type", at most 16,384 bytes. Never blocks.
func (e *Engine) EnqueueEvent(event []byte) error { return e.native.enqueueEvent(event) }

// EnrichOpenAPI returns an OpenAPI document, JSON, with what agents should know about ratings; the same slice if there is
// nothing to add.
func (e *Engine) EnrichOpenAPI(document []byte) []byte {
	if enriched, changed := e.native.enrichOpenAPI(document); changed {
		return enriched
	}
	return document
}

// within runs a blocking call of the engine under ctx. If ctx ends without a deadline the call goes on to its own limit.
func within(ctx context.Context, call func(time.Duration) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	limit := closeLimit
	if deadline, has := ctx.Deadline(); has {
		limit = time.Until(deadline)
	}
	if ctx.Done() == nil {
		return call(limit)
	}
	done := make(chan error, 1)
	go func() { done <- call(limit) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// reportSometimes hands warnings to the logger, once a minute at most.
func (e *Engine) reportSometimes() {
	now, last := time.Now().Unix(), e.pulled.Load()
	if now-last >= 60 && e.pulled.CompareAndSwap(last, now) {
		e.report()
	}
}

func (e *Engine) report() {
	e.pulled.Store(time.Now().Unix())
	var texts []string
	if json.Unmarshal(e.native.diagnostics(), &texts) != nil {
		return
	}
	for _, text := range texts {
		e.log.Warn("forge-x402: " + text)
	}
}

func (e *Engine) clientIP(r *http.Request) string {
	if e.options.ClientIP != nil {
		return e.options.ClientIP(r)
	}
	peer := r.RemoteAddr
	if colon := strings.LastIndexByte(peer, ':'); colon >= 0 {
		peer = peer[:colon]
	}
	return strings.Trim(peer, "[]")
}

// route is the matched pattern without its method and host.
func (e *Engine) route(r *http.Request) string {
	if e.options.Route != nil {
		return e.options.Route(r)
	}
	if slash := strings.IndexByte(r.Pattern, '/'); slash >= 0 {
		return r.Pattern[slash:]
	}
	return ""
}
