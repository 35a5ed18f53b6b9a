package ledger

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"skyring/processor"
)

// Bounds of a ledger.
const (
	MaxChains = 256
	MaxNodes  = 16
)

// Ledger is the account of one session. The zero value is that of a session without messages.
type Ledger struct {
	PPID         uint32 // of the first message
	Count, Bytes uint64
	First, Last  int64   // us since the Unix epoch, Redis' clock as the processors knew it
	LastType     string  // of the last message whose type is known, like "S1AP initiatingMessage 12"; empty: none was
	Nodes        []Node  // in order of last use
	OtherNodes   uint64  // messages of nodes that no longer fit in Nodes
	Chains       []Chain // in order of last use
	Retired      Retired

	unknown []byte // fields of a newer version, kept as they came
}

// Node is a processor and how many messages it committed.
type Node struct {
	ID    string
	Count uint64

	unknown string
}

// Chain is the proof for one stream of one association.
type Chain struct {
	Epoch     uint64 // of the association
	Stream    uint16
	Unordered bool
	Count     uint64
	Bytes     uint64
	Value     [sha256.Size]byte // ordered: SHA-256(previous value || payload), first 32 zero bytes; unordered: sum of SHA-256(payload) as four big-endian u64, wrapping

	unknown string
}

// Retired sums up the chains that a session had too many of.
type Retired struct {
	Chains, Count, Bytes uint64

	unknown string
}

// Add accounts for one message.
func (l *Ledger) Add(m processor.Message) {
	if l.Count == 0 {
		l.PPID, l.First = m.PPID, m.Now
	}
	l.Count++
	l.Bytes += uint64(len(m.Payload))
	l.Last = max(l.Last, m.Now)
	if t := TypeOf(m.PPID, m.Payload); t != "" {
		l.LastType = t
	}
	l.node(m.Node).Count++
	l.chain(m).add(m.Payload)
}

// node gives the entry of a node, which becomes the last.
func (l *Ledger) node(id string) *Node {
	at := slices.IndexFunc(l.Nodes, func(n Node) bool { return n.ID == id })
	if at < 0 {
		for len(l.Nodes) >= MaxNodes {
			l.OtherNodes += l.Nodes[0].Count
			l.Nodes = slices.Delete(l.Nodes, 0, 1)
		}
		l.Nodes = append(l.Nodes, Node{ID: id})
	} else {
		toEnd(l.Nodes, at)
	}
	return &l.Nodes[len(l.Nodes)-1]
}

// chain gives the chain of a message, which becomes the last.
func (l *Ledger) chain(m processor.Message) *Chain {
	at := slices.IndexFunc(l.Chains, func(c Chain) bool {
		return c.Epoch == m.Epoch && c.Stream == m.Stream && c.Unordered == m.Unordered
	})
	if at < 0 {
		for len(l.Chains) >= MaxChains {
			l.Retired.Chains++
			l.Retired.Count += l.Chains[0].Count
			l.Retired.Bytes += l.Chains[0].Bytes
			l.Chains = slices.Delete(l.Chains, 0, 1)
		}
		l.Chains = append(l.Chains, Chain{Epoch: m.Epoch, Stream: m.Stream, Unordered: m.Unordered})
	} else {
		toEnd(l.Chains, at)
	}
	return &l.Chains[len(l.Chains)-1]
}

func toEnd[T any](s []T, at int) {
	x := s[at]
	copy(s[at:], s[at+1:])
	s[len(s)-1] = x
}

func (c *Chain) add(payload []byte) {
	c.Count++
	c.Bytes += uint64(len(payload))
	if c.Unordered {
		sum := sha256.Sum256(payload)
		for i := 0; i < len(sum); i += 8 {
			lane := c.Value[i : i+8]
			binary.BigEndian.PutUint64(lane, binary.BigEndian.Uint64(lane)+binary.BigEndian.Uint64(sum[i:]))
		}
		return
	}
	h := sha256.New()
	h.Write(c.Value[:])
	h.Write(payload)
	h.Sum(c.Value[:0])
}

// Handler keeps a ledger as a session's body. It never replies.
type Handler struct{}

// Apply accounts for a message.
func (Handler) Apply(s processor.Session, m processor.Message) (processor.Result, error) {
	l, err := Decode(s.Body)
	if err != nil {
		return processor.Result{}, err
	}
	l.Add(m)
	return processor.Result{Body: l.Append(make([]byte, 0, len(s.Body)+128))}, nil
}
