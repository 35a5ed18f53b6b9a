package routing_test

import (
	"flag"
	"testing"
	"time"

	"skyring/dispatcher/routing"
)

func testConfig() routing.Config {
	return routing.Config{
		Window:          replyRing,
		InFlightLimit:   6,
		HardCap:         10,
		MaxBytesPerNode: 2000,
		Deadline:        400 * time.Millisecond,
		DeadlineMax:     5 * time.Second,
		RetryDelay:      25 * time.Millisecond,
		Probe:           50 * time.Millisecond,
		RetryShare:      0.2,
		RetryRate:       50,
		Expiry:          3 * time.Second,
		Heartbeat:       time.Second,
		MaxNodes:        16,
		NodeMemory:      10 * time.Minute,
		CPUThreshold:    0.75,
		MemoryThreshold: 0.90,
		RateThreshold:   1,
		ResponseTarget:  100 * time.Millisecond,
		Hysteresis:      30 * time.Second,
	}
}

func TestMain(m *testing.M) {
	flag.Parse()

	// The defaults of rapid are too short for what takes many steps to go wrong.
	set := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { set[f.Name] = true })

	for name, value := range map[string]string{"rapid.checks": "600", "rapid.steps": "120"} {
		if set[name] {
			continue
		}

		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}

	m.Run()
}
