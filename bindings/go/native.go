//go:build cgo

package forgex402

/*
#include <forge_x402.h>
#include <string.h>

// A head in one block without pointers, because Go must not hand out arrays of them: these sizes, the bytes they count in
// the same order, then header lines in the form of fx402_headers.packed.
typedef struct fxgo_sizes { uint32_t flags, http_status, method, target, scheme, authority, route, client_ip; } fxgo_sizes;

typedef struct fxgo_answer {
	fx402_exchange *exchange;
	fx402_verdict verdict;
} fxgo_answer;

static fx402_span fxgo_take(const uint8_t **at, uint32_t len) {
	fx402_span span = { *at, len };
	*at += len;
	return span;
}

static void fxgo_request(fx402_request_in *in, const uint8_t *block, size_t len) {
	fxgo_sizes sizes;
	const uint8_t *at = block + sizeof sizes;
	memcpy(&sizes, block, sizeof sizes);
	memset(in, 0, sizeof *in);
	in->struct_size = sizeof *in;
	in->flags = sizes.flags;
	in->method = fxgo_take(&at, sizes.method);
	in->target = fxgo_take(&at, sizes.target);
	in->scheme = fxgo_take(&at, sizes.scheme);
	in->authority = fxgo_take(&at, sizes.authority);
	in->route = fxgo_take(&at, sizes.route);
	in->client_ip = fxgo_take(&at, sizes.client_ip);
	in->headers.packed.ptr = at;
	in->headers.packed.len = (size_t)(block + len - at);
}

static void fxgo_response(fx402_response_in *in, const uint8_t *block, size_t len, const uint8_t *body, size_t body_len) {
	fxgo_sizes sizes;
	const uint8_t *at = block + sizeof sizes;
	memcpy(&sizes, block, sizeof sizes);
	memset(in, 0, sizeof *in);
	in->struct_size = sizeof *in;
	in->flags = sizes.flags;
	in->http_status = sizes.http_status;
	in->route = fxgo_take(&at, sizes.route);
	in->headers.packed.ptr = at;
	in->headers.packed.len = (size_t)(block + len - at);
	in->body.ptr = body;
	in->body.len = body_len;
}

static void fxgo_on_request(const fx402_engine *e, const uint8_t *block, size_t len, fxgo_answer *out) {
	fx402_request_in in;
	fxgo_request(&in, block, len);
	out->verdict.struct_size = sizeof out->verdict;
	if (fx402_on_request(e, &in, &out->exchange, &out->verdict, NULL) != FX402_OK) out->exchange = NULL;
}

// A failed call says: pass, no edits. So the answer alone is enough.
static void fxgo_on_request_body(fx402_exchange *ex, const uint8_t *body, size_t len, fxgo_answer *out) {
	fx402_span span = { body, len };
	out->verdict.struct_size = sizeof out->verdict;
	(void)!fx402_on_request_body(ex, span, &out->verdict, NULL);
}

static void fxgo_on_response(fx402_exchange *ex, const uint8_t *block, size_t len, const uint8_t *body, size_t body_len,
		fxgo_answer *out) {
	fx402_response_in in;
	fxgo_response(&in, block, len, body, body_len);
	out->verdict.struct_size = sizeof out->verdict;
	(void)!fx402_on_response(ex, &in, &out->verdict, NULL);
}

static void fxgo_on_response_late(const fx402_engine *e, const uint8_t *request, size_t request_len, const uint8_t *block,
		size_t len, const uint8_t *body, size_t body_len, fxgo_answer *out) {
	fx402_request_in req;
	fx402_response_in res;
	fxgo_request(&req, request, request_len);
	fxgo_response(&res, block, len, body, body_len);
	out->verdict.struct_size = sizeof out->verdict;
	if (fx402_on_response_late(e, &req, &res, &out->exchange, &out->verdict, NULL) != FX402_OK) out->exchange = NULL;
}

static void fxgo_wait(fx402_exchange *ex, uint32_t timeout_ms, fxgo_answer *out) {
	out->verdict.struct_size = sizeof out->verdict;
	(void)!fx402_exchange_wait(ex, timeout_ms, &out->verdict, NULL);
}

static void fxgo_end(fx402_exchange *ex, uint32_t kind, uint32_t http_status, uint64_t body_bytes) {
	fx402_outcome outcome = { sizeof outcome, kind, http_status, 0, body_bytes };
	fx402_exchange_end(ex, &outcome);
}

static fx402_status fxgo_open(const uint8_t *json, size_t len, fx402_engine **out, fx402_error *err) {
	fx402_span span = { json, len };
	err->struct_size = sizeof *err;
	return fx402_engine_open(FX402_ABI, span, out, err);
}

static fx402_status fxgo_enqueue_event(const fx402_engine *e, const uint8_t *json, size_t len, fx402_error *err) {
	fx402_span span = { json, len };
	err->struct_size = sizeof *err;
	return fx402_enqueue_event(e, span, err);
}

static fx402_status fxgo_enrich_openapi(const fx402_engine *e, const uint8_t *json, size_t len, uint32_t *changed, fx402_buf *out) {
	fx402_span span = { json, len };
	return fx402_enrich_openapi(e, span, changed, out, NULL);
}

static fx402_status fxgo_verify_id(const fx402_engine *e, const char *id, size_t len, uint64_t now_ms, uint32_t *reason) {
	fx402_span span = { (const uint8_t *)id, len };
	return fx402_verify_id(e, span, now_ms, reason);
}

#cgo noescape fxgo_on_request
#cgo nocallback fxgo_on_request
#cgo noescape fxgo_on_request_body
#cgo nocallback fxgo_on_request_body
#cgo noescape fxgo_on_response
#cgo nocallback fxgo_on_response
#cgo noescape fxgo_on_response_late
#cgo nocallback fxgo_on_response_late
#cgo noescape fxgo_wait
#cgo nocallback fxgo_wait
#cgo noescape fxgo_end
#cgo nocallback fxgo_end
#cgo noescape fxgo_open
#cgo nocallback fxgo_open
#cgo noescape fxgo_enqueue_event
#cgo nocallback fxgo_enqueue_event
#cgo noescape fxgo_enrich_openapi
#cgo nocallback fxgo_enrich_openapi
#cgo noescape fxgo_verify_id
#cgo nocallback fxgo_verify_id
#cgo noescape fx402_engine_stats
#cgo nocallback fx402_engine_stats
#cgo noescape fx402_engine_diagnostics
#cgo nocallback fx402_engine_diagnostics
#cgo noescape fx402_engine_flush
#cgo nocallback fx402_engine_flush
#cgo noescape fx402_engine_shutdown
#cgo nocallback fx402_engine_shutdown
#cgo noescape fx402_engine_free
#cgo nocallback fx402_engine_free
#cgo noescape fx402_mint_id
#cgo nocallback fx402_mint_id
#cgo noescape fx402_buf_free
#cgo nocallback fx402_buf_free
*/
import "C"

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"
	"unsafe"
)

