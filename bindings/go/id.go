package forgex402

// IDState is what VerifyID says of a feedback id.
type IDState uint32

const (
	// IDValid is an id of ours that can be used.
	IDValid IDState = iota
	// IDMalformed is not 22 characters of canonical base64url.
	IDMalformed
	// IDBadSignature was not made with one of our keys.
	IDBadSignature
	// IDExpired was issued more than 300 s in the future, or longer ago than TTLMs.
	IDExpired
)

func (s IDState) String() string {
	switch s {
	case IDValid:
		return "valid"
	case IDBadSignature:
		return "bad_signature"
	case IDExpired:
		return "expired"
	default:
		return "malformed"
	}
}
