package bus

// Why asks dispatchers which node a key's next message would get, and why. It goes to Whys; each dispatcher
// answers with an Explanation, as JSON.
//
// Layout; a later version may append fields, which are ignored:
//
//	version u8 | kind u8 (33) | key length u8 | key
type Why struct {
	Key []byte // session key, 1 to MaxKeyLen bytes
}

const why = "why"

// Append appends the encoded question. A key that is empty or too long is the caller's error, and panics.
func (w Why) Append(dst []byte) []byte {
	if len(w.Key) == 0 || len(w.Key) > MaxKeyLen {
		panic("bus: a key has 1 to 255 bytes")
	}

	return append(append(appendPrefix(dst, kindWhy), byte(len(w.Key))), w.Key...)
}

// DecodeWhy reads a question; the error is a *FrameError. Its key lies in b.
func DecodeWhy(b []byte) (Why, error) {
	if err := checkPrefix(why, b, kindWhy); err != nil {
		return Why{}, err
	}

	if len(b) < 3 {
		return Why{}, cut(why, b, 2, field{"key length", 1})
	}

	switch end := 3 + int(b[2]); {
	case end == 3:
		return Why{}, &FrameError{What: why, Field: "key length", Offset: 2, Fault: "0, at least 1 is right"}
	case end > len(b):
		return Why{}, &FrameError{What: why, Field: "key length", Offset: 2, Fault: "past the end"}
	default:
		return Why{Key: b[3:end:end]}, nil
	}
}

// Explanation is what a dispatcher would do with the next message of a key, as it answers a Why. Nodes are named by id.
type Explanation struct {
	ID     string `json:"id"`     // of the dispatcher
	Key    string `json:"key"`    // as people write it
	Hash   Hex    `json:"hash"`   // of the key
	Policy string `json:"policy"` // that picks

	Unanswered int    `json:"unanswered"`     // messages of the key that are not answered yet
	Node       string `json:"node,omitempty"` // has some of them: further ones wait for it, or follow them

	Binding string    `json:"binding,omitempty"` // node that the key is bound to, while it is open
	Home    string    `json:"home,omitempty"`    // node that owns the key's slot; policies without slots have none
	Skipped []Skipped `json:"skipped,omitempty"` // nodes that were looked at and not taken, in order
	Taken   string    `json:"taken,omitempty"`   // empty: none, the message waits
	How     string    `json:"how"`               // bound, home, chain, spill, best-weight or none

	Nodes []NodeView `json:"nodes"` // in order of their first heartbeat
}

// Skipped is a node that a pick passed over.
type Skipped struct {
	Node   string `json:"node"`
	Reason string `json:"reason"` // in words with numbers, such as "CPU 82 % over 75 %"
}
