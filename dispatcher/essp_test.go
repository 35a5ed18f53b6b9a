package dispatcher_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"skyring/dispatcher"
	"skyring/protocol"
	"skyring/protocol/bus"
	"skyring/protocol/key"
	"skyring/protocol/transport"
)

// esspMessage is a message of station 17.
func esspMessage(t *testing.T, sequence uint32) string {
	t.Helper()

	b, err := protocol.Append(nil, protocol.Header{Station: 17, Sequence: sequence}, protocol.Heartbeat{})
	if err != nil {
		t.Fatal(err)
	}

	return string(b)
}

// seen notes what a node was sent.
type seen struct {
	mu        sync.Mutex
	envelopes []bus.Envelope
}

func (s *seen) note(e *bus.Envelope) {
	s.mu.Lock()
	defer s.mu.Unlock()

	c := *e
	c.Key, c.Payload = slices.Clone(e.Key), slices.Clone(e.Payload)
	s.envelopes = append(s.envelopes, c)
}

func (s *seen) all() []bus.Envelope {
	s.mu.Lock()
	defer s.mu.Unlock()

	return slices.Clone(s.envelopes)
}

func reply(text string) bus.Answer {
	return bus.Answer{Status: bus.Committed, HasReply: true, Reply: bus.Reply{PPID: protocol.PPID, Payload: []byte(text)}}
}

// answers are the payloads that a station got with a PPID.
func (s *station) answers(ppid uint32) []string {
	s.mu.Lock()
	defer s.mu.Unlock()

	var all []string

	for _, m := range s.replies {
		if m.PPID == ppid {
			all = append(all, string(m.Payload))
		}
	}

	return all
}

func closedBy(t *testing.T, link *transport.Association) transport.CloseError {
	t.Helper()

	select {
	case <-link.Done():
	case <-time.After(patience):
		t.Fatal("the association does not end")
	}

	why, ok := errors.AsType[*transport.CloseError](link.Err())
	if !ok {
		t.Fatalf("%v", link.Err())
	}

	return *why
}

// Messages of a station have its key whatever their association, under whichever PPID
// the site speaks ESSP; what else has that PPID is foreign.
func TestESSPGoesByStation(t *testing.T) {
	for _, ppid := range []uint32{protocol.PPID, 77} {
		t.Run(strconv.FormatUint(uint64(ppid), 10), func(t *testing.T) {
			url := startNATS(t, -1).ClientURL()
			n := startNode(t, url, "n1", newStore())

			var got seen

			n.judge = func(e *bus.Envelope) bus.Answer {
				got.note(e)

				return reply(fmt.Sprintf("to %d", len(e.Payload)))
			}

			cfg := testConfig("d1")
			cfg.ESSPPPID = ppid
			f := startDispatcher(t, url, cfg)

			both := stations(t, f, 2)
			for _, a := range both {
				a.listen()
				a.send(1, ppid, esspMessage(t, 1))
			}

			eventually(t, "replies", func() bool {
				return len(both[0].answers(ppid)) == 1 && len(both[1].answers(ppid)) == 1
			})

			if ppid != protocol.PPID {
				both[0].send(0, protocol.PPID, esspMessage(t, 2))
				eventually(t, "the foreign message", func() bool { return len(got.all()) == 3 })

				if e := got.all()[2]; key.KindOf(e.Key) != key.KindAssociation || e.PPID == protocol.PPID {
					t.Errorf("%s of %d is taken for ESSP", key.Format(e.Key), e.PPID)
				}
			}

			for _, e := range got.all()[:2] {
				if want := key.Station(nil, 17); !slices.Equal(e.Key, want) || e.PPID != protocol.PPID {
					t.Errorf("%s of %d, want %s of %d", key.Format(e.Key), e.PPID, key.Format(want), protocol.PPID)
				}
			}

			if p := f.Stats().Protocols; p["essp"] != 2 {
				t.Errorf("%v", p)
			}
		})
	}
}