// What a verdict asks for, and how a header is changed.
const (
	actionPass     = C.FX402_PASS
	actionReply    = C.FX402_REPLY
	actionWantBody = C.FX402_WANT_BODY
	actionWait     = C.FX402_WAIT

	editSet    = C.FX402_EDIT_SET
	editAdd    = C.FX402_EDIT_ADD
	editRemove = C.FX402_EDIT_REMOVE

	bodyUnread uint32 = 0
	bodyWhole  uint32 = C.FX402_IN_BODY_WHOLE
	bodyNone   uint32 = C.FX402_IN_BODY_NONE

	delivered uint32 = C.FX402_DELIVERED
	aborted   uint32 = C.FX402_ABORTED
	failed    uint32 = C.FX402_FAILED
)

// native is the C engine. It is freed when nothing can reach it any more, so requests may outlive Close.
type native struct{ handle *C.fx402_engine }

func openNative(json []byte) (*native, error) {
	var handle *C.fx402_engine
	var fault C.fx402_error
	if status := C.fxgo_open(bytesPtr(json), C.size_t(len(json)), &handle, &fault); status != C.FX402_OK {
		return nil, failure(status, &fault)
	}
	n := &native{handle}
	runtime.AddCleanup(n, func(handle *C.fx402_engine) { C.fx402_engine_free(handle) }, handle)
	return n, nil
}

