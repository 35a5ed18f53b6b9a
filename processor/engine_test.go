package processor_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"skyring/processor"
	"skyring/protocol/bus"
	"skyring/statestore"
)

// journal is a handler whose body lists what took effect: "epoch/sequence=payload " and so on. It replies to payloads that begin with "?", fails
// on "error", and panics on "panic".
type journal struct{}

func (journal) Apply(s processor.Session, m processor.Message) (processor.Result, error) {
	switch {
	case string(m.Payload) == "error":
		return processor.Result{}, errors.New("no")
	case string(m.Payload) == "panic":
		panic("poison")
	}
	r := processor.Result{Body: fmt.Appendf(slices.Clip(s.Body), "%d/%d=%s ", m.Epoch, m.Sequence, m.Payload)}
	if strings.HasPrefix(string(m.Payload), "?") {
		r.HasReply, r.Reply = true, bus.Reply{Stream: m.Stream, PPID: m.PPID, Payload: []byte("!" + string(m.Payload[1:]))}
	}
	return r, nil
}

const (
	now     = 1_000_000_000
	expiry  = now + 30_000_000
	longest = 60_000_000
)

// env is a message of association 7.
func env(sequence, after uint64, payload string) bus.Envelope {
	return bus.Envelope{Entry: sequence, Attempt: 1, Epoch: 7, Sequence: sequence, After: after, Expiry: expiry, PPID: 99, Key: []byte("key"), Payload: []byte(payload)}
}

// with changes an envelope.
func with(e bus.Envelope, change func(*bus.Envelope)) bus.Envelope {
	change(&e)
	return e
}

// record has association 7 at mark 20, with 13, 15, ..., 19, 20 in the ring: 15 with a reply, 17 set aside.
func record() *statestore.Record {
	ring := []statestore.Transaction{
		{Sequence: 13, Effect: statestore.Applied},
		{Sequence: 15, Effect: statestore.Applied, HasReply: true, Reply: statestore.Reply{Stream: 3, PPID: 5, Payload: []byte("r")}},
		{Sequence: 17, Effect: statestore.Quarantined},
		{Sequence: 20, Effect: statestore.Applied},
	}
	return &statestore.Record{Version: 9, Sources: []statestore.Source{{Epoch: 7, Mark: 20, Touched: now - 1000, Ring: ring}}, Body: []byte("before ")}
}