// ESSP answers for itself: no receipts, whatever the configuration.
func TestESSPGetsNoReceipts(t *testing.T) {
	url := startNATS(t, -1).ClientURL()
	s := newStore()
	startNode(t, url, "n1", s)

	f := startDispatcher(t, url, testConfig("d1"))
	a := stations(t, f, 1)[0]
	a.listen()
	a.send(0, protocol.PPID, esspMessage(t, 1))
	eventually(t, "it is done", func() bool { st := f.Stats(); return st.Submitted == 1 && st.Unanswered == 0 })
	a.send(0, unknownPPID, "foreign")
	eventually(t, "the foreign message's receipt", func() bool { return slices.Contains(a.ordinals(0), 2) })
	eventually(t, "it is counted", func() bool { return f.Stats().Receipts > 0 })

	if st := f.Stats(); st.Receipts != 1 || a.received() != 1 {
		t.Errorf("receipts for %d; %+v", a.ordinals(0), st)
	}
}

// A refusal is an answer: nothing is sent again. One that says so has the association
// aborted after its reply.
func TestRefusedIsDoneAndMayAbort(t *testing.T) {
	url := startNATS(t, -1).ClientURL()
	n := startNode(t, url, "n1", newStore())

	var got seen

	n.judge = func(e *bus.Envelope) bus.Answer {
		got.note(e)

		a := reply("not logged on")
		a.Status, a.AbortAssociation = bus.Refused, e.Sequence == 2

		return a
	}

	f := startDispatcher(t, url, testConfig("d1"))
	a := stations(t, f, 1)[0]
	a.listen()
	a.send(0, protocol.PPID, esspMessage(t, 1))
	eventually(t, "the refusal", func() bool { return len(a.answers(protocol.PPID)) == 1 })
	a.send(0, protocol.PPID, esspMessage(t, 2))

	if why := closedBy(t, a.link); why.Reason != transport.PeerAbort || !strings.Contains(why.Detail, "newer association") {
		t.Errorf("%+v", why)
	}

	if got := a.answers(protocol.PPID); len(got) != 2 {
		t.Errorf("answers %q, want two", got)
	}

	if st := f.Stats(); len(got.all()) != 2 || st.Unanswered != 0 || st.Answers["refused"] != 2 || st.Outdated != 1 {
		t.Errorf("%d envelopes, %+v", len(got.all()), st)
	}
}

// What tells no station is answered, by the key of its association. Who sends nothing
// else loses the association, and nobody else anything.
func TestESSPWithoutStationEndsItsAssociation(t *testing.T) {
	url := startNATS(t, -1).ClientURL()
	s := newStore()
	n := startNode(t, url, "n1", s)

	var got seen

	n.judge = func(e *bus.Envelope) bus.Answer {
		if e.PPID != protocol.PPID {
			return bus.Answer{Status: bus.Committed}
		}

		got.note(e)

		return bus.Answer{Status: bus.Refused, HasReply: true, Reply: bus.Reply{PPID: protocol.PPID, Payload: []byte("no")}}
	}

	f := startDispatcher(t, url, testConfig("d1"))

	both := stations(t, f, 2)
	for _, a := range both {
		a.listen()
	}

	const answered = 16

	for n := range answered + 4 {
		if n == 4 { // one that can be read shows that the others are mishaps
			both[0].send(0, protocol.PPID, esspMessage(t, 1))
		}

		both[0].send(0, protocol.PPID, "short")
		eventually(t, "an answer", func() bool { return len(both[0].answers(protocol.PPID)) > n })
	}

	if e := got.all()[0]; key.KindOf(e.Key) != key.KindAssociation || string(e.Payload) != "short" {
		t.Errorf("%+v", e)
	}

	both[0].send(0, protocol.PPID, "short")

	if why := closedBy(t, both[0].link); why.Reason != transport.PeerAbort || !strings.Contains(why.Detail, "essp") {
		t.Errorf("%+v", why)
	}

	both[1].send(0, unknownPPID, "x")
	eventually(t, "the other's receipt", func() bool { return both[1].received() == 1 })

	if st := f.Stats(); st.Dropped[dispatcher.DropMalformed.String()] != 1 || st.Submitted != answered+6 {
		t.Errorf("%+v", st)
	}
}

