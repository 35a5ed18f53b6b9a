package link

import "time"

// Way is a direction.
type Way uint8

// The ways.
const (
	ToTarget Way = iota
	ToClient
	ways
)

// String is the way in words.
func (w Way) String() string {
	if w == ToTarget {
		return "to target"
	}
	return "to client"
}

// path is one direction of the link: it decides, and touches nothing. Its answers depend on what it is asked only.
type path struct {
	// static
	way  Way
	seed uint64

	terms Direction
	free  time.Duration // when the bottleneck will have sent all that it took
}

// flow is what a path has to know of one client.
type flow struct {
	client uint64        // which one, in the order in which they first spoke
	asked  uint64        // packets decided on
	last   time.Duration // when the last packet that keeps its place arrives
}

// fate is what becomes of a packet.
type fate struct {
	dropped   Reason // 0 for not
	arrivals  [2]time.Duration
	copies    int
	overtaken bool
}

// decide says what becomes of the next packet of a flow, of that many bytes, sent now: first the bottleneck, then the way
// through the air.
func (p *path) decide(f *flow, size int, now time.Duration) fate {
	dice := roll(p.seed, uint64(p.way), f.client, f.asked)
	f.asked++
	sent, ok := p.transmit(size, now)
	switch {
	case !ok:
		return fate{dropped: QueueFull}
	case p.terms.dark(sent):
		return fate{dropped: InOutage}
	case dice.happens(ofLoss, p.terms.Loss):
		return fate{dropped: Lost}
	}
	arrives := max(sent+p.terms.takes(dice.share(ofDelay)), f.last)
	out := fate{copies: 1, overtaken: dice.happens(ofReordering, p.terms.Reorder)}
	if out.overtaken {
		arrives += p.terms.ReorderBy
	} else {
		f.last = arrives
	}
	out.arrivals[0] = arrives
	if dice.happens(ofDuplication, p.terms.Duplicate) {
		out.arrivals[1] = arrives + time.Duration(dice.share(ofCopy)*float64(p.terms.Jitter))
		out.copies = 2
	}
	return out
}

// transmit gives the time at which the bottleneck has sent a packet; false when its queue has no room.
func (p *path) transmit(size int, now time.Duration) (sent time.Duration, ok bool) {
	rate := p.terms.Rate
	if rate == 0 {
		return now, true
	}
	begins := max(now, p.free)
	waiting := float64(begins-now) / float64(time.Second) * float64(rate) / 8
	if waiting+float64(size) > float64(p.terms.Queue) {
		return 0, false
	}
	p.free = begins + time.Duration(float64(size)*8/float64(rate)*float64(time.Second))
	return p.free, true
}

// takes is how long a packet is on its way; luck is from 0 to 1.
func (d Direction) takes(luck float64) time.Duration {
	return d.Delay + time.Duration((2*luck-1)*float64(d.Jitter))
}

func (d Direction) dark(at time.Duration) bool {
	for _, o := range d.Outages {
		if at >= o.From && at-o.From < o.For {
			return true
		}
	}
	return false
}

// rebinds counts the changes of port up to a time.
func (c Config) rebinds(now time.Duration) int {
	n := 0
	for _, at := range c.RebindAt {
		if now >= at {
			n++
		}
	}
	if c.RebindEvery > 0 {
		n += int(now / c.RebindEvery)
	}
	return n
}

// nextRebind is the time of the first change of port after now; false when there is none.
func (c Config) nextRebind(now time.Duration) (next time.Duration, ok bool) {
	if c.RebindEvery > 0 {
		next, ok = now-now%c.RebindEvery+c.RebindEvery, true
	}
	for _, at := range c.RebindAt {
		if at > now && (!ok || at < next) {
			next, ok = at, true
		}
	}
	return next, ok
}
