package realrun_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"skyring/testbed/compare"
	"skyring/testbed/realrun"
	"skyring/testbed/simulate"
)

// A dial that a closed pool of go-redis has begun ends on its own.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

// quick is a run of some 14 s, whose responses say nothing: work is short, so that there are enough messages for shares.
func quick(t *testing.T) realrun.Config {
	t.Helper()

	c := realrun.DefaultConfig()
	c.Seeds, c.Service, c.Messages, c.Dir = 1, 0, 3_000, t.TempDir()

	return c
}

// TestStationsStayAsSimulated holds the same-node share of each policy to the simulation: of messages that have their station to themselves, as others go by no policy,
// and how many these are is up to the machine. Run fails unless each message has one answer and one effect, in order. The share of 3,000 messages has a standard deviation of
// 0.008, so the simulation is one of 100,000.
func TestStationsStayAsSimulated(t *testing.T) {
	c := quick(t)

	result, err := realrun.Run(t.Context(), c, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}

	var text strings.Builder
	if err := result.Text(&text); err != nil {
		t.Fatal(err)
	}

	t.Log("\n" + text.String())

	simulated := make([]float64, len(result.Rounds))

	for i, r := range result.Rounds {
		simulated[i] = share(t, c, r)

		if r.Policy != c.Policies[i] || r.Messages < c.Messages {
			t.Errorf("round %d: %s, %d messages, want %s and %d at least", i, r.Policy, r.Messages, c.Policies[i], c.Messages)
		}

		if off := r.SameNodeAlone/simulated[i] - 1; math.Abs(off) > realrun.Tolerance {
			t.Errorf("%s: share on the same node is %.4f, %.4f simulated: %+.1f %%", r.Policy, r.SameNodeAlone, simulated[i], 100*off)
		}
	}

	for i, a := range result.Rounds {
		for j, b := range result.Rounds {
			if simulated[i] > 1.5*simulated[j] && a.SameNodeAlone <= b.SameNodeAlone {
				t.Errorf("%s keeps stations less (%.4f) than %s (%.4f): %.4f and %.4f simulated",
					a.Policy, a.SameNodeAlone, b.Policy, b.SameNodeAlone, simulated[i], simulated[j])
			}
		}
	}
}

// share is the same-node share of the whole scenario under the policy of a round, with the way that it measured.
func share(t *testing.T, c realrun.Config, r realrun.Round) float64 {
	t.Helper()

	load, err := compare.Config(c.Scenario, r.Policy, r.Seed)
	if err != nil {
		t.Fatal(err)
	}

	load.Hop = r.Way / 2

	s, err := simulate.Run(t.Context(), load)
	if err != nil {
		t.Fatal(err)
	}

	return s.SameNode
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")

	// The first line that a dispatcher logs of its nodes says that the installation is under way.
	log := zerolog.New(zerolog.ConsoleWriter{Out: writer(func(b []byte) {
		if strings.Contains(string(b), "new ring") {
			cancel(why)
		}
	}), NoColor: true})

	if _, err := realrun.Run(ctx, quick(t), log); !errors.Is(err, why) {
		t.Errorf("%v, want %v", err, why)
	}
}

type writer func([]byte)

func (w writer) Write(b []byte) (int, error) { w(b); return len(b), nil }
