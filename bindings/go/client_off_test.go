//go:build !cgo

package forgex402

import (
	"errors"
	"testing"
)

func TestWithoutCgoTheAgentsHalfSaysSoAndPaysNothing(t *testing.T) {
	_, challenge := ParseChallenge(402, nil, nil)
	_, diagnostic := ParseDiagnostic(nil, nil)
	decision, decided := Decide(nil, CallState{WithinBudget: true})
	_, event := EscalationEvent(&Diagnostic{Code: "A"}, RefusedCall{})
	_, budget := NewBudget(BudgetLimits{})
	for name, err := range map[string]error{"challenge": challenge, "diagnostic": diagnostic, "decide": decided, "event": event, "budget": budget} {
		if !errors.Is(err, ErrNoCgo) {
			t.Error(name, err)
		}
	}
	if decision.Action != "stop" || decision.Send != "nothing" {
		t.Error(decision)
	}
}
