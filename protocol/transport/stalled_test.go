package transport_test

import (
	"slices"
	"testing"
	"time"

	"skyring/protocol/transport"
	"skyring/protocol/transport/packet"
)

// sentAndForgotten has the endpoint send a message that the station sees and does not acknowledge.
func sentAndForgotten(t *testing.T) (*station, *transport.Association) {
	t.Helper()
	s, _, a, _ := pair(t, idle())
	if err := a.Send(deadline(t), transport.Message{Payload: []byte("into the void")}); err != nil {
		t.Fatal(err)
	}
	s.expect(packet.TypeData)
	return s, a
}

// A peer that answers heartbeats and acknowledges nothing is no peer: large packets may not get through.
func TestDataNeverAcknowledged(t *testing.T) {
	_, a := sentAndForgotten(t)
	transport.Beat(a, time.Now().Add(55*time.Second))
	if a.Err() != nil {
		t.Fatalf("given up too early: %v", a.Err())
	}
	transport.Beat(a, time.Now().Add(61*time.Second))
	if detail := wantReason(t, a, transport.PathFailed); detail != "data unacknowledged for 1m1s" {
		t.Errorf("detail %q", detail)
	}
}

// A peer whose window is shut and that says so is slow, not dead.
func TestShutWindowIsNoFailure(t *testing.T) {
	s, a := sentAndForgotten(t)
	begun := time.Now()
	s.send(s.serverTag, packet.AppendChunk(nil, packet.TypeSack, 0, slices.Concat(be32(s.serverTSN-1), be32(0), be32(0))),
		s.data(whole(0, "behind it")))
	s.expect(packet.TypeSack)
	if age := transport.Stalled(a, begun.Add(time.Minute)); age > time.Minute {
		t.Errorf("stalled for %s", age)
	}
	transport.Beat(a, begun.Add(time.Minute))
	if a.Err() != nil {
		t.Fatal(a.Err())
	}
}

// What was acknowledged counts no more, and what is sent later counts from then on.
func TestStalledCountsFromTheLastProgress(t *testing.T) {
	s, a := sentAndForgotten(t)
	s.send(s.serverTag, packet.AppendChunk(nil, packet.TypeSack, 0, slices.Concat(be32(s.serverTSN), be32(64<<10), be32(0))))
	eventually(t, "nothing is outstanding", func() bool { return transport.Stalled(a, time.Now().Add(time.Hour)) == 0 })
	again := time.Now()
	if err := a.Send(deadline(t), transport.Message{Payload: []byte("once more")}); err != nil {
		t.Fatal(err)
	}
	if age := transport.Stalled(a, again.Add(time.Minute)); age > time.Minute || age == 0 {
		t.Errorf("stalled for %s", age)
	}
}
