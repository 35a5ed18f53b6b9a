package processor_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"pgregory.net/rapid"

	"skyring/processor"
	"skyring/processor/ledger"
	"skyring/protocol/bus"
)

// capacityConfig is the default rule with a configured capacity.
func capacityConfig(configured uint32) processor.Config {
	cfg := processor.DefaultConfig()
	cfg.Capacity = configured
	return cfg
}

func TestCapacityGoesInSteps(t *testing.T) {
	t.Parallel()
	start := time.UnixMicro(1_800_000_000_000_000)
	at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
	c := processor.NewCapacity(capacityConfig(1000), start)
	if steps, takes := c.Left(start); c.Announced() != 1000 || steps != 0 || takes != 0 {
		t.Errorf("%d announced at the start, %d steps in %v", c.Announced(), steps, takes)
	}
	c = c.Aim(1300, at(4)) // 1100 in 6 minutes, 1210, 1300
	if steps, takes := c.Left(at(4)); c.Announced() != 1000 || steps != 3 || takes != 26*time.Minute {
		t.Errorf("%d announced, %d steps in %v", c.Announced(), steps, takes)
	}
	for _, step := range []struct {
		minute int
		want   uint32
	}{{9, 1000}, {10, 1100}, {19, 1100}, {20, 1210}, {29, 1210}, {31, 1300}, {90, 1300}} {
		if c, _ = c.Approach(at(step.minute)); c.Announced() != step.want {
			t.Errorf("%d announced in minute %d, want %d", c.Announced(), step.minute, step.want)
		}
	}
	c = c.Aim(1000, at(91)) // the last change was long ago
	if steps, takes := c.Left(at(91)); c.Announced() != 1170 || steps != 2 || takes != 20*time.Minute {
		t.Errorf("%d announced, %d steps in %v", c.Announced(), steps, takes)
	}
	c = c.Jump(5000, at(92))
	if steps, _ := c.Left(at(92)); c.Announced() != 5000 || steps != 0 {
		t.Errorf("%d announced, %d steps", c.Announced(), steps)
	}
	if c = c.Aim(4000, at(93)); c.Announced() != 5000 {
		t.Errorf("%d announced a minute after another change", c.Announced())
	}
}

// Small capacities have no tenth part; they go by one.
func TestSmallCapacities(t *testing.T) {
	t.Parallel()
	now := time.UnixMicro(1_800_000_000_000_000)
	c := processor.NewCapacity(capacityConfig(1), now).Aim(3, now)
	for want := uint32(2); want <= 3; want++ {
		now = now.Add(10 * time.Minute)
		if c, _ = c.Approach(now); c.Announced() != want {
			t.Errorf("%d announced, want %d", c.Announced(), want)
		}
	}
}

func TestCapacityOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	now := time.UnixMicro(1_800_000_000_000_000)
	c := processor.NewCapacity(capacityConfig(1000), now).Aim(500, now.Add(10*time.Minute))
	again, kept := c.Restart(capacityConfig(1000), now.Add(time.Hour))
	if !kept || again.Announced() != 900 {
		t.Errorf("%d announced after a restart", again.Announced())
	}
	if again, _ = again.Approach(now.Add(time.Hour)); again.Announced() != 810 {
		t.Errorf("%d announced: one step for an hour in which the node was away", again.Announced())
	}
	if _, stepped := again.Approach(now.Add(time.Hour)); stepped {
		t.Error("two steps at once")
	}
	if other, kept := c.Restart(capacityConfig(2000), now.Add(time.Hour)); kept || other.Announced() != 2000 {
		t.Errorf("%d announced with another configuration", other.Announced())
	}
}

// A store whose clock was set back makes the next step wait, but not for ever.
func TestCapacityWithAClockSetBack(t *testing.T) {
	t.Parallel()
	now := time.UnixMicro(1_800_000_000_000_000)
	c := processor.NewCapacity(capacityConfig(1000), now).Aim(500, now)
	now = now.Add(-1000 * time.Hour)
	if _, takes := c.Left(now); takes != 70*time.Minute {
		t.Errorf("takes %v", takes)
	}
	c, _ = c.Approach(now)
	if c, _ = c.Approach(now.Add(10 * time.Minute)); c.Announced() != 900 {
		t.Errorf("%d announced", c.Announced())
	}
}

// Whatever operators want, and when: no step is over a tenth, none is sooner than ten minutes after another, and it ends at the target when it said so.
func TestCapacityRule(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := time.UnixMicro(1_800_000_000_000_000)
		capacities := rapid.Uint32Range(1, 1<<32-1)
		c := processor.NewCapacity(capacityConfig(capacities.Draw(t, "configured")), now)
		target, changed := c.Announced(), now
		look := func() {
			before := c.Announced()
			var stepped bool
			c, stepped = c.Approach(now)
			if stepped != (c.Announced() != before) {
				t.Fatalf("stepped %v, from %d to %d", stepped, before, c.Announced())
			}
			if !stepped {
				return
			}
			if now.Sub(changed) < 10*time.Minute {
				t.Fatalf("a change %v after another", now.Sub(changed))
			}
			changed = now
			moved := max(before, c.Announced()) - min(before, c.Announced())
			if moved > max(1, before/10) {
				t.Fatalf("from %d to %d at once", before, c.Announced())
			}
		}
		for range rapid.IntRange(0, 5).Draw(t, "decisions") {
			target = capacities.Draw(t, "target")
			before := c.Announced()
			if c = c.Aim(target, now); c.Announced() != before {
				changed = now
			}
			for range rapid.IntRange(0, 30).Draw(t, "looks") {
				now = now.Add(time.Duration(rapid.IntRange(1, 900).Draw(t, "seconds")) * time.Second)
				look()
			}
		}
		steps, takes := c.Left(now)
		end := now.Add(takes)
		for ; steps > 0; steps-- {
			if c.Announced() == target {
				t.Fatalf("%d steps too many", steps)
			}
			now = changed.Add(10 * time.Minute)
			if now.After(end) {
				t.Fatalf("later than it said by %v", now.Sub(end))
			}
			look()
		}
		if c.Announced() != target || !now.Equal(end) && takes > 0 {
			t.Fatalf("%d announced, want %d; %v too early", c.Announced(), target, end.Sub(now))
		}
	})
}

