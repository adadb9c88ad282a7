//go:build cgo

package forgex402

import (
	"bufio"
	"io"
	"maps"
	"net"
	"net/http"
	"strconv"
	"unsafe"
)

// writer stands between a handler and the server's ResponseWriter. It shows the engine the head of a paid answer or of a
// 402, and holds a body only while the engine may still edit it: until the handler returns or flushes, the stated length
// is reached, or the limit is. A short answer is shown whole, which takes one call instead of two. Everything else goes
// straight through. Decides nothing itself.
type writer struct {
	inner    http.ResponseWriter
	engine   *Engine
	request  *http.Request
	exchange *exchange
	held     *held
	sent     int64
	// Every request has a writer, so it is no larger than 64 bytes.
	status int32
	phase  phase
	// The handler called WriteHeader itself.
	explicit bool
	hijacked bool
	broken   bool
}

type phase uint8

const (
	// open: nothing is decided.
	open phase = iota
	// holding: head and body wait for the rest of the body, or for enough of it to ask about the head alone.
	holding
	// passing: the head has gone, or does not concern us.
	passing
)

// held is an answer that has not been sent yet.
type held struct {
	snapshot
	body  []byte
	limit int
	// Content-Length, or -1.
	stated int
	// The engine has seen the head and wants the body; until then limit is undecided.
	wanted bool
	// Where body begins, so that a short one takes no memory of its own.
	room [96]byte
}

// undecided is how much of an answer is held before the engine is asked about its head alone: as much as net/http itself
// holds back until the handler returns or flushes, so nobody sees a byte later for it.
const undecided = 2048

func (w *writer) forgeX402() {}

func (w *writer) Header() http.Header { return w.inner.Header() }

// WriteHeader begins the answer. Interim answers go out at once and are none of ours.
func (w *writer) WriteHeader(status int) {
	switch {
	case w.phase == holding:
		return // A second head: the server would drop it too.
	case w.phase == passing || (status < 200 && status != http.StatusSwitchingProtocols) || status > 999:
		w.inner.WriteHeader(status)
	default:
		w.explicit = true
		w.begin(status)
	}
}

func (w *writer) Write(data []byte) (int, error) {
	if w.phase == open {
		w.begin(http.StatusOK)
	}
	if w.phase == holding {
		if w.hold(data) {
			return len(data), nil
		}
		w.letGo()
	}
	n, err := w.inner.Write(data)
	w.wrote(int64(n), err)
	return n, err
}

// WriteString is Write without a copy: what is held is copied anyway, and the inner writer is given the text.
func (w *writer) WriteString(data string) (int, error) {
	if w.phase == open {
		w.begin(http.StatusOK)
	}
	if w.phase == holding {
		if w.hold(unsafe.Slice(unsafe.StringData(data), len(data))) {
			return len(data), nil
		}
		w.letGo()
	}
	n, err := io.WriteString(w.inner, data)
	w.wrote(int64(n), err)
	return n, err
}

// begin decides what becomes of an answer with that status.
func (w *writer) begin(status int) {
	w.status = int32(status)
	if w.exchange == nil && status != http.StatusPaymentRequired {
		w.pass()
		return
	}
	if status == http.StatusSwitchingProtocols {
		w.pass()
		w.end(delivered)
		return
	}
	if w.request.Method == http.MethodHead || !allowsBody(status) {
		w.show(bodyNone, nil)
		w.send()
		return
	}
	w.phase = holding
	header := w.inner.Header()
	w.held = &held{
		snapshot: snapshotOf(status, w.engine.route(w.request), header), limit: undecided, stated: contentLength(header),
	}
	w.held.body = w.held.room[:0]
	if w.held.stated > undecided {
		w.ask()
	}
}

// ask shows the engine the head of an answer whose body is too long to wait for unasked: it is held on, or it goes.
func (w *writer) ask() {
	w.show(bodyUnread, nil)
	if w.exchange != nil && w.exchange.action() == actionWantBody {
		if limit := w.exchange.bodyLimit(); w.held.stated <= limit {
			w.held.limit, w.held.wanted = limit, true
			return
		}
	}
	w.send()
}

// show tells the engine of the head as it stands, and of the body if there is one.
func (w *writer) show(flags uint32, body []byte) {
	var response *head
	if w.held != nil {
		response = w.held.head
		response.setFlags(flags)
	} else {
		response = responseHead(int(w.status), flags, w.engine.route(w.request), w.inner.Header())
		defer response.release()
	}
	if w.exchange != nil {
		w.exchange.onResponse(response, body)
	} else {
		request := w.engine.requestHead(w.request)
		w.exchange = w.engine.native.onResponseLate(request, response, body)
		request.release()
	}
}

// hold keeps a copy of a part of the body; false if it does not fit any more.
func (w *writer) hold(data []byte) bool {
	size := len(w.held.body) + len(data)
	if size > w.held.limit && !w.held.wanted {
		if w.ask(); w.phase != holding {
			return false
		}
	}
	if size > w.held.limit || (w.held.stated >= 0 && size > w.held.stated) {
		return false
	}
	w.held.body = append(w.held.body, data...)
	if size == w.held.stated {
		w.complete()
	}
	return true
}

