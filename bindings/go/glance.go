//go:build cgo

package forgex402

import (
	"encoding/json"
	"net/http"
	"strings"
)

// glance tells without crossing to C that the engine has nothing to do before the answer: a crossing and the packing of
// header lines cost several times more than this look. It answers "ask" wherever it is not sure; a fuzz test holds it to
// the engine.
type glance struct {
	always bool
	// Paths that are answered or enriched; base with whatever follows it.
	base  string
	exact []string
}

func newGlance(o *Options) glance {
	g := glance{always: o.Visits, base: o.BasePath}
	if g.base == "" {
		g.base = "/feedback"
	}
	if o.OpenAPI == nil {
		g.exact = []string{"/openapi.json"}
		return g
	}
	text, err := json.Marshal(o.OpenAPI)
	var openapi struct {
		Paths []string `json:"paths"`
	}
	switch {
	case err == nil && string(text) == "false":
	case err == nil && json.Unmarshal(text, &openapi) == nil && openapi.Paths != nil:
		g.exact = openapi.Paths
	default:
		g.exact = []string{"/openapi.json"}
	}
	return g
}

// asks says whether the engine is to see the request.
func (g *glance) asks(r *http.Request) bool {
	if g.always || carries(r.Header, "Payment-Signature") || carries(r.Header, "X-Payment") {
		return true
	}
	for _, value := range r.Header["Authorization"] {
		if len(value) > 0 && value[0]|0x20 == 'x' {
			return true
		}
	}
	target := r.RequestURI
	if target == "" || strings.HasPrefix(target, g.base) || strings.HasPrefix(target, "/.well-known/") {
		return true
	}
	path := target
	if mark := strings.IndexByte(target, '?'); mark >= 0 {
		path = target[:mark]
		if mayHaveContext(target[mark:]) {
			return true
		}
	}
	for _, known := range g.exact {
		if path == known {
			return true
		}
	}
	return false
}

// mayHaveContext looks for one byte first: most queries have no underscore, and a look for a text costs more.
func mayHaveContext(query string) bool {
	return (strings.IndexByte(query, '_') >= 0 && strings.Contains(query, "agent_")) || strings.IndexByte(query, '%') >= 0
}

func carries(header http.Header, name string) bool {
	_, is := header[name]
	return is
}
