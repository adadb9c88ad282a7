package forgex402

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"net/http"
	"time"
)

// The agent's half: what a 402 asks for, why a payment failed, whether to go on, how much may be spent. Pure: no network, no
// wallet, no engine; nothing blocks. With CGO_ENABLED=0 every function fails with [ErrNoCgo].

// PaymentChallenge is what a server asks to be paid, in any of the dialects.
type PaymentChallenge struct {
	// Protocol is "x402/2", "x402/1" or "open402".
	Protocol    string `json:"protocol"`
	Error       string `json:"error,omitempty"`
	Resource    string `json:"resource,omitempty"`
	Description string `json:"description,omitempty"`
	// Offers are the ways to pay, in the server's order; never empty.
	Offers []Offer `json:"offers"`
	// Extensions are to be echoed as they are (v2).
	Extensions json.RawMessage `json:"extensions,omitempty"`
}

// Offer is one way to pay.
type Offer struct {
	Scheme string `json:"scheme"`
	// Network is CAIP-2 in v2, a name in v1 and open402.
	Network string `json:"network"`
	Asset   string `json:"asset"`
	// Amount counts the asset's smallest units (Unit "atomic", a whole number) or the asset itself ("token", a plain decimal).
	Amount            string  `json:"amount"`
	Unit              string  `json:"unit"`
	PayTo             string  `json:"payTo"`
	MaxTimeoutSeconds *uint64 `json:"maxTimeoutSeconds,omitempty"`
}

// Diagnostic is what a server says about why payments fail, under the names of the wire. Texts are at most 512 characters and
// hold no control characters.
type Diagnostic struct {
	Code                 string  `json:"code"`
	Reason               string  `json:"reason,omitempty"`
	RetryPolicy          string  `json:"retry_policy,omitempty"`
	RetryAfter           *uint64 `json:"retry_after,omitempty"`
	Attempts             *uint64 `json:"attempts,omitempty"`
	FirstAttempt         string  `json:"firstAttempt,omitempty"`
	Message              string  `json:"message,omitempty"`
	Suggestion           string  `json:"suggestion,omitempty"`
	Escalate             bool    `json:"escalate"`
	CorrelationID        string  `json:"correlation_id,omitempty"`
	FacilitatorErrorCode string  `json:"facilitator_error_code,omitempty"`
	ClientErrorCode      string  `json:"client_error_code,omitempty"`
	// ExpiresAt is in unix seconds.
	ExpiresAt *uint64 `json:"expires_at,omitempty"`
}

// CallState is what the client knows of a call itself. The zero value pays nothing: WithinBudget is false.
type CallState struct {
	// PaymentsSent counts the payments signed and sent for this call so far.
	PaymentsSent uint32 `json:"payments_sent"`
	// LastPaymentExpired: the last of them can no longer settle, by the client's own clock and what it signed.
	LastPaymentExpired bool `json:"last_payment_expired"`
	// Waits counts how often this call has waited already.
	Waits uint32 `json:"waits"`
	// WithinBudget: the next payment fits the budget.
	WithinBudget bool `json:"within_budget"`
	// RetryAfterS is Retry-After of the response, in seconds; nil: there was none.
	RetryAfterS *uint64 `json:"retry_after_s,omitempty"`
}

// Decision is what to do now.
type Decision struct {
	// Action is "pay", "wait", "fix", "stop" or "escalate".
	Action string `json:"action"`
	// WaitS, with "wait": seconds until the next request.
	WaitS uint64 `json:"wait_s"`
	// Send is what the next request carries: "nothing", "new_payment" or "same_payment".
	Send string `json:"send"`
	// BlockEndpoint: no further request to this endpoint until a person has looked.
	BlockEndpoint bool `json:"block_endpoint"`
	TellOperator  bool `json:"tell_operator"`
}

// RefusedCall is the call an escalation event tells of. Amounts are plain decimals such as "0.05"; empty is unknown.
type RefusedCall struct {
	Endpoint  string
	Amount    string
	Currency  string
	Balance   string
	RequestID string
	// At is the moment of it; zero: now.
	At time.Time
}

// ErrOverBudget is what Check and Spend wrap for a payment that does not fit; the message names the limit.
var ErrOverBudget = errors.New("forge-x402: over the budget")

// BudgetLimits are plain decimals such as "0.05"; empty is the default: 1 a call, 2 a minute, 10 a day (1,000 at most).
type BudgetLimits struct {
	PerCall   string `json:"per_call,omitempty"`
	PerMinute string `json:"per_minute,omitempty"`
	PerDay    string `json:"per_day,omitempty"`
}

