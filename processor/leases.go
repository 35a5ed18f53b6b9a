package processor

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/zeebo/xxh3"

	"skyring/protocol/bus"
)

// leases are the partitions whose timers and outboxes this processor runs. That two processors run the same ones is no harm: it is work done twice.
type leases struct {
	mu      sync.Mutex
	members map[string]time.Time // guarded by mu; other processors that are ready, and when they were heard last
	held    []int                // guarded by mu
	until   time.Time            // guarded by mu; they are held

	// owned by tend
	looked  time.Time         // for partitions that nobody leases
	vacant  []int             // as it looked then
	adopted map[int]time.Time // until when
}

// hear notes a heartbeat.
func (l *leases) hear(h bus.Heartbeat, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h.State == bus.Ready {
		l.members[h.ID] = now
	} else {
		delete(l.members, h.ID)
	}
}

// wanted are the partitions of a processor: each belongs to the one with the highest hash of those that were heard lately, so that few change hands
// when one comes or goes.
func (l *leases) wanted(self string, partitions int, heard time.Time) []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	others := make([]string, 0, len(l.members))
	for id, last := range l.members {
		switch {
		case last.Before(heard):
			delete(l.members, id)
		case id != self:
			others = append(others, id)
		}
	}
	var mine []int
	for p := range partitions {
		own := claim(self, p)
		if !slices.ContainsFunc(others, func(id string) bool {
			c := claim(id, p)
			return c > own || c == own && id > self
		}) {
			mine = append(mine, p)
		}
	}
	return mine
}

func claim(id string, partition int) uint64 {
	return xxh3.HashString(id + "/" + strconv.Itoa(partition))
}

func (l *leases) hold(partitions []int, until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held, l.until = partitions, until
}

func (l *leases) now(t time.Time) []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !t.Before(l.until) {
		return nil
	}
	return l.held
}

func (l *leases) count() int { return len(l.now(time.Now())) }

// adoption is how many LeaseTTL a partition is kept that its owner did not take, before the owner may try again.
const adoption = 10

// adopted adds to the partitions that are this processor's those which nobody leased for a whole LeaseTTL, although their owner is there: it may
// be cut off from the store, or of an older program that leases nothing.
func (p *Processor) adopted(ctx context.Context, own []int, now time.Time) ([]int, error) {
	l := &p.leases
	maps.DeleteFunc(l.adopted, func(_ int, until time.Time) bool { return !now.Before(until) })
	if now.Sub(l.looked) >= p.cfg.LeaseTTL {
		var others []int
		for partition := range p.store.Partitions() {
			if _, had := l.adopted[partition]; !had {
				if _, mine := slices.BinarySearch(own, partition); !mine {
					others = append(others, partition)
				}
			}
		}
		vacant, err := p.store.Vacant(ctx, others)
		if err != nil {
			return nil, err
		}
		for _, partition := range vacant {
			if slices.Contains(l.vacant, partition) {
				l.adopted[partition] = now.Add(adoption * p.cfg.LeaseTTL)
			}
		}
		l.looked, l.vacant = now, vacant
	}
	all := slices.AppendSeq(slices.Clone(own), maps.Keys(l.adopted))
	slices.Sort(all)
	return slices.Compact(all), nil
}
