package processor_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9" //nolint:depguard // tests look behind the store, and change what is there
	"github.com/rs/zerolog"

	"skyring/processor"
	"skyring/protocol/bus"
	"skyring/statestore"
)

// client gives a bare connection to the site's Redis.
func (s *site) client() *redis.Client {
	s.tb.Helper()
	c := redis.NewClient(must[*redis.Options](s.tb)(redis.ParseURL(s.redis.URL())))
	s.tb.Cleanup(func() { _ = c.Close() })
	return c
}

func (s *site) redisName(key string) string {
	s.tb.Helper()
	names := must[[]string](s.tb)(s.client().Keys(s.tb.Context(), "*:s:"+key).Result())
	if len(names) != 1 {
		s.tb.Fatalf("keys %q", names)
	}
	return names[0]
}

// R8: Redis comes back older than it was.
func TestRollbackIsAlarmed(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(t *testing.T, c *redis.Client, name, old string){
		"older": func(t *testing.T, c *redis.Client, name, old string) {
			t.Helper()
			must[string](t)(c.Set(t.Context(), name, old, time.Hour).Result())
		},
		"gone": func(t *testing.T, c *redis.Client, name, _ string) {
			t.Helper()
			must[int64](t)(c.Del(t.Context(), name).Result())
		},
		"another line": func(t *testing.T, c *redis.Client, name, _ string) {
			t.Helper()
			b := must[[]byte](t)(c.Get(t.Context(), name).Bytes())
			b[11] ^= 1
			must[string](t)(c.Set(t.Context(), name, b, time.Hour).Result())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			var out logged
			s.log = zerolog.New(&out)
			n := s.start("a", processor.NewHandlers(journal{}))
			d := s.dispatcher("d", 1)
			d.ask(n.id, say(1, 0, "a"))
			c := s.client()
			redisName := s.redisName("key")
			old := must[string](t)(c.Get(t.Context(), redisName).Result())
			d.ask(n.id, say(2, 0, "b"))
			lose(t, c, redisName, old)
			if got := d.ask(n.id, say(3, 0, "c")); got[0] != bus.Committed {
				t.Errorf("the session does not go on: %v", got)
			}
			if got := d.ask(n.id, say(4, 0, "d")); got[0] != bus.Committed {
				t.Errorf("the session does not go on: %v", got)
			}
			if st := n.Stats(); st.Rollbacks != 1 {
				t.Errorf("%+v", st)
			}
			if !strings.Contains(out.String(), "lost writes") {
				t.Errorf("no alarm in %s", out.String())
			}
		})
	}
}

// What was being written when Redis went away is compared with what comes back, too.
func TestRollbackInAnOutageIsAlarmed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	n := s.start("a", processor.NewHandlers(journal{}))
	d := s.dispatcher("d", 1)
	d.ask(n.id, say(1, 0, "a"))
	name := s.redisName("key")
	old := must[string](t)(s.client().Get(t.Context(), name).Result())
	d.ask(n.id, say(2, 0, "b"))
	if err := s.redis.Kill(); err != nil {
		t.Fatal(err)
	}
	if got := d.ask(n.id, say(3, 0, "c")); got[0] != bus.Unavailable {
		t.Errorf("without Redis: %v", got)
	}
	if err := s.redis.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	must[string](t)(s.client().Set(t.Context(), name, old, time.Hour).Result())
	wait(t, func() bool { return d.ask(n.id, say(3, 0, "c"))[0].Done() })
	if body := s.body(); body != "7/1=a 7/3=c " {
		t.Errorf("body %q", body)
	}
	if st := n.Stats(); st.Rollbacks != 1 {
		t.Errorf("%+v", st)
	}
}

