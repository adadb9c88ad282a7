//go:build cgo

package forgex402

/*
#include <forge_x402.h>

static fx402_headers fxgo_lines(const uint8_t *packed, size_t len) {
	fx402_headers lines = { NULL, 0, { packed, len } };
	return lines;
}

static fx402_status fxgo_client_parse_challenge(uint32_t http_status, const uint8_t *packed, size_t packed_len,
		const uint8_t *body, size_t body_len, fx402_buf *json, fx402_error *err) {
	fx402_headers lines = fxgo_lines(packed, packed_len);
	fx402_span text = { body, body_len };
	err->struct_size = sizeof *err;
	return fx402_client_parse_challenge(http_status, &lines, text, json, err);
}

static fx402_status fxgo_client_parse_diagnostic(const uint8_t *packed, size_t packed_len, const uint8_t *body, size_t body_len,
		fx402_buf *json, fx402_error *err) {
	fx402_headers lines = fxgo_lines(packed, packed_len);
	fx402_span text = { body, body_len };
	err->struct_size = sizeof *err;
	return fx402_client_parse_diagnostic(&lines, text, json, err);
}

static fx402_status fxgo_client_decide(const uint8_t *diagnostic, size_t diagnostic_len, const uint8_t *state, size_t state_len,
		fx402_buf *json, fx402_error *err) {
	fx402_span one = { diagnostic, diagnostic_len }, two = { state, state_len };
	err->struct_size = sizeof *err;
	return fx402_client_decide(one, two, json, err);
}

static fx402_status fxgo_client_escalation_event(const uint8_t *diagnostic, size_t diagnostic_len, const uint8_t *call,
		size_t call_len, fx402_buf *json, fx402_error *err) {
	fx402_span one = { diagnostic, diagnostic_len }, two = { call, call_len };
	err->struct_size = sizeof *err;
	return fx402_client_escalation_event(one, two, json, err);
}

static fx402_status fxgo_client_budget_new(const uint8_t *limits, size_t len, fx402_budget **out, fx402_error *err) {
	fx402_span text = { limits, len };
	err->struct_size = sizeof *err;
	return fx402_client_budget_new(text, out, err);
}

static fx402_status fxgo_client_budget(fx402_budget *b, int books, uint64_t now_ms, const uint8_t *amount, size_t len,
		int32_t decimals, fx402_error *err) {
	fx402_span text = { amount, len };
	err->struct_size = sizeof *err;
	if (books) return fx402_client_budget_spend(b, now_ms, text, decimals, err);
	return fx402_client_budget_check(b, now_ms, text, decimals, err);
}
*/
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"
)

// Budget is what an agent may spend, exact to 18 decimals. Any goroutines may use it at once.
type Budget struct{ handle *C.fx402_budget }

func newBudget(limits []byte) (*Budget, error) {
	var handle *C.fx402_budget
	var fault C.fx402_error
	if status := C.fxgo_client_budget_new(bytesPtr(limits), C.size_t(len(limits)), &handle, &fault); status != C.FX402_OK {
		return nil, failure(status, &fault)
	}
	b := &Budget{handle}
	runtime.AddCleanup(b, func(handle *C.fx402_budget) { C.fx402_client_budget_free(handle) }, handle)
	return b, nil
}

func (b *Budget) check(nowMs uint64, amount string, decimals int32) error {
	return b.ask(0, nowMs, amount, decimals)
}

func (b *Budget) spend(nowMs uint64, amount string, decimals int32) error {
	return b.ask(1, nowMs, amount, decimals)
}

func (b *Budget) ask(books C.int, nowMs uint64, amount string, decimals int32) error {
	var fault C.fx402_error
	text := (*C.uint8_t)(unsafe.StringData(amount))
	status := C.fxgo_client_budget(b.handle, books, C.uint64_t(nowMs), text, C.size_t(len(amount)), C.int32_t(decimals), &fault)
	runtime.KeepAlive(b)
	if status == C.FX402_E_BUDGET {
		return fmt.Errorf("%w: %s", ErrOverBudget, C.GoString(&fault.message[0]))
	}
	return failure(status, &fault)
}

func (b *Budget) left(nowMs uint64) (string, error) {
	var buf C.fx402_buf
	status := C.fx402_client_budget_left(b.handle, C.uint64_t(nowMs), &buf)
	runtime.KeepAlive(b)
	if status != C.FX402_OK {
		return "", failure(status, nil)
	}
	return string(taken(&buf)), nil
}

func clientParseChallenge(status int, packed, body []byte) ([]byte, error) {
	var buf C.fx402_buf
	var fault C.fx402_error
	// A number that is no status becomes 0, which no challenge has.
	if status < 0 || status > 999 {
		status = 0
	}
	result := C.fxgo_client_parse_challenge(C.uint32_t(status), bytesPtr(packed), C.size_t(len(packed)), bytesPtr(body), C.size_t(len(body)), &buf, &fault)
	return client(result, &buf, &fault)
}

func clientParseDiagnostic(packed, body []byte) ([]byte, error) {
	var buf C.fx402_buf
	var fault C.fx402_error
	result := C.fxgo_client_parse_diagnostic(bytesPtr(packed), C.size_t(len(packed)), bytesPtr(body), C.size_t(len(body)), &buf, &fault)
	return client(result, &buf, &fault)
}

func clientDecide(diagnostic, state []byte) ([]byte, error) {
	var buf C.fx402_buf
	var fault C.fx402_error
	result := C.fxgo_client_decide(bytesPtr(diagnostic), C.size_t(len(diagnostic)), bytesPtr(state), C.size_t(len(state)), &buf, &fault)
	return client(result, &buf, &fault)
}

func clientEscalationEvent(diagnostic, call []byte) ([]byte, error) {
	var buf C.fx402_buf
	var fault C.fx402_error
	result := C.fxgo_client_escalation_event(bytesPtr(diagnostic), C.size_t(len(diagnostic)), bytesPtr(call), C.size_t(len(call)), &buf, &fault)
	return client(result, &buf, &fault)
}

func client(status C.fx402_status, buf *C.fx402_buf, fault *C.fx402_error) ([]byte, error) {
	if status != C.FX402_OK {
		return nil, failure(status, fault)
	}
	return taken(buf), nil
}
