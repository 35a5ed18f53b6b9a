package interop_test

import (
	"fmt"
	"testing"
)

// TestMultihomedFailover takes the first address from a station that named two: it goes on from the other.
func TestMultihomedFailover(t *testing.T) {
	bothSides(t, func(on trial) {
		on.lab = newSite(on.T, 2)
		multihomedFailover(on, "cable1", "cable2")
	})
}

// multihomedFailover has a station lose the address of its first device.
func multihomedFailover(on trial, first, second string) {
	t := on.T
	m := meet(on, setting{})
	messages := collect(t, m.ours)
	b := batch{count: 20, streams: 4, size: 500, ppid: 60}
	m.both(t, messages, b)
	m.peer.run(fmt.Sprintf("ip address delete %s/24 dev %s", stationAddr(1), first))
	m.peer.run(fmt.Sprintf("ip route add %s dev %s", centreAddr(1), second))
	m.both(t, messages, b)
}
