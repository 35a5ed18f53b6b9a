package access_test

import (
	"bytes"
	"errors"
	"reflect"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"skyring/processor"
	"skyring/processor/access"
	"skyring/processor/body"
	"skyring/processor/saga"
	"skyring/protocol"
)

// busy is the body of a station with something in every field.
func busy(tb testing.TB) []byte {
	tb.Helper()
	g := newGateway(tb, self)
	g.logon(home, boot)
	g.place(1, peer)
	g.notify(callKey(0x10, 1), &saga.Offer{Calling: 0x10, Priority: 3})
	g.notify(callKey(peer, 2), &saga.Offer{Calling: peer, Priority: protocol.PriorityEmergency})
	for reference := range protocol.CallReference(80) {
		g.ask(home, reference+10, protocol.Reset{Cause: 1})
	}
	g.pass(time.Second)
	g.ask(foreign, 0, g.auth(foreign, boot))
	return g.body
}

func TestBodySurvivesTheCodec(t *testing.T) {
	b := busy(t)
	s, err := access.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{*s, s.Profile, s.Calls[1], s.Requests[0], s.Memory, s.Memory.Ring[0], s.Memory.Marks[0]} {
		for f, value := range reflect.ValueOf(v).Fields() {
			empty := f.Name == "unknown" || f.Name == "Barred" || f.Name == "Yielded" || f.Name == "Call"
			if !empty && value.IsZero() {
				t.Errorf("%T.%s is not tested", v, f.Name)
			}
		}
	}
	if again := s.Append(nil); !bytes.Equal(again, b) {
		t.Errorf("%x became %x", b, again)
	}
}

// A newer version's fields are kept, wherever they are.
func TestUnknownFieldsAreKept(t *testing.T) {
	foreign := func(at protowire.Number) []byte { return body.AppendString(nil, at, "a newer version's") }
	b := foreign(100)
	_, err := body.Fields(busy(t), func(f body.Field) (bool, error) {
		m, err := f.Bytes()
		if f.Number < 12 && f.Number != 1 || f.Number > 15 { // no message
			return false, nil
		}
		if err != nil {
			return false, err
		}
		b = body.AppendMessage(b, protowire.Number(f.Number), append(bytes.Clone(m), foreign(101)...))
		return true, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := access.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	again := s.Append(nil)
	if want, got := bytes.Count(b, []byte("newer")), bytes.Count(again, []byte("newer")); want < 80 || got != want {
		t.Errorf("%d of %d were kept", got, want)
	}
	p := profile(self)
	edited, err := access.SetProfile(again, p)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(edited, again) {
		t.Error("setting the same profile lost something")
	}
}

func TestDamagedBodies(t *testing.T) {
	if _, err := access.Decode(nil); !errors.Is(err, body.ErrMalformed) {
		t.Errorf("no body gave %v", err)
	}
	good := busy(t)
	h := access.New(config())
	for end := 1; end < len(good); end += 7 {
		bad := good[:end]
		if _, err := access.Decode(bad); err == nil {
			continue
		}
		_, err := h.ApplyInput(processor.Session{Key: newGateway(t, self).key(), Body: bad}, processor.Input{Kind: processor.TimerFired, Timer: 1})
		if !errors.Is(err, body.ErrMalformed) {
			t.Fatalf("cut off at %d: %v", end, err)
		}
		if _, err := access.Bar(bad); !errors.Is(err, body.ErrMalformed) {
			t.Fatalf("cut off at %d and barred: %v", end, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	g := newGateway(f, self)
	g.logon(home, boot)
	g.place(1, peer)
	g.notify(callKey(0x10, 1), &saga.Offer{Calling: 0x10, Priority: 3})
	f.Add(g.body)
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := access.Decode(b)
		if err != nil {
			return
		}
		once := s.Append(nil)
		again, err := access.Decode(once)
		if err != nil {
			t.Fatal(err)
		}
		if twice := again.Append(nil); !bytes.Equal(once, twice) {
			t.Fatalf("%x became %x", once, twice)
		}
	})
}

func TestProfiles(t *testing.T) {
	if _, err := access.NewStation(access.Profile{MaxPriority: 16}); err == nil {
		t.Error("a profile without key and beams, and with priority 16, was taken")
	}
	p := profile(self)
	p.Barred = true
	b, err := access.NewStation(p)
	if err != nil {
		t.Fatal(err)
	}
	s, err := access.Decode(b)
	if err != nil || s.State != access.Barred || !reflect.DeepEqual(s.Profile, p) {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := access.SetProfile(b, access.Profile{}); err == nil {
		t.Error("an empty profile was set")
	}
	if _, err := access.SetProfile(nil, p); err == nil {
		t.Error("the profile of no station was set")
	}
}

func TestConfigReportsAllFaults(t *testing.T) {
	c := access.DefaultConfig()
	if err := c.Validate(); err != nil {
		t.Errorf("the default: %v", err)
	}
	err := access.Config{}.Validate()
	for _, name := range []string{"heartbeat", "confirm", "interrogation", "repeat", "challenge", "retryAfter", "sends"} {
		if err == nil || !bytes.Contains([]byte(err.Error()), []byte(name+": ")) {
			t.Errorf("%s is not named in %v", name, err)
		}
	}
}

func TestFaultsOfTheEngine(t *testing.T) {
	g := newGateway(t, self)
	for name, in := range map[string]processor.Input{
		"unknown kind":           {Kind: 99},
		"broken notification":    {Kind: processor.FromSession, From: callKey(peer, 1), Payload: []byte{1, 99}},
		"another station's":      {Kind: processor.FromAssociation, Message: processor.Message{Payload: heartbeatOf(t, peer)}},
		"pool's at a station's":  {Kind: processor.FromSession, From: callKey(peer, 1), Payload: []byte{1, byte(saga.KindFreed), 1}},
		"nothing at all to read": {Kind: processor.FromSession},
	} {
		if o := g.input(in); o.err == nil {
			t.Errorf("%s: %v", name, o)
		}
	}
	if _, err := access.New(config()).ApplyInput(processor.Session{Key: callKey(peer, 1)}, processor.Input{}); err == nil {
		t.Error("a call's record was taken for a station's")
	}
}

func heartbeatOf(t *testing.T, id protocol.StationID) []byte {
	t.Helper()
	b, err := protocol.Append(nil, protocol.Header{Station: id, Sequence: 1}, protocol.Heartbeat{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}
