package bus_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"skyring/protocol/bus"
)

func envelopes() []bus.Envelope {
	return []bus.Envelope{
		{Entry: 1, Attempt: 2, Epoch: 3, Sequence: 4, After: 3, Ordinal: 5, Expiry: -6, Stream: 7, Unordered: true, PPID: 60, Key: []byte("k"), Payload: []byte("payload")},
		{Entry: 1<<64 - 1, Attempt: 1<<32 - 1, Epoch: 1<<64 - 1, Sequence: 1, Expiry: 1<<63 - 1, Stream: 65535, PPID: 1<<32 - 1, Key: bytes.Repeat([]byte{0xFF}, 255)},
	}
}

func answers() []bus.Answer {
	return []bus.Answer{
		{Entry: 1, Attempt: 2, Status: bus.Committed},
		{Entry: 3, Attempt: 4, Status: bus.Replayed, HasReply: true, Reply: bus.Reply{Stream: 9, PPID: 18, Payload: []byte{1}}},
		{Entry: 5, Attempt: 6, Status: bus.Quarantined, HasReply: true, Reply: bus.Reply{Stream: 1, PPID: 2, Unordered: true, Payload: []byte("reply")}},
		{Entry: 6, Attempt: 1, Status: bus.Refused, AbortAssociation: true},
		{Entry: 7, Attempt: 1, Status: bus.Refused, AbortAssociation: true, HasReply: true, Reply: bus.Reply{PPID: 1, Payload: []byte("no")}},
	}
}

func envelopeFrame(tb testing.TB, items []bus.Envelope) []byte {
	tb.Helper()

	var w bus.EnvelopeWriter

	w.Reset(nil, 77)

	for i := range items {
		if err := w.Append(&items[i]); err != nil {
			tb.Fatal(err)
		}
	}

	return w.Bytes()
}

func answerFrame(tb testing.TB, items []bus.Answer) []byte {
	tb.Helper()

	var w bus.AnswerWriter

	w.Reset(nil, 77, 88)

	for i := range items {
		if err := w.Append(&items[i]); err != nil {
			tb.Fatal(err)
		}
	}

	return w.Bytes()
}

func equalEnvelopes(a, b *bus.Envelope) bool {
	x, y := *a, *b
	x.Key, x.Payload, y.Key, y.Payload = nil, nil, nil, nil

	return x.Entry == y.Entry && x.Attempt == y.Attempt && x.Epoch == y.Epoch && x.Sequence == y.Sequence &&
		x.After == y.After && x.Ordinal == y.Ordinal && x.Expiry == y.Expiry && x.Stream == y.Stream &&
		x.Unordered == y.Unordered && x.PPID == y.PPID &&
		bytes.Equal(a.Key, b.Key) && bytes.Equal(a.Payload, b.Payload)
}

func TestEnvelopesComeBackAsTheyWent(t *testing.T) {
	want := envelopes()
	frame := envelopeFrame(t, want)

	r, err := bus.DecodeEnvelopes(frame)
	if err != nil {
		t.Fatal(err)
	}

	if r.Dispatcher() != 77 || r.Len() != len(want) {
		t.Fatalf("dispatcher %d, %d envelopes", r.Dispatcher(), r.Len())
	}

	size := bus.EnvelopeFrameOverhead

	var e bus.Envelope
	for i := range want {
		if !r.Next(&e) || !equalEnvelopes(&e, &want[i]) {
			t.Fatalf("envelope %d: %+v, want %+v", i, e, want[i])
		}

		size += want[i].Size()
	}

	if r.Next(&e) {
		t.Fatal("one envelope too many")
	}

	if size != len(frame) {
		t.Fatalf("sizes add up to %d, the frame has %d", size, len(frame))
	}
}

func TestAnswersComeBackAsTheyWent(t *testing.T) {
	want := answers()
	frame := answerFrame(t, want)

	r, err := bus.DecodeAnswers(frame)
	if err != nil {
		t.Fatal(err)
	}

	if r.Dispatcher() != 77 || r.Node() != 88 || r.Len() != len(want) {
		t.Fatalf("dispatcher %d, node %d, %d answers", r.Dispatcher(), r.Node(), r.Len())
	}

	size := bus.AnswerFrameOverhead

	var a bus.Answer
	for i, w := range want {
		if !r.Next(&a) {
			t.Fatalf("answer %d is missing", i)
		}

		if a.Entry != w.Entry || a.Attempt != w.Attempt || a.Status != w.Status || a.HasReply != w.HasReply ||
			a.Reply.Stream != w.Reply.Stream || a.Reply.PPID != w.Reply.PPID || a.Reply.Unordered != w.Reply.Unordered ||
			!bytes.Equal(a.Reply.Payload, w.Reply.Payload) {
			t.Fatalf("answer %d: %+v, want %+v", i, a, w)
		}

		size += w.Size()
	}

	if size != len(frame) {
		t.Fatalf("sizes add up to %d, the frame has %d", size, len(frame))
	}
}

