//go:build cgo

package forgex402

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"reflect"
	"sync/atomic"
)

// wrap makes a writer that offers exactly the optional interfaces that inner offers: a handler that asks for one must get
// the answer it would get without us. The writers of HTTP/1 and HTTP/2 cost one allocation.
func wrap(inner http.ResponseWriter, offered int, e *Engine, r *http.Request, x *exchange) (http.ResponseWriter, *writer) {
	switch offered {
	case flushes | hijacks | reads | notifies:
		w := &http1{writer{inner: inner, engine: e, request: r, exchange: x}}
		return w, &w.writer
	case flushes | pushes | notifies:
		w := &http2{writer{inner: inner, engine: e, request: r, exchange: x}}
		return w, &w.writer
	}
	w := &writer{inner: inner, engine: e, request: r, exchange: x}
	return others[offered](w), w
}

// kind is what a type of ResponseWriter offers.
type kind struct {
	of      reflect.Type
	offered int
	// It has Unwrap.
	wraps bool
}

// lastKind saves the questions: a server hands out writers of one type, or two.
var lastKind atomic.Pointer[kind]

func kindOf(w http.ResponseWriter) *kind {
	of := reflect.TypeOf(w)
	if last := lastKind.Load(); last != nil && last.of == of {
		return last
	}
	k := &kind{of: of}
	if _, is := w.(http.Flusher); is {
		k.offered |= flushes
	}
	if _, is := w.(http.Hijacker); is {
		k.offered |= hijacks
	}
	if _, is := w.(io.ReaderFrom); is {
		k.offered |= reads
	}
	if _, is := w.(http.Pusher); is {
		k.offered |= pushes
	}
	if _, is := w.(http.CloseNotifier); is { //nolint:staticcheck // deprecated, and gin still asks for it
		k.offered |= notifies
	}
	_, k.wraps = w.(interface{ Unwrap() http.ResponseWriter })
	lastKind.Store(k)
	return k
}

const (
	flushes = 1 << iota
	hijacks
	reads
	pushes
	notifies
)

// http1 is for what net/http gives to a handler of an HTTP/1 request.
type http1 struct{ writer }

func (w *http1) Flush()                                       { w.flush() }
func (w *http1) Hijack() (net.Conn, *bufio.ReadWriter, error) { return w.hijack() }
func (w *http1) ReadFrom(from io.Reader) (int64, error)       { return w.readFrom(from) }
func (w *http1) CloseNotify() <-chan bool                     { return closeNotifier{&w.writer}.CloseNotify() }

// http2 is for what it gives to a handler of an HTTP/2 request.
type http2 struct{ writer }

func (w *http2) Flush() { w.flush() }
func (w *http2) Push(target string, how *http.PushOptions) error {
	return pusher{&w.writer}.Push(target, how)
}
func (w *http2) CloseNotify() <-chan bool { return closeNotifier{&w.writer}.CloseNotify() }

type (
	flusher       struct{ w *writer }
	hijacker      struct{ w *writer }
	readerFrom    struct{ w *writer }
	pusher        struct{ w *writer }
	closeNotifier struct{ w *writer }
)

func (f flusher) Flush()                                        { f.w.flush() }
func (h hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) { return h.w.hijack() }
func (r readerFrom) ReadFrom(from io.Reader) (int64, error)     { return r.w.readFrom(from) }
func (p pusher) Push(target string, how *http.PushOptions) error {
	return p.w.inner.(http.Pusher).Push(target, how)
}
func (c closeNotifier) CloseNotify() <-chan bool {
	return c.w.inner.(http.CloseNotifier).CloseNotify() //nolint:staticcheck
}

