package realrun_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"skyring/testbed/realrun"
)

// A dial that a closed pool of go-redis has begun ends on its own.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

// quick is a run whose pace is the machine's: its responses say nothing.
func quick(t *testing.T, messages int, policies ...string) realrun.Config {
	t.Helper()

	c := realrun.DefaultConfig()
	c.Policies, c.Messages, c.Dir = policies, messages, t.TempDir()
	c.Seeds, c.Service, c.MostUnanswered = 1, time.Millisecond, 6

	return c
}

// TestStationsStayAsSimulated holds the same-node share of each policy to the simulation, and with it the order of the policies: of messages that have their station to
// themselves, as how many others there are is up to the machine. Run fails unless each message has one answer and one effect, in order. Of 2,000 messages taken in turns
// the share has a standard deviation of 0.010, and 15 % are 0.037. Where least-connections sends a message depends on how long those before take, so on the machine: from where
// nodes are always busy, and the share is a quarter, to where it is as simulated.
func TestStationsStayAsSimulated(t *testing.T) {
	t.Parallel()

	for policy, messages := range map[string]int{"skyring": 400, "round-robin": 2_000, "least-connections": 400} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()

			r := round(t, quick(t, messages, policy))

			least, most := r.SimulatedAlone, r.SimulatedAlone
			deviation := 0.0

			if policy == "least-connections" {
				least, deviation = min(least, 0.25), 4*math.Sqrt(0.25*0.75/float64(messages))
			}

			if s := r.SameNodeAlone; s < (1-realrun.Tolerance)*least-deviation || s > (1+realrun.Tolerance)*most+deviation {
				t.Errorf("share on the same node is %.4f, %.4f simulated", s, r.SimulatedAlone)
			}

			if r.Messages < messages || r.Overlapping > 0.25 {
				t.Errorf("%d messages, of which %.0f %% overlap with others of their station: too few to compare", r.Messages, 100*r.Overlapping)
			}
		})
	}
}

// round runs a single round.
func round(t *testing.T, c realrun.Config) realrun.Round {
	t.Helper()

	result, err := realrun.Run(t.Context(), c, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}

	var text strings.Builder
	if err := result.Text(&text); err != nil {
		t.Fatal(err)
	}

	t.Log("\n" + text.String())

	return result.Rounds[0]
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

	if _, err := realrun.Run(ctx, quick(t, 10_000, "skyring"), log); !errors.Is(err, why) {
		t.Errorf("%v, want %v", err, why)
	}
}

type writer func([]byte)

func (w writer) Write(b []byte) (int, error) { w(b); return len(b), nil }