func TestEngineDecides(t *testing.T) {
	t.Parallel()
	late := func(e *bus.Envelope) { e.Expiry = now }
	other := func(e *bus.Envelope) { e.Epoch = 8 }
	for name, c := range map[string]struct {
		judgement processor.Judgement // Now, Longest and Handlers are filled in
		want      []bus.Status
		body      string // of the record to be written; empty: none is
		reread    bool
	}{
		"new session": {
			judgement: processor.Judgement{Envelopes: []bus.Envelope{env(1, 0, "a")}},
			want:      []bus.Status{bus.Committed}, body: "7/1=a ",
		},
		"sequence that no dispatcher gives": {
			judgement: processor.Judgement{Envelopes: []bus.Envelope{env(0, 0, "a")}},
			want:      []bus.Status{bus.Stale},
		},
		"window of a new session": {
			judgement: processor.Judgement{Envelopes: []bus.Envelope{env(1, 0, "a"), env(4, 1, "b"), env(9, 4, "c")}},
			want:      []bus.Status{bus.Committed, bus.Committed, bus.Committed}, body: "7/1=a 7/4=b 7/9=c ",
		},
		"next message": {
			judgement: processor.Judgement{Record: record(), FromHint: true, Envelopes: []bus.Envelope{env(21, 20, "a")}},
			want:      []bus.Status{bus.Committed}, body: "before 7/21=a ",
		},
		"in the ring": {
			judgement: processor.Judgement{Record: record(), FromHint: true, Envelopes: []bus.Envelope{env(20, 0, "a"), env(17, 0, "a"), env(15, 0, "a")}},
			want:      []bus.Status{bus.Replayed, bus.Quarantined, bus.Replayed},
		},
		"under the mark, out of the ring": {
			judgement: processor.Judgement{Record: record(), FromHint: true, Envelopes: []bus.Envelope{env(12, 0, "a"), env(14, 0, "a")}},
			want:      []bus.Status{bus.Stale, bus.Stale},
		},
		"late, but done": {
			judgement: processor.Judgement{Record: record(), Envelopes: []bus.Envelope{with(env(20, 0, "a"), late)}},
			want:      []bus.Status{bus.Replayed},
		},
		"late": {
			judgement: processor.Judgement{Record: record(), Envelopes: []bus.Envelope{with(env(21, 0, "a"), late)}},
			want:      []bus.Status{bus.Expired},
		},
		"late, and what follows it": {
			judgement: processor.Judgement{Record: record(), Envelopes: []bus.Envelope{with(env(21, 0, "a"), late), env(22, 21, "b")}},
			want:      []bus.Status{bus.Expired, bus.Gap},
		},
		"expiry too far away": {
			judgement: processor.Judgement{Envelopes: []bus.Envelope{with(env(1, 0, "a"), func(e *bus.Envelope) { e.Expiry = now + longest + 1 })}},
			want:      []bus.Status{bus.Expired},
		},
		"gap by a hint": {
			judgement: processor.Judgement{Record: record(), FromHint: true, Envelopes: []bus.Envelope{env(21, 20, "a"), env(25, 23, "b")}},
			reread:    true,
		},
		"gap": {
			judgement: processor.Judgement{Record: record(), Envelopes: []bus.Envelope{env(25, 23, "b"), env(27, 25, "c")}},
			want:      []bus.Status{bus.Gap, bus.Gap},
		},
		"gap in a new session": {
			judgement: processor.Judgement{Envelopes: []bus.Envelope{env(25, 23, "b")}},
			want:      []bus.Status{bus.Gap},
		},
		"gap of one association is none of another": {
			judgement: processor.Judgement{Record: record(), Envelopes: []bus.Envelope{env(25, 23, "b"), with(env(1, 0, "c"), other)}},
			want:      []bus.Status{bus.Gap, bus.Committed}, body: "before 8/1=c ",
		},
		"twice in a batch": {
			judgement: processor.Judgement{Record: record(), Envelopes: []bus.Envelope{env(21, 0, "?a"), env(21, 0, "?a"), env(22, 21, "b")}},
			want:      []bus.Status{bus.Committed, bus.Replayed, bus.Committed}, body: "before 7/21=?a 7/22=b ",
		},
		"failure holds its association": {
			judgement: processor.Judgement{Record: record(), Envelopes: []bus.Envelope{
				env(21, 0, "a"), env(22, 21, "panic"), env(23, 22, "b"), with(env(1, 0, "c"), other),
			}},
			want: []bus.Status{bus.Committed, bus.Unavailable, bus.Unavailable, bus.Committed}, body: "before 7/21=a 8/1=c ",
		},
		"failure by a hint": {
			judgement: processor.Judgement{Record: record(), FromHint: true, Envelopes: []bus.Envelope{env(21, 0, "error")}},
			want:      []bus.Status{bus.Unavailable},
		},
		"last failure": {
			judgement: processor.Judgement{Record: record(), Condemned: true, Envelopes: []bus.Envelope{env(21, 0, "error"), env(22, 21, "b")}},
			want:      []bus.Status{bus.Quarantined, bus.Committed}, body: "before 7/22=b ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := c.judgement
			j.Now, j.Longest, j.Handlers = now, longest, processor.NewHandlers(journal{})
			v := processor.Judge(j)
			var got []bus.Status
			for i, a := range v.Answers {
				got = append(got, a.Status)
				if a.Entry != j.Envelopes[i].Entry || a.Attempt != j.Envelopes[i].Attempt {
					t.Errorf("answer %d is for another message: %+v", i, a)
				}
			}
			if v.Reread != c.reread || !slices.Equal(got, c.want) {
				t.Errorf("got %v, reread %v; want %v, %v", got, v.Reread, c.want, c.reread)
			}
			body := ""
			if v.Record != nil {
				body = string(v.Record.Body)
			}
			if body != c.body {
				t.Errorf("body %q, want %q", body, c.body)
			}
		})
	}
}

