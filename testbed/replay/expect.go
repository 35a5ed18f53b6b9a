package replay

import (
	"crypto/sha256"
	"encoding/binary"

	"skyring/protocol/key"
	"skyring/testbed/trace"
)

// sessions are sessions by their key with the association number erased. Where the
// number is part of the key, several share an entry; else there is one.
type sessions map[string][]session

func (s sessions) count() uint64 {
	var n uint64
	for _, same := range s {
		n += uint64(len(same))
	}

	return n
}

// expectation computes from what was sent which sessions the store must hold then. It
// is no code of the ledger's, on purpose.
type expectation struct {
	sessions     sessions
	own          map[string]session // of the association in hand, by key
	associations uint64
	scratch      []byte
}

func newExpectation() *expectation { return &expectation{sessions: make(sessions)} }

// association takes all that one association delivered.
func (e *expectation) association(j *journal) {
	e.associations++
	e.own = make(map[string]session)

	j.delivered(func(m *trace.Message, stream uint16, _ bool) { e.message(m, stream) })
}

func (e *expectation) message(m *trace.Message, stream uint16) {
	// A key that cannot be read is the association's: the error changes nothing here.
	e.scratch, _ = key.Append(e.scratch[:0], 0, m.PPID, m.Payload)

	s := e.session(e.scratch)
	src := source{e.associations, lane{stream, m.Unordered}}

	c := s[src]
	if c == nil {
		c = &chain{}
		s[src] = c
	}

	c.count++
	c.bytes += uint64(len(m.Payload))

	if m.Unordered {
		c.value = addLanes(c.value, sha256.Sum256(m.Payload))
	} else {
		c.value = link(c.value, m.Payload)
	}
}

// session finds the session of a key: one of this association alone when the key names
// the association.
func (e *expectation) session(k []byte) session {
	if !key.HasAssociation(k) {
		if len(e.sessions[string(k)]) == 0 {
			e.sessions[string(k)] = []session{{}}
		}

		return e.sessions[string(k)][0]
	}

	s := e.own[string(k)]
	if s == nil {
		s = session{}
		e.own[string(k)] = s
		e.sessions[string(k)] = append(e.sessions[string(k)], s)
	}

	return s
}

// link is the next value of an ordered chain: SHA-256 over the value before and the
// payload.
func link(before [32]byte, payload []byte) [32]byte {
	h := sha256.New()
	h.Write(before[:])
	h.Write(payload)

	return [32]byte(h.Sum(nil))
}

// addLanes adds two values as four numbers of 64 bits each, big-endian and wrapping, so
// that order does not matter.
func addLanes(a, b [32]byte) [32]byte {
	for i := 0; i < len(a); i += 8 {
		binary.BigEndian.PutUint64(a[i:], binary.BigEndian.Uint64(a[i:])+binary.BigEndian.Uint64(b[i:]))
	}

	return a
}
