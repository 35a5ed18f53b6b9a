package saga_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"skyring/processor/saga"
	"skyring/protocol"
)

// one of each kind, all fields set.
func notifications() []saga.Notification {
	return []saga.Notification{
		&saga.Setup{Calling: 17, Called: 1 << 63, Reference: 5, Service: 3, Priority: 14, Beam: 900},
		&saga.Offer{Calling: 17, Service: 3, Priority: 14},
		&saga.OfferResult{Accepted: true, Beam: 901},
		&saga.OfferResult{Cause: 17},
		&saga.Forward{Side: saga.Called, Response: true, Sequence: 1 << 31, Message: protocol.Release{Cause: 16}},
		&saga.ToStation{Answers: 77, Message: protocol.CallConnectAck{}},
		&saga.ToStation{Message: protocol.ChannelAssign{Channel: protocol.Channel{Beam: 4, Number: 12}}},
		&saga.ToStation{Message: protocol.CallAnnounce{Calling: 9}},
		&saga.Unanswered{Side: saga.Calling, Type: protocol.TypeCallAnnounce},
		&saga.StationGone{Side: saga.Called, Cause: 27},
		&saga.Yield{Cause: 44},
		&saga.EndCall{},
		&saga.Allocate{Side: saga.Called, Priority: 15},
		&saga.Allocated{Side: saga.Calling, OK: true, Channel: protocol.Channel{Beam: 3, Number: 65535}},
		&saga.Allocated{Side: saga.Calling, Cause: 34},
		&saga.Free{Side: saga.Calling},
		&saga.Freed{Side: saga.Called},
	}
}

func TestEveryNotificationSurvivesTheCodec(t *testing.T) {
	kinds := map[saga.Kind]bool{}
	for _, n := range notifications() {
		kinds[n.Kind()] = true
		b := encode(t, n)
		back, err := saga.Decode(b)
		if err != nil {
			t.Fatalf("%T: %v", n, err)
		}
		if !reflect.DeepEqual(back, n) {
			t.Errorf("%+v became %+v", n, back)
		}
		if again := encode(t, back); !bytes.Equal(again, b) {
			t.Errorf("%T: %x became %x", n, b, again)
		}
	}
	for k := saga.KindSetup; k <= saga.KindFreed; k++ {
		if !kinds[k] {
			t.Errorf("kind %d is not tested", k)
		}
	}
}

func TestNothingElseDecodes(t *testing.T) {
	for _, n := range notifications() {
		b := encode(t, n)
		for end := range b {
			refused(t, fmt.Sprintf("%T cut off at %d", n, end), b[:end])
		}
		refused(t, fmt.Sprintf("%T with a byte more", n), append(bytes.Clone(b), 0))
		b[0]++
		refused(t, fmt.Sprintf("%T of another version", n), b)
	}
	refused(t, "kind 0", []byte{1, 0})
	refused(t, "unknown kind", []byte{1, byte(saga.KindFreed) + 1})
	refused(t, "flag 2", []byte{1, byte(saga.KindOfferResult), 2, 0, 0, 0})
	refused(t, "side 0", []byte{1, byte(saga.KindFree), 0})
	refused(t, "side 3", []byte{1, byte(saga.KindFree), 3})
}

func TestAppendRefusesWhatIsNoNotification(t *testing.T) {
	for _, n := range []saga.Notification{
		&saga.Free{}, &saga.Freed{Side: 3}, &saga.Allocate{}, &saga.Allocated{}, &saga.StationGone{}, &saga.Unanswered{},
		&saga.Forward{Message: protocol.CallAlert{}}, &saga.Forward{Side: saga.Calling}, &saga.ToStation{},
	} {
		if b, err := saga.Append(nil, n); err == nil {
			t.Errorf("%+v became %x", n, b)
		}
	}
}

func TestSides(t *testing.T) {
	if saga.Calling.Other() != saga.Called || saga.Called.Other() != saga.Calling {
		t.Error("the other side of a side is not the other side")
	}
	if s := fmt.Sprint(saga.Calling, saga.Called, saga.Side(9)); s != "calling called side(9)" {
		t.Error(s)
	}
}

// What decodes is written again as the same bytes: there is one encoding of each notification.
func FuzzDecode(f *testing.F) {
	for _, n := range notifications() {
		b, err := saga.Append(nil, n)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		n, err := saga.Decode(b)
		if err != nil {
			return
		}
		if again := encode(t, n); !bytes.Equal(again, b) {
			t.Fatalf("%x became %x", b, again)
		}
	})
}

func encode(t *testing.T, n saga.Notification) []byte {
	t.Helper()
	b, err := saga.Append(nil, n)
	if err != nil {
		t.Fatalf("%+v: %v", n, err)
	}
	return b
}

func refused(t *testing.T, what string, b []byte) {
	t.Helper()
	if n, err := saga.Decode(b); !errors.Is(err, saga.ErrMalformed) {
		t.Errorf("%s: %x became %+v, %v", what, b, n, err)
	}
}
