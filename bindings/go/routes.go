//go:build cgo

package forgex402

import (
	"net/http"
	"reflect"
	"strings"
)

// warnOfTakenRoutes tells the merchant which rating routes stand in front of routes of their own. It can ask http.ServeMux and
// chi; elsewhere the documentation says it.
func (e *Engine) warnOfTakenRoutes(next http.Handler) {
	if e.options.Feedback != nil && !*e.options.Feedback {
		return
	}
	base := e.options.BasePath
	if base == "" {
		base = "/feedback"
	}
	for _, route := range [][2]string{{"GET", base}, {"POST", base}, {"GET", base + "/rate"}, {"GET", base + "/summary"}} {
		if pattern := matched(next, route[0], route[1]); strings.Contains(pattern, route[1]) {
			e.log.Warn("forge-x402: the rating route " + route[0] + " " + route[1] + " hides a route of yours (" + pattern +
				"); set BasePath to have both")
		}
	}
}

// matched is the pattern under which a router would serve the request, or empty.
func matched(router http.Handler, method, path string) (pattern string) {
	if mux, is := router.(interface {
		Handler(*http.Request) (http.Handler, string)
	}); is {
		request, err := http.NewRequest(method, path, nil)
		if err != nil {
			return ""
		}
		_, pattern := mux.Handler(request)
		return pattern
	}
	// chi: Find(*chi.Context, method, path string) string. Called by its shape, so that chi is no dependency.
	find := reflect.ValueOf(router).MethodByName("Find")
	if !find.IsValid() {
		return ""
	}
	shape := find.Type()
	if shape.NumIn() != 3 || shape.NumOut() != 1 || shape.In(0).Kind() != reflect.Pointer ||
		shape.In(1).Kind() != reflect.String || shape.In(2).Kind() != reflect.String || shape.Out(0).Kind() != reflect.String {
		return ""
	}
	defer func() {
		if recover() != nil {
			pattern = ""
		}
	}()
	found := find.Call([]reflect.Value{reflect.New(shape.In(0).Elem()), reflect.ValueOf(method), reflect.ValueOf(path)})
	return found[0].String()
}
