package interop_test

import (
	"fmt"
	"testing"

	"skyring/protocol/transport"
)

// TestMultihomedFailover takes an address from a station that named two: it goes on from the other.
func TestMultihomedFailover(t *testing.T) { inSites(t, multihomedFailover, 2) }

// multihomedFailover has a station lose the address that we send to; the way from its other device stays.
func multihomedFailover(on trial) {
	t := on.T
	m := meet(on, setting{})
	messages := collect(t, m.ours)
	b := batch{count: 20, streams: 4, size: 500, ppid: 60}
	m.both(t, messages, b)
	lost := m.ours.PeerAddr().Addr()
	for cable := range 2 {
		if device := fmt.Sprintf("eth%d", cable); stationAddr(1+cable) == lost {
			m.peer.run(fmt.Sprintf("ip address delete %s/24 dev %s", lost, device))
		} else {
			m.peer.run(fmt.Sprintf("ip route replace %s dev %s", centreAddr(1), device))
		}
	}
	m.both(t, messages, b)
	if m.endpoint.Stats().Count(transport.PathChanges) == 0 {
		t.Error("packets go to the address that is gone")
	}
}
