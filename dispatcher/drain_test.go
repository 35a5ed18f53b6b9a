package dispatcher_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

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
	f.drain()

	if f.Stats().Unanswered != 1 {
		t.Errorf("%+v", f.Stats())
	}
}
