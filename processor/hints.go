package processor

import (
	"math"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"skyring/statestore"
)

// hint is the last record seen of a session. Another processor may have written since: then the commit made from it finds a conflict.
type hint struct {
	record *statestore.Record
	lives  int64              // us, Redis time: until then the store promised to keep it; 0: not known
	forgot *statestore.Record // what the store had and lost, until record is written again; nil: nothing is known to be lost
}

// lost tells that the store forgot writes: what is there now is older than what was seen, or of another line, or gone before its time.
func (h hint) lost(current *statestore.Record, now int64) bool {
	switch {
	case h.record == nil, h.lives != 0 && now >= h.lives:
		return false
	case current == nil:
		return h.lives != 0
	case current.Version == h.record.Version:
		return current.Tag != h.record.Tag
	default:
		return current.Version < h.record.Version
	}
}

// hints remembers the sessions used last. Owned by one worker.
type hints struct{ lru *simplelru.LRU[string, hint] }

func newHints(sessions int) (hints, error) {
	lru, err := simplelru.NewLRU[string, hint](sessions, nil)
	return hints{lru: lru}, err
}

func (h hints) find(key string) (hint, bool) { return h.lru.Get(key) }

// written remembers what was committed at a time, to be kept for ttl (0: for ever).
func (h hints) written(key string, r *statestore.Record, now int64, ttl time.Duration) {
	lives := int64(math.MaxInt64)
	if ttl > 0 {
		lives = now + ttl.Microseconds()
	}
	h.lru.Add(key, hint{record: r, lives: lives})
}

// seen remembers what the store has, and what it lost; nothing is a reason to forget.
func (h hints) seen(key string, r, forgot *statestore.Record) hint {
	if r == nil {
		h.lru.Remove(key)
		return hint{}
	}
	seen := hint{record: r, forgot: forgot}
	h.lru.Add(key, seen)
	return seen
}

// keys lists the sessions.
func (h hints) keys() []string { return h.lru.Keys() }

func (h hints) drop(key string) { h.lru.Remove(key) }
