package routing

import (
	"fmt"
	"strconv"
	"time"

	"skyring/protocol/bus"
	"skyring/ring/gauge"
)

// Reason is why a node is not open.
type Reason uint8

const (
	// NoReason is that of a node that is open.
	NoReason Reason = iota
	// ByInFlight is a node with as many messages in flight as its limit.
	ByInFlight
	// ByBytes is a node with as many bytes in flight as it may have.
	ByBytes
	// ByCPU is a node that uses as much processor time as it should.
	ByCPU
	// ByMemory is a node that uses as much memory as it should.
	ByMemory
	// ByStarting is a node that is not ready yet.
	ByStarting
	// ByDraining is a node that finishes what it has.
	ByDraining
	// BySuspicion is a node whose heartbeats are missing.
	BySuspicion
	// ByStalling is a node that let a deadline pass without any answer.
	ByStalling
	// ByDeath is a node that is dead or has left.
	ByDeath

	reasons = int(ByDeath) + 1
)

// String is the reason as counters name it, "open" for none.
func (r Reason) String() string {
	switch r {
	case NoReason:
		return "open"
	case ByInFlight:
		return "in-flight"
	case ByBytes:
		return "bytes"
	case ByCPU:
		return "cpu"
	case ByMemory:
		return "memory"
	case ByStarting:
		return "starting"
	case ByDraining:
		return "draining"
	case BySuspicion:
		return "suspect"
	case ByStalling:
		return "stalled"
	case ByDeath:
		return "dead"
	default:
		return fmt.Sprintf("reason(%d)", uint8(r))
	}
}

// reason is why the node is not open; the first one that holds.
func (n *node) reason() Reason {
	switch {
	case !n.alive:
		return ByDeath
	case n.stalled:
		return ByStalling
	case n.suspect:
		return BySuspicion
	case n.announced == bus.Starting:
		return ByStarting
	case n.announced != bus.Ready:
		return ByDraining
	case n.inFlight >= n.limit.Value():
		return ByInFlight
	case n.bytes >= n.maxBytes:
		return ByBytes
	default:
		return n.strainedBy
	}
}

// words are the reason for people, with its numbers; empty when the node is open.
func (c *Core) words(n *node) string {
	switch r := n.reason(); r {
	case NoReason:
		return ""
	case ByDeath:
		if n.announced == bus.Leaving {
			return "has left"
		}

		return "dead: last heard of " + seconds(c.clock-n.beatAt) + " ago"
	case ByStalling:
		return "answered nothing within a deadline"
	case BySuspicion:
		return "no heartbeat for " + seconds(c.clock-n.beatAt)
	case ByStarting, ByDraining:
		return "says " + n.announced.String()
	case ByInFlight:
		return fmt.Sprintf("%d messages in flight of %d", n.inFlight, n.limit.Value())
	case ByBytes:
		return fmt.Sprintf("%d bytes in flight of %d", n.bytes, n.maxBytes)
	case ByCPU:
		return c.strainWords(n, "CPU", n.reported.CPU, c.cfg.CPUThreshold)
	case ByMemory:
		return c.strainWords(n, "memory", n.reported.Memory, c.cfg.MemoryThreshold)
	default:
		return r.String()
	}
}

// strainWords say how far a node is over its threshold, or when it is open again.
func (c *Core) strainWords(n *node, what string, used, threshold float64) string {
	reopens := gauge.Reopening * threshold

	switch held := n.strain.Left(c.clock, c.cfg.Hysteresis); {
	case used >= threshold:
		return what + " " + percent(used) + " over " + percent(threshold)
	case used >= reopens:
		return what + " " + percent(used) + ", open again under " + percent(reopens)
	case held > 0:
		return what + " " + percent(used) + ", open again in " + seconds(held)
	default:
		return what + " " + percent(used) + ", open again with the next heartbeat"
	}
}

func percent(part float64) string { return strconv.FormatFloat(part*100, 'g', 3, 64) + " %" }

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s" }
