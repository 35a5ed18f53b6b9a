package call_test

import (
	"bytes"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"

	"skyring/processor"
	"skyring/processor/call"
	"skyring/processor/saga"
	"skyring/protocol"
	"skyring/protocol/key"
)

var keyPool = key.Pool(nil, uint16(beamA))

func callKey(n int) []byte {
	return key.Call(nil, key.CallID{Station: uint64(n + 1), Boot: 1, Reference: 1, Sequence: 1})
}

func newPool(tb tester, first, last uint16) []byte {
	tb.Helper()
	b, err := call.NewPool(beamA, first, last)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func decodePool(tb tester, b []byte) *call.Pool {
	tb.Helper()
	p, err := call.DecodePool(b)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// asked tells a pool something, and gives back its body and its answer.
func asked(tb tester, h handler, body, from []byte, n saga.Notification) ([]byte, string) {
	tb.Helper()
	r, err := h.ApplyInput(processor.Session{Key: keyPool, Body: body}, notify(tb, from, n, 1000))
	if err != nil {
		tb.Fatal(err)
	}
	switch {
	case r.Discard:
		return body, "discarded"
	case len(r.Notify) == 0:
		return r.Body, "nothing"
	case len(r.Notify) > 1 || !bytes.Equal(r.Notify[0].Key, from):
		tb.Fatalf("answers %v", r.Notify)
	}
	decoded, err := saga.Decode(r.Notify[0].Payload)
	if err != nil {
		tb.Fatal(err)
	}
	return r.Body, notification(decoded)
}

func TestPool(t *testing.T) {
	body := newPool(t, 3, 5)
	for _, s := range []struct {
		from int
		n    saga.Notification
		want string
	}{
		{1, &saga.Allocate{Side: saga.Calling}, "Allocated calling 1/3"},
		{1, &saga.Allocate{Side: saga.Called}, "Allocated called 1/4"},
		{1, &saga.Allocate{Side: saga.Calling}, "Allocated calling 1/3"}, // again
		{2, &saga.Free{Side: saga.Calling}, "Freed calling"},             // holds nothing
		{2, &saga.Allocate{Side: saga.Called}, "Allocated called 1/5"},
		{3, &saga.Allocate{Side: saga.Calling}, "Allocated calling none: no channel available"},
		{1, &saga.Free{Side: saga.Called}, "Freed called"},
		{1, &saga.Free{Side: saga.Called}, "Freed called"}, // again
		{3, &saga.Allocate{Side: saga.Calling}, "Allocated calling 1/4"},
		{3, &saga.EndCall{}, "nothing"},
	} {
		var got string
		if body, got = asked(t, call.Pools{}, body, callKey(s.from), s.n); got != s.want {
			t.Errorf("call %d, %s: %s, want %s", s.from, notification(s.n), got, s.want)
		}
	}
	p := decodePool(t, body)
	if p.Granted != 4 || p.Refused != 1 || p.Freed != 1 || p.Ignored != 2 || p.Free() != 0 || p.Size() != 3 || len(p.Held) != 3 {
		t.Errorf("counters: %+v", p)
	}
	if _, got := asked(t, call.Pools{}, body, keyA, &saga.Free{Side: saga.Calling}); got != "discarded" {
		t.Errorf("a station frees a channel: %s", got)
	}
}

func TestPoolThatIsNotThere(t *testing.T) {
	for _, s := range []struct {
		n    saga.Notification
		want string
	}{
		{&saga.Allocate{Side: saga.Called}, "Allocated called none: beam not served"},
		{&saga.Free{Side: saga.Called}, "Freed called"},
		{&saga.EndCall{}, "discarded"},
	} {
		if body, got := asked(t, call.Pools{}, nil, keyCall, s.n); got != s.want || len(body) != 0 {
			t.Errorf("%s: %s, want %s", notification(s.n), got, s.want)
		}
	}
}

func TestPoolResize(t *testing.T) {
	body := newPool(t, 1, 3)
	for n := range 3 {
		body, _ = asked(t, call.Pools{}, body, callKey(n), &saga.Allocate{Side: saga.Calling})
	}
	body, err := call.Resize(body, 2, 4)
	if err != nil {
		t.Fatal(err)
	}
	if p := decodePool(t, body); p.Free() != 1 || len(p.Held) != 3 {
		t.Errorf("%+v", p)
	}
	body, _ = asked(t, call.Pools{}, body, callKey(0), &saga.Free{Side: saga.Calling}) // channel 1 is not given out again
	for n, want := range []string{"Allocated calling 1/4", "Allocated calling none: no channel available"} {
		var got string
		if body, got = asked(t, call.Pools{}, body, callKey(3+n), &saga.Allocate{Side: saga.Calling}); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	for _, bounds := range [][2]uint16{{0, 3}, {4, 3}} {
		if _, err := call.Resize(body, bounds[0], bounds[1]); err == nil {
			t.Errorf("resized to %v", bounds)
		}
		if _, err := call.NewPool(beamA, bounds[0], bounds[1]); err == nil {
			t.Errorf("made with %v", bounds)
		}
	}
	if p := decodePool(t, newPool(t, 1, 65535)); p.Size() != 65535 || p.Free() != 65535 {
		t.Errorf("the largest: %+v", p)
	}
}

// TestPoolGivesTheLowest holds a pool to a plain twin: sets of free channels and of holders.
func TestPoolGivesTheLowest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		last := rapid.Uint16Range(1, 6).Draw(t, "last")
		b, err := call.NewPool(beamA, 1, last)
		if err != nil {
			t.Fatal(err)
		}
		holder := map[uint16]string{}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			from := callKey(rapid.IntRange(0, 4).Draw(t, "call"))
			side := rapid.SampledFrom(sides()).Draw(t, "side")
			who := string(from) + side.String()
			held, lowest := uint16(0), uint16(0)
			for c := last; c >= 1; c-- {
				switch holder[c] {
				case who:
					held = c
				case "":
					lowest = c
				}
			}
			var n saga.Notification = &saga.Free{Side: side}
			want := notification(&saga.Freed{Side: side})
			if rapid.Bool().Draw(t, "allocate") {
				n = &saga.Allocate{Side: side}
				channel := held
				if held == 0 && lowest != 0 {
					channel = lowest
					holder[lowest] = who
				}
				want = notification(&saga.Allocated{
					Side: side, OK: channel != 0, Channel: protocol.Channel{Beam: beamA, Number: channel}, Cause: protocol.CauseNoChannel,
				})
			} else if held != 0 {
				delete(holder, held)
			}
			var got string
			if b, got = asked(t, call.Pools{}, b, from, n); got != want {
				t.Fatalf("%s, want %s", got, want)
			}
		}
	})
}

