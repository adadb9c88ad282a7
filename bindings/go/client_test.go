//go:build cgo

package forgex402

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func v2Header(challenge string) http.Header {
	return http.Header{"Payment-Required": {base64.StdEncoding.EncodeToString([]byte(challenge))}}
}

const v2Challenge = `{"x402Version":2,"resource":{"url":"https://a.example/w"},"accepts":[{"scheme":"exact","network":"eip155:84532","amount":"7","asset":"0xA","payTo":"0xB","maxTimeoutSeconds":60}],"extensions":{"a":{"n":1.10}}}`

func TestAChallengeOfEachDialectHasOneShape(t *testing.T) {
	sixty := uint64(60)
	offer := Offer{"exact", "eip155:84532", "0xA", "7", "atomic", "0xB", &sixty}
	challenge, err := ParseChallenge(402, v2Header(v2Challenge), []byte("{}"))
	if err != nil || challenge.Protocol != "x402/2" || challenge.Resource != "https://a.example/w" || !reflect.DeepEqual(challenge.Offers, []Offer{offer}) {
		t.Error(challenge, err)
	}
	if string(challenge.Extensions) != `{"a":{"n":1.10}}` {
		t.Errorf("extensions are to be echoed as they are: %s", challenge.Extensions)
	}
	challenge, err = ParseChallenge(402, nil, []byte(`{"x402Version":1,"error":"e","accepts":[{"scheme":"exact","network":"base","maxAmountRequired":"7","asset":"0xA","payTo":"0xB"}]}`))
	if err != nil || challenge.Protocol != "x402/1" || challenge.Error != "e" || challenge.Offers[0].Amount != "7" {
		t.Error(challenge, err)
	}
	challenge, err = ParseChallenge(402, http.Header{"Www-Authenticate": {`x402 chain="solana" token="USDC" amount="0.05" address="Addr"`}}, nil)
	if err != nil || challenge.Protocol != "open402" || challenge.Offers[0].Unit != "token" {
		t.Error(challenge, err)
	}
}

func TestWhereThereIsNothingToPayItFails(t *testing.T) {
	twice := v2Header(v2Challenge)
	twice.Add("Payment-Required", twice.Get("Payment-Required"))
	for name, c := range map[string]struct {
		status int
		header http.Header
		says   string
	}{
		"200":      {200, v2Header(v2Challenge), "status 200 is no challenge"},
		"negative": {-65134, v2Header(v2Challenge), "is no challenge"},
		"twice":    {402, twice, "stands there twice"},
		"smuggled": {402, http.Header{"Www-Authenticate": {`x402 chain="s" token="U" amount="1" address="A" max-amount="9"`}}, "amount"},
		"nothing":  {402, nil, "without an x402 or open402 challenge"},
	} {
		if challenge, err := ParseChallenge(c.status, c.header, nil); challenge != nil || err == nil || !strings.Contains(err.Error(), c.says) {
			t.Error(name, challenge, err)
		}
	}
}

func TestDecideStopsWaitsAndPays(t *testing.T) {
	told, err := ParseDiagnostic(nil, []byte(`{"diagnostic":{"code":"PAYMENT_REQUIRED","retry_policy":"retry_with_backoff","attempts":3}}`))
	if err != nil || told.Code != "PAYMENT_REQUIRED" || *told.Attempts != 3 {
		t.Fatal(told, err)
	}
	if none, err := ParseDiagnostic(nil, []byte(`{}`)); none != nil || err != nil {
		t.Error(none, err)
	}
	nine := uint64(9)
	for name, c := range map[string]struct {
		diagnostic *Diagnostic
		state      CallState
		want       Decision
	}{
		"pays":      {nil, CallState{WithinBudget: true}, Decision{Action: "pay", Send: "new_payment"}},
		"no budget": {nil, CallState{}, Decision{Action: "stop", Send: "nothing"}},
		"waits":     {told, CallState{PaymentsSent: 1, RetryAfterS: &nine}, Decision{Action: "wait", WaitS: 9, Send: "same_payment"}},
		"escalates": {&Diagnostic{Code: "OPERATOR_ALERT"}, CallState{WithinBudget: true}, Decision{Action: "escalate", Send: "nothing", BlockEndpoint: true, TellOperator: true}},
	} {
		if got, err := Decide(c.diagnostic, c.state); err != nil || got != c.want {
			t.Error(name, got, err)
		}
	}
	if got, err := Decide(&Diagnostic{}, CallState{WithinBudget: true}); err == nil || got.Action != "stop" {
		t.Error("a diagnostic without a code is an error, and no payment:", got, err)
	}
}

