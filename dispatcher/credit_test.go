package dispatcher_test

import (
	"testing"

	"github.com/rs/zerolog"

	"skyring/dispatcher"
	"skyring/protocol/bus"
	"skyring/protocol/transport"
)

// A message gives its credit back when its receipt has been taken, not when it is
// answered: who takes no receipts is not read.
func TestReceiptsThatAreNotTakenHoldCredit(t *testing.T) {
	url := startNATS(t, -1).ClientURL()
	n := startNode(t, url, "n1", newStore())
	n.judge = func(*bus.Envelope) bus.Answer { return bus.Answer{Status: bus.Committed} }

	d, err := dispatcher.New(testConfig("d1"), startEndpoint(t, transport.DefaultConfig()), connect(t, url), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}

	defer d.Serve()()

	const allowed = 5

	f := d.NewFeed(1, allowed)
	for range allowed {
		f.Deliver(transport.Message{PPID: unknownPPID, Payload: []byte("x")})
	}

	eventually(t, "all are answered", func() bool {
		s := d.Stats()

		return s.Submitted == allowed && s.Unanswered == 0
	})

	for taken := range allowed {
		if left := f.Left(); left != taken {
			t.Errorf("%d may come, %d receipts were taken", left, taken)
		}

		f.Reply()
	}
}
