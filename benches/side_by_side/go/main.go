// The same net/http merchant with and without forge-x402, side by side: one process, rounds that alternate, medians.
//
//	go run -tags forge_x402_checkout .        ends by itself after about half a minute
//
// Client, merchant and facilitator are in this process, so processor time counts all of them, alike on both sides; what
// is added is the difference. The payment middleware asks a facilitator on loopback, which agrees with everything.
package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"syscall"
	"time"

	forgex402 "example.com/forge-x402/bindings/go"
)

const (
	rounds  = 41
	weather = `{"temperature": 21.50, "sky": "clear"}`
)

var (
	payment   = base64.StdEncoding.EncodeToString([]byte(`{"x402Version":2,"payload":{"signature":"0x00","authorization":{"from":"0x0000000000000000000000000000000000000001","to":"0x1111111111111111111111111111111111111111","value":"1000"}},"accepted":{"scheme":"exact","network":"eip155:84532","amount":"1000"}}`))
	challenge = base64.StdEncoding.EncodeToString([]byte(`{"x402Version":2,"error":"Payment required","resource":{"url":"https://api.example.com/weather","description":"Weather.","mimeType":"application/json"},"accepts":[{"scheme":"exact","network":"eip155:84532","amount":"1000","asset":"0x036CbD53842c5426634e7929541eC2318f3dCF7e","payTo":"0x1111111111111111111111111111111111111111","maxTimeoutSeconds":60,"extra":{"name":"USDC","version":"2"}}]}`))
)

func main() {
	facilitator := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"isValid":true,"success":true,"transaction":"0x01","network":"eip155:84532","payer":"0x0000000000000000000000000000000000000001"}`)
	}))
	defer facilitator.Close()
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) }))
	defer collector.Close()
	engine, err := forgex402.Open(forgex402.Options{APIKey: "ffk_test_0123456789abcdef", PublicURL: "https://api.example.com", BackendURL: collector.URL,
		Strict: true, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		log.Fatal(err)
	}
	merchant := merchantAt(facilitator.URL)
	bare, ours := httptest.NewServer(merchant), httptest.NewServer(engine.Middleware(merchant))
	defer bare.Close()
	defer ours.Close()

	fmt.Printf("%-10s %14s %14s %14s %12s\n", "", "without us", "with us", "added CPU", "req/s ratio")
	for _, scenario := range []struct {
		name, path, payment string
		status, requests    int
	}{{"free", "/free", "", 200, 400}, {"402", "/weather", "", 402, 400}, {"paid", "/weather", payment, 200, 150}} {
		measure(scenario.name, bare.URL+scenario.path, ours.URL+scenario.path, scenario.payment, scenario.status, scenario.requests)
	}
}

func measure(name, bare, ours, payment string, status, requests int) {
	var without, with, added, ratios []float64
	for range rounds {
		bareCPU, bareWall := round(bare, payment, status, requests)
		oursCPU, oursWall := round(ours, payment, status, requests)
		without, with = append(without, bareCPU), append(with, oursCPU)
		added, ratios = append(added, oursCPU-bareCPU), append(ratios, bareWall/oursWall)
	}
	fmt.Printf("%-10s %11.1f µs %11.1f µs %11.2f µs %12.3f\n", name, median(without), median(with), median(added), median(ratios))
}

// round returns processor time and time for one request, in microseconds.
func round(url, payment string, status, requests int) (cpu, wall float64) {
	begun, begunCPU := time.Now(), cpuTime()
	for range requests {
		request, err := http.NewRequest(http.MethodGet, url, nil)
		if err != nil {
			log.Fatal(err)
		}
		if payment != "" {
			request.Header.Set("PAYMENT-SIGNATURE", payment)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			log.Fatal(err)
		}
		io.Copy(io.Discard, response.Body)
		response.Body.Close()
		if response.StatusCode != status {
			log.Fatalf("%s: %d", url, response.StatusCode)
		}
	}
	n := float64(requests) * 1000
	return float64(cpuTime()-begunCPU) / n, float64(time.Since(begun).Nanoseconds()) / n
}

func merchantAt(facilitator string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/free", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, weather) })
	mux.HandleFunc("/weather", func(w http.ResponseWriter, r *http.Request) {
		paid := r.Header.Get("PAYMENT-SIGNATURE")
		if paid == "" {
			w.Header().Set("PAYMENT-REQUIRED", challenge)
			answer(w, http.StatusPaymentRequired, "{}")
			return
		}
		text, err := base64.StdEncoding.DecodeString(paid)
		var receipt []byte
		for _, step := range []string{"/verify", "/settle"} {
			if err == nil {
				receipt, err = ask(facilitator+step, text)
			}
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		w.Header().Set("PAYMENT-RESPONSE", base64.StdEncoding.EncodeToString(receipt))
		answer(w, http.StatusOK, weather)
	})
	return mux
}

func ask(url string, body []byte) ([]byte, error) {
	response, err := http.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return io.ReadAll(response.Body)
}

func answer(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	io.WriteString(w, body)
}

func cpuTime() int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		log.Fatal(err)
	}
	return usage.Utime.Nano() + usage.Stime.Nano()
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
