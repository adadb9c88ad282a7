//go:build !cgo

package forgex402

// Budget cannot be made in this build.
type Budget struct{}

func newBudget([]byte) (*Budget, error)                        { return nil, ErrNoCgo }
func (b *Budget) check(uint64, string, int32) error            { return ErrNoCgo }
func (b *Budget) spend(uint64, string, int32) error            { return ErrNoCgo }
func (b *Budget) left(uint64) (string, error)                  { return "", ErrNoCgo }
func clientParseChallenge(int, []byte, []byte) ([]byte, error) { return nil, ErrNoCgo }
func clientParseDiagnostic([]byte, []byte) ([]byte, error)     { return nil, ErrNoCgo }
func clientDecide([]byte, []byte) ([]byte, error)              { return nil, ErrNoCgo }
func clientEscalationEvent([]byte, []byte) ([]byte, error)     { return nil, ErrNoCgo }