// complete shows the engine the whole body and sends what it makes of it.
func (w *writer) complete() {
	w.show(bodyWhole, w.held.body)
	if w.exchange != nil {
		if body, replaced := w.exchange.body(); replaced {
			w.held.body = body
		}
	}
	w.send()
}

// letGo gives up holding: the head goes as the engine wants it without its body, then what was held.
func (w *writer) letGo() {
	if w.phase == holding {
		w.showHead()
		w.send()
	}
}

// showHead is for an answer that cannot be waited for and whose head the engine has not seen.
func (w *writer) showHead() {
	if !w.held.wanted {
		w.show(bodyUnread, nil)
	}
}

// send lets the head go with the edits of the newest verdict, and the held body after it.
func (w *writer) send() {
	header, held := w.inner.Header(), w.held
	var later http.Header
	if held != nil {
		if !held.isOf(header) {
			later = maps.Clone(header)
			held.restore(header)
		}
		held.release()
	}
	if w.exchange != nil {
		applyEdits(header, w.exchange)
	}
	w.explicit = w.explicit || held != nil
	w.pass()
	if held == nil {
		return
	}
	w.held = nil
	if len(held.body) > 0 {
		n, err := w.inner.Write(held.body)
		w.wrote(int64(n), err)
	}
	if later != nil {
		become(header, later)
	}
}

func (w *writer) pass() {
	w.phase = passing
	if w.explicit {
		w.inner.WriteHeader(int(w.status))
	}
}

func (w *writer) wrote(n int64, err error) {
	w.sent += n
	w.broken = w.broken || err != nil
}

// finish is called when the handler has returned.
func (w *writer) finish() {
	if w.phase == holding {
		w.complete()
	}
	if w.phase == open && w.exchange != nil && !w.hijacked && !isNested(w.inner) {
		// The server answers 200 without a body.
		w.status = http.StatusOK
		w.show(bodyWhole, nil)
		applyEdits(w.inner.Header(), w.exchange)
	}
	w.phase = passing
	if w.broken || (w.exchange != nil && w.request.Context().Err() != nil) {
		w.end(aborted)
	} else {
		w.end(delivered)
	}
}

// abandon is called last, also when the handler panics.
func (w *writer) abandon() {
	if w.phase == holding {
		w.showHead()
	}
	if w.exchange != nil {
		w.end(failed)
	}
}

func (w *writer) end(kind uint32) {
	w.phase = passing
	if w.exchange == nil {
		return
	}
	status := int(w.status)
	if kind == failed && w.sent == 0 {
		status = http.StatusInternalServerError
	}
	w.exchange.end(kind, status, w.sent)
	w.exchange = nil
}

// Unwrap is for http.ResponseController and for those who look for a type of their own.
func (w *writer) Unwrap() http.ResponseWriter {
	if _, direct := w.inner.(http.Hijacker); direct || !leadsToHijacker(w.inner) {
		return w.inner
	}
	return &behind{w.inner, w}
}

// FlushError is how http.ResponseController flushes; it finds whatever the inner writer has for it.
func (w *writer) FlushError() error {
	w.beforeFlush()
	return http.NewResponseController(w.inner).Flush()
}

func (w *writer) flush() {
	w.beforeFlush()
	w.inner.(http.Flusher).Flush()
}

func (w *writer) beforeFlush() {
	if w.phase == open {
		w.begin(http.StatusOK)
	}
	w.letGo()
}

func (w *writer) hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.letGo()
	conn, buffered, err := http.NewResponseController(w.inner).Hijack()
	if err == nil {
		// The rest is the handler's own business, on its own connection.
		w.hijacked = true
		if w.status == 0 {
			w.status = http.StatusSwitchingProtocols
		}
		w.end(delivered)
	}
	return conn, buffered, err
}

func (w *writer) readFrom(from io.Reader) (int64, error) {
	if w.phase == open {
		w.begin(http.StatusOK)
	}
	if w.phase == holding && !w.held.wanted {
		w.ask()
	}
	if w.phase == holding {
		return io.Copy(struct{ io.Writer }{w}, from)
	}
	n, err := w.inner.(io.ReaderFrom).ReadFrom(from)
	w.wrote(n, err)
	return n, err
}

// behind is what Unwrap shows where only a writer further in can hijack, so that we hear of it.
type behind struct {
	http.ResponseWriter
	writer *writer
}

func (b *behind) Hijack() (net.Conn, *bufio.ReadWriter, error) { return b.writer.hijack() }
func (b *behind) Unwrap() http.ResponseWriter                  { return b.ResponseWriter }

func leadsToHijacker(w http.ResponseWriter) bool {
	for {
		if _, is := w.(http.Hijacker); is {
			return true
		}
		outer, wraps := w.(interface{ Unwrap() http.ResponseWriter })
		if !wraps {
			return false
		}
		w = outer.Unwrap()
	}
}

// isNested says whether somebody stands between us and the server, who may still write an answer when we return.
func isNested(w http.ResponseWriter) bool {
	_, wraps := w.(interface{ Unwrap() http.ResponseWriter })
	return wraps
}

func allowsBody(status int) bool {
	return status != http.StatusNoContent && status != http.StatusNotModified
}

// contentLength is the stated length, or -1. What is no number is the engine's to judge.
func contentLength(header http.Header) int {
	if stated, err := strconv.Atoi(header.Get("Content-Length")); err == nil && stated >= 0 {
		return stated
	}
	return -1
}