// others has a maker for every set of interfaces.
var others = [1 << 5]func(w *writer) http.ResponseWriter{
	0: func(w *writer) http.ResponseWriter { return w },
	flushes: func(w *writer) http.ResponseWriter {
		return &struct {
			*writer
			flusher
		}{w, flusher{w}}
	},
	hijacks: func(w *writer) http.ResponseWriter {
		return &struct {
			*writer
			hijacker
		}{w, hijacker{w}}
	},
	flushes | hijacks: func(w *writer) http.ResponseWriter {
		return &struct {
			*writer
			flusher
			hijacker
		}{w, flusher{w}, hijacker{w}}
	},
	reads: func(w *writer) http.ResponseWriter {
		return &struct {
			*writer
			readerFrom
		}{w, readerFrom{w}}
	},
	flushes | reads: func(w *writer) http.ResponseWriter {
		return &struct {
			*writer
			flusher
			readerFrom
		}{w, flusher{w}, readerFrom{w}}
	},
	hijacks | reads: func(w *writer) http.ResponseWriter {
		return &struct {
			*writer
			hijacker
			readerFrom
		}{w, hijacker{w}, readerFrom{w}}
	},
	flushes | hijacks | reads: func(w *writer) http.ResponseWriter {
		return &struct {
			*writer
			flusher
			hijacker
			readerFrom
		}{w, flusher{w}, hijacker{w}, readerFrom{w}}
	},
	pushes: func(w *writer) http.ResponseWriter {
		return &struct {
			*writer
			pusher
		}{w, pusher{w}}
	},
	flushes | pushes: func(w *writer) http.ResponseWriter {
		return &struct {
			*writer
			flusher
			pusher
		}{w, flusher{w}, pusher{w}}
	},
	hijacks | pushes: func(w *writer) http.ResponseWriter {
		return &struct {
			*writer
			hijacker
			pusher
		}{w, hijacker{w}, pusher{w}}
	},
	flushes | hijacks | pushes: func(w *writer) http.ResponseWriter {
		return &struct {
			*writer
			flusher
			hijacker
			pusher
		}{w, flusher{w}, hijacker{w}, pusher{w}}
	},
	reads | pushes: func(w *writer) http.ResponseWriter {
		return &struct {
			*writer
			readerFrom
			pusher
		}{w, readerFrom{w}, pusher{w}}
	},
	flushes | reads | pushes: func(w *writer) http.ResponseWriter {
		return &struct {
			*writer
			flusher
			readerFrom
			pusher
		}{w, flusher{w}, readerFrom{w}, pusher{w}}
	},
	hijacks | reads | pushes: func(w *writer) http.ResponseWriter {
		return &struct {
			*writer
			hijacker
			readerFrom
			pusher
		}{w, hijacker{w}, readerFrom{w}, pusher{w}}
	},
	flushes | hijacks | reads | pushes: func(w *writer) http.ResponseWriter {
		return &struct {
			*writer
			flusher
			hijacker
			readerFrom
			pusher
		}{w, flusher{w}, hijacker{w}, readerFrom{w}, pusher{w}}
	},
	notifies: func(w *writer) http.ResponseWriter {
		return &struct {
			*writer
			closeNotifier
		}{w, closeNotifier{w}}
	},
	flushes | notifies: func(w *writer) http.ResponseWriter {
		return &struct {
			*writer
			flusher
			closeNotifier
		}{w, flusher{w}, closeNotifier{w}}
	},
	hijacks | notifies: func(w *writer) http.ResponseWriter {
		return &struct {
			*writer
			hijacker
			closeNotifier
		}{w, hijacker{w}, closeNotifier{w}}
	},
	flushes | hijacks | notifies: func(w *writer) http.ResponseWriter {
		return &struct {
			*writer
			flusher
			hijacker
			closeNotifier
		}{w, flusher{w}, hijacker{w}, closeNotifier{w}}
	},
	reads | notifies: func(w *writer) http.ResponseWriter {
		return &struct {
			*writer
			readerFrom
			closeNotifier
		}{w, readerFrom{w}, closeNotifier{w}}
	},
	flushes | reads | notifies: func(w *writer) http.ResponseWriter {
		return &struct {
			*writer
			flusher
			readerFrom
			closeNotifier
		}{w, flusher{w}, readerFrom{w}, closeNotifier{w}}
	},
	hijacks | reads | notifies: func(w *writer) http.ResponseWriter {
		return &struct {
			*writer
			hijacker
			readerFrom
			closeNotifier
		}{w, hijacker{w}, readerFrom{w}, closeNotifier{w}}
	},
	flushes | hijacks | reads | notifies: func(w *writer) http.ResponseWriter {
		return &struct {
			*writer
			flusher
			hijacker
			readerFrom
			closeNotifier
		}{w, flusher{w}, hijacker{w}, readerFrom{w}, closeNotifier{w}}
	},
	pushes | notifies: func(w *writer) http.ResponseWriter {
		return &struct {
			*writer
			pusher
			closeNotifier
		}{w, pusher{w}, closeNotifier{w}}
	},
	flushes | pushes | notifies: func(w *writer) http.ResponseWriter {
		return &struct {
			*writer
			flusher
			pusher
			closeNotifier
		}{w, flusher{w}, pusher{w}, closeNotifier{w}}
	},
	hijacks | pushes | notifies: func(w *writer) http.ResponseWriter {
		return &struct {
			*writer
			hijacker
			pusher
			closeNotifier
		}{w, hijacker{w}, pusher{w}, closeNotifier{w}}
	},
	flushes | hijacks | pushes | notifies: func(w *writer) http.ResponseWriter {
		return &struct {
			*writer
			flusher
			hijacker
			pusher
			closeNotifier
		}{w, flusher{w}, hijacker{w}, pusher{w}, closeNotifier{w}}
	},
	reads | pushes | notifies: func(w *writer) http.ResponseWriter {
		return &struct {
			*writer
			readerFrom
			pusher
			closeNotifier
		}{w, readerFrom{w}, pusher{w}, closeNotifier{w}}
	},
	flushes | reads | pushes | notifies: func(w *writer) http.ResponseWriter {
		return &struct {
			*writer
			flusher
			readerFrom
			pusher
			closeNotifier
		}{w, flusher{w}, readerFrom{w}, pusher{w}, closeNotifier{w}}
	},
	hijacks | reads | pushes | notifies: func(w *writer) http.ResponseWriter {
		return &struct {
			*writer
			hijacker
			readerFrom
			pusher
			closeNotifier
		}{w, hijacker{w}, readerFrom{w}, pusher{w}, closeNotifier{w}}
	},
	flushes | hijacks | reads | pushes | notifies: func(w *writer) http.ResponseWriter {
		return &struct {
			*writer
			flusher
			hijacker
			readerFrom
			pusher
			closeNotifier
		}{w, flusher{w}, hijacker{w}, readerFrom{w}, pusher{w}, closeNotifier{w}}
	},
}
