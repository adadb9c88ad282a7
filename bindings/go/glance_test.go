//go:build cgo

package forgex402

import (
	"net/http"
	"testing"
)

// Where the glance does not ask, the engine has nothing to say.
func FuzzGlanceIsNeverWiserThanTheEngine(f *testing.F) {
	for _, target := range []string{"/", "/weather?city=1", "/feedback", "/feedback/rate?feedback_id=x", "/feedback?x", "/feedbackx", "/openapi.json",
		"/openapi.json?x=1", "/a?agent_type=x", "/a?%61gent_type=x", "/a?b=1&agent_client=c", "/a?agent_search_query=", "/.well-known/x402",
		"/.well-known/forge-feedback.json", "*", "http://x/feedback", "/a?AGENT_TYPE=x", "/a?+agent_type=x"} {
		for _, header := range []string{"", "Payment-Signature", "X-Payment", "Authorization", "Accept"} {
			f.Add("GET", target, header, "x402 abc")
			f.Add("POST", target, header, payment)
		}
	}
	engines := []*Engine{openForTest(f, Options{}), openForTest(f, Options{Discovery: true, BasePath: "/rate-us", OpenAPI: map[string]any{"paths": []string{"/spec"}}}),
		openForTest(f, Options{OpenAPI: false, Visits: true, BackendURL: "http://127.0.0.1:9"})}
	f.Fuzz(func(t *testing.T, method, target, name, value string) {
		r := &http.Request{Method: method, RequestURI: target, Header: http.Header{}, Body: http.NoBody}
		if target == "" {
			return // A server always has one.
		}
		r.Header.Set(name, value)
		for _, e := range engines {
			request := e.requestHead(r)
			x := e.native.onRequest(request)
			request.release()
			if x != nil {
				x.end(delivered, 200, 0)
				if !e.glance.asks(r) {
					t.Errorf("the engine wants to see %q", request.block)
				}
			}
		}
	})
}
