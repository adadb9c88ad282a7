// A paid HTTP API on net/http that tells agents how to rate it.
//
//	FORGE_API_KEY=ffk_... go run . 8402 http://127.0.0.1:4020 [collector URL]
//
// GET and POST /weather cost 0.001 USDC by x402 v2: the challenge, verification before the work, settlement after it, both
// asked of the facilitator. With a payment middleware of your own, only main is of interest.
package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	forgex402 "example.com/forge-x402/bindings/go"
)

func main() {
	if len(os.Args) < 3 {
		log.Fatal("nethttp PORT FACILITATOR_URL [COLLECTOR_URL]")
	}
	options := forgex402.Options{APIKey: os.Getenv("FORGE_API_KEY"), PublicURL: "https://api.example.com", Strict: true}
	if len(os.Args) > 3 {
		options.BackendURL = os.Args[3]
	}
	engine, err := forgex402.Open(options)
	if err != nil {
		log.Fatal(err)
	}

	router := http.NewServeMux()
	router.Handle("/weather", paywall(os.Args[2], http.HandlerFunc(weather)))
	router.HandleFunc("/free", weather)
	// In front of everything: the payment middleware is inside.
	server := &http.Server{Addr: "127.0.0.1:" + os.Args[1], Handler: engine.Middleware(router)}

	ended, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	go func() {
		if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
			log.Fatal(err)
		}
	}()
	<-ended.Done()
	limit, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := errors.Join(server.Shutdown(limit), engine.Close(limit)); err != nil {
		log.Print(err)
	}
}

func weather(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, `{"temperature": 21.50, "sky": "clear"}`)
}

var terms = map[string]any{
	"scheme": "exact", "network": "eip155:84532", "amount": "1000", "asset": "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
	"payTo": "0x1111111111111111111111111111111111111111", "maxTimeoutSeconds": 60,
	"extra": map[string]any{"name": "USDC", "version": "2"},
}

// paywall is a payment middleware in miniature: verify, run, settle, send.
func paywall(facilitator string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		payment, err := base64.StdEncoding.DecodeString(r.Header.Get("PAYMENT-SIGNATURE"))
		if err != nil || len(payment) == 0 {
			challenge(w, r, "PAYMENT-SIGNATURE header is required")
			return
		}
		var verified struct {
			IsValid bool `json:"isValid"`
		}
		if _, err := ask(r.Context(), facilitator+"/verify", payment, &verified); err != nil || !verified.IsValid {
			challenge(w, r, "the payment is not valid")
			return
		}
		held := &answer{header: w.Header(), status: http.StatusOK}
		next.ServeHTTP(held, r)
		if held.status < 400 {
			var settled struct {
				Success bool `json:"success"`
			}
			receipt, err := ask(r.Context(), facilitator+"/settle", payment, &settled)
			if err == nil {
				w.Header().Set("PAYMENT-RESPONSE", base64.StdEncoding.EncodeToString(receipt))
			}
			if err != nil || !settled.Success {
				challenge(w, r, "the payment was not settled")
				return
			}
		}
		w.WriteHeader(held.status)
		w.Write(held.body.Bytes())
	})
}

func challenge(w http.ResponseWriter, r *http.Request, why string) {
	text, err := json.Marshal(map[string]any{
		"x402Version": 2, "error": why, "accepts": []any{terms},
		"resource": map[string]any{"url": "http://" + r.Host + r.URL.Path, "description": "Weather now.", "mimeType": "application/json"},
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("PAYMENT-REQUIRED", base64.StdEncoding.EncodeToString(text))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusPaymentRequired)
	io.WriteString(w, "{}")
}

func ask(ctx context.Context, url string, payment []byte, into any) ([]byte, error) {
	question, err := json.Marshal(map[string]any{"x402Version": 2, "paymentPayload": json.RawMessage(payment), "paymentRequirements": terms})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(question))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	return text, json.Unmarshal(text, into)
}

// answer holds the handler's answer until the payment is settled.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header            { return a.header }
func (a *answer) WriteHeader(status int)         { a.status = status }
func (a *answer) Write(data []byte) (int, error) { return a.body.Write(data) }