func TestEngineKeepsTheReply(t *testing.T) {
	t.Parallel()
	j := processor.Judgement{Handlers: processor.NewHandlers(journal{}), Now: now, Longest: longest, Envelopes: []bus.Envelope{env(1, 0, "?hello")}}
	first := processor.Judge(j)
	j.Record = first.Record
	again := processor.Judge(j)
	a, b := first.Answers[0], again.Answers[0]
	if !a.HasReply || string(a.Reply.Payload) != "!hello" || a.Reply.PPID != 99 {
		t.Errorf("first answer %+v", a)
	}
	if !b.HasReply || string(b.Reply.Payload) != "!hello" || b.Status != bus.Replayed || again.Record != nil {
		t.Errorf("second answer %+v", b)
	}
}

func TestEngineTakesTheEarliestExpiry(t *testing.T) {
	t.Parallel()
	soon := with(env(2, 1, "b"), func(e *bus.Envelope) { e.Expiry = now + 5 })
	done := with(env(0, 0, "z"), func(e *bus.Envelope) { e.Expiry = now + 1 })
	v := processor.Judge(processor.Judgement{
		Handlers: processor.NewHandlers(journal{}), Now: now, Longest: longest, Envelopes: []bus.Envelope{env(1, 0, "a"), soon, env(3, 2, "c"), done},
	})
	if v.Expiry != now+5 {
		t.Errorf("expiry %d", v.Expiry)
	}
	if v.Answers[3].Status != bus.Stale {
		t.Errorf("sequence 0 is answered %v", v.Answers[3].Status)
	}
}

