package bus_test

import (
	"bytes"
	"testing"

	"skyring/protocol/bus"
)

// What decodes is written again as the same bytes: there is one encoding of each frame.
func FuzzEnvelopes(f *testing.F) {
	f.Add(envelopeFrame(f, envelopes()))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := bus.DecodeEnvelopes(b)
		if err != nil {
			return
		}

		var (
			w bus.EnvelopeWriter
			e bus.Envelope
		)

		w.Reset(nil, r.Dispatcher())

		for r.Next(&e) {
			if err := w.Append(&e); err != nil {
				t.Fatal(err)
			}
		}

		if !bytes.Equal(w.Bytes(), b) {
			t.Fatalf("%x became %x", b, w.Bytes())
		}
	})
}

func FuzzAnswers(f *testing.F) {
	f.Add(answerFrame(f, answers()))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := bus.DecodeAnswers(b)
		if err != nil {
			return
		}

		var (
			w bus.AnswerWriter
			a bus.Answer
		)

		w.Reset(nil, r.Dispatcher(), r.Node())

		for r.Next(&a) {
			if err := w.Append(&a); err != nil {
				t.Fatal(err)
			}
		}

		if !bytes.Equal(w.Bytes(), b) {
			t.Fatalf("%x became %x", b, w.Bytes())
		}
	})
}

// The known fields come back as they were; what follows them is ignored. Where the appended ones
// are absent, they come back as 0.
func FuzzHeartbeat(f *testing.F) {
	h := bus.Heartbeat{ID: "n", State: bus.Ready, Capacity: 1, CPU: 0.5, Memory: 6.5535, InFlightLimit: 7}
	whole := h.Append(nil)
	f.Add(whole)
	f.Add(whole[:len(whole)-heartbeatAppended])
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := bus.DecodeHeartbeat(b)
		if err != nil {
			return
		}

		again := h.Append(nil)
		if len(again) == len(b)+heartbeatAppended {
			b = append(bytes.Clone(b), make([]byte, heartbeatAppended)...)
		}

		if !bytes.HasPrefix(b, again) {
			t.Fatalf("%x became %x", b, again)
		}
	})
}

func FuzzEpochRequest(f *testing.F) {
	r := bus.EpochRequest{Floor: 1}
	f.Add(r.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := bus.DecodeEpochRequest(b)
		if err == nil && !bytes.HasPrefix(b, r.Append(nil)) {
			t.Fatalf("%x became %x", b, r.Append(nil))
		}
	})
}

func FuzzEpochReply(f *testing.F) {
	r := bus.EpochReply{Epoch: 1, RolledBack: true, Error: "e"}
	f.Add(r.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := bus.DecodeEpochReply(b)
		if err == nil && !bytes.HasPrefix(b, r.Append(nil)) {
			t.Fatalf("%x became %x", b, r.Append(nil))
		}
	})
}

func FuzzHello(f *testing.F) {
	h := bus.Hello{ID: "d", Incarnation: 2}
	f.Add(h.Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := bus.DecodeHello(b)
		if err == nil && !bytes.HasPrefix(b, h.Append(nil)) {
			t.Fatalf("%x became %x", b, h.Append(nil))
		}
	})
}
