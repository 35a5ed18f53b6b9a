package echo_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"skyring/testbed/link/echo"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// short is a measurement of a moment, over a link of 10 ms.
func short() echo.Config {
	cfg := echo.DefaultConfig()
	cfg.Link.Delay = 5 * time.Millisecond
	cfg.Associations, cfg.Rate, cfg.Streams, cfg.Duration = 3, 100, 4, 200*time.Millisecond
	return cfg
}

// TestEveryMessageIsTimed gets each message back, none before the link's round trip.
func TestEveryMessageIsTimed(t *testing.T) {
	t.Parallel()
	result, err := echo.Run(t.Context(), short(), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	if result.Sent != 60 || result.Echoed != 60 || result.Times.TotalCount() != 60 {
		t.Errorf("not 60: %s", result)
	}
	if fastest := time.Duration(result.Times.Min()) * time.Microsecond; fastest < 10*time.Millisecond {
		t.Errorf("one took %s through a link of 10ms", fastest)
	}
	if !strings.HasPrefix(result.String(), "60 of 60 echoed, p50 ") {
		t.Errorf("%s", result)
	}
}

// TestFaults names what is wrong.
func TestFaults(t *testing.T) {
	t.Parallel()
	cfg := short()
	cfg.Associations, cfg.Rate, cfg.Streams, cfg.Duration, cfg.Size, cfg.Link.Loss, cfg.SCTP.MaxPacket = 0, 0, 0, 0, 7, 2, 1
	_, err := echo.Run(t.Context(), cfg, zerolog.Nop())
	if err == nil {
		t.Fatal("no fault found")
	}
	for _, want := range []string{"associations: 0", "messages a second: 0", "streams: 0", "duration in seconds: 0", "size in bytes: 7", "loss: 2", "maxPacket: 1"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\ndoes not say %q", err, want)
		}
	}
}

// TestEndsWithItsContext gives up in the middle, and says so.
func TestEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	cfg := short()
	cfg.Duration = time.Hour
	if _, err := echo.Run(ctx, cfg, zerolog.Nop()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// BenchmarkGEO prints the times of 20 messages a second through 600 ms of round trip, at losses of 0, 1 and 5 %, over a
// single stream and over four.
func BenchmarkGEO(b *testing.B) {
	for _, loss := range []float64{0, 0.01, 0.05} {
		for _, streams := range []uint16{1, 4} {
			b.Run(fmt.Sprintf("loss=%v/streams=%d", loss, streams), func(b *testing.B) {
				var p50, p99 time.Duration
				rounds := 0
				for b.Loop() {
					cfg := echo.DefaultConfig()
					cfg.Link.Loss, cfg.Streams, cfg.Seed = loss, streams, uint64(rounds+1)
					result, err := echo.Run(b.Context(), cfg, zerolog.Nop())
					if err != nil {
						b.Fatal(err)
					}
					b.Log(result)
					p50 += result.At(0.5)
					p99 += result.At(0.99)
					rounds++
				}
				b.ReportMetric(p50.Seconds()/float64(rounds), "p50-s")
				b.ReportMetric(p99.Seconds()/float64(rounds), "p99-s")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
