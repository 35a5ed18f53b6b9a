package call_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"skyring/processor"
	"skyring/processor/body"
	"skyring/processor/call"
	"skyring/processor/saga"
	"skyring/protocol"
	"skyring/protocol/key"
)

var (
	_ processor.SessionHandler = (*call.Calls)(nil)
	_ processor.SessionHandler = call.Pools{}
)

func TestAssociationsAreRefused(t *testing.T) {
	for name, h := range map[string]processor.SessionHandler{"calls": call.New(call.DefaultConfig()), "pools": call.Pools{}} {
		r, err := h.Apply(processor.Session{Key: keyCall}, processor.Message{Payload: []byte{1}})
		if err != nil || !r.Discard {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		r, err = h.ApplyInput(processor.Session{Key: keyCall}, processor.Input{Kind: processor.FromAssociation})
		if err != nil || !r.Discard {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

func TestMalformed(t *testing.T) {
	number := func(field protowire.Number, v uint64) []byte {
		return protowire.AppendVarint(protowire.AppendTag(nil, field, protowire.VarintType), v)
	}
	bodies := map[string][]byte{
		"cut off":          {8},
		"unknown state":    number(1, 10),
		"unknown dialogue": inner(2, number(3, 6)),
		"unknown hold":     inner(3, number(4, 5)),
		"no message":       number(2, 1),
		"too large":        number(18, 1<<16),
	}
	for name, b := range bodies {
		_, err := call.New(call.DefaultConfig()).ApplyInput(processor.Session{Key: keyCall, Body: b}, fire(call.T303, 1))
		if !errors.Is(err, body.ErrMalformed) {
			t.Errorf("call, %s: %v", name, err)
		}
	}
	holding := func(channel uint64) []byte { return inner(4, number(1, channel)) }
	for name, b := range map[string][]byte{
		"empty":        {},
		"no channels":  number(1, 1),
		"held twice":   slices.Concat(newPool(t, 1, 2), holding(1), holding(1)),
		"out of order": slices.Concat(newPool(t, 1, 2), holding(2), holding(1)),
	} {
		if _, err := call.DecodePool(b); !errors.Is(err, body.ErrMalformed) {
			t.Errorf("pool, %s: %v", name, err)
		}
	}
	for name, h := range map[string]processor.SessionHandler{"calls": call.New(call.DefaultConfig()), "pools": call.Pools{}} {
		in := processor.Input{Kind: processor.FromSession, From: keyCall, Payload: []byte{1}}
		if _, err := h.ApplyInput(processor.Session{Key: keyCall}, in); !errors.Is(err, saga.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzBodies holds bodies of any bytes to their decoders: they fail or are written again so that they read the same.
func FuzzBodies(f *testing.F) {
	f.Add([]byte{8, 3})
	f.Add([]byte{8, 1, 16, 1, 24, 9, 34, 4, 8, 2, 24, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, err := call.Decode(b); err == nil {
			once := c.Append(nil)
			if again := decodeCall(t, once).Append(nil); string(again) != string(once) {
				t.Errorf("%x becomes %x", once, again)
			}
		}
		if p, err := call.DecodePool(b); err == nil {
			once := p.Append(nil)
			if again := decodePool(t, once).Append(nil); string(again) != string(once) {
				t.Errorf("%x becomes %x", once, again)
			}
		}
	})
}

func TestCDR(t *testing.T) {
	s := newScene(t)
	s.makePool(beamA, 4)
	s.makePool(beamB, 4)
	const script = "setup service=1 priority=3 | wait 1s | accept beam=2 | pools | wait 2s | calling CHANNEL-STATUS response | called CHANNEL-STATUS response | " +
		"called CALL-ALERT | wait 4s | called CALL-CONNECT | wait 8s | calling DISCONNECT cause=16 | wait 16s | called RELEASE response"
	for command := range strings.SplitSeq(script, " | ") {
		s.run(command)
	}
	in := notify(t, keyA, &saga.Forward{Side: saga.Calling, Sequence: 9, Message: protocol.ReleaseComplete{}}, s.now)
	r, err := s.calls.ApplyInput(processor.Session{Key: keyCall, Body: s.body}, in)
	if err != nil || len(r.CDRs) != 1 {
		t.Fatal(r.CDRs, err)
	}
	want := call.CDR{
		Call: key.Format(keyCall), Calling: "000000000000000a", Called: "000000000000000b", CallingBeam: 1, CalledBeam: 2, CallingChannel: 1,
		CalledChannel: 1, Service: 1, Priority: 3, Setup: 1, Assigned: 1_000_001, Alerting: 3_000_001, Answered: 7_000_001,
		Released: 15_000_001, Ended: 31_000_001, Duration: 8_000_000, Cause: protocol.CauseNormalClearing, CauseName: "normal call clearing",
		ReleasedBy: call.PartyCalling, Node: "node-1",
	}
	got, err := call.DecodeCDR(r.CDRs[0])
	if err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	var names map[string]any
	if err := json.Unmarshal(r.CDRs[0], &names); err != nil || len(names) != 20 || names["durationUs"] != 8e6 || names["cause"] != 16.0 {
		t.Errorf("%s, %v", r.CDRs[0], err)
	}
	if _, err := call.DecodeCDR([]byte("{")); err == nil {
		t.Error("half a record is one")
	}
}

func TestConfig(t *testing.T) {
	if err := call.DefaultConfig().Validate(); err != nil {
		t.Error(err)
	}
	err := call.Config{T301: 2 * time.Hour}.Validate()
	for _, name := range []string{"t321", "lock", "t303", "t310", "t301", "t313", "t305", "t308"} {
		if err == nil || !strings.Contains(err.Error(), name+": ") {
			t.Errorf("%s is not in %v", name, err)
		}
	}
	short := call.DefaultConfig()
	short.Lock = short.T321
	if err := short.Validate(); err == nil || !strings.Contains(err.Error(), "lock: 10s must be more than t321") {
		t.Error(err)
	}
}

func TestNames(t *testing.T) {
	for got, want := range map[string]string{
		call.State(10).String(): "state(10)", call.Dialogue(6).String(): "dialogue(6)", call.Hold(5).String(): "hold(5)",
		call.Timer(0).String(): "timer(0)", call.Queued.String(): "queued", call.T308Called.String(): "T308-called",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	for s := range call.Ended { // STATUS tells them by the same numbers
		if got := protocol.CallState(s).String(); got != s.String() {
			t.Errorf("%v is %s in the protocol", s, got)
		}
	}
}
