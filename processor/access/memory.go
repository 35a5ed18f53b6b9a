package access

import (
	"slices"

	"skyring/protocol"
)

// Memory is what a station's requests, its transactions, came to (R4). The last ones are kept with their responses; of older ones it is known that
// they were: a mark per call reference tells it. It begins anew when the station's boot nonce changes, and outlives legs and log-offs.
type Memory struct {
	Ring  []Transaction // oldest first
	Marks []Mark        // least recently raised first
	Floor uint32        // the highest mark of all references that are not in Marks
}

// Transaction is one request that had its effect.
type Transaction struct {
	Call     protocol.CallReference
	Sequence uint32
	At       int64  // us, Redis time
	Response []byte // empty: none yet, or none at all

	unknown string
}

// Mark is the highest sequence of a call reference that had its effect.
type Mark struct {
	Call     protocol.CallReference
	Sequence uint32

	unknown string
}

// Bounds of a memory. A station has few transactions in flight; the ring is longer only to outlast its repetitions.
const (
	maxRing  = 128
	maxMarks = 64
)

// find gives the transaction of a request when it is remembered, nil else.
func (m *Memory) find(call protocol.CallReference, sequence uint32) *Transaction {
	for i := range m.Ring {
		if m.Ring[i].Call == call && m.Ring[i].Sequence == sequence {
			return &m.Ring[i]
		}
	}
	return nil
}

// mark is the highest sequence of a call reference that had its effect.
func (m *Memory) mark(call protocol.CallReference) uint32 {
	for i := range m.Marks {
		if m.Marks[i].Call == call {
			return m.Marks[i].Sequence
		}
	}
	return m.Floor
}

// push notes a request that takes effect now, and drops what was before oldest (us).
func (m *Memory) push(t Transaction, oldest int64) {
	m.Ring = slices.DeleteFunc(m.Ring, func(t Transaction) bool { return t.At < oldest })
	if len(m.Ring) >= maxRing {
		m.Ring = slices.Delete(m.Ring, 0, len(m.Ring)-maxRing+1)
	}
	m.Ring = append(m.Ring, t)

	raised := Mark{Call: t.Call, Sequence: max(t.Sequence, m.mark(t.Call))}
	for i := range m.Marks {
		if m.Marks[i].Call == t.Call {
			raised.unknown = m.Marks[i].unknown
			m.Marks = slices.Delete(m.Marks, i, i+1)
			break
		}
	}
	if len(m.Marks) >= maxMarks {
		m.Floor = max(m.Floor, m.Marks[0].Sequence)
		m.Marks = slices.Delete(m.Marks, 0, 1)
	}
	m.Marks = append(m.Marks, raised)
}
