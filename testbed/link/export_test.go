package link

import "time"

// Core is one direction and what it knows of clients, without sockets.
type Core struct {
	path  path
	flows map[uint64]*flow
}

// Fate is what became of a packet.
type Fate struct {
	Dropped   Reason
	Arrivals  []time.Duration
	Overtaken bool
}

// NewCore makes a direction that was asked nothing yet.
func NewCore(way Way, seed uint64, terms Direction) *Core {
	return &Core{path: path{way: way, seed: seed, terms: terms}, flows: map[uint64]*flow{}}
}

// Decide asks about a client's next packet.
func (c *Core) Decide(client uint64, size int, now time.Duration) Fate {
	f := c.flows[client]
	if f == nil {
		f = &flow{client: client}
		c.flows[client] = f
	}
	what := c.path.decide(f, size, now)
	return Fate{Dropped: what.dropped, Arrivals: what.arrivals[:what.copies], Overtaken: what.overtaken}
}

// Rebinds counts changes of port up to now, and says when the next is.
func (c Config) Rebinds(now time.Duration) (n int, next time.Duration, ok bool) {
	next, ok = c.nextRebind(now)
	return c.rebinds(now), next, ok
}