// R8: what went back is told to its handler, before anything else and once; what it sends then is new to those who have all that was lost.
func TestRollbackIsToldToTheSession(t *testing.T) {
	t.Parallel()
	without(t, func(p *processor.Processor) { p.Without(processor.ResyncRule) }, func(t *testing.T, change func(*processor.Processor), ruled bool) {
		t.Helper()
		s := newSite(t)
		n, d := s.quick("n", change), s.dispatcher("d", 1)
		committed(t, d.ask(n.id, to("a", 1, "tell b:1")))
		s.settled("a")
		c, name := s.client(), s.redisName("\xF0a")
		old := must[string](t)(c.Get(t.Context(), name).Result())
		committed(t, d.ask(n.id, to("a", 2, "tell b:2"), to("a", 3, "tell b:3")))
		s.settled("a")
		must[string](t)(c.Set(t.Context(), name, old, 0).Result())
		committed(t, d.ask(n.id, to("a", 4, "tell b:4|tell b:5")))
		committed(t, d.ask(n.id, to("a", 5, "")))
		s.settled("a")
		a, b := "m1 m4 m5 ", "a:1 a:2 a:3 "
		if ruled {
			a, b = "m1 lost(m1 m2 m3) m4 m5 ", "a:1 a:2 a:3 a:4 a:5 "
		}
		if s.heard("a") != a || s.heard("b") != b {
			t.Errorf("a heard %q, b heard %q", s.heard("a"), s.heard("b"))
		}
	})
}

// R8: once epochs show that writes were lost, sessions are looked after for which nothing comes.
func TestRollbackIsFoundWhereNothingComes(t *testing.T) {
	t.Parallel()
	without(t, func(p *processor.Processor) { p.Without(processor.ResyncRule) }, func(t *testing.T, change func(*processor.Processor), ruled bool) {
		t.Helper()
		s := newSite(t)
		n, d := s.quick("n", change), s.dispatcher("d", 1)
		committed(t, d.ask(n.id, to("a", 1, "")))
		c, name := s.client(), s.redisName("\xF0a")
		old := must[string](t)(c.Get(t.Context(), name).Result())
		committed(t, d.ask(n.id, to("a", 2, "")))
		for last, times := "", 0; times < 3; times++ { // the processor knows of an epoch
			wait(t, func() bool {
				now, err := c.Get(t.Context(), "skyring:epoch").Result()
				changed := err == nil && now != last
				last = now
				return changed
			})
		}
		must[string](t)(c.Set(t.Context(), name, old, 0).Result())
		must[string](t)(c.Set(t.Context(), "skyring:epoch", 1, 0).Result())
		if !ruled {
			wait(t, func() bool { return n.Stats().Rollbacks > 1 }) // of epochs, and of the session
			if s.heard("a") != "m1 " {
				t.Errorf("a heard %q", s.heard("a"))
			}
			return
		}
		wait(t, func() bool { return s.heard("a") == "m1 lost(m1 m2) " })
	})
}

func TestUnreadableRecords(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	n := s.start("a", processor.NewHandlers(journal{}))
	d := s.dispatcher("d", 1)
	d.ask(n.id, say(1, 0, "a"))
	c := s.client()
	name := s.redisName("key")
	blob := must[[]byte](t)(c.Get(t.Context(), name).Bytes())
	blob[11]++
	blob[12] = 9
	must[string](t)(c.Set(t.Context(), name, blob, time.Hour).Result())
	for range 2 { // found by the commit, then by loading
		if got := d.ask(n.id, say(2, 0, "b")); got[0] != bus.Unavailable {
			t.Errorf("newer record: %v", got)
		}
	}
	blob[12] = 0
	must[string](t)(c.Set(t.Context(), name, blob, time.Hour).Result())
	if got := d.ask(n.id, say(2, 0, "b")); got[0] != bus.Quarantined {
		t.Errorf("damaged record: %v", got)
	}
	if n.Stats().Unreadable != 3 {
		t.Errorf("%+v", n.Stats())
	}
}

func TestCallDataRecordsAreForgotten(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	cfg := quickConfig("p")
	cfg.CDRKeep = time.Minute
	n, d := s.startWith(cfg, toys()), s.dispatcher("d", 1)
	committed(t, d.ask(n.id, to("a", 1, "")))
	stream := s.redisName("\xF0a")
	stream = stream[:strings.Index(stream, ":s:")] + ":cdr"
	must[string](t)(s.client().XAdd(t.Context(), &redis.XAddArgs{Stream: stream, ID: "1-1", Values: []any{"n", 1, "d", "old"}}).Result())
	committed(t, d.ask(n.id, to("a", 2, "cdr new")))
	wait(t, func() bool {
		cdrs := must[[]statestore.CDR](t)(s.store().CDRs(t.Context(), nil, 0))
		return len(cdrs) == 1 && string(cdrs[0].Payload) == "new"
	})
}
