package processor_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"skyring/processor"
	"skyring/protocol/bus"
	"skyring/statestore"
)

func TestSessionsNotifyEachOther(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	n, d := s.quick("p"), s.dispatcher("d", 1)
	committed(t, d.ask(n.id, to("a", 1, "tell b:1|tell b:2|tell c:tell a:back"), to("a", 2, "tell b:3")))
	s.settled("a", "b", "c")
	if got := s.heard("b"); got != "a:1 a:2 a:3 " {
		t.Errorf("b heard %q", got)
	}
	wait(t, func() bool { return s.heard("a") == "m1 m2 c:back " })
	wait(t, func() bool {
		due, pending := len(must[[][]byte](t)(s.store().Due(t.Context(), partitions(s), 1<<60, 9))), len(must[[][]byte](t)(s.store().Pending(t.Context(), partitions(s), 1<<60, 9)))
		return due+pending == 0
	})
}

func partitions(s *site) []int {
	var all []int
	for p := range s.store().Partitions() {
		all = append(all, p)
	}
	return all
}

func TestTimersFire(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	n, d := s.quick("p"), s.dispatcher("d", 1)
	committed(t, d.ask(n.id, to("a", 1, "arm 1 1|arm 2 1|arm 3 3600000|cdr x"), to("a", 2, "cancel 2|arm 4 1")))
	wait(t, func() bool { return len(s.heard("a")) == len("m1 m2 t1 t4 ") })
	r := s.toyRecord("a")
	if len(r.Timers) != 1 || r.Timers[0].Name != 3 || r.Life != statestore.Kept {
		t.Errorf("%+v", r)
	}
	committed(t, d.ask(n.id, to("a", 3, "end")))
	if r = s.toyRecord("a"); len(r.Timers) != 0 || r.Life != statestore.Ended {
		t.Errorf("%+v", r)
	}
	if ttl := must[time.Duration](t)(s.client().TTL(t.Context(), s.redisName("\xF0a")).Result()); ttl < time.Minute || ttl > 2*time.Minute {
		t.Errorf("the tombstone stays for %v", ttl)
	}
	if cdrs := must[[]statestore.CDR](t)(s.store().CDRs(t.Context(), nil, 0)); len(cdrs) != 1 || cdrs[0].Sequence != 1 || string(cdrs[0].Payload) != "x" {
		t.Errorf("%+v", cdrs)
	}
}

func TestDiscardWritesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	n, d := s.quick("p"), s.dispatcher("d", 1)
	d.send(n.id, to("a", 1, "reply 3|discard"))
	if a := d.next(); a.Status != bus.Refused || !a.HasReply || !a.AbortAssociation {
		t.Errorf("%+v", a)
	}
	if s.toyRecord("a") != nil {
		t.Error("a refused message made a session")
	}
	after := with(to("a", 2, "x"), func(e *bus.Envelope) { e.After = 1 })
	if got := d.ask(n.id, to("a", 1, "discard"), after); !slices.Equal(got, []bus.Status{bus.Refused, bus.Committed}) {
		t.Errorf("%v", got)
	}
	committed(t, d.ask(n.id, to("a", 3, "tell b:discard|tell b:then")))
	s.settled("a")
	if got := s.heard("b"); got != "a:then " {
		t.Errorf("b heard %q", got)
	}
}

// A message is not refused by what another processor changed meanwhile.
func TestDiscardIsJudgedOnTheStoredRecord(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a, b, d := s.quick("a"), s.quick("b"), s.dispatcher("d", 1)
	committed(t, d.ask(a.id, to("x", 1, "")))
	committed(t, d.ask(b.id, to("x", 2, "")))
	loads := a.Stats().Loads
	if got := d.ask(a.id, to("x", 3, "discard")); got[0] != bus.Refused {
		t.Errorf("%v", got)
	}
	if a.Stats().Loads != loads+1 {
		t.Error("refused by a hint")
	}
}

// A reply that the bus does not carry is not tried for ever.
func TestRepliesTooLargeForTheBusAreSetAside(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	n, d := s.quick("p"), s.dispatcher("d", 1)
	large := to("a", 1, "reply 1048576")
	for d.ask(n.id, large)[0] == bus.Unavailable {
	}
	if got := d.ask(n.id, large, to("a", 2, "x")); !slices.Equal(got, []bus.Status{bus.Quarantined, bus.Committed}) {
		t.Errorf("%v", got)
	}
}

