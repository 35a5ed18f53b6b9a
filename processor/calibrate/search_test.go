package calibrate_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"skyring/processor/calibrate"
)

// Whatever a machine sustains, the search comes within a tenth of it, in few rounds, and never says more.
func TestSearchFindsTheLimit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Float64Range(2, 2e6).Draw(t, "limit")
		hopeless := rapid.Bool().Draw(t, "hopeless")
		var s calibrate.Search
		offers := 0
		for {
			rate, long, more := s.Next()
			if !more {
				t.Fatalf("gave up with %v held", s.Held())
			}
			if offers++; offers > 60 {
				t.Fatalf("%d rounds", offers)
			}
			s.Was(rate, long, rate <= limit, hopeless)
			if long && rate <= limit {
				if rate < limit/1.25 {
					t.Fatalf("%v of %v", rate, limit)
				}
				return
			}
		}
	})
}

// A rate that holds for a moment and not for longer is left, by steps.
func TestSearchRetreats(t *testing.T) {
	t.Parallel()
	var s calibrate.Search
	long := 0
	for rate, isLong, more := s.Next(); more; rate, isLong, more = s.Next() {
		held := rate <= 10_000 && (!isLong || rate <= 7_000)
		s.Was(rate, isLong, held, true)
		if long > 0 && !isLong {
			t.Errorf("%v for a short time, after a long round", rate)
		}
		if isLong {
			long++
		}
		if isLong && held {
			if rate < 7_000*0.85 || long < 3 {
				t.Errorf("%v after %d long rounds", rate, long)
			}
			return
		}
	}
	t.Error("nothing found")
}

// One slow moment of the machine does not end the search there.
func TestSearchTriesAgain(t *testing.T) {
	t.Parallel()
	var s calibrate.Search
	s.Was(500, false, true, false)
	s.Was(1000, false, false, false)
	if rate, _, _ := s.Next(); rate != 1000 {
		t.Errorf("goes on with %v", rate)
	}
	s.Was(1000, false, true, false)
	if rate, _, _ := s.Next(); rate != 2000 {
		t.Errorf("goes on with %v", rate)
	}
	s.Was(2000, false, false, false)
	s.Was(2000, false, false, false)
	if rate, _, _ := s.Next(); rate >= 2000 {
		t.Errorf("goes on with %v", rate)
	}
}

func TestSearchGivesUp(t *testing.T) {
	t.Parallel()
	var s calibrate.Search
	offers := 0
	for rate, long, more := s.Next(); more; rate, long, more = s.Next() {
		s.Was(rate, long, false, true)
		if offers++; offers > 30 {
			t.Fatal("does not end")
		}
	}
	if s.Held() != 0 {
		t.Errorf("%v held", s.Held())
	}
}

func TestWhatHolds(t *testing.T) {
	t.Parallel()
	good := calibrate.Round{Offered: 1000, Answered: 960, P99: 90 * time.Millisecond}
	for name, test := range map[string]struct {
		change func(*calibrate.Round)
		holds  bool
	}{
		"good":     {func(*calibrate.Round) {}, true},
		"late":     {func(r *calibrate.Round) { r.P99 = 101 * time.Millisecond }, false},
		"failures": {func(r *calibrate.Round) { r.Failed = 1 }, false},
		"a queue":  {func(r *calibrate.Round) { r.Answered = 940 }, false},
		"stopped":  {func(r *calibrate.Round) { r.Stopped = true }, false},
	} {
		r := good
		test.change(&r)
		if holds := r.Holds(100 * time.Millisecond); holds != test.holds {
			t.Errorf("%s: %v", name, holds)
		}
	}
}

func TestConclusions(t *testing.T) {
	t.Parallel()
	held := func(rate float64) calibrate.Round { return calibrate.Round{Offered: rate, Held: true} }
	failed := func(rate float64, change func(*calibrate.Round)) calibrate.Round {
		r := calibrate.Round{Offered: rate}
		change(&r)
		return r
	}
	nothing := func(*calibrate.Round) {}
	for name, test := range map[string]struct {
		rounds   []calibrate.Round
		failed   float64
		capacity uint32
		limit    calibrate.Limit
	}{
		"time":              {[]calibrate.Round{held(500), held(1000)}, 0, 1000, calibrate.LimitTime},
		"CPU":               {[]calibrate.Round{held(500), failed(1000, func(r *calibrate.Round) { r.CPU = 0.95 })}, 1000, 500, calibrate.LimitCPU},
		"Redis":             {[]calibrate.Round{held(500), failed(1000, func(r *calibrate.Round) { r.CPU, r.Redis = 0.95, 0.99 })}, 1000, 500, calibrate.LimitRedis},
		"failing":           {[]calibrate.Round{held(500), failed(1000, func(r *calibrate.Round) { r.CPU, r.Failed = 0.95, 1 })}, 1000, 500, calibrate.LimitFailing},
		"waiting":           {[]calibrate.Round{held(500), failed(1000, nothing)}, 1000, 500, calibrate.LimitWaiting},
		"the lowest counts": {[]calibrate.Round{held(1234.5), failed(4000, func(r *calibrate.Round) { r.CPU = 1 }), failed(2000, nothing)}, 2000, 1230, calibrate.LimitWaiting},
		"not above what fails": {
			[]calibrate.Round{held(8000), failed(8000, nothing), held(7440)}, 8000, 7440, calibrate.LimitWaiting,
		},
		"second chance": {[]calibrate.Round{held(500), failed(1000, nothing), held(1000)}, 0, 1000, calibrate.LimitTime},
		"nothing":       {[]calibrate.Round{failed(500, nothing)}, 500, 0, calibrate.LimitWaiting},
	} {
		if capacity, limit := calibrate.Conclude(test.rounds, test.failed); capacity != test.capacity || limit != test.limit {
			t.Errorf("%s: %d, %v", name, capacity, limit)
		}
	}
}
