//go:build cgo

package forgex402

import (
	"encoding/binary"
	"net/http"
	"sync"
)

// head is a request's or a response's head in the one block that crosses to C: eight sizes, the bytes they count, then
// header lines as { u32 name_len, u32 value_len, name, value }, native endian.
type head struct{ block []byte }

const sizesLen = 8 * 4

var heads = sync.Pool{New: func() any { return &head{make([]byte, 0, 2048)} }}

// largestKept is the size up to which a block goes back to the pool.
const largestKept = 64 << 10

func (h *head) release() {
	if cap(h.block) <= largestKept {
		heads.Put(h)
	}
}

// requestHead packs what the server read. Give it back with release.
func (e *Engine) requestHead(r *http.Request) *head {
	h := heads.Get().(*head)
	flags := bodyUnread
	if r.Body == nil || r.Body == http.NoBody {
		flags = bodyNone
	}
	target, scheme := r.RequestURI, "http"
	if target == "" {
		target = r.URL.RequestURI()
	}
	if r.TLS != nil {
		scheme = "https"
	}
	h.begin(flags, 0, r.Method, target, scheme, r.Host, "", e.clientIP(r))
	h.lines(r.Header)
	// net/http takes this line out of the header; a body of unknown length has it, or it came over HTTP/2.
	if r.ContentLength < 0 {
		h.line("Transfer-Encoding", "chunked")
	}
	return h
}

// responseHead packs a response about to be sent. Give it back with release.
func responseHead(status int, flags uint32, route string, header http.Header) *head {
	h := heads.Get().(*head)
	h.begin(flags, uint32(status), "", "", "", "", route, "")
	h.lines(header)
	return h
}

func (h *head) begin(flags, status uint32, method, target, scheme, authority, route, clientIP string) {
	b := h.block[:0]
	b = binary.NativeEndian.AppendUint32(b, flags)
	b = binary.NativeEndian.AppendUint32(b, status)
	b = binary.NativeEndian.AppendUint32(b, uint32(len(method)))
	b = binary.NativeEndian.AppendUint32(b, uint32(len(target)))
	b = binary.NativeEndian.AppendUint32(b, uint32(len(scheme)))
	b = binary.NativeEndian.AppendUint32(b, uint32(len(authority)))
	b = binary.NativeEndian.AppendUint32(b, uint32(len(route)))
	b = binary.NativeEndian.AppendUint32(b, uint32(len(clientIP)))
	b = append(b, method...)
	b = append(b, target...)
	b = append(b, scheme...)
	b = append(b, authority...)
	b = append(b, route...)
	h.block = append(b, clientIP...)
}

func (h *head) lines(header http.Header) {
	for name, values := range header {
		for _, value := range values {
			h.line(name, value)
		}
	}
}

func (h *head) line(name, value string) {
	b := binary.NativeEndian.AppendUint32(h.block, uint32(len(name)))
	b = binary.NativeEndian.AppendUint32(b, uint32(len(value)))
	b = append(b, name...)
	h.block = append(b, value...)
}

// setFlags says anew what is known of the body.
func (h *head) setFlags(flags uint32) { binary.NativeEndian.PutUint32(h.block, flags) }