// An ESSP message is given up after its expiry, a foreign one never.
func TestESSPIsGivenUpInTime(t *testing.T) {
	url := startNATS(t, -1).ClientURL()
	s := newStore()
	n := startNode(t, url, "n1", s)

	var got seen

	n.judge = func(e *bus.Envelope) bus.Answer {
		got.note(e)

		return bus.Answer{Status: bus.Unavailable}
	}

	cfg := testConfig("d1")
	cfg.DeadlineMax, cfg.Expiry, cfg.DrainTimeout = 200*time.Millisecond, 400*time.Millisecond, 100*time.Millisecond
	cfg.AssociationMessages = 2
	f := startDispatcher(t, url, cfg)
	a := stations(t, f, 1)[0]
	a.listen()
	a.send(0, unknownPPID, "foreign")
	a.send(0, protocol.PPID, esspMessage(t, 1))
	a.send(0, protocol.PPID, esspMessage(t, 2)) // read once the first is given up
	eventually(t, "both are given up", func() bool { return f.Stats().GivenUp == 2 })

	if st := f.Stats(); st.Unanswered != 1 || st.Receipts != 0 || st.Resent["unavailable"] == 0 {
		t.Errorf("%+v", st)
	}

	first := map[uint64]int64{}

	for _, e := range got.all() {
		if e.PPID != protocol.PPID {
			continue
		}

		if was, ok := first[e.Sequence]; ok && e.Expiry > was+50_000 { // the clock's offset may be learnt anew
			t.Errorf("an attempt may commit %d us later than the first", e.Expiry-was)
		} else if !ok {
			first[e.Sequence] = e.Expiry
		}
	}
}

// caller is a processor's side of deliveries.
type caller struct {
	t        *testing.T
	conn     *bus.Conn
	outcomes chan bus.Delivered
	frames   chan int // outcomes of each frame
}

const callerNode = 4711

func newCaller(t *testing.T, url string) *caller {
	t.Helper()

	c := &caller{t: t, conn: connect(t, url), outcomes: make(chan bus.Delivered, 10_000), frames: make(chan int, 10_000)}

	if _, err := c.conn.Subscribe(testNamespace.Delivered("n1"), func(m bus.Message) {
		r, err := bus.DecodeDelivered(m.Data)
		if err != nil || r.Node() != callerNode {
			t.Errorf("%v, of node %d", err, r.Node())

			return
		}

		c.frames <- r.Len()

		var d bus.Delivered
		for r.Next(&d) {
			c.outcomes <- d
		}
	}); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	if err := c.conn.Flush(ctx); err != nil {
		t.Fatal(err)
	}

	return c
}

func (c *caller) deliver(incarnation uint64, deliveries ...bus.Delivery) {
	c.t.Helper()

	var w bus.DeliverWriter

	w.Reset(nil, incarnation, callerNode)

	for i := range deliveries {
		if err := w.Append(&deliveries[i]); err != nil {
			c.t.Fatal(err)
		}
	}

	if err := c.conn.Publish(testNamespace.Dispatcher("d1"), testNamespace.Delivered("n1"), w.Bytes()); err != nil {
		c.t.Fatal(err)
	}
}

func (c *caller) outcome() bus.Delivered {
	c.t.Helper()

	select {
	case d := <-c.outcomes:
		return d
	case <-time.After(patience):
		c.t.Fatal("no outcome")

		return bus.Delivered{}
	}
}

// served brings an association to life and tells its epoch.
func served(t *testing.T, a *station, s *store) uint64 {
	t.Helper()

	hello := fmt.Sprintf("hello from %p", a)

	a.listen()
	a.send(0, unknownPPID, hello)
	eventually(t, "the association is served", func() bool { return a.received() == 1 })

	s.mu.Lock()
	defer s.mu.Unlock()

	for epoch, payloads := range s.payloads {
		if slices.Contains(payloads, hello) {
			return epoch
		}
	}

	t.Fatal("its message has no epoch")

	return 0
}