func TestTheOperatorsEvent(t *testing.T) {
	at := time.Date(2026, 3, 10, 0, 0, 0, 0, time.UTC)
	event, err := EscalationEvent(&Diagnostic{Code: "WALLET_INSUFFICIENT_FUNDS", Escalate: true}, RefusedCall{Endpoint: "https://a.example/w", Amount: "0.001", Currency: "USDC", Balance: "0", RequestID: "r-1", At: at})
	want := `{"type":"x402_escalation","endpoint":"https://a.example/w","amount":0.001,"currency":"USDC","balance":0,"correlation_id":"r-1","diagnostic":{"code":"WALLET_INSUFFICIENT_FUNDS","escalate":true},"timestamp":"2026-03-10T00:00:00Z"}`
	if err != nil || string(event) != want {
		t.Error(string(event), err)
	}
	if event, err := EscalationEvent(nil, RefusedCall{Endpoint: "x"}); err == nil {
		t.Error(string(event))
	}
}

func TestABudgetKeepsItsLimits(t *testing.T) {
	budget, err := NewBudget(BudgetLimits{PerCall: "0.2", PerMinute: "0.3", PerDay: "0.3"})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Unix(86_400_000, 0)
	if err := errors.Join(budget.Check(at, "0.2"), budget.Spend(at, "0.1"), budget.SpendAtomic(at, "200000", 6)); err != nil {
		t.Fatal(err)
	}
	for limit, err := range map[string]error{
		"minute": budget.CheckAtomic(at, "1", 18),
		"call":   budget.Check(at, "0.21"),
		"day":    budget.Spend(at.Add(2*time.Minute), "0.01"),
	} {
		if !errors.Is(err, ErrOverBudget) || !strings.Contains(err.Error(), limit) {
			t.Error(limit, err)
		}
	}
	if left, err := budget.LeftToday(at); left != "0" || err != nil {
		t.Error(left, err)
	}
	if err := budget.Spend(at, "1e3"); err == nil || errors.Is(err, ErrOverBudget) {
		t.Error(err)
	}
	if _, err := NewBudget(BudgetLimits{PerDay: "1001"}); err == nil || !strings.Contains(err.Error(), "above the ceiling") {
		t.Error(err)
	}
}

func TestGoroutinesTogetherNeverSpendMoreThanTheLimit(t *testing.T) {
	budget, err := NewBudget(BudgetLimits{})
	if err != nil {
		t.Fatal(err)
	}
	var booked atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Add(1)
		go func() {
			defer all.Done()
			for range 100 {
				if budget.Spend(time.Unix(1, 0), "0.01") == nil {
					booked.Add(1)
				}
			}
		}()
	}
	all.Wait()
	if booked.Load() != 200 {
		t.Error(booked.Load())
	}
}

// A Go agent reads what a Go merchant's 402 says, both through this package.
func TestABrokenAgentIsToldAndStops(t *testing.T) {
	m := serveForTest(t, Options{Diagnostics: json.RawMessage(`{"attempts":3,"min_age_ms":0,"count_private_ips":true}`)}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Payment-Required", v2Header(v2Challenge).Get("Payment-Required"))
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(402)
		io.WriteString(w, "{}")
	})
	for attempt := 1; attempt <= 3; attempt++ {
		response, err := http.Get(m.URL)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if _, err := ParseChallenge(response.StatusCode, response.Header, body); err != nil {
			t.Fatal(err)
		}
		diagnostic, err := ParseDiagnostic(response.Header, body)
		if err != nil || (diagnostic != nil) != (attempt == 3) {
			t.Fatal(attempt, diagnostic, err)
		}
		decision, err := Decide(diagnostic, CallState{WithinBudget: true})
		if want := map[bool]string{false: "pay", true: "escalate"}[attempt == 3]; err != nil || decision.Action != want {
			t.Error(attempt, decision, err)
		}
	}
}