// held keeps what a processor is about to tell itself: the processor sleeps.
type held struct{ events chan processor.Event }

func hold(which func(processor.Event) bool) (*held, func(*processor.Processor)) {
	h := &held{events: make(chan processor.Event, 64)}
	return h, func(p *processor.Processor) {
		p.Crash(func(at processor.Point, ev processor.Event) bool {
			if at != processor.Telling || !which(ev) {
				return false
			}
			select {
			case h.events <- ev:
			default:
			}
			return true
		})
	}
}

func (h *held) next(tb testing.TB) processor.Event {
	tb.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	select {
	case ev := <-h.events:
		return ev
	case <-deadline.C:
		tb.Fatal("nothing is held")
		return processor.Event{}
	}
}

// lasting is an expiry from now on, for a sleeper that only the rule of the test may refuse, however slow its machine.
func lasting() int64 { return time.Now().Add(30 * time.Second).UnixMicro() }

// without runs a test with a rule and without it.
func without(t *testing.T, r func(*processor.Processor), test func(t *testing.T, change func(*processor.Processor), ruled bool)) {
	t.Helper()
	t.Run("with the rule", func(t *testing.T) {
		t.Parallel()
		test(t, func(*processor.Processor) {}, true)
	})
	t.Run("without the rule", func(t *testing.T) {
		t.Parallel()
		test(t, r, false)
	})
}

// R1, R5: a processor sleeps with a notification in its hand; another one delivers it, and more after it. Then the first wakes up.
func TestPeerMarksProtectFromSleepers(t *testing.T) {
	t.Parallel()
	without(t, func(p *processor.Processor) { p.Without(processor.PeerMarkRule) }, func(t *testing.T, change func(*processor.Processor), ruled bool) {
		t.Helper()
		s := newSite(t)
		h, sleeps := hold(processor.Event.Offered)
		asleep, awake, d := s.quick("asleep", change, sleeps), s.quick("awake", change), s.dispatcher("d", 1)
		committed(t, d.ask(asleep.id, to("a", 1, "tell b:1")))
		late := h.next(t)
		committed(t, d.ask(awake.id, to("a", 2, "tell b:2")))
		s.settled("a")
		if got := s.heard("b"); got != "a:1 a:2 " {
			t.Fatalf("b heard %q", got)
		}
		wait(t, func() bool { // a busy store may lose one: what the rule is for comes sooner or later
			asleep.Tell(late.Until(lasting()))
			wait(t, asleep.Idle)
			return ruled || strings.Count(s.heard("b"), "a:1 ") != 1
		})
		if got := s.heard("b"); strings.Count(got, "a:1 ") == 1 != ruled {
			t.Errorf("b heard %q", got)
		}
	})
}

// R2: the destination is gone, and its marks with it, when a sleeper's notification arrives.
func TestExpiryProtectsFromLateNotifications(t *testing.T) {
	t.Parallel()
	without(t, func(p *processor.Processor) { p.Without(processor.ExpiryRule) }, func(t *testing.T, change func(*processor.Processor), ruled bool) {
		t.Helper()
		s := newSite(t)
		h, sleeps := hold(processor.Event.Offered)
		asleep, awake, d := s.quick("asleep", change, sleeps), s.quick("awake", change), s.dispatcher("d", 1)
		committed(t, d.ask(asleep.id, to("a", 1, "tell b:1")))
		late := h.next(t).Until(time.Now().Add(time.Second).UnixMicro())
		s.later(time.Second)
		committed(t, d.ask(awake.id, to("a", 2, "tell b:2")))
		s.settled("a")
		must[int64](t)(s.client().Del(t.Context(), s.redisName("\xF0b")).Result())
		asleep.Tell(late)
		wait(t, asleep.Idle)
		if got := s.heard("b"); (got == "") != ruled {
			t.Errorf("b heard %q", got)
		}
	})
}