func TestDeliveriesReachTheStationInOrder(t *testing.T) {
	url := startNATS(t, -1).ClientURL()
	s := newStore()
	startNode(t, url, "n1", s)
	f := startDispatcher(t, url, testConfig("d1"))
	a := stations(t, f, 1)[0]
	epoch := served(t, a, s)
	c := newCaller(t, url)

	const n = 500

	var (
		all  []bus.Delivery
		want []string
	)

	for i := range n {
		text := fmt.Sprintf("delivery %d", i)
		want = append(want, text)
		all = append(all, bus.Delivery{Number: uint64(i + 1), Epoch: epoch, PPID: protocol.PPID, Payload: []byte(text)})
	}

	c.deliver(f.Stats().Incarnation, all...)

	for i := range n {
		if d := c.outcome(); d != (bus.Delivered{Number: uint64(i + 1), Status: bus.Taken}) {
			t.Fatalf("outcome %d is %+v", i, d)
		}
	}

	eventually(t, "all arrive", func() bool { return len(a.answers(protocol.PPID)) == n })

	if got := a.answers(protocol.PPID); !slices.Equal(got, want) {
		t.Errorf("they arrived as %q", got)
	}

	if len(c.frames) == n {
		t.Error("each outcome came in a frame of its own")
	}

	if st := f.Stats(); st.Deliveries["taken"] != n || st.Replies != 0 {
		t.Errorf("%+v", st)
	}
}

func TestDeliveriesWithoutAssociationAreToldSo(t *testing.T) {
	url := startNATS(t, -1).ClientURL()
	s := newStore()
	startNode(t, url, "n1", s)
	f := startDispatcher(t, url, testConfig("d1"))
	both := stations(t, f, 2)
	left := served(t, both[0], s)
	stays := served(t, both[1], s)
	c := newCaller(t, url)
	incarnation := f.Stats().Incarnation
	payload := []byte("x")

	c.deliver(incarnation, bus.Delivery{Number: 1, Epoch: stays + 100, PPID: protocol.PPID, Payload: payload})
	c.deliver(incarnation+1, bus.Delivery{Number: 2, Epoch: stays, PPID: protocol.PPID, Payload: payload}) // the dispatcher before this one
	c.deliver(incarnation, bus.Delivery{Number: 3, Epoch: stays, Stream: 999, PPID: protocol.PPID, Payload: payload})

	for i := range 3 {
		if d := c.outcome(); d != (bus.Delivered{Number: uint64(i + 1), Status: bus.NoAssociation}) {
			t.Errorf("%+v", d)
		}
	}

	both[0].link.Abort("gone")
	eventually(t, "it has ended", func() bool { return f.Stats().Associations == 1 })
	c.deliver(incarnation, bus.Delivery{Number: 4, Epoch: left, PPID: protocol.PPID, Payload: payload})

	if d := c.outcome(); d.Status != bus.NoAssociation {
		t.Errorf("%+v", d)
	}

	if got := both[1].answers(protocol.PPID); len(got) != 0 {
		t.Errorf("%q arrived", got)
	}

	if err := c.conn.Publish(testNamespace.Dispatcher("d1"), "", []byte{1, 7, 0}); err != nil {
		t.Fatal(err)
	}

	eventually(t, "garbage is counted", func() bool {
		return f.Stats().Dropped[dispatcher.DropDeliverFrame.String()] == 1
	})
}

func TestDeliveriesMayAbort(t *testing.T) {
	url := startNATS(t, -1).ClientURL()
	s := newStore()
	startNode(t, url, "n1", s)
	f := startDispatcher(t, url, testConfig("d1"))
	both := stations(t, f, 2)
	first, second := served(t, both[0], s), served(t, both[1], s)
	c := newCaller(t, url)
	incarnation := f.Stats().Incarnation

	c.deliver(incarnation,
		bus.Delivery{Number: 1, Epoch: first, PPID: protocol.PPID, Payload: []byte("last words"), Abort: true},
		bus.Delivery{Number: 2, Epoch: second, Abort: true})

	for _, a := range both {
		if why := closedBy(t, a.link); why.Reason != transport.PeerAbort {
			t.Errorf("%+v", why)
		}
	}

	if got := both[0].answers(protocol.PPID); !slices.Equal(got, []string{"last words"}) {
		t.Errorf("%q", got)
	}

	for range 2 {
		if d := c.outcome(); d.Status != bus.Taken {
			t.Errorf("%+v", d)
		}
	}
}
