//go:build cgo

package forgex402

import (
	"net/http"
	"reflect"
	"testing"
)

func TestSnapshotKnowsAHeaderThatIsStillTheSame(t *testing.T) {
	header := http.Header{"A": {"1", "2"}, "B": {""}, "Date": nil, "c": {"3"}}
	s := snapshotOf(200, "/route", header)
	defer s.release()
	if !s.isOf(header) || !s.isOf(header.Clone()) {
		t.Fatal("nothing was changed")
	}
	for why, change := range map[string]func(http.Header){
		"a value":                func(h http.Header) { h["A"] = []string{"1", "3"} },
		"their order":            func(h http.Header) { h["A"] = []string{"2", "1"} },
		"one more":               func(h http.Header) { h["A"] = append(h["A"], "3") },
		"one less":               func(h http.Header) { h["A"] = h["A"][:1] },
		"none":                   func(h http.Header) { h["A"] = nil },
		"a key that goes":        func(h http.Header) { delete(h, "B") },
		"a key that comes":       func(h http.Header) { h["D"] = []string{"4"} },
		"an empty one":           func(h http.Header) { h["D"] = nil },
		"an empty one that goes": func(h http.Header) { delete(h, "Date") },
		"a value where was none": func(h http.Header) { h["Date"] = []string{"x"} },
		"another spelling":       func(h http.Header) { h["C"] = h["c"]; delete(h, "c") },
	} {
		changed := header.Clone()
		change(changed)
		if s.isOf(changed) {
			t.Error("not seen: ", why)
		}
		s.restore(changed)
		if !reflect.DeepEqual(changed, header) {
			t.Errorf("%s: restored as %v", why, changed)
		}
	}
}

func TestEditsKeepTheSpellingInUse(t *testing.T) {
	header := http.Header{"etag": {"1"}, "ETag": {"2"}, "Etag": {"3"}, "PAYMENT-RESPONSE": {"x"}}
	engine := openForTest(t, Options{})
	request := &head{}
	request.begin(bodyNone, 0, "GET", "/weather", "http", "api.example.com", "", "")
	request.line("Payment-Signature", payment)
	x := engine.native.onRequest(request)
	response := responseHead(200, bodyWhole, "", http.Header{"Content-Type": {"application/json"}, "Etag": {"1"}, "Payment-Response": {receipt()}})
	x.onResponse(response, []byte(weather))
	applyEdits(header, x)
	x.end(delivered, 200, 0)
	if len(header["PAYMENT-RESPONSE"]) != 1 || len(header["PAYMENT-RESPONSE"][0]) < 100 || header["Payment-Response"] != nil {
		t.Errorf("the receipt: %v", header)
	}
	for key := range header {
		if isNamed(key, "ETag") {
			t.Errorf("%s is still there", key)
		}
	}
	if len(header.Get("Forge-Feedback-Id")) != 22 || header.Get("Accept-Ranges") != "none" {
		t.Errorf("added: %v", header)
	}
}