// R2, R5: so many others notify a session that it would forget the mark of one which may still come again.
func TestPeerMarksAreKeptWhileThePeerIsThere(t *testing.T) {
	t.Parallel()
	without(t, func(p *processor.Processor) { p.Without(processor.PeerGoneRule) }, func(t *testing.T, change func(*processor.Processor), ruled bool) {
		t.Helper()
		s := newSite(t)
		h, sleeps := hold(func(ev processor.Event) bool { return ev.Offered() && ev.From() == "\xF0a" })
		asleep, awake, d := s.quick("asleep", change, sleeps), s.quick("awake", change), s.dispatcher("d", 1)
		committed(t, d.ask(asleep.id, to("a", 1, "tell b:1")))
		late := h.next(t)
		committed(t, d.ask(awake.id, to("a", 2, "tell b:2")))
		s.settled("a")
		for i := range uint64(40) {
			committed(t, d.ask(awake.id, to(fmt.Sprintf("z%02d", i), i+1, "tell b:z")))
		}
		wait(t, func() bool { return strings.Count(s.heard("b"), ":z ") == 40 })
		wait(t, func() bool { // a busy store may lose one: what the rule is for comes sooner or later
			asleep.Tell(late.Until(lasting()))
			wait(t, asleep.Idle)
			return ruled || strings.Count(s.heard("b"), "a:1 ") != 1
		})
		if got := s.heard("b"); strings.Count(got, "a:1 ") == 1 != ruled {
			t.Errorf("b heard %q", got)
		}
	})
}

// Peers whose records are gone are forgotten.
func TestPeersThatAreGoneAreForgotten(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	n, d := s.quick("p"), s.dispatcher("d", 1)
	const peers = 32
	names := make([]string, 0, peers)
	for i := range uint64(peers) {
		name := fmt.Sprintf("z%02d", i)
		names = append(names, name)
		committed(t, d.ask(n.id, to(name, i+1, "tell b:z")))
	}
	s.settled(names...)
	for _, name := range names[1:] {
		must[int64](t)(s.client().Del(t.Context(), s.redisName("\xF0"+name)).Result())
	}
	committed(t, d.ask(n.id, to("last", 100, "tell b:z")))
	wait(t, func() bool { return len(s.toyRecord("b").Peers) == 2 })
	committed(t, d.ask(n.id, to(names[0], 101, "tell b:y")))
	committed(t, d.ask(n.id, to(names[1], 102, "tell b:x"))) // a new session under an old key
	wait(t, func() bool { return strings.HasSuffix(s.heard("b"), "z00:y z01:x ") })
}

// R5: the processor dies after the commit and before anything is told.
func TestOutboxOfTheDeadIsDelivered(t *testing.T) {
	t.Parallel()
	without(t, func(p *processor.Processor) { p.Without(processor.OutboxRule) }, func(t *testing.T, change func(*processor.Processor), ruled bool) {
		t.Helper()
		s := newSite(t)
		dies := func(p *processor.Processor) {
			p.Crash(func(at processor.Point, _ processor.Event) bool { return at == processor.AfterCommit })
		}
		dead, alive, d := s.quick("dead", change, dies), s.quick("alive", change), s.dispatcher("d", 1)
		d.send(dead.id, to("a", 1, "tell b:1"))
		wait(t, func() bool { return s.heard("a") == "m1 " })
		if err := dead.stop(); err != nil {
			t.Fatal(err)
		}
		if ruled {
			s.settled("a")
		} else {
			wait(t, func() bool { return alive.Stats().Partitions == 256 })
			s.later(time.Second)
		}
		if got := s.heard("b"); (got == "a:1 ") != ruled {
			t.Errorf("b heard %q", got)
		}
	})
}

// R6: the lease of a processor ends while it sleeps, and another one runs the timer, which is then armed anew.
func TestTimersFireOncePerGeneration(t *testing.T) {
	t.Parallel()
	without(t, func(p *processor.Processor) { p.Without(processor.GenerationRule) }, func(t *testing.T, change func(*processor.Processor), ruled bool) {
		t.Helper()
		s := newSite(t)
		h, sleeps := hold(processor.Event.Fired)
		asleep, d := s.quick("asleep", change, sleeps), s.dispatcher("d", 1)
		committed(t, d.ask(asleep.id, to("a", 1, "arm 1 1")))
		late := h.next(t)
		awake := s.quick("awake", change)
		awake.Tell(late.Until(lasting()))
		wait(t, func() bool { return s.heard("a") == "m1 t1 " })
		committed(t, d.ask(awake.id, to("a", 2, "arm 1 3600000")))
		asleep.Tell(late.Until(lasting()))
		wait(t, asleep.Idle)
		if r := s.toyRecord("a"); (len(r.Timers) == 1 && string(r.Body) == "m1 t1 m2 ") != ruled {
			t.Errorf("%q, %+v", r.Body, r.Timers)
		}
	})
}

