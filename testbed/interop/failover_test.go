package interop_test

import (
	"fmt"
	"testing"
)

// TestMultihomedFailover takes the first address from a station that named two: it goes on from the other.
func TestMultihomedFailover(t *testing.T) {
	bothSides(t, func(on trial) {
		on.lab = newSite(on.T, 2)
		multihomedFailover(on, "cable")
	})
}

// multihomedFailover is for a station whose devices have a name and the numbers from 1.
func multihomedFailover(on trial, device string) {
	t := on.T
	m := meet(on, setting{})
	messages := collect(t, m.ours)
	b := batch{count: 20, streams: 4, size: 500, ppid: 60}
	m.both(t, messages, b)
	m.peer.run(fmt.Sprintf("ip address delete %s/24 dev %s1", stationAddr(1), device))
	m.peer.run(fmt.Sprintf("ip route add %s dev %s2", centreAddr(1), device))
	m.both(t, messages, b)
}
