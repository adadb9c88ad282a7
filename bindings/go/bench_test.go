//go:build cgo

package forgex402

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
)

// What one request costs in the middleware alone: "bare" and "ours" differ in nothing else. -benchmem shows allocations.

type nowhere struct{ header http.Header }

func (n *nowhere) Header() http.Header            { return n.header }
func (n *nowhere) Write(data []byte) (int, error) { return len(data), nil }
func (n *nowhere) WriteHeader(int)                {}

func browserRequest(i int) *http.Request {
	r := httptest.NewRequest("GET", fmt.Sprintf("/weather/%d?city=%d", i, i*7919), nil)
	for _, header := range [][2]string{{"User-Agent", "Mozilla/5.0"}, {"Accept", "*/*"}, {"Accept-Encoding", "gzip, deflate, br"},
		{"Accept-Language", "en"}, {"Referer", "https://example.org/"}, {"X-Request-Id", fmt.Sprint(i)}} {
		r.Header.Set(header[0], header[1])
	}
	return r
}

func benchmark(b *testing.B, handler http.HandlerFunc, prepare func(*http.Request)) {
	requests := make([]*http.Request, 16)
	for i := range requests {
		requests[i] = browserRequest(i)
		prepare(requests[i])
	}
	for _, ours := range []bool{false, true} {
		var serving http.Handler = handler
		if ours {
			serving = openForTest(b, Options{AgentContext: "read"}).Middleware(handler)
		}
		b.Run(map[bool]string{false: "bare", true: "ours"}[ours], func(b *testing.B) {
			b.ReportAllocs()
			w := &nowhere{http.Header{}}
			begun := cpuTime()
			for i := 0; b.Loop(); i++ {
				clear(w.header)
				serving.ServeHTTP(w, requests[i%len(requests)])
			}
			// Processor time is what a busy machine still tells truly.
			b.ReportMetric(float64(cpuTime()-begun)/float64(b.N), "cpu-ns/op")
		})
	}
}

func BenchmarkOrdinary(b *testing.B) {
	benchmark(b, func(http.ResponseWriter, *http.Request) {}, func(*http.Request) {})
}

func BenchmarkPaid(b *testing.B) {
	value := receipt()
	benchmark(b, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("PAYMENT-RESPONSE", value)
		io.WriteString(w, weather)
	}, func(r *http.Request) { r.Header.Set("PAYMENT-SIGNATURE", payment) })
}

func BenchmarkChallenge(b *testing.B) {
	benchmark(b, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("PAYMENT-REQUIRED", challenge)
		w.WriteHeader(http.StatusPaymentRequired)
		io.WriteString(w, "{}")
	}, func(*http.Request) {})
}

func cpuTime() int64 {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}
