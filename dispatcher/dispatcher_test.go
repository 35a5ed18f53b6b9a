package dispatcher_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"skyring/dispatcher"
	"skyring/dispatcher/routing"
	"skyring/protocol/bus"
	"skyring/protocol/receipt"
	"skyring/protocol/transport"
)

const (
	unknownPPID  = 0 // keyed by association
	diameterPPID = 46
)

func (f *front) ready(t *testing.T, nodes int) {
	t.Helper()

	eventually(t, "nodes are open", func() bool {
		open := 0

		for _, n := range f.Stats().Nodes {
			if n.Status == routing.Open && n.Member {
				open++
			}
		}

		return open == nodes
	})
}

func TestReceiptsNameEachMessageInOrder(t *testing.T) {
	url := startNATS(t, -1).ClientURL()
	s := newStore()
	startNode(t, url, "n1", s)

	f := startDispatcher(t, url, testConfig("d1"))
	a := stations(t, f, 1)[0]
	a.listen()

	const messages = 100
	for i := range messages {
		a.send(uint16(i%2), unknownPPID, fmt.Sprintf("message %d", i))
	}

	eventually(t, "all receipts", func() bool { return a.received() == messages })
	s.check(t, messages)

	for stream := range uint16(2) {
		want := uint64(1)

		for _, r := range a.receipts {
			if r.Stream != stream {
				continue
			}

			payload := fmt.Sprintf("message %d", 2*(want-1)+uint64(stream))
			if r.Ordinal != want || r.Hash != receipt.Hash([]byte(payload)) || r.Status != receipt.Committed || r.Unordered {
				t.Fatalf("stream %d: %+v, want ordinal %d for %q", stream, r, want, payload)
			}

			want++
		}
	}

	if got := s.payloads[1]; len(got) != messages {
		t.Errorf("%d messages at epoch 1", len(got))
	}

	st := f.Stats()
	if st.Submitted != messages || st.Receipts != messages || st.Unanswered != 0 || st.Answers["committed"] != messages || st.Associations != 1 {
		t.Errorf("%+v", st)
	}

	if len(st.Nodes) != 1 || st.Nodes[0].Answered != messages || st.Nodes[0].InFlight != 0 {
		t.Errorf("%+v", st.Nodes)
	}
}

func TestRepliesGoWhereTheProcessorSays(t *testing.T) {
	url := startNATS(t, -1).ClientURL()
	n := startNode(t, url, "n1", newStore())
	n.reply = func(e *bus.Envelope) (bus.Reply, bool) {
		return bus.Reply{Stream: e.Stream + 1, PPID: e.PPID, Payload: append([]byte("re: "), e.Payload...)}, e.Stream != 3
	}

	f := startDispatcher(t, url, testConfig("d1"))
	a := stations(t, f, 1)[0]
	a.listen()
	a.send(2, 18, "x")
	a.send(3, 18, "y")

	eventually(t, "reply and receipt", func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()

		return len(a.replies) == 1 && len(a.receipts) == 1
	})

	if m := a.replies[0]; m.Stream != 3 || m.PPID != 18 || string(m.Payload) != "re: x" {
		t.Errorf("%+v", m)
	}

	if r := a.receipts[0]; r.Stream != 3 || r.Ordinal != 1 {
		t.Errorf("%+v", r)
	}
}

func TestDispatchersWithTheSameNodesHaveTheSameRing(t *testing.T) {
	url := startNATS(t, -1).ClientURL()
	s := newStore()
	f1 := startDispatcher(t, url, testConfig("d1"))

	for i := range 3 {
		startNode(t, url, fmt.Sprintf("n%d", i), s)
	}

	f1.ready(t, 3)

	f2 := startDispatcher(t, url, testConfig("d2"))
	f2.ready(t, 3)

	if a, b := f1.Stats().Checksum, f2.Stats().Checksum; a != b || a == 0 {
		t.Errorf("checksums %x and %x", a, b)
	}
}

func TestAssociationsWaitForANode(t *testing.T) {
	url := startNATS(t, -1).ClientURL()
	s := newStore()
	f := startDispatcher(t, url, testConfig("d1"))

	a := stations(t, f, 1)[0]
	a.listen()
	a.send(0, unknownPPID, "message 0")

	if f.Stats().Submitted != 0 {
		t.Error("a message was read without an epoch")
	}

	startNode(t, url, "n1", s)
	eventually(t, "the receipt", func() bool { return a.received() == 1 })
}

func TestRollbackOfRedisIsAnAlarm(t *testing.T) {
	url := startNATS(t, -1).ClientURL()
	s := newStore()
	s.rollback = true
	startNode(t, url, "n1", s)

	f := startDispatcher(t, url, testConfig("d1"))
	a := stations(t, f, 2)

	for _, a := range a {
		a.listen()
		a.send(0, unknownPPID, "message 0")
	}

	eventually(t, "the receipts", func() bool { return a[0].received()+a[1].received() == 2 })

	if n := f.Stats().Rollbacks; n != 1 {
		t.Errorf("%d alarms", n)
	}
}