// ParseChallenge reads what a response asks to be paid: its PAYMENT-REQUIRED header, else its JSON body, else WWW-Authenticate:
// x402. It fails where there is nothing to pay, and where two readers could take it for two prices: then pay nothing.
func ParseChallenge(status int, header http.Header, body []byte) (*PaymentChallenge, error) {
	made, err := clientParseChallenge(status, packedHeader(header), body)
	if err != nil {
		return nil, err
	}
	challenge := new(PaymentChallenge)
	return challenge, json.Unmarshal(made, challenge)
}

// ParseDiagnostic reads what a response says about why payments fail. nil: nothing.
func ParseDiagnostic(header http.Header, body []byte) (*Diagnostic, error) {
	made, err := clientParseDiagnostic(packedHeader(header), body)
	if err != nil || len(made) == 0 {
		return nil, err
	}
	diagnostic := new(Diagnostic)
	return diagnostic, json.Unmarshal(made, diagnostic)
}

// Decide says what to do after a refused call. A diagnostic (nil: there was none) can make a client stop or wait; it cannot
// make it pay once more. On an error pay nothing.
func Decide(diagnostic *Diagnostic, state CallState) (Decision, error) {
	decision := Decision{Action: "stop", Send: "nothing"}
	given, err := diagnosticJSON(diagnostic)
	if err != nil {
		return decision, err
	}
	known, err := json.Marshal(state)
	if err != nil {
		return decision, err
	}
	made, err := clientDecide(given, known)
	if err != nil {
		return decision, err
	}
	err = json.Unmarshal(made, &decision)
	return decision, err
}

// EscalationEvent writes the event for the agent's operator: a JSON object of type "x402_escalation".
func EscalationEvent(diagnostic *Diagnostic, call RefusedCall) ([]byte, error) {
	given, err := diagnosticJSON(diagnostic)
	if err != nil {
		return nil, err
	}
	at := call.At
	if at.IsZero() {
		at = time.Now()
	}
	told := map[string]any{"endpoint": call.Endpoint, "now_ms": unixMilliseconds(at)}
	for name, text := range map[string]string{"amount": call.Amount, "currency": call.Currency, "balance": call.Balance, "request_id": call.RequestID} {
		if text != "" {
			told[name] = text
		}
	}
	known, err := json.Marshal(told)
	if err != nil {
		return nil, err
	}
	return clientEscalationEvent(given, known)
}

// NewBudget fails for what is no amount, and for a PerDay above 1,000.
func NewBudget(limits BudgetLimits) (*Budget, error) {
	given, err := json.Marshal(limits)
	if err != nil {
		return nil, err
	}
	return newBudget(given)
}

// Check says whether a payment of amount, a plain decimal such as "0.05", would fit at that moment.
func (b *Budget) Check(at time.Time, amount string) error {
	return b.check(unixMilliseconds(at), amount, -1)
}

// CheckAtomic is Check for a whole number of the smallest units of an asset with so many decimals, 0 to 18.
func (b *Budget) CheckAtomic(at time.Time, amount string, decimals uint8) error {
	return b.check(unixMilliseconds(at), amount, int32(decimals))
}

// Spend books a payment if it fits; call it before you sign and go on only without an error. What failed booked nothing; what
// has an unknown outcome stays booked.
func (b *Budget) Spend(at time.Time, amount string) error {
	return b.spend(unixMilliseconds(at), amount, -1)
}

// SpendAtomic is Spend for a whole number of smallest units.
func (b *Budget) SpendAtomic(at time.Time, amount string, decimals uint8) error {
	return b.spend(unixMilliseconds(at), amount, int32(decimals))
}

// LeftToday is what may still be spent in the 24 hours that end at that moment, a plain decimal.
func (b *Budget) LeftToday(at time.Time) (string, error) { return b.left(unixMilliseconds(at)) }

func diagnosticJSON(diagnostic *Diagnostic) ([]byte, error) {
	if diagnostic == nil {
		return nil, nil
	}
	return json.Marshal(diagnostic)
}

func unixMilliseconds(at time.Time) uint64 { return uint64(max(at.UnixMilli(), 0)) }

// packedHeader is the lines of a header in the form of fx402_headers.packed.
func packedHeader(header http.Header) []byte {
	var packed []byte
	for name, values := range header {
		for _, value := range values {
			packed = binary.NativeEndian.AppendUint32(packed, uint32(len(name)))
			packed = binary.NativeEndian.AppendUint32(packed, uint32(len(value)))
			packed = append(append(packed, name...), value...)
		}
	}
	return packed
}
