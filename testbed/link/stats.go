package link

import (
	"fmt"
	"io"
	"iter"
	"strings"
	"time"
)

// Reason says why a packet was dropped.
type Reason uint8

// The reasons.
const (
	Lost           Reason = iota + 1 // by Loss
	InOutage                         // sent while there was no link
	QueueFull                        // the bottleneck's queue had no room
	BufferFull                       // MaxBuffered bytes were under way
	TooManyClients                   // of one client more than MaxClients
	Stranger                         // came to a client's port, but not from the target
	SendFailed                       // the socket refused it
	NoSocket                         // no socket could be had for the client
	Ended                            // was under way when Run ended
	reasons
)

// String is the reason in words.
func (r Reason) String() string {
	if r == 0 || r >= reasons {
		return "unknown"
	}
	return [...]string{
		"lost", "in an outage", "queue full", "buffer full", "too many clients", "not from the target", "send failed",
		"no socket", "under way at the end",
	}[r-1]
}

// Stats is what an Emulator did.
type Stats struct {
	Clients int // that are relayed now
	Seen    int // client addresses that ever spoke
	Rebinds int // times that all clients got new ports
	Ways    [ways]WayStats
	// Lag is the longest time by which a packet was sent later than it was due: the emulation is no truer than that.
	Lag time.Duration
}

// WayStats are the packets of one way. Received and Duplicated together are what was delivered, was dropped, and is under
// way.
type WayStats struct {
	Received   uint64
	Delivered  uint64
	Duplicated uint64 // copies made
	Overtaken  uint64 // made late, by Reorder
	dropped    [reasons]uint64
}

// Dropped is how many packets were dropped for a reason.
func (s WayStats) Dropped(why Reason) uint64 {
	if why >= reasons {
		return 0
	}
	return s.dropped[why]
}

// Drops walks the reasons for which packets were dropped.
func (s WayStats) Drops() iter.Seq2[Reason, uint64] {
	return func(yield func(Reason, uint64) bool) {
		for why, n := range s.dropped {
			if n > 0 && !yield(Reason(why), n) {
				return
			}
		}
	}
}

// String is one line for people.
func (s WayStats) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d received, %d delivered", s.Received, s.Delivered)
	if s.Duplicated > 0 {
		fmt.Fprintf(&b, " (%d doubled)", s.Duplicated)
	}
	if s.Overtaken > 0 {
		fmt.Fprintf(&b, ", %d late", s.Overtaken)
	}
	for why, n := range s.Drops() {
		fmt.Fprintf(&b, ", %d %s", n, why)
	}
	return b.String()
}

// WriteText writes a line for each way, one for the clients, and how late this machine was at worst.
func (s Stats) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "to target: %s\nto client: %s\nclients: %d seen, %d at the end, ports changed %d times\n"+
		"this machine was late by %s at most\n",
		s.Ways[ToTarget], s.Ways[ToClient], s.Seen, s.Clients, s.Rebinds, s.Lag.Round(time.Microsecond))
	return err
}