// Each cut of a sound frame must name a field at or before the cut, and no cut may pass.
func TestEveryCutIsRefused(t *testing.T) {
	frames := map[string][]byte{
		"envelopes": envelopeFrame(t, envelopes()),
		"answers":   answerFrame(t, answers()),
	}
	decode := map[string]func([]byte) error{
		"envelopes": func(b []byte) error { _, err := bus.DecodeEnvelopes(b); return err },
		"answers":   func(b []byte) error { _, err := bus.DecodeAnswers(b); return err },
	}

	for name, frame := range frames {
		for n := range frame {
			err := decode[name](frame[:n])

			fault, ok := errors.AsType[*bus.FrameError](err)
			if !ok {
				t.Fatalf("%s cut at %d: %v", name, n, err)
			}

			if fault.Offset > n || fault.Field == "" {
				t.Fatalf("%s cut at %d: %v", name, n, fault)
			}
		}

		if err := decode[name](append(bytes.Clone(frame), 0)); err == nil || !strings.Contains(err.Error(), "after the last") {
			t.Fatalf("%s with a byte more: %v", name, err)
		}
	}
}

func TestFramesNameTheWrongField(t *testing.T) {
	set := func(frame []byte, at int, value byte) []byte {
		b := bytes.Clone(frame)
		b[at] = value

		return b
	}
	envelope := envelopeFrame(t, envelopes()[:1])
	answer := answerFrame(t, answers()[1:2])

	for _, c := range []struct {
		frame  []byte
		answer bool
		field  string
		offset int
	}{
		{frame: set(envelope, 0, 2), field: "version"},
		{frame: set(envelope, 1, 2), field: "kind", offset: 1},
		{frame: set(envelope, 11, 0), field: "count", offset: 10},
		{frame: set(envelope, 11, 2), field: "entry", offset: len(envelope)},
		{frame: set(envelope, 12+58, 4), field: "flags", offset: 12 + 58},
		{frame: set(envelope, 12+59, 0), field: "key length", offset: 12 + 59},
		{frame: set(envelope, 12+59, 200), field: "key length", offset: 12 + 59},
		{frame: set(envelope, 12+60, 0x80), field: "payload length", offset: 12 + 60},
		{frame: set(answer, 20+12, 0), answer: true, field: "status", offset: 20 + 12},
		{frame: set(answer, 20+12, 9), answer: true, field: "status", offset: 20 + 12},
		{frame: set(answer, 20+13, 1), answer: true, field: "flags", offset: 20 + 13},
		{frame: set(answer, 20+23, 0), answer: true, field: "reply length", offset: 20 + 20},
		{frame: set(answer, 20+23, 9), answer: true, field: "reply length", offset: 20 + 20},
	} {
		var err error
		if c.answer {
			_, err = bus.DecodeAnswers(c.frame)
		} else {
			_, err = bus.DecodeEnvelopes(c.frame)
		}

		fault, ok := errors.AsType[*bus.FrameError](err)
		if !ok || fault.Field != c.field || fault.Offset != c.offset {
			t.Errorf("%v, want %s at byte %d", err, c.field, c.offset)
		}
	}
}

func TestWritersRefuseWhatDoesNotFit(t *testing.T) {
	var w bus.EnvelopeWriter

	w.Reset([]byte("before"), 1)

	for _, key := range [][]byte{nil, make([]byte, bus.MaxKeyLen+1)} {
		if err := w.Append(&bus.Envelope{Key: key}); !errors.Is(err, bus.ErrKeyLength) {
			t.Errorf("key of %d: %v", len(key), err)
		}
	}

	if w.Count() != 0 || w.Len() != bus.EnvelopeFrameOverhead {
		t.Errorf("%d envelopes, %d bytes after refusals", w.Count(), w.Len())
	}

	for range bus.MaxCount {
		if err := w.Append(&bus.Envelope{Key: []byte("k")}); err != nil {
			t.Fatal(err)
		}
	}

	if err := w.Append(&bus.Envelope{Key: []byte("k")}); !errors.Is(err, bus.ErrFrameFull) {
		t.Errorf("one too many: %v", err)
	}

	if r, err := bus.DecodeEnvelopes(w.Bytes()[len("before"):]); err != nil || r.Len() != bus.MaxCount {
		t.Errorf("%d, %v", r.Len(), err)
	}

	var a bus.AnswerWriter

	a.Reset(nil, 1, 2)

	if err := a.Append(&bus.Answer{Status: bus.Committed, HasReply: true}); !errors.Is(err, bus.ErrPayloadLength) {
		t.Errorf("empty reply: %v", err)
	}
}

