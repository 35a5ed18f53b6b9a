package statestore

import (
	"bytes"
	"slices"
)

// RingSize is how many of a source's last transactions a record keeps with their replies. A dispatcher has at most as many messages of a session
// unanswered, so that each of them still finds its reply.
const RingSize = 8

// Record is all that is kept of a session. A record read or written is shared between its holders and must not be changed: take a Clone.
type Record struct {
	Version uint64 // counts commits from 1; set by Commit
	Tag     uint32 // random, new with each commit; set by Commit
	Handler uint32 // the payload protocol whose handler owns Body; 0 the default handler
	Sources []Source
	Body    []byte // the handler's own

	// What a session has that acts on its own.
	Life       Life
	Line       int64   // names the numbers of its outbox: when the session first gave one, us; 0: it never did
	Generation uint32  // last one given to a timer
	Leg        *Leg    // nil: none
	Timers     []Timer // armed, each name once
	Peers      []Peer  // each key once
	Outbox     []Entry // in order for each destination
}

// Life says when a record may be forgotten.
type Life uint8

// Lives of a record.
const (
	Fading Life = iota // some time after its last change
	Kept               // never
	Ended              // it is a tombstone: when nothing can arrive for it any more
)

// Leg is where a session's messages for its station go.
type Leg struct {
	Dispatcher  string // id
	Incarnation uint64 // of the dispatcher
	Epoch       uint64 // of the association
	Stream      uint16
	PPID        uint32
	Gone        bool // the dispatcher said that there is no such association: nothing is sent until something new is to be sent
}

// Timer is armed.
type Timer struct {
	Name       uint8
	Generation uint32 // tells this arming from every other one of the session
	Due        int64  // us, Redis time
}

// Peer is another session that notifications were exchanged with.
type Peer struct {
	Key     []byte // empty: the leg
	Line    int64  // of the peer's numbers that Mark is about; 0: it never sent one
	Mark    uint64 // the peer's last notification that took effect
	Next    uint64 // number of the last entry for the peer that was put into the outbox
	Touched int64  // when either rose; us, Redis time
}

// Entry is an effect that its destination has not acknowledged.
type Entry struct {
	Destination []byte // key of a session; empty: the leg
	Number      uint64 // 1, 2, 3, ... to each destination
	Since       int64  // us, Redis time
	Payload     []byte
}

// Stamp tells one state of a record from every other one. The version alone does not: after Redis lost its last writes, the same version is
// given again to other content.
type Stamp struct {
	Version uint64 // 0: there is no record
	Tag     uint32
}

// Stamp of the record; the zero stamp for no record.
func (r *Record) Stamp() Stamp {
	if r == nil {
		return Stamp{}
	}
	return Stamp{Version: r.Version, Tag: r.Tag}
}

// Source is what a record knows of one association that sent messages of the session.
type Source struct {
	Epoch   uint64 // names the association, everywhere and for ever
	Mark    uint64 // the highest sequence that took effect; all at or under it are done
	Touched int64  // when Mark last rose; us, Redis time
	Ring    []Transaction
}

// Transaction is one message that took effect, with what was answered.
type Transaction struct {
	Sequence uint64
	Effect   Effect
	HasReply bool
	Reply    Reply // meaningful when HasReply
}

// Effect says how a transaction ended.
type Effect uint8

// Effects of a transaction.
const (
	Applied     Effect = 1 // the handler accepted it
	Quarantined Effect = 2 // the handler failed on it again and again; skipped
)

// Reply is a message for the association that the transaction came from.
type Reply struct {
	Stream    uint16
	PPID      uint32
	Unordered bool
	Payload   []byte
}

// Clone returns a record that may be changed without changing r: sources and rings are copied, payloads and body are shared. A nil record
// gives an empty one.
func (r *Record) Clone() *Record {
	if r == nil {
		return &Record{}
	}
	c := *r
	c.Sources = slices.Clone(r.Sources)
	c.Timers, c.Peers, c.Outbox = slices.Clone(r.Timers), slices.Clone(r.Peers), slices.Clone(r.Outbox)
	for i := range c.Sources {
		if ring := c.Sources[i].Ring; len(ring) > 0 { // with room for what will be pushed
			c.Sources[i].Ring = append(make([]Transaction, 0, RingSize), ring...)
		}
	}
	return &c
}

// Source returns what the record knows of an association, nil when it never sent anything or was forgotten. It points into the record.
func (r *Record) Source(epoch uint64) *Source {
	if r == nil {
		return nil
	}
	for i := range r.Sources {
		if r.Sources[i].Epoch == epoch {
			return &r.Sources[i]
		}
	}
	return nil
}

// Peer returns what the record knows of another session, nil when nothing. It points into the record.
func (r *Record) Peer(key []byte) *Peer {
	if r == nil {
		return nil
	}
	for i := range r.Peers {
		if bytes.Equal(r.Peers[i].Key, key) {
			return &r.Peers[i]
		}
	}
	return nil
}

// Due is the time of the earliest armed timer, 0 for none.
func (r *Record) Due() int64 {
	due := int64(0)
	if r != nil {
		for _, t := range r.Timers {
			if due == 0 || t.Due < due {
				due = t.Due
			}
		}
	}
	return due
}

// Pending tells whether the outbox has an entry that can go: those for a leg without association wait for another one.
func (r *Record) Pending() bool {
	if r == nil {
		return false
	}
	leg := r.Leg != nil && !r.Leg.Gone
	return slices.ContainsFunc(r.Outbox, func(e Entry) bool { return leg || len(e.Destination) > 0 })
}

// Find returns the transaction with a sequence when it is still in the ring. No source has none.
func (s *Source) Find(sequence uint64) (Transaction, bool) {
	if s == nil {
		return Transaction{}, false
	}
	for _, t := range slices.Backward(s.Ring) {
		if t.Sequence == sequence {
			return t, true
		}
	}
	return Transaction{}, false
}

// Push raises the mark to a transaction's sequence and keeps it in the ring, from which the oldest falls out. The sequence must be over the mark.
func (s *Source) Push(t Transaction, now int64) {
	if len(s.Ring) >= RingSize {
		s.Ring = slices.Delete(s.Ring, 0, len(s.Ring)-RingSize+1)
	}
	if s.Ring == nil {
		s.Ring = make([]Transaction, 0, RingSize)
	}
	s.Ring = append(s.Ring, t)
	s.Mark, s.Touched = t.Sequence, now
}