// onRequest shows a request's head. nil: there is nothing to do unless the answer is a 402.
func (n *native) onRequest(request *head) *exchange {
	var answer C.fxgo_answer
	C.fxgo_on_request(n.handle, bytesPtr(request.block), C.size_t(len(request.block)), &answer)
	runtime.KeepAlive(n)
	return begun(n, &answer)
}

// onResponseLate shows both heads of a request that got no exchange. nil: the answer passes.
func (n *native) onResponseLate(request, response *head, body []byte) *exchange {
	var answer C.fxgo_answer
	C.fxgo_on_response_late(n.handle, bytesPtr(request.block), C.size_t(len(request.block)),
		bytesPtr(response.block), C.size_t(len(response.block)), bytesPtr(body), C.size_t(len(body)), &answer)
	runtime.KeepAlive(n)
	return begun(n, &answer)
}

// exchange is one HTTP exchange and its newest verdict. end frees it; it is never left to the garbage collector.
type exchange struct {
	native *native
	answer C.fxgo_answer
}

func begun(n *native, answer *C.fxgo_answer) *exchange {
	if answer.exchange == nil {
		return nil
	}
	return &exchange{native: n, answer: *answer}
}

func (x *exchange) onRequestBody(body []byte) {
	C.fxgo_on_request_body(x.answer.exchange, bytesPtr(body), C.size_t(len(body)), &x.answer)
}

func (x *exchange) onResponse(response *head, body []byte) {
	C.fxgo_on_response(x.answer.exchange, bytesPtr(response.block), C.size_t(len(response.block)),
		bytesPtr(body), C.size_t(len(body)), &x.answer)
}

// wait blocks for limit at most.
func (x *exchange) wait(limit time.Duration) {
	C.fxgo_wait(x.answer.exchange, milliseconds(limit), &x.answer)
}

// end records what became of the answer and frees. Twice is fine.
func (x *exchange) end(kind uint32, status int, bytes int64) {
	if x.answer.exchange == nil {
		return
	}
	C.fxgo_end(x.answer.exchange, C.uint32_t(kind), C.uint32_t(status), C.uint64_t(bytes))
	x.answer = C.fxgo_answer{}
}

func (x *exchange) action() uint32 { return uint32(x.answer.verdict.action) }
func (x *exchange) status() int    { return int(x.answer.verdict.http_status) }
func (x *exchange) bodyLimit() int { return int(x.answer.verdict.body_limit) }

// feedbackID is the id that the answer carries, or empty.
func (x *exchange) feedbackID() string { return string(spanBytes(x.answer.verdict.feedback_id)) }

// target is the target to hand on instead of the one that came.
func (x *exchange) target() (string, bool) {
	return string(spanBytes(x.answer.verdict.target)), x.answer.verdict.flags&C.FX402_TARGET_REPLACED != 0
}

// body is the body to send or to hand on instead of the one that came. It is C memory, gone with the next call.
func (x *exchange) body() ([]byte, bool) {
	return spanBytes(x.answer.verdict.body), x.answer.verdict.flags&C.FX402_BODY_REPLACED != 0
}

// edits are the header changes of the newest verdict, in order, appended to room; all their values are parts of one text.
func (x *exchange) edits(room []edit) []edit {
	given := unsafe.Slice(x.answer.verdict.edits, int(x.answer.verdict.edits_len))
	if len(given) == 0 {
		return room
	}
	size := 0
	for i := range given {
		size += int(given[i].value.len)
	}
	var text strings.Builder
	text.Grow(size)
	for i := range given {
		text.Write(spanBytes(given[i].value))
	}
	rest := text.String()
	for i := range given {
		length := int(given[i].value.len)
		room = append(room, edit{op: uint32(given[i].op), name: headerNameOf(spanBytes(given[i].name)), value: rest[:length]})
		rest = rest[length:]
	}
	return room
}