func wholeHeartbeat() bus.Heartbeat {
	return bus.Heartbeat{
		ID: "node-1", Incarnation: 1, Sequence: 2, State: bus.Draining, Capacity: 3, InFlight: 4, MessagesPerSecond: 5, ResponseMicros: 6,
		ClockOffset: -7, CPU: 0.8215, Memory: 1, BytesPerSecond: 8, InFlightLimit: 9,
	}
}

// heartbeatAppended is the length of what was appended to heartbeats since their first version.
const heartbeatAppended = 12

func TestHeartbeatsIgnoreLaterFields(t *testing.T) {
	want := wholeHeartbeat()
	b := want.Append(nil)
	old := len(b) - heartbeatAppended

	for n := range b {
		if _, err := bus.DecodeHeartbeat(b[:n]); err == nil && n != old {
			t.Fatalf("a cut at %d passed", n)
		}
	}

	got, err := bus.DecodeHeartbeat(append(b, "fields of a later version"...))
	if err != nil || got != want {
		t.Fatalf("%+v, %v", got, err)
	}
}

func TestHeartbeatsOfOlderProcessorsLackTheAppendedFields(t *testing.T) {
	whole := wholeHeartbeat()
	b := whole.Append(nil)

	want := whole
	want.CPU, want.Memory, want.BytesPerSecond, want.InFlightLimit = 0, 0, 0, 0

	if got, err := bus.DecodeHeartbeat(b[:len(b)-heartbeatAppended]); err != nil || got != want {
		t.Fatalf("%+v, %v", got, err)
	}
}

func TestHeartbeatsKeepPartsInTheirRange(t *testing.T) {
	for _, c := range []struct{ in, want float64 }{
		{0, 0}, {-1, 0}, {math.NaN(), 0}, {0.00004, 0}, {0.00006, 0.0001}, {0.75, 0.75}, {1.02, 1.02}, {7, 6.5535}, {math.Inf(1), 6.5535},
	} {
		h := bus.Heartbeat{ID: "n", State: bus.Ready, Capacity: 1, CPU: c.in, Memory: c.in}

		got, err := bus.DecodeHeartbeat(h.Append(nil))
		if err != nil || got.CPU != c.want || got.Memory != c.want {
			t.Errorf("%v became CPU %v and memory %v, %v; want %v", c.in, got.CPU, got.Memory, err, c.want)
		}
	}
}

func TestQueriesComeBackAsTheyWent(t *testing.T) {
	request := bus.EpochRequest{Floor: 1 << 63}
	if got, err := bus.DecodeEpochRequest(append(request.Append(nil), 0)); err != nil || got != request {
		t.Errorf("%+v, %v", got, err)
	}

	reply := bus.EpochReply{Epoch: 5, RedisTime: -1, RolledBack: true, Error: "no Redis"}
	if got, err := bus.DecodeEpochReply(append(reply.Append(nil), 0)); err != nil || got != reply {
		t.Errorf("%+v, %v", got, err)
	}

	long := bus.EpochReply{Error: strings.Repeat("x", 5000)}
	if got, err := bus.DecodeEpochReply(long.Append(nil)); err != nil || len(got.Error) != 1024 {
		t.Errorf("%d, %v", len(got.Error), err)
	}

	hello := bus.Hello{ID: "d_1", Incarnation: 9}
	if got, err := bus.DecodeHello(append(hello.Append(nil), 0)); err != nil || got != hello {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestDecodersDoNotAllocate(t *testing.T) {
	envelope, answer := envelopeFrame(t, envelopes()), answerFrame(t, answers())

	var (
		e bus.Envelope
		a bus.Answer
	)

	if n := testing.AllocsPerRun(100, func() {
		r, _ := bus.DecodeEnvelopes(envelope)
		for r.Next(&e) {
		}

		s, _ := bus.DecodeAnswers(answer)
		for s.Next(&a) {
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestIDsBecomeSubjectTokens(t *testing.T) {
	for _, id := range []string{"", "a.b", "a b", "*", ">", "ä", strings.Repeat("x", 65)} {
		if bus.ValidateID(id) == nil {
			t.Errorf("%q passed", id)
		}
	}

	n := bus.Namespace("ns")
	if err := n.Validate(); err != nil {
		t.Error(err)
	}

	for got, want := range map[string]string{
		n.Node("a"):       "skyring.ns.node.a",
		n.Dispatcher("a"): "skyring.ns.disp.a",
		n.Heartbeats():    "skyring.ns.hb",
		n.Hello():         "skyring.ns.hello",
		n.Ask("a"):        "skyring.ns.ask.a",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