func TestPeerThatTakesNoRepliesIsAborted(t *testing.T) {
	url := startNATS(t, -1).ClientURL()
	n := startNode(t, url, "n1", newStore())
	n.reply = func(*bus.Envelope) (bus.Reply, bool) { return bus.Reply{Payload: make([]byte, 16<<10)}, true }

	cfg := testConfig("d1")
	cfg.ReplyQueue = 4
	f := startDispatcher(t, url, cfg)
	a := stations(t, f, 1)[0] // and never receives

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	for a.link.Send(ctx, transport.Message{Payload: []byte("x")}) == nil {
	}

	<-a.link.Done()

	why, ok := errors.AsType[*transport.CloseError](a.link.Err())
	if !ok || why.Reason != transport.PeerAbort || !strings.Contains(why.Detail, "takes no replies") {
		t.Errorf("%v", a.link.Err())
	}

	if f.Stats().Dropped[dispatcher.DropReplyQueue.String()] == 0 {
		t.Errorf("%+v", f.Stats())
	}
}

func TestUnansweredMessagesStopTheReading(t *testing.T) {
	url := startNATS(t, -1).ClientURL()
	s := newStore()
	n := startNode(t, url, "n1", s)
	cfg := testConfig("d1")
	cfg.AssociationMessages = 10
	f := startDispatcher(t, url, cfg)
	f.ready(t, 1)

	a := stations(t, f, 1)[0]
	a.listen()
	n.deaf.Store(true)

	for i := range 30 {
		a.send(uint16(i%4), unknownPPID, fmt.Sprintf("message %d", i))
	}

	eventually(t, "the credit is used up", func() bool { return f.Stats().Unanswered == 10 })
	n.deaf.Store(false)
	eventually(t, "all receipts", func() bool { return a.received() == 30 })
	s.check(t, 30)
}

func TestFaultyMessagesAreCountedAndDispatched(t *testing.T) {
	url := startNATS(t, -1).ClientURL()
	s := newStore()
	startNode(t, url, "n1", s)
	f := startDispatcher(t, url, testConfig("d1"))
	a := stations(t, f, 1)[0]
	a.listen()
	a.send(0, diameterPPID, "no Diameter")
	eventually(t, "the receipt", func() bool { return a.received() == 1 })

	total := uint64(0)
	for name, n := range f.Stats().Faults {
		if !strings.HasPrefix(name, "diameter") {
			t.Errorf("fault %q", name)
		}

		total += n
	}

	if total != 1 {
		t.Errorf("%v", f.Stats().Faults)
	}
}

func TestHardCapIsNoneOrLeavesRoomForTheLimit(t *testing.T) {
	for hardCap, right := range map[int]bool{0: true, 1023: false, 1024: true, 1 << 20: true, 1<<20 + 1: false} {
		cfg := dispatcher.DefaultConfig()
		cfg.HardCap = hardCap

		if err := cfg.Validate(); (err == nil) != right {
			t.Errorf("%d: %v", hardCap, err)
		}
	}
}

func TestNodesFitOnTheRing(t *testing.T) {
	cfg := dispatcher.DefaultConfig()
	cfg.RingBits, cfg.MaxNodes = 4, 17

	if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), "maxNodes (2^ringBits bounds it): 17: 1 to 16 is right") {
		t.Errorf("17 nodes on 16 slots: %v", err)
	}
}

func TestConfigNamesEachFault(t *testing.T) {
	if err := dispatcher.DefaultConfig().Validate(); err != nil {
		t.Error(err)
	}

	err := dispatcher.Config{
		Deadline: -1, RetryShare: -1, HardCap: -1, CPUThreshold: 75, MemoryThreshold: -1, RateThreshold: -1, Hysteresis: -1, RingEpsilon: 2,
	}.Validate()
	if err == nil {
		t.Fatal("an empty configuration passed")
	}

	named := strings.Split(err.Error(), "\n")
	for _, key := range []string{
		"id", "namespace", "window", "deadline", "retryDelay", "retryShare", "retryRate", "probe", "heartbeat", "inFlightLimit",
		"hardCap", "cpuThreshold", "memoryThreshold", "rateThreshold", "responseTarget", "hysteresis", "policy", "ringBits", "ringEpsilon",
		"maxBytesPerNode", "maxNodes", "frameMessages", "frameBytes", "maxMessage", "associationMessages",
		"associationBytes", "replyQueue", "askTimeout", "clockRefresh", "drainTimeout",
	} {
		if !slices.ContainsFunc(named, func(line string) bool { return strings.HasPrefix(line, key+":") || strings.HasPrefix(line, key+" (") }) {
			t.Errorf("%s is not named in\n%v", key, err)
		}
	}
}