// weigh asks node n1 for another capacity.
func (s *site) weigh(conn *bus.Conn, request bus.NodeRequest) *bus.NodeReply {
	s.tb.Helper()
	data := must[[]byte](s.tb)(conn.Request(s.tb.Context(), bus.Namespace("default").Ask("n1"), request.Append(nil)))
	return must[*bus.NodeReply](s.tb)(bus.DecodeJSON[bus.NodeReply](data))
}

// patientConfig is node n1, which does not change by itself while a test runs.
func patientConfig() processor.Config {
	cfg := processor.DefaultConfig()
	cfg.ID, cfg.DrainQuiet, cfg.Heartbeat = "n1", 20*time.Millisecond, 20*time.Millisecond
	return cfg
}

func TestNodesFollowTheirWeight(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	beats := s.watch("n1")
	quick := patientConfig()
	quick.CapacityInterval, quick.InFlightLimit = time.Millisecond, 77
	n := s.startWith(quick, processor.NewHandlers(ledger.Handler{}))
	operator := s.connect("operator")
	if r := s.weigh(operator, bus.NodeRequest{Administration: bus.Weigh, Capacity: 1250}); r.Error != "" || r.Status.CapacityTarget != 1250 {
		t.Errorf("%+v", r)
	}
	var seen []uint32
	for h := range beats {
		if len(seen) == 0 || seen[len(seen)-1] != h.Capacity {
			seen = append(seen, h.Capacity)
		}
		if h.InFlightLimit != 77 || h.Memory <= 0 || h.Memory > 1 || h.CPU < 0 || h.CPU > 1 {
			if h.State == bus.Ready && h.Sequence > 20 {
				t.Fatalf("%+v", h)
			}
		}
		if h.Capacity == 1250 && h.CPU > 0 {
			break
		}
	}
	if len(seen) != 4 || seen[0] != 1000 || seen[1] != 1100 || seen[2] != 1210 {
		t.Errorf("announced %v", seen)
	}
	if err := n.stop(); err != nil {
		t.Error(err)
	}

	again := s.startWith(patientConfig(), processor.NewHandlers(ledger.Handler{}))
	if status := again.Status(); status.Capacity != 1250 || status.CapacitySteps != 0 {
		t.Errorf("after a restart: %+v", status)
	}
	r := s.weigh(operator, bus.NodeRequest{Administration: bus.Weigh, Capacity: 1000})
	if r.Error != "" || r.Status.Capacity != 1250 || r.Status.CapacityTarget != 1000 || r.Status.CapacitySteps != 3 || r.Status.CapacitySeconds < 1200 || r.Status.CapacitySeconds > 1800 {
		t.Errorf("%+v", r)
	}
	r = s.weigh(operator, bus.NodeRequest{Administration: bus.WeighNow, Capacity: 300})
	if r.Error != "" || r.Status.Capacity != 300 || r.Status.CapacitySteps != 0 || r.Status.CapacitySeconds != 0 {
		t.Errorf("%+v", r)
	}
	for h := range beats { // dispatchers hear of it at once
		if h.Capacity == 300 {
			break
		}
	}
	if err := again.stop(); err != nil {
		t.Error(err)
	}

	log := &logged{}
	s.log = zerolog.New(log)
	other := patientConfig()
	other.Capacity = 700
	newer := s.startWith(other, processor.NewHandlers(ledger.Handler{}))
	if status := newer.Status(); status.Capacity != 700 || status.CapacityTarget != 700 {
		t.Errorf("with another configuration: %+v", status)
	}
	if !strings.Contains(log.String(), "the configured capacity was changed") {
		t.Errorf("not a word of it in %s", log)
	}
}

func TestWeightThatCanNotBeKeptIsRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	cfg := patientConfig()
	cfg.CapacityInterval = time.Millisecond
	n := s.startWith(cfg, processor.NewHandlers(ledger.Handler{}))
	if err := s.redis.Kill(); err != nil {
		t.Fatal(err)
	}
	operator := s.connect("operator")
	for _, act := range []bus.Administration{bus.Weigh, bus.WeighNow} {
		if r := s.weigh(operator, bus.NodeRequest{Administration: act, Capacity: 9}); !strings.Contains(r.Error, "could not be kept") || r.Status.CapacityTarget != 1000 {
			t.Errorf("%+v", r)
		}
	}
	if err := s.redis.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	wait(t, func() bool { return n.Ready() == nil })
	if r := s.weigh(operator, bus.NodeRequest{Administration: bus.WeighNow, Capacity: 9}); r.Error != "" || r.Status.Capacity != 9 {
		t.Errorf("%+v", r)
	}
}
