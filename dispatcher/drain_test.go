package dispatcher_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"skyring/dispatcher"
	"skyring/protocol/transport"
)

func TestDrainAnswersWhatWasRead(t *testing.T) {
	url := startNATS(t, -1).ClientURL()
	s := newStore()
	n := startNode(t, url, "n1", s)
	f := startDispatcher(t, url, testConfig("d1"))
	f.ready(t, 1)

	a := stations(t, f, 1)[0]
	a.listen()
	n.deaf.Store(true)

	const messages = 20
	for i := range messages {
		a.send(0, unknownPPID, fmt.Sprintf("message %d", i))
	}

	eventually(t, "all are read", func() bool { return f.Stats().Submitted == messages })
	time.AfterFunc(50*time.Millisecond, func() { n.deaf.Store(false) })
	f.drain()
	eventually(t, "all receipts", func() bool { return a.received() == messages })
	s.check(t, messages)

	<-a.link.Done()

	why, ok := errors.AsType[*transport.CloseError](a.link.Err())
	if !ok || why.Reason != transport.PeerShutdown {
		t.Errorf("%v", a.link.Err())
	}
}

func TestDrainGivesUpInTime(t *testing.T) {
	url := startNATS(t, -1).ClientURL()
	n := startNode(t, url, "n1", newStore())
	cfg := testConfig("d1")
	cfg.DrainTimeout = 100 * time.Millisecond
	f := startDispatcher(t, url, cfg)
	f.ready(t, 1)
	n.deaf.Store(true)

	a := stations(t, f, 1)[0]
	a.listen()
	a.send(0, unknownPPID, "x")
	eventually(t, "it is read", func() bool { return f.Stats().Submitted == 1 })

	if err := f.end(); err == nil || !strings.Contains(err.Error(), "1 messages were left unanswered, and 0 unread") {
		t.Errorf("%v", err)
	}
}

// TestDrainCommitsWhatSCTPAccepted ends a dispatcher under senders that never pause.
// Each message that a sender's SCTP took is committed, those that had been acknowledged
// before have their receipts too, and the associations end by SHUTDOWN.
func TestDrainCommitsWhatSCTPAccepted(t *testing.T) {
	url := startNATS(t, -1).ClientURL()
	s := newStore()
	startNode(t, url, "n1", s)
	cfg := testConfig("d1")
	cfg.DrainTimeout = patience // a busy machine takes its time for some 20,000 messages
	f := startDispatcher(t, url, cfg)
	f.ready(t, 1)

	all := stations(t, f, 4)
	first := make([]int, len(all))

	for i, a := range all {
		a.listen()

		for ; first[i] < 300; first[i]++ {
			a.send(0, unknownPPID, fmt.Sprintf("message %d", first[i]))
		}

		if err := a.link.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}

	var (
		taken   atomic.Int64
		sending sync.WaitGroup
	)

	for _, a := range all {
		sending.Go(func() {
			for n := uint16(0); ; n++ {
				m := transport.Message{Stream: 1 + n%3, Unordered: n%2 == 0, PPID: unknownPPID, Payload: []byte("busy")}
				if a.link.Send(context.Background(), m) != nil {
					return
				}

				taken.Add(1)
			}
		})
	}

	eventually(t, "traffic", func() bool { return taken.Load() > 1000 })
	f.drain()
	sending.Wait()
	s.check(t, len(all)*first[0]+int(taken.Load()))

	for i, a := range all {
		<-a.link.Done()

		if why, ok := errors.AsType[*transport.CloseError](a.link.Err()); !ok || why.Reason != transport.PeerShutdown {
			t.Errorf("%v", a.link.Err())
		}

		eventually(t, "receipts", func() bool { return len(a.ordinals(0)) == first[i] })
	}
}

// TestDrainServesWhoJustCame ends a dispatcher while associations have been set up that
// it has not come to: what they sent is committed, and they end by SHUTDOWN.
func TestDrainServesWhoJustCame(t *testing.T) {
	url := startNATS(t, -1).ClientURL()
	s := newStore()
	startNode(t, url, "n1", s)

	e := startEndpoint(t, transport.DefaultConfig())

	d, err := dispatcher.New(testConfig("d1"), e, connect(t, url), zerolog.New(zerolog.NewTestWriter(t)))
	if err != nil {
		t.Fatal(err)
	}

	const n = 20

	all := stations(t, &front{Dispatcher: d, addr: e.LocalAddr()}, n)
	for _, a := range all {
		a.listen()
		a.send(0, unknownPPID, "x")

		if err := a.link.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}

	over, end := context.WithCancel(context.Background())
	end()

	if err := d.Run(over); err != nil {
		t.Error(err)
	}

	s.check(t, n)

	for _, a := range all {
		<-a.link.Done()

		if why, ok := errors.AsType[*transport.CloseError](a.link.Err()); !ok || why.Reason != transport.PeerShutdown {
			t.Errorf("%v", a.link.Err())
		}
	}
}

// TestDrainCountsWhatNobodyRead ends a dispatcher that no node serves: what SCTP has
// acknowledged is counted, and an idle station sees SHUTDOWN.
func TestDrainCountsWhatNobodyRead(t *testing.T) {
	url := startNATS(t, -1).ClientURL()
	cfg := testConfig("d1")
	cfg.AskTimeout, cfg.DrainTimeout = 100*time.Millisecond, time.Second
	f := startDispatcher(t, url, cfg)

	all := stations(t, f, 2)
	for range 3 {
		all[0].send(0, unknownPPID, "x")
	}

	if err := all[0].link.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}

	if err := f.end(); err == nil || !strings.Contains(err.Error(), "0 messages were left unanswered, and 3 unread") {
		t.Errorf("%v", err)
	}

	<-all[1].link.Done()

	if why, ok := errors.AsType[*transport.CloseError](all[1].link.Err()); !ok || why.Reason != transport.PeerShutdown {
		t.Errorf("%v", all[1].link.Err())
	}
}

// TestDrainTakesNoLongerThanItMay ends a dispatcher whose node answers nothing and whose
// station neither stops sending nor takes anything.
func TestDrainTakesNoLongerThanItMay(t *testing.T) {
	url := startNATS(t, -1).ClientURL()
	n := startNode(t, url, "n1", newStore())
	cfg := testConfig("d1")
	cfg.AssociationMessages, cfg.DrainTimeout = 10, time.Second
	f := startDispatcher(t, url, cfg)
	f.ready(t, 1)
	n.deaf.Store(true)

	a := stations(t, f, 1)[0]

	const messages = 100
	for range messages {
		a.send(0, unknownPPID, "x")
	}

	if err := a.link.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}

	began := time.Now()

	err := f.end()
	if err == nil || !strings.Contains(err.Error(), "10 messages were left unanswered, and 90 unread") {
		t.Errorf("%v", err)
	}

	t.Logf("drained in %s", time.Since(began))
}
