package processor_test

import (
	"testing"
	"time"

	"skyring/processor"
	"skyring/processor/load"
)

func TestASecondOfFullCPUIsNoLoad(t *testing.T) {
	var s processor.Steady
	now := time.Unix(1, 0)
	told := func(cpu float64, seconds int) float64 {
		var l load.Load
		for range seconds {
			now = now.Add(time.Second)
			l = s.Add(load.Load{CPU: cpu, Memory: 0.5}, now)
		}
		if l.Memory != 0.5 {
			t.Fatalf("memory %v of 0.5", l.Memory)
		}
		return l.CPU
	}
	if got := told(0.2, 1); got != 0.2 {
		t.Fatalf("the first one is told as %v, 0.2 is right", got)
	}
	if got := told(1, 1); got < 0.2 || got > 0.4 {
		t.Errorf("a second of full CPU is told as %v", got)
	}
	if got := told(1, 20); got < 0.95 || got > 1 {
		t.Errorf("20 s of full CPU are told as %v", got)
	}
	if got := told(0, 20); got > 0.05 {
		t.Errorf("20 s of no load are told as %v", got)
	}
}
