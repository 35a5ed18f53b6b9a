package access_test

import (
	"testing"

	"skyring/processor/saga"
	"skyring/protocol"
)

// What the gateway asks after its store lost writes is new to the station, which may have seen more than the record tells.
func TestAfterALossRequestsAreNew(t *testing.T) {
	g := newGateway(t, self)
	g.logon(home, boot)
	call := g.place(1, peer)
	old := g.body
	for range 5 {
		g.notify(call, &saga.ToStation{Message: protocol.CallAlert{}})
	}
	lost := g.station().Sequence
	newer := g.body
	g.body = old
	for _, m := range g.resync(newer).leg {
		if m.header.Sequence <= lost {
			t.Errorf("%v has sequence %d, the station has seen %d", m.header.Type, m.header.Sequence, lost)
		}
	}
	g.body = old // only the call's record is known to have lost something
	for _, m := range g.notify(call, &saga.ToStation{Message: protocol.StatusEnquiry{}}).leg {
		if m.header.Sequence <= lost {
			t.Errorf("%v has sequence %d, the station has seen %d", m.header.Type, m.header.Sequence, lost)
		}
	}
}

// A reference whose call was lost may have been given to another one since: that one is not cleared.
func TestAfterALossOthersAreNotCleared(t *testing.T) {
	g := newGateway(t, self)
	g.logon(home, boot)
	empty := g.body
	g.place(1, peer)
	newer := g.body
	g.body = empty
	g.next++
	g.place(1, peer)
	for _, m := range g.resync(newer).leg {
		if m.header.Type == protocol.TypeReset {
			t.Error("the call is cleared")
		}
	}
}
