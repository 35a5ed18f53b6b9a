package gauge_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"skyring/ring/gauge"
)

func TestResponseIsSmoothed(t *testing.T) {
	var r gauge.Response
	if r.Mean() != 0 || r.Deviation() != 0 {
		t.Errorf("nothing was answered: %v, %v", r.Mean(), r.Deviation())
	}

	r.Took(80 * time.Millisecond)

	if r.Mean() != 80*time.Millisecond || r.Deviation() != 0 {
		t.Errorf("one answer of 80 ms: %v, %v", r.Mean(), r.Deviation())
	}

	r.Took(160 * time.Millisecond) // 80 over: an eighth of it, and of its square

	if want := time.Duration(math.Sqrt(0.08*0.08/8) * 1e9); r.Mean() != 90*time.Millisecond || (r.Deviation()-want).Abs() > time.Microsecond {
		t.Errorf("and one of 160 ms: %v, %v; want 90ms, %v", r.Mean(), r.Deviation(), want)
	}

	for range 200 {
		r.Took(10 * time.Millisecond)
	}

	if r.Mean() < 10*time.Millisecond || r.Mean() > 11*time.Millisecond || r.Deviation() > time.Millisecond {
		t.Errorf("200 answers of 10 ms: %v, %v", r.Mean(), r.Deviation())
	}
}

// A limit is by the formula above it, once a second.
func TestLimitByTheFormula(t *testing.T) {
	const target = 100 * time.Millisecond

	for _, c := range []struct {
		name     string
		response time.Duration
		most     int    // messages in flight
		answered uint64 // in the second
		want     int
	}{
		{"twice the target: half, and the root", 2 * target, 1000, 1000, 512 + 32},
		{"ten times the target: half is the least", 10 * target, 1000, 1000, 512 + 32},
		{"but twice what the throughput needs at the target", 2 * target, 1000, 4000, 2 * 400},
		{"at the target: the ceiling", target, 1000, 1000, 1024},
		{"slow at less than half its limit: as it was", 2 * target, 511, 1000, 1024},
		{"slow at half its limit", 2 * target, 512, 1000, 512 + 32},
		{"nothing answered yet", 0, 1000, 0, 1024},
	} {
		t.Run(c.name, func(t *testing.T) {
			var l gauge.Limit

			l.SetCeiling(1024)
			l.Loaded(c.most)

			s := gauge.Sample{Now: time.Second - 1, Answered: c.answered, Response: c.response, Target: target}
			if l.Adapt(s) || l.Value() != 1024 {
				t.Errorf("looked within a second: %d", l.Value())
			}

			s.Now = time.Second
			if !l.Adapt(s) || l.Value() != c.want {
				t.Errorf("%d, want %d", l.Value(), c.want)
			}
		})
	}
}

// A limit that was small grows by a quarter a second while answers take less than half of the target, else by its root.
func TestLimitGrows(t *testing.T) {
	const target = 100 * time.Millisecond

	var l gauge.Limit

	l.SetCeiling(1024)

	now := time.Duration(0)
	adapt := func(response time.Duration) int {
		now += time.Second
		l.Loaded(1024)
		l.Adapt(gauge.Sample{Now: now, Response: response, Target: target})

		return l.Value()
	}

	for range 20 {
		adapt(10 * target)
	}

	if l.Value() != 1024/8 {
		t.Fatalf("%d after long, want an eighth of the ceiling", l.Value())
	}

	if got := adapt(target * 3 / 4); got != 128+11 {
		t.Errorf("%d, want 128 and its root", got)
	}

	if got := adapt(target / 4); got != 139+139/4 {
		t.Errorf("%d, want 139 and a quarter", got)
	}

	l.SetCeiling(5)

	if l.Value() != 5 {
		t.Errorf("%d with a ceiling of 5", l.Value())
	}
}

// Whatever happens, a limit is from an eighth of its ceiling, or 1, to that, and is looked at once a second at most.
func TestLimitStaysInItsRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var (
			l        gauge.Limit
			s        = gauge.Sample{Target: time.Duration(rapid.IntRange(1, 1000).Draw(t, "target ms")) * time.Millisecond}
			ceiling  = rapid.IntRange(1, 5000).Draw(t, "ceiling")
			looked   time.Duration
			duration = func(most int, label string) time.Duration {
				return time.Duration(rapid.IntRange(0, most).Draw(t, label)) * time.Millisecond
			}
		)

		l.SetCeiling(ceiling)

		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			s.Now += duration(2500, "passed ms")
			s.Answered += uint64(rapid.IntRange(0, 100_000).Draw(t, "answered"))
			s.InFlight = rapid.IntRange(0, 10_000).Draw(t, "in flight")
			s.Response = duration(10_000, "response ms")
			l.Loaded(s.InFlight)

			before := l.Value()

			if did := l.Adapt(s); did != (s.Now-looked >= time.Second) || !did && l.Value() != before {
				t.Fatalf("looked: %v, %v after the last time; %d, was %d", did, s.Now-looked, l.Value(), before)
			} else if did {
				looked = s.Now
			}

			if l.Value() < max(1, ceiling/8) || l.Value() > ceiling {
				t.Fatalf("%d, ceiling %d", l.Value(), ceiling)
			}
		}
	})
}

// A node is at its limit from a threshold on, until it is well under it and the hysteresis is over.
func TestStrain(t *testing.T) {
	const hysteresis = 30 * time.Second

	var s gauge.Strain

	for _, step := range []struct {
		at   time.Duration
		used float64
		held bool
		left time.Duration
	}{
		{0, 0.99, false, 0},
		{1 * time.Second, 1, true, hysteresis},
		{2 * time.Second, 0.1, true, 29 * time.Second},
		{31*time.Second - 1, 0.1, true, 1},
		{31 * time.Second, 0.95, true, 0},
		{32 * time.Second, 0.9, true, -time.Second},
		{33 * time.Second, 0.8999, false, hysteresis},
		{34 * time.Second, 2, false, 29 * time.Second},
		{63 * time.Second, 2, true, hysteresis},
	} {
		s.Observe(step.at, step.used, hysteresis)

		if s.Held() != step.held || s.Left(step.at, hysteresis) != step.left {
			t.Errorf("%.4f used at %v: held %v, %v left; want %v, %v", step.used, step.at, s.Held(), s.Left(step.at, hysteresis), step.held, step.left)
		}
	}
}

// Whatever is reported, two changes are no nearer to each other than the hysteresis.
func TestStrainChangesAreRare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var (
			s       gauge.Strain
			now     time.Duration
			changed = -30 * time.Second
		)

		for range rapid.IntRange(1, 300).Draw(t, "reports") {
			now += time.Duration(rapid.IntRange(0, 12_000).Draw(t, "ms")) * time.Millisecond
			before := s.Held()
			s.Observe(now, rapid.Float64Range(0, 1.5).Draw(t, "used"), 30*time.Second)

			if s.Held() == before {
				continue
			}

			if now-changed < 30*time.Second {
				t.Fatalf("changed at %v and at %v", changed, now)
			}

			changed = now
		}
	})
}

func TestUsed(t *testing.T) {
	for _, c := range [][3]float64{{0.3, 0.75, 0.4}, {0.3, 0, 0}, {0.3, -1, 0}, {3, 2, 1.5}} {
		if got := gauge.Used(c[0], c[1]); math.Abs(got-c[2]) > 1e-12 {
			t.Errorf("%v of %v: %v, want %v", c[0], c[1], got, c[2])
		}
	}
}