// TestOnlyTheHolderFrees is R7: time frees nothing. Two calls want the only channel; the processor of the first is paused for long. With leases that end by
// a timer, the second call gets the channel while the first has it.
func TestOnlyTheHolderFrees(t *testing.T) {
	for _, c := range []struct {
		name   string
		pools  handler
		second string
	}{
		{"as it is", call.Pools{}, "Allocated calling none: no channel available"},
		{"with leases", call.LeasingPools{Lease: 500}, "Allocated calling 1/1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			body, got := asked(t, c.pools, newPool(t, 1, 1), callKey(1), &saga.Allocate{Side: saga.Calling})
			if got != "Allocated calling 1/1" {
				t.Fatal(got)
			}
			for name := range uint8(16) {
				r, err := c.pools.ApplyInput(processor.Session{Key: keyPool, Body: body}, fire(call.Timer(name), 1<<40))
				if err != nil {
					t.Fatal(err)
				}
				if !r.Discard {
					body = r.Body
				}
			}
			if _, got := asked(t, c.pools, body, callKey(2), &saga.Allocate{Side: saga.Calling}); got != c.second {
				t.Errorf("the second call: %s, want %s", got, c.second)
			}
		})
	}
}

// unknownFields are what a newer version might have added.
func unknownFields() []byte {
	b := protowire.AppendTag(nil, 1000, protowire.BytesType)
	b = protowire.AppendString(b, "new")
	return protowire.AppendVarint(protowire.AppendTag(b, 1001, protowire.VarintType), 7)
}

// inner is a field with a message that ends in unknown fields.
func inner(field protowire.Number, known []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, field, protowire.BytesType), append(known, unknownFields()...))
}

func TestBodiesKeepWhatTheyDoNotKnow(t *testing.T) {
	pool := slices.Concat(newPool(t, 1, 2), unknownFields())
	pool, _ = asked(t, call.Pools{}, pool, keyCall, &saga.Allocate{Side: saga.Calling})
	if !bytes.HasSuffix(pool, unknownFields()) {
		t.Errorf("pool %x", pool)
	}
	held := slices.Concat(newPool(t, 1, 2), inner(4, protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 2)))
	if got := decodePool(t, held).Append(nil); !bytes.Contains(got, unknownFields()) {
		t.Errorf("holding %x", got)
	}
	body := slices.Concat(reach(t, "setup"), unknownFields())
	r, err := call.New(call.DefaultConfig()).ApplyInput(processor.Session{Key: keyCall, Body: body}, fire(call.T303, 1000))
	if err != nil || !bytes.HasSuffix(r.Body, unknownFields()) {
		t.Errorf("call %x, %v", r.Body, err)
	}
	if got := decodeCall(t, inner(3, nil)).Append(nil); !bytes.Contains(got, unknownFields()) {
		t.Errorf("side %x", got)
	}
}