// R8: the destination's record, or the source's, comes back older than it was.
func TestRollbackOfPeersIsAlarmed(t *testing.T) {
	t.Parallel()
	for _, who := range []string{"a", "b"} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			without(t, func(p *processor.Processor) { p.Without(processor.RollbackRule) }, func(t *testing.T, change func(*processor.Processor), ruled bool) {
				t.Helper()
				s := newSite(t)
				var out logged
				s.log = zerolog.New(&out)
				first, d := s.quick("first", change), s.dispatcher("d", 1)
				committed(t, d.ask(first.id, to("a", 1, "tell b:1")))
				s.settled("a")
				name := s.redisName("\xF0" + who)
				old := must[string](t)(s.client().Get(t.Context(), name).Result())
				committed(t, d.ask(first.id, to("a", 2, "tell b:2"), to("a", 3, "tell b:3")))
				s.settled("a")
				if err := first.stop(); err != nil {
					t.Fatal(err)
				}
				must[string](t)(s.client().Set(t.Context(), name, old, 0).Result())
				second := s.quick("second", change)
				committed(t, d.ask(second.id, to("a", 4, "tell b:4")))
				if !ruled {
					s.later(time.Second)
				} else {
					s.settled("a")
				}
				if got := strings.HasSuffix(s.heard("b"), "a:4 "); got != ruled {
					t.Errorf("b heard %q", s.heard("b"))
				}
				if st := second.Stats(); (st.Rollbacks > 0) != ruled || strings.Contains(out.String(), "lost writes") != ruled {
					t.Errorf("%d rollbacks, log %s", st.Rollbacks, out.String())
				}
			})
		})
	}
}

// R9: a notification and a timer on which the handler fails for good are set aside.
func TestPoisonEventsAreSetAside(t *testing.T) {
	t.Parallel()
	without(t, func(p *processor.Processor) { p.Without(processor.PoisonRule) }, func(t *testing.T, change func(*processor.Processor), ruled bool) {
		t.Helper()
		s := newSite(t)
		var out logged
		s.log = zerolog.New(&out)
		n, d := s.quick("p", change), s.dispatcher("d", 1)
		committed(t, d.ask(n.id, to("a", 1, "tell b:fail|tell b:next")))
		wait(t, func() bool { return n.Stats().HandlerFaults >= 3 })
		if ruled {
			s.settled("a")
		} else {
			wait(t, func() bool { return n.Stats().HandlerFaults >= 5 })
		}
		if got := s.heard("b"); (got == "a:next ") != ruled {
			t.Errorf("b heard %q", got)
		}
		if ruled {
			wait(t, func() bool { return n.Stats().SetAside == 1 })
		}
		if st := n.Stats(); (st.SetAside == 1) != ruled || strings.Contains(out.String(), `"level":"error"`) != ruled {
			t.Errorf("%+v, log %s", st, out.String())
		}
	})
}

func TestPoisonTimersAreRemoved(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	n, d := s.startWith(quickConfig("p"), processor.NewHandlers(journal{}).ForKind(toyKind, allergic{})), s.dispatcher("d", 1)
	committed(t, d.ask(n.id, to("a", 1, "arm 1 1")))
	s.settled("a")
	wait(t, func() bool { return n.Stats().SetAside == 1 })
	committed(t, d.ask(n.id, to("a", 2, "")))
}

// allergic panics on timers.
type allergic struct{ toy }

func (h allergic) ApplyInput(s processor.Session, in processor.Input) (processor.Result, error) {
	if in.Kind == processor.TimerFired {
		panic("timer")
	}
	return h.toy.ApplyInput(s, in)
}

// R9: a record that can not be read and waits for something is left alone.
func TestUnreadableRecordsThatWaitAreLeftAlone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	n, d := s.quick("p"), s.dispatcher("d", 1)
	committed(t, d.ask(n.id, to("a", 1, "arm 1 3000")))
	name := s.redisName("\xF0a")
	blob := must[[]byte](t)(s.client().Get(t.Context(), name).Bytes())
	blob[11]++
	blob[len(blob)-12] = 0xFF
	blob[12] = 9
	must[string](t)(s.client().Set(t.Context(), name, blob, 0).Result())
	wait(t, func() bool { return n.Stats().Unreadable > 0 })
	if now := must[[]byte](t)(s.client().Get(t.Context(), name).Bytes()); !slices.Equal(now, blob) {
		t.Error("it was changed")
	}
}
