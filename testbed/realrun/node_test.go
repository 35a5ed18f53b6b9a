package realrun_test

import (
	"bytes"
	"testing"
	"time"

	"skyring/processor"
	"skyring/testbed/realrun"
)

func message(t *testing.T, sequence uint32, work time.Duration) processor.Message {
	t.Helper()

	payload, err := realrun.Order(17, sequence, work)
	if err != nil {
		t.Fatal(err)
	}

	return processor.Message{Stream: 3, Payload: payload}
}

// A session counts its messages, wherever they are handled; the work of a message is done once where it is handled again.
func TestNodeCounts(t *testing.T) {
	var body []byte

	for i := range uint32(3) {
		h := realrun.NewNode(int(i), nil)

		for again := range 2 {
			r, err := h.Apply(processor.Session{Body: body}, message(t, i+1, time.Microsecond))
			if err != nil {
				t.Fatal(err)
			}

			if want := realrun.Answer(i+1, uint64(i+1), int(i)); !r.HasReply || !bytes.Equal(r.Reply.Payload, want) || r.Reply.Stream != 3 {
				t.Errorf("message %d: %+v, want the reply %x", i+1, r, want)
			}

			if realrun.Again(h) != again {
				t.Errorf("message %d: handled again %d times, want %d", i+1, realrun.Again(h), again)
			}

			if again == 1 {
				body = r.Body
			}
		}
	}
}

// An hour's work ends with the run only, and has no effect then.
func TestNodeWorks(t *testing.T) {
	stop := make(chan struct{})
	h := realrun.NewNode(0, stop)
	ended := make(chan processor.Result)

	go func() {
		r, _ := h.Apply(processor.Session{}, message(t, 1, time.Hour))
		ended <- r
	}()

	close(stop)

	if r := <-ended; !r.Discard {
		t.Errorf("work that was not done has an effect: %+v", r)
	}
}

func TestNodeRefuses(t *testing.T) {
	good := message(t, 1, 0)

	for name, tt := range map[string]struct {
		body, payload []byte
	}{
		"short":  {nil, good.Payload[:27]},
		"long":   {nil, append(bytes.Clone(good.Payload), 0)},
		"header": {nil, append([]byte{9}, good.Payload[1:]...)},
		"body":   {[]byte{1}, good.Payload},
	} {
		t.Run(name, func(t *testing.T) {
			if r, err := realrun.NewNode(0, nil).Apply(processor.Session{Body: tt.body}, processor.Message{Payload: tt.payload}); err == nil {
				t.Errorf("%+v", r)
			}
		})
	}
}