func TestEngineLeavesTheRecordAlone(t *testing.T) {
	t.Parallel()
	r := record()
	processor.Judge(processor.Judgement{
		Handlers: processor.NewHandlers(journal{}), Record: r, Now: now, Longest: longest, Envelopes: []bus.Envelope{env(21, 0, "a"), env(22, 21, "b")},
	})
	if got, want := fmt.Sprintf("%+v", r), fmt.Sprintf("%+v", record()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestEngineForgetsOnlyWhatCanNotBeAskedFor(t *testing.T) {
	t.Parallel()
	const sources, old = 100, 60
	r := &statestore.Record{Version: 1}
	for i := range uint64(sources) {
		touched := int64(now - 1000)
		if i < old {
			touched = now - longest - 1 - int64(i)
		}
		r.Sources = append(r.Sources, statestore.Source{
			Epoch: 1000 + i, Mark: 5, Touched: touched, Ring: []statestore.Transaction{{Sequence: 5, Effect: statestore.Applied}},
		})
	}
	j := processor.Judgement{Handlers: processor.NewHandlers(journal{}), Record: r, Now: now, Longest: longest, Envelopes: []bus.Envelope{env(1, 0, "a")}}
	got := processor.Judge(j).Record
	if len(got.Sources) != 64 {
		t.Fatalf("%d sources", len(got.Sources))
	}
	for i := range uint64(sources) {
		s := got.Source(1000 + i)
		switch {
		case i >= old && (s == nil || len(s.Ring) != 1):
			t.Errorf("a source that may be asked for is gone: %d", i)
		case i < old && s != nil && (len(s.Ring) != 0 || s.Mark != 5):
			t.Errorf("old source %d: %+v", i, s)
		}
	}
	if got.Source(1000+old-1) != nil && got.Source(1000) == nil {
		t.Error("a newer mark was dropped before an older one")
	}
	r.Sources = r.Sources[:0]
	for i := range uint64(80) {
		r.Sources = append(r.Sources, statestore.Source{Epoch: 1000 + i, Mark: 5, Touched: now})
	}
	if n := len(processor.Judge(j).Record.Sources); n != 81 {
		t.Errorf("%d sources are left of 81 that may all be asked for", n)
	}
}

func TestSessionsKeepTheirHandler(t *testing.T) {
	t.Parallel()
	own := processor.NewHandlers(refusing{}).With(99, journal{})
	j := processor.Judgement{Handlers: own, Now: now, Longest: longest, Envelopes: []bus.Envelope{
		env(1, 0, "a"), with(env(2, 1, "b"), func(e *bus.Envelope) { e.PPID = 3 }),
	}}
	v := processor.Judge(j)
	if v.Record == nil || v.Record.Handler != 99 || string(v.Record.Body) != "7/1=a 7/2=b " {
		t.Fatalf("%+v", v)
	}
	j.Handlers, j.Record, j.Condemned = processor.NewHandlers(journal{}), v.Record, true
	j.Envelopes = []bus.Envelope{env(3, 0, "c")}
	if v := processor.Judge(j); v.Answers[0].Status != bus.Unavailable || v.Record != nil {
		t.Errorf("a processor without the handler said %v", v.Answers[0].Status)
	}
}

// refusing fails on everything.
type refusing struct{}

func (refusing) Apply(processor.Session, processor.Message) (processor.Result, error) {
	return processor.Result{}, errors.New("never")
}

func TestAnEmptyReplyIsAFailure(t *testing.T) {
	t.Parallel()
	j := processor.Judgement{Handlers: processor.NewHandlers(mute{}), Now: math.MaxInt32, Longest: math.MaxInt32, Envelopes: []bus.Envelope{
		with(env(1, 0, "a"), func(e *bus.Envelope) { e.Expiry = math.MaxInt32 + 1 }),
	}}
	if v := processor.Judge(j); v.Faults != 1 || v.Answers[0].Status != bus.Unavailable {
		t.Errorf("%+v", v)
	}
}

// mute replies with nothing.
type mute struct{}

func (mute) Apply(processor.Session, processor.Message) (processor.Result, error) {
	return processor.Result{HasReply: true}, nil
}

// What comes too late leaves a session alone, and does not cost what comes with it.
func TestLateEventsChangeNothing(t *testing.T) {
	t.Parallel()
	peer := []byte("\xF0peer")
	sent := &statestore.Record{
		Version: 1, Line: 5, Generation: 1, Leg: &statestore.Leg{Dispatcher: "d", Epoch: 7},
		Timers: []statestore.Timer{{Name: 1, Generation: 1, Due: 1}},
		Peers:  []statestore.Peer{{Key: peer, Next: 1}, {Key: []byte("gone")}},
		Outbox: []statestore.Entry{{Destination: peer, Number: 1, Payload: []byte("x")}, {Number: 1, Payload: []byte("x")}},
	}
	for name, at := range map[string]int64{"late": now, "in time": now + 1} {
		for kind, ev := range processor.Happened(sent, peer, at) {
			v := processor.Judge(processor.Judgement{
				Handlers: processor.NewHandlers(toy{}), Record: sent, Now: now, Longest: longest, Events: []processor.Event{ev},
				Envelopes: []bus.Envelope{env(1, 0, "")},
			})
			if v.Answers[0].Status != bus.Committed {
				t.Errorf("%s, %s: %v", kind, name, v.Answers[0].Status)
			}
			if late := v.Expiry == expiry; late != (name == "late") {
				t.Errorf("%s, %s: must be written before %d", kind, name, v.Expiry)
			}
		}
	}
}
