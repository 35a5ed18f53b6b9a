package bus_test

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"skyring/protocol/bus"
)

func deliveries() []bus.Delivery {
	return []bus.Delivery{
		{Number: 1, Epoch: 1 << 60, Stream: 3, PPID: 0x45535350, Payload: []byte("announce")},
		{Number: 2, Epoch: 7, Abort: true, Payload: []byte{}},
		{Number: 1 << 63, Epoch: 7, Stream: 65535, PPID: 1, Payload: []byte("x"), Abort: true},
	}
}

func deliverFrame(tb testing.TB, all []bus.Delivery) []byte {
	tb.Helper()

	var w bus.DeliverWriter

	w.Reset(nil, 11, 12)

	for i := range all {
		if err := w.Append(&all[i]); err != nil {
			tb.Fatal(err)
		}
	}

	return w.Bytes()
}

func deliveredFrame(tb testing.TB) []byte {
	tb.Helper()

	var w bus.DeliveredWriter

	w.Reset(nil, 11, 12)

	for i, s := range []bus.DeliveredStatus{bus.Taken, bus.NoAssociation} {
		if err := w.Append(bus.Delivered{Number: uint64(i), Status: s}); err != nil {
			tb.Fatal(err)
		}
	}

	return w.Bytes()
}

func TestDeliverFrames(t *testing.T) {
	want := deliveries()
	frame := deliverFrame(t, want)

	size := bus.DeliverFrameOverhead
	for i := range want {
		size += want[i].Size()
	}

	if len(frame) != size || !bus.IsDeliver(frame) || bus.IsDeliver(deliveredFrame(t)) {
		t.Errorf("%d bytes, %d announced", len(frame), size)
	}

	r, err := bus.DecodeDeliver(frame)
	if err != nil || r.Dispatcher() != 11 || r.Node() != 12 || r.Len() != len(want) {
		t.Fatalf("%+v, %v", r, err)
	}

	var got []bus.Delivery

	var d bus.Delivery
	for r.Next(&d) {
		got = append(got, d)
	}

	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}

func TestDeliveredFrames(t *testing.T) {
	r, err := bus.DecodeDelivered(deliveredFrame(t))
	if err != nil || r.Dispatcher() != 11 || r.Node() != 12 || r.Len() != 2 {
		t.Fatalf("%+v, %v", r, err)
	}

	var d bus.Delivered
	for i := uint64(0); r.Next(&d); i++ {
		if d.Number != i || d.Status != bus.DeliveredStatus(i+1) {
			t.Errorf("%+v", d)
		}
	}
}

func TestDeliverRefuses(t *testing.T) {
	var w bus.DeliverWriter

	w.Reset(nil, 1, 2)

	if err := w.Append(&bus.Delivery{}); !errors.Is(err, bus.ErrPayloadLength) {
		t.Errorf("a delivery of nothing: %v", err)
	}

	if _, err := bus.DecodeDeliver(w.Bytes()); err == nil {
		t.Error("a frame of nothing passed")
	}

	frames := map[string]func([]byte) error{
		"deliver":   func(b []byte) error { _, err := bus.DecodeDeliver(b); return err },
		"delivered": func(b []byte) error { _, err := bus.DecodeDelivered(b); return err },
	}
	for name, frame := range map[string][]byte{"deliver": deliverFrame(t, deliveries()), "delivered": deliveredFrame(t)} {
		for n := range frame {
			var fault *bus.FrameError
			if err := frames[name](frame[:n]); !errors.As(err, &fault) {
				t.Errorf("%s frame of %d bytes: %v", name, n, err)
			}
		}

		if frames[name](append(bytes.Clone(frame), 0)) == nil {
			t.Errorf("%s: bytes after the end passed", name)
		}
	}

	bad := deliverFrame(t, deliveries())
	bad[bus.DeliverFrameOverhead+22] = 1

	if _, err := bus.DecodeDeliver(bad); err == nil {
		t.Error("unknown flags passed")
	}

	bad = deliveredFrame(t)
	bad[bus.DeliverFrameOverhead+8] = 3

	if _, err := bus.DecodeDelivered(bad); err == nil {
		t.Error("an unknown status passed")
	}
}

func TestAnswersAbortAssociations(t *testing.T) {
	want := []bus.Answer{
		{Entry: 1, Status: bus.Refused, AbortAssociation: true},
		{Entry: 2, Status: bus.Refused, AbortAssociation: true, HasReply: true, Reply: bus.Reply{Unordered: true, Payload: []byte("r")}},
		{Entry: 3, Status: bus.Refused},
	}

	r, err := bus.DecodeAnswers(answerFrame(t, want))
	if err != nil {
		t.Fatal(err)
	}

	var a bus.Answer
	for i := 0; r.Next(&a); i++ {
		if !reflect.DeepEqual(a, want[i]) || !a.Status.Done() {
			t.Errorf("%+v", a)
		}
	}
}

func TestDispatcherIsKnownByItsSubject(t *testing.T) {
	n := bus.Namespace("ns")
	if id, ok := n.DispatcherID(n.Dispatcher("d1")); !ok || id != "d1" {
		t.Errorf("%q, %v", id, ok)
	}

	if _, ok := n.DispatcherID(n.Delivered("d1")); ok || n.Delivered("p") != "skyring.ns.dlv.p" {
		t.Error("a processor's subject is taken for a dispatcher's")
	}
}

// What decodes is written again as the same bytes.
func FuzzDeliver(f *testing.F) {
	f.Add(deliverFrame(f, deliveries()))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := bus.DecodeDeliver(b)
		if err != nil {
			return
		}

		var (
			w bus.DeliverWriter
			d bus.Delivery
		)

		w.Reset(nil, r.Dispatcher(), r.Node())

		for r.Next(&d) {
			if err := w.Append(&d); err != nil {
				t.Fatal(err)
			}
		}

		if !bytes.Equal(w.Bytes(), b) {
			t.Fatalf("%x became %x", b, w.Bytes())
		}
	})
}

// What decodes is written again as the same bytes.
func FuzzDelivered(f *testing.F) {
	f.Add(deliveredFrame(f))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := bus.DecodeDelivered(b)
		if err != nil {
			return
		}

		var (
			w bus.DeliveredWriter
			d bus.Delivered
		)

		w.Reset(nil, r.Dispatcher(), r.Node())

		for r.Next(&d) {
			if err := w.Append(d); err != nil {
				t.Fatal(err)
			}
		}

		if !bytes.Equal(w.Bytes(), b) {
			t.Fatalf("%x became %x", b, w.Bytes())
		}
	})
}
