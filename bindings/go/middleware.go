//go:build cgo

package forgex402

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// waitLimit is the longest a rating or summary route waits for the backend; the engine keeps it too.
const waitLimit = 3 * time.Second

// Middleware stands in front of next: the whole router, with the payment middleware inside. It answers the rating routes
// itself and hands everything else on; requests that carry no payment and are not answered 402 are not touched. Where it
// is mounted twice, the inner one passes.
func (e *Engine) Middleware(next http.Handler) http.Handler {
	var first sync.Once
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		first.Do(func() { e.warnOfTakenRoutes(next) })
		e.serve(next, w, r)
	})
}

func (e *Engine) serve(next http.Handler, w http.ResponseWriter, r *http.Request) {
	kind := kindOf(w)
	if kind.wraps && isOurs(w) {
		next.ServeHTTP(w, r)
		return
	}
	var x *exchange
	if e.glance.asks(r) {
		request := e.requestHead(r)
		x = e.native.onRequest(request)
		request.release()
	}
	offered, wrapped := wrap(w, kind.offered, e, r, x)
	// Where the handler panics the exchange ends here, and the panic goes on.
	defer wrapped.abandon()
	if x != nil {
		e.serveExchange(next, r, offered, wrapped)
		return
	}
	next.ServeHTTP(offered, r)
	wrapped.finish()
}

// serveExchange is for the few requests that the engine has something to do with before the answer.
func (e *Engine) serveExchange(next http.Handler, r *http.Request, offered http.ResponseWriter, wrapped *writer) {
	e.reportSometimes()
	asMerchantSeesIt, answered := e.prepare(wrapped.inner, r, wrapped.exchange)
	if answered {
		wrapped.status = int32(wrapped.exchange.status())
		wrapped.end(delivered)
		return
	}
	next.ServeHTTP(offered, asMerchantSeesIt)
	wrapped.finish()
	// The server removes the files of the form that it finds on its own request.
	r.MultipartForm = asMerchantSeesIt.MultipartForm
}

// prepare does what the engine wants before the handler runs: the request to hand on, or that we have answered.
func (e *Engine) prepare(w http.ResponseWriter, r *http.Request, x *exchange) (*http.Request, bool) {
	if target, replaced := x.target(); replaced {
		r = withTarget(r, target)
	}
	if x.action() == actionWantBody {
		r = withBody(r, x)
	}
	if x.action() == actionWait {
		limit := waitLimit
		if deadline, has := r.Context().Deadline(); has {
			limit = min(limit, time.Until(deadline))
		}
		x.wait(limit)
	}
	if x.action() != actionReply {
		return r, false
	}
	applyEdits(w.Header(), x)
	w.WriteHeader(x.status())
	if body, has := x.body(); has {
		w.Write(body)
	}
	return r, true
}

// withTarget is the request with what the engine has cut from its query; the path is as the routers have left it.
func withTarget(r *http.Request, target string) *http.Request {
	cut := *r
	cut.RequestURI = target
	cut.URL = new(url.URL)
	*cut.URL = *r.URL
	_, query, asked := strings.Cut(target, "?")
	cut.URL.RawQuery, cut.URL.ForceQuery = query, asked && query == ""
	cut.Form = nil
	return &cut
}

// withBody shows the engine the request's body, up to its limit, and puts back what the handler is to read. Bytes that
// cannot be read, or are too many, reach the handler as they would without us: the same bytes, then the same error.
func withBody(r *http.Request, x *exchange) *http.Request {
	limit := x.bodyLimit()
	held, err := io.ReadAll(io.LimitReader(r.Body, int64(limit)+1))
	given := *r
	if err != nil {
		given.Body = &body{io.MultiReader(bytes.NewReader(held), failing{err}), r.Body}
		return &given
	}
	x.onRequestBody(held)
	replacement, replaced := x.body()
	if !replaced || x.action() == actionReply {
		given.Body = &body{io.MultiReader(bytes.NewReader(held), r.Body), r.Body}
		return &given
	}
	own := bytes.Clone(replacement)
	given.Header = r.Header.Clone()
	applyEdits(given.Header, x)
	if r.ContentLength >= 0 {
		given.ContentLength = int64(len(own))
		if given.Header.Get("Content-Length") != "" {
			given.Header.Set("Content-Length", strconv.Itoa(len(own)))
		}
	}
	given.Body = &body{bytes.NewReader(own), r.Body}
	return &given
}

// body reads from one place and closes the request's own body.
type body struct {
	io.Reader
	io.Closer
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// isOurs says whether a layer of this package is on the way to the client already.
func isOurs(w http.ResponseWriter) bool {
	for {
		if _, ours := w.(interface{ forgeX402() }); ours {
			return true
		}
		outer, wraps := w.(interface{ Unwrap() http.ResponseWriter })
		if !wraps {
			return false
		}
		w = outer.Unwrap()
	}
}
