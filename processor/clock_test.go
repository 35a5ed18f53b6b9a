package processor_test

import (
	"testing"
	"time"

	"skyring/processor"
)

func TestClockGoesOnBetweenReadings(t *testing.T) {
	t.Parallel()
	var c processor.Clock
	here := time.Now()
	if got := c.Now(here); got != here.UnixMicro() {
		t.Errorf("without a reading it is %d", got)
	}
	c.Take(5_000_000, here, here.Add(10*time.Millisecond))
	if got := c.Now(here.Add(time.Second)); got != 5_995_000 {
		t.Errorf("%d", got)
	}
}

// A processor that is stopped between question and answer does not take half of its sleep for the store's.
func TestClockKeepsTheBetterReading(t *testing.T) {
	t.Parallel()
	const start = 5_000_000
	here := time.Now()
	for name, c := range map[string]struct {
		after, round time.Duration
		taken        bool
	}{
		"quick":              {time.Second, 10 * time.Millisecond, true},
		"slow":               {time.Second, 200 * time.Millisecond, false},
		"slept":              {time.Second, 12 * time.Second, false},
		"always slow":        {time.Minute, 200 * time.Millisecond, true},
		"little slower":      {time.Second, 30 * time.Millisecond, true},
		"slept after a long": {5 * time.Minute, 30 * time.Second, false},
	} {
		var clock processor.Clock
		clock.Take(start, here, here.Add(15*time.Millisecond))
		asked := here.Add(c.after)
		clock.Take(9_000_000_000, asked, asked.Add(c.round))
		if got := clock.Now(asked) > 8_000_000_000; got != c.taken {
			t.Errorf("%s: taken is %v", name, got)
		}
	}
}
