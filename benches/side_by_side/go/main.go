// The servers of the side-by-side bench, on net/http.
//
//	server peer                                answers every request as facilitator and collector
//	server bare|ours FACILITATOR COLLECTOR     a merchant: /free, /paid (asks the facilitator), /stub (asks nobody)
//	server same FACILITATOR COLLECTOR ANSWERS  as bare, but /stub sends the larger answers that ours makes, given as JSON
//
// Prints its port and ends on SIGTERM. "bare" and "ours" differ in the middleware, and in nothing else; what "same" takes
// longer than "bare" is what the larger answers cost a server, whoever makes them.
package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	forgex402 "example.com/forge-x402/bindings/go"
)

const (
	weather = `{"temperature": 21.50, "sky": "clear"}`
	agreed  = `{"isValid":true,"success":true,"recorded":true,"transaction":"0x01","network":"eip155:84532","payer":"0x2222222222222222222222222222222222222222"}`
)

var (
	challenge   = base64.StdEncoding.EncodeToString([]byte(`{"x402Version":2,"error":"Payment required","resource":{"url":"https://api.example.com/weather","description":"Weather.","mimeType":"application/json"},"accepts":[{"scheme":"exact","network":"eip155:84532","amount":"1000","asset":"0x036CbD53842c5426634e7929541eC2318f3dCF7e","payTo":"0x1111111111111111111111111111111111111111","maxTimeoutSeconds":60,"extra":{"name":"USDC","version":"2"}}]}`))
	stubReceipt = base64.StdEncoding.EncodeToString([]byte(agreed))
)

func main() {
	var handler http.Handler
	switch {
	case len(os.Args) == 2 && os.Args[1] == "peer":
		handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			answer(w, http.StatusOK, agreed)
		})
	case len(os.Args) == 4 && os.Args[1] == "bare":
		handler = merchant("http://" + os.Args[2])
	case len(os.Args) == 4 && os.Args[1] == "ours":
		engine, err := forgex402.Open(forgex402.Options{APIKey: "ffk_test_0123456789abcdef", PublicURL: "https://api.example.com",
			BackendURL: "http://" + os.Args[3], Strict: true, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
		if err != nil {
			log.Fatal(err)
		}
		defer engine.Close(context.Background())
		handler = engine.Middleware(merchant("http://" + os.Args[2]))
	case len(os.Args) == 5 && os.Args[1] == "same":
		var answers map[string]given
		if err := json.Unmarshal([]byte(os.Args[4]), &answers); err != nil {
			log.Fatal(err)
		}
		handler = sending(answers["402"], answers["200"])
	default:
		log.Fatal("server peer | server bare|ours FACILITATOR COLLECTOR")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	server := http.Server{Handler: handler}
	go server.Serve(listener)
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	<-ended
	within, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	server.Shutdown(within)
}

func merchant(facilitator string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/free", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, weather) })
	mux.HandleFunc("/stub", selling(func([]byte) (string, error) { return stubReceipt, nil }))
	mux.HandleFunc("/paid", selling(func(payment []byte) (string, error) {
		if _, err := ask(facilitator+"/verify", payment); err != nil {
			return "", err
		}
		receipt, err := ask(facilitator+"/settle", payment)
		return base64.StdEncoding.EncodeToString(receipt), err
	}))
	return mux
}

// given is an answer that ours made.
type given struct {
	Headers map[string]string
	Body    string
}

// sending is what selling does with a settlement that asks nobody, but with those answers.
func sending(challenge, paid given) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/stub", func(w http.ResponseWriter, r *http.Request) {
		status, sent := http.StatusPaymentRequired, challenge
		if payment := r.Header.Get("PAYMENT-SIGNATURE"); payment != "" {
			if _, err := base64.StdEncoding.DecodeString(payment); err != nil {
				http.Error(w, err.Error(), http.StatusBadGateway)
				return
			}
			status, sent = http.StatusOK, paid
		}
		for name, value := range sent.Headers {
			w.Header().Set(name, value)
		}
		answer(w, status, sent.Body)
	})
	return mux
}

// selling asks for a payment and answers with the receipt that settle gives for it.
func selling(settle func(payment []byte) (receipt string, err error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		paid := r.Header.Get("PAYMENT-SIGNATURE")
		if paid == "" {
			w.Header().Set("PAYMENT-REQUIRED", challenge)
			answer(w, http.StatusPaymentRequired, "{}")
			return
		}
		payment, err := base64.StdEncoding.DecodeString(paid)
		var receipt string
		if err == nil {
			receipt, err = settle(payment)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		w.Header().Set("PAYMENT-RESPONSE", receipt)
		answer(w, http.StatusOK, weather)
	}
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
