package dispatcher_test

import (
	"fmt"
	"testing"
	"time"

	"skyring/dispatcher/routing"
	"skyring/protocol/bus"
)

// load sends messages of many keys from several stations, and calls at half-way.
func load(t *testing.T, all []*station, each int, halfway func()) {
	t.Helper()

	for i := range each {
		if i == each/2 && halfway != nil {
			halfway()
		}

		for _, a := range all {
			a.send(uint16(i%4), unknownPPID, fmt.Sprintf("message %d", i))
		}
	}
}

func checkReceipts(t *testing.T, all []*station, each int) {
	t.Helper()

	for _, a := range all {
		eventually(t, "all receipts", func() bool { return a.received() >= each })

		for stream := range uint16(4) {
			for i, o := range a.ordinals(stream) {
				if o != uint64(i+1) {
					t.Fatalf("stream %d: ordinal %d at place %d", stream, o, i+1)
				}
			}
		}

		if n := a.received(); n != each {
			t.Errorf("%d receipts, want %d", n, each)
		}
	}
}

// checkOrder fails unless each association's messages, which are of one key, took effect in order.
func checkOrder(t *testing.T, s *store, each int) {
	t.Helper()

	for epoch, payloads := range s.payloads {
		for stream := range 4 {
			last := -1

			for _, p := range payloads {
				var i int
				if _, err := fmt.Sscanf(p, "message %d", &i); err != nil {
					t.Fatal(err)
				}

				if i%4 != stream {
					continue
				}

				if i <= last {
					t.Fatalf("epoch %d: message %d took effect after %d", epoch, i, last)
				}

				last = i
			}
		}

		if len(payloads) != each {
			t.Errorf("epoch %d: %d messages", epoch, len(payloads))
		}
	}
}

func TestKilledNodeLosesNothing(t *testing.T) {
	url := startNATS(t, -1).ClientURL()
	s := newStore()
	victim := startNode(t, url, "n1", s)
	startNode(t, url, "n2", s)
	startNode(t, url, "n3", s)

	f := startDispatcher(t, url, testConfig("d1"))
	f.ready(t, 3)

	all := stations(t, f, 12)
	for _, a := range all {
		a.listen()
	}

	const each = 200

	load(t, all, each, victim.kill)
	checkReceipts(t, all, each)
	s.check(t, len(all)*each)
	checkOrder(t, s, each)

	eventually(t, "the ring has two nodes", func() bool {
		return f.Stats().Nodes[0].Share+f.Stats().Nodes[1].Share+f.Stats().Nodes[2].Share > 0.99 && deadNodes(f) == 1
	})
}

// A node that is gone shows at the first frame that is for it, long before it is missed.
func TestNobodyListeningIsNoticedAtOnce(t *testing.T) {
	url := startNATS(t, -1).ClientURL()
	s := newStore()
	victim := startNode(t, url, "n1", s)

	cfg := testConfig("d1")
	cfg.Heartbeat = time.Hour
	cfg.Deadline, cfg.DeadlineMax, cfg.Expiry = time.Hour, time.Hour, 2*time.Hour
	f := startDispatcher(t, url, cfg)
	f.ready(t, 1)

	a := stations(t, f, 1)[0]
	a.listen()
	a.send(0, unknownPPID, "message 0")
	eventually(t, "the receipt", func() bool { return a.received() == 1 })
	victim.kill()
	a.send(0, unknownPPID, "message 1")
	// a heartbeat of the victim's that was under way may bring it back for a moment
	eventually(t, "the report", func() bool { return f.Stats().NoResponders > 0 && deadNodes(f) == 1 })
	startNode(t, url, "n2", s)
	eventually(t, "the other receipt", func() bool { return a.received() == 2 })
	s.check(t, 2)
}

func deadNodes(f *front) int {
	dead := 0

	for _, n := range f.Stats().Nodes {
		if n.Status == routing.Dead && n.Share == 0 {
			dead++
		}
	}

	return dead
}

func TestStalledNodeLosesNothing(t *testing.T) {
	url := startNATS(t, -1).ClientURL()
	s := newStore()
	victim := startNode(t, url, "n1", s)
	startNode(t, url, "n2", s)

	f := startDispatcher(t, url, testConfig("d1"))
	f.ready(t, 2)

	all := stations(t, f, 8)
	for _, a := range all {
		a.listen()
	}

	const each = 100

	load(t, all, each, func() { victim.deaf.Store(true) })
	checkReceipts(t, all, each)
	s.check(t, len(all)*each)
	checkOrder(t, s, each)

	// by deadline: it had answered something after it was sent the last it got
	if st := f.Stats(); st.Resent["stall"]+st.Resent["deadline"] == 0 {
		t.Errorf("nothing moved: %+v", st)
	}
}

func TestRestartedServerLosesNothing(t *testing.T) {
	n := startNATS(t, -1)
	port := natsPort(n)
	s := newStore()
	startNode(t, n.ClientURL(), "n1", s)
	startNode(t, n.ClientURL(), "n2", s)

	f := startDispatcher(t, n.ClientURL(), testConfig("d1"))
	f.ready(t, 2)

	all := stations(t, f, 4)
	for _, a := range all {
		a.listen()
	}

	const each = 100

	load(t, all, each, func() {
		n.Shutdown()
		n.WaitForShutdown()
		eventually(t, "NATS is missed", func() bool { return !f.Stats().Connected })

		for _, a := range all {
			a.send(0, unknownPPID, "message -4")
		}

		startNATS(t, port)
	})

	for _, a := range all {
		eventually(t, "all receipts", func() bool { return a.received() == each+1 })
	}

	s.check(t, len(all)*(each+1))
}

func TestNodesThatDrainFinish(t *testing.T) {
	url := startNATS(t, -1).ClientURL()
	s := newStore()
	n1 := startNode(t, url, "n1", s)
	startNode(t, url, "n2", s)

	f := startDispatcher(t, url, testConfig("d1"))
	f.ready(t, 2)
	n1.state.Store(uint32(bus.Draining))
	f.ready(t, 1)

	all := stations(t, f, 8)
	for _, a := range all {
		a.listen()
	}

	load(t, all, 10, nil)
	checkReceipts(t, all, 10)

	if s.of("n1") != 0 {
		t.Errorf("a draining node got %d messages", s.of("n1"))
	}
}