func (n *native) stats() Stats {
	var s C.fx402_stats
	s.struct_size = C.sizeof_fx402_stats
	C.fx402_engine_stats(n.handle, &s)
	runtime.KeepAlive(n)
	return Stats{
		WorkerRunning: s.worker_running != 0, Queued: uint64(s.queued), Sent: uint64(s.sent), Dropped: uint64(s.dropped),
		FailedPosts: uint64(s.failed_posts), InternalErrors: uint64(s.internal_errors),
		Minted: uint64(s.minted), Described: uint64(s.described), Skipped: uint64(s.skipped),
	}
}

// diagnostics takes the warnings gathered since the last call: a JSON array of texts.
func (n *native) diagnostics() []byte {
	var buf C.fx402_buf
	if C.fx402_engine_diagnostics(n.handle, &buf) != C.FX402_OK {
		return nil
	}
	runtime.KeepAlive(n)
	return taken(&buf)
}

// flush blocks for limit at most.
func (n *native) flush(limit time.Duration) error {
	status := C.fx402_engine_flush(n.handle, milliseconds(limit))
	runtime.KeepAlive(n)
	return failure(status, nil)
}

// shutdown blocks for limit at most.
func (n *native) shutdown(limit time.Duration) error {
	status := C.fx402_engine_shutdown(n.handle, milliseconds(limit))
	runtime.KeepAlive(n)
	return failure(status, nil)
}

func (n *native) mintID() (string, error) {
	var out [C.FX402_ID_LEN + 1]C.char
	status := C.fx402_mint_id(n.handle, &out[0])
	runtime.KeepAlive(n)
	return C.GoString(&out[0]), failure(status, nil)
}

func (n *native) verifyID(id string, nowMs uint64) (IDState, error) {
	var reason C.uint32_t
	status := C.fxgo_verify_id(n.handle, (*C.char)(unsafe.Pointer(unsafe.StringData(id))), C.size_t(len(id)), C.uint64_t(nowMs), &reason)
	runtime.KeepAlive(n)
	return IDState(reason), failure(status, nil)
}

func (n *native) enqueueEvent(json []byte) error {
	var fault C.fx402_error
	status := C.fxgo_enqueue_event(n.handle, bytesPtr(json), C.size_t(len(json)), &fault)
	runtime.KeepAlive(n)
	return failure(status, &fault)
}

func (n *native) enrichOpenAPI(document []byte) ([]byte, bool) {
	var changed C.uint32_t
	var buf C.fx402_buf
	status := C.fxgo_enrich_openapi(n.handle, bytesPtr(document), C.size_t(len(document)), &changed, &buf)
	runtime.KeepAlive(n)
	if status != C.FX402_OK || changed == 0 {
		return nil, false
	}
	return taken(&buf), true
}

// errClosed is what a call after Close says.
var errClosed = errors.New("forge-x402: the engine is closed")

func failure(status C.fx402_status, fault *C.fx402_error) error {
	switch {
	case status == C.FX402_OK:
		return nil
	case status == C.FX402_E_CLOSED:
		return errClosed
	case fault != nil && fault.message[0] != 0:
		return fmt.Errorf("forge-x402: %s", C.GoString(&fault.message[0]))
	default:
		return fmt.Errorf("forge-x402: %s", C.GoString(C.fx402_status_text(status)))
	}
}

func taken(buf *C.fx402_buf) []byte {
	out := C.GoBytes(unsafe.Pointer(buf.ptr), C.int(buf.len))
	C.fx402_buf_free(buf)
	return out
}

func bytesPtr(bytes []byte) *C.uint8_t { return (*C.uint8_t)(unsafe.SliceData(bytes)) }

func spanBytes(span C.fx402_span) []byte {
	return unsafe.Slice((*byte)(span.ptr), int(span.len))
}

func milliseconds(limit time.Duration) C.uint32_t {
	return C.uint32_t(min(max(limit.Milliseconds(), 0), 1<<31))
}
