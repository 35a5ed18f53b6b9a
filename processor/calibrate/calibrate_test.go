package calibrate_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9" //nolint:depguard // looks at what is left in Redis
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"skyring/processor"
	"skyring/processor/calibrate"
	"skyring/protocol/bus"
	"skyring/statestore"
	"skyring/testbed/servers"
)

// TestMain leaves out what the Redis client looks with, once a second, whether a server that was killed is back: it ends a second after the client.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

// must ends the test on an error.
func must[T any](tb testing.TB) func(T, error) T {
	tb.Helper()
	return func(v T, err error) T {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return v
	}
}

// site is what a calibration needs.
type site struct {
	redis           *servers.Redis
	store           *statestore.Store
	node, generator *bus.Conn
	cfg             calibrate.Config
}

func newSite(t *testing.T) site {
	t.Helper()
	redisServer := must[*servers.Redis](t)(servers.StartRedis(t.Context(), servers.DefaultRedisConfig(t.TempDir())))
	t.Cleanup(func() {
		if err := redisServer.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	nats := must[*servers.NATS](t)(servers.StartNATS(t.Context(), servers.NATSConfig{}))
	t.Cleanup(nats.Shutdown)
	storeConfig := statestore.DefaultConfig()
	storeConfig.URL, storeConfig.Namespace = redisServer.URL(), "trial"
	storeConfig.Timeout = time.Minute // on a busy machine what is slow has not failed
	store := must[*statestore.Store](t)(statestore.Open(t.Context(), storeConfig, zerolog.Nop()))
	t.Cleanup(func() { _ = store.Close() })
	s := site{redis: redisServer, store: store, cfg: calibrate.DefaultConfig()}
	for _, c := range []**bus.Conn{&s.node, &s.generator} {
		cfg := bus.DefaultConfig()
		cfg.URL = nats.URL()
		*c = must[*bus.Conn](t)(bus.Connect(t.Context(), cfg, "trial", zerolog.Nop()))
		t.Cleanup((*c).Close)
	}
	s.cfg.Processor = processor.DefaultConfig()
	s.cfg.Processor.ID, s.cfg.Processor.Namespace, s.cfg.Processor.DrainQuiet = "trial", "trial", 20*time.Millisecond
	s.cfg.Limit, s.cfg.Sessions, s.cfg.Stations = 4*time.Second, 300, 300
	return s
}

func (s *site) run(ctx context.Context, tell func(calibrate.Round)) (calibrate.Result, error) {
	return calibrate.Run(ctx, s.cfg, s.store, s.node, s.generator, zerolog.Nop(), tell)
}

func TestCalibration(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.cfg.Target = time.Second // even a machine under load answers something in time
	told := 0
	r := must[calibrate.Result](t)(s.run(t.Context(), func(calibrate.Round) { told++ }))
	if r.Capacity == 0 || r.P99 <= 0 || r.P99 > s.cfg.Target || len(r.Rounds) == 0 || told != len(r.Rounds) || r.Limit == 0 {
		t.Errorf("%+v", r)
	}
	for _, round := range r.Rounds {
		if round.Failed != 0 || round.Answered <= 0 || round.P50 <= 0 || round.P99 < round.P50 || round.CPU < 0 || round.CPU > 1 || round.Redis < 0 || round.Redis > 1 {
			t.Errorf("%+v", round)
		}
	}
	t.Logf("%+v", r)

	options := must[*redis.Options](t)(redis.ParseURL(s.redis.URL()))
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	must[string](t)(client.Set(t.Context(), "trial2:kept", "x", 0).Result())
	if keys := must[[]string](t)(client.Keys(t.Context(), "trial:*").Result()); len(keys) < s.cfg.Sessions+s.cfg.Stations {
		t.Errorf("%d keys for %d sessions and %d stations", len(keys), s.cfg.Sessions, s.cfg.Stations)
	}
	if n := must[int64](t)(s.store.Erase(t.Context())); n < int64(s.cfg.Sessions) {
		t.Errorf("%d keys erased", n)
	}
	if keys := must[[]string](t)(client.Keys(t.Context(), "*").Result()); len(keys) != 1 {
		t.Errorf("left: %q", keys)
	}
}

func TestRedisGoesAway(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	killed := false
	r, err := s.run(t.Context(), func(calibrate.Round) {
		if !killed {
			killed = true
			if err := s.redis.Kill(); err != nil {
				t.Error(err)
			}
		}
	})
	if err == nil && (r.Limit != calibrate.LimitFailing || r.Confirmed) {
		t.Errorf("%+v", r)
	}
}

func TestInterrupted(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.cfg.Limit = 10 * time.Minute
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(500*time.Millisecond, cancel) // in the first round, or before
	if r, err := s.run(ctx, func(calibrate.Round) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %+v", err, r)
	}
}

func TestWhatCanNotBeMeasured(t *testing.T) {
	t.Parallel()
	cfg := calibrate.DefaultConfig()
	if err := cfg.Validate(); err != nil {
		t.Error(err)
	}
	cfg.Limit, cfg.Target, cfg.Sessions = time.Second, time.Hour, 0
	err := cfg.Validate()
	for _, want := range []string{"1s is no time", "4s to 10m0s", "1h0m0s is no response target", "0 sessions"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
	if _, err := calibrate.Run(t.Context(), cfg, nil, nil, nil, zerolog.Nop(), nil); err == nil {
		t.Error("ran")
	}
}
