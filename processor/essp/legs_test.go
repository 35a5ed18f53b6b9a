package essp_test

import (
	"context"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"skyring/processor"
	"skyring/processor/access"
	"skyring/processor/call"
	"skyring/processor/essp"
	"skyring/processor/ledger"
	"skyring/processor/table"
	"skyring/protocol"
	"skyring/protocol/bus"
	"skyring/protocol/key"
	"skyring/statestore"
	"skyring/testbed/servers"
)

func profileOf(id protocol.StationID) access.Profile {
	return access.Profile{Key: [access.KeySize]byte{byte(id), 0xFF}, Class: 2, Beams: []protocol.Beam{beam}, MaxCalls: 2, MaxPriority: protocol.PriorityEmergency}
}

// hasty is how long the gateway waits in these tests.
func hasty() essp.Config {
	return essp.Config{
		Access: access.Config{
			Heartbeat: time.Second, Inactivity: 2 * time.Second, Confirm: 200 * time.Millisecond, Interrogation: 200 * time.Millisecond,
			Fade: time.Second, Repeat: 500 * time.Millisecond, Sends: 4, Challenge: time.Minute, Skew: time.Second, RetryAfter: time.Second, Memory: 10 * time.Second,
		},
		Call: call.Config{
			T321: time.Second, Lock: 4 * time.Second, T303: 4 * time.Second, T310: 4 * time.Second, T301: 4 * time.Second, T313: 4 * time.Second,
			T305: 2 * time.Second, T308: time.Second,
		},
	}
}

// control is a processor with its servers, and two stations.
type control struct {
	t               *testing.T
	redis           *servers.Redis
	node            *processor.Processor
	told            bool // its handlers are told when the store lost writes
	store           *statestore.Store
	table           *table.Table
	calling, called *user
}

func newControl(t *testing.T, told bool) *control {
	t.Helper()

	redis := must[*servers.Redis](t)(servers.StartRedis(t.Context(), servers.DefaultRedisConfig(t.TempDir())))

	t.Cleanup(func() {
		if err := redis.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})

	nats := must[*servers.NATS](t)(servers.StartNATS(t.Context(), servers.NATSConfig{}))
	t.Cleanup(nats.Shutdown)

	cfg := statestore.DefaultConfig()
	cfg.URL, cfg.Timeout = redis.URL(), time.Minute // a busy machine has not failed
	store := must[*statestore.Store](t)(statestore.Open(t.Context(), cfg, zerolog.Nop()))

	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})

	c := &control{t: t, redis: redis, told: told, store: store, table: table.New(store)}
	must[bool](t)(c.table.SetPool(t.Context(), beam, 1, 3))

	stations := []table.Entry{{ID: 17, Profile: profileOf(17)}, {ID: 18, Profile: profileOf(18)}}
	must[table.Written](t)(c.table.Put(t.Context(), stations, table.Add))

	c.run(connect(t, nats.URL(), "p"))

	users := connect(t, nats.URL(), "users")
	c.calling, c.called = live(t, users, "p", 17), live(t, users, "p", 18)

	for _, u := range []*user{c.calling, c.called} {
		c.logOn(u)
	}

	return c
}

func connect(t *testing.T, url, name string) *bus.Conn {
	t.Helper()

	cfg := bus.DefaultConfig()
	cfg.URL = url
	conn := must[*bus.Conn](t)(bus.Connect(t.Context(), cfg, name, zerolog.Nop()))
	t.Cleanup(conn.Close)

	return conn
}

// run runs the processor, until the test ends.
func (c *control) run(conn *bus.Conn) {
	c.t.Helper()

	cfg := processor.DefaultConfig()
	cfg.ID, cfg.DrainQuiet = "p", 10*time.Millisecond
	cfg.LeaseTTL, cfg.TimerTick, cfg.SweepAge = 600*time.Millisecond, 10*time.Millisecond, 100*time.Millisecond
	handlers := must[processor.Handlers](c.t)(essp.Handlers(c.t.Context(), hasty(), c.store, processor.NewHandlers(ledger.Handler{})))

	if !c.told {
		cfgAccess := hasty().Access
		cfgAccess.Secret = must[[32]byte](c.t)(c.store.Secret(c.t.Context()))
		handlers = deafen(handlers, access.New(cfgAccess), call.New(hasty().Call))
	}

	p := must[*processor.Processor](c.t)(processor.New(cfg, c.store, conn, handlers, zerolog.Nop()))
	c.node = p
	ctx, cancel := context.WithCancel(context.WithoutCancel(c.t.Context()))
	ended := make(chan error, 1)

	go func() { ended <- p.Run(ctx) }()

	c.t.Cleanup(func() {
		cancel()

		if err := <-ended; err != nil {
			c.t.Error(err)
		}
	})
	c.await("the processor is ready", func() bool { return p.Ready() == nil })
}

func (c *control) await(what string, so func() bool) {
	c.t.Helper()

	deadline := time.NewTimer(patience)
	defer deadline.Stop()

	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()

	for !so() {
		select {
		case <-tick.C:
		case <-deadline.C:
			for s, err := range c.store.Sessions(c.t.Context()) {
				c.t.Logf("%s: %+v, %v", key.Format(s.Key), s.Record, err)
			}

			c.t.Fatalf("never: %s", what)
		}
	}
}

// logOn has a station log on and waits until it is.
func (c *control) logOn(u *user) {
	c.t.Helper()
	u.logOn()
	c.await("the station is logged on", func() bool {
		s := must[*access.Station](c.t)(c.table.Station(c.t.Context(), u.id))

		return s.State == access.LoggedOn && s.Epoch == u.epoch
	})
}

// settled waits for the call's only record of data, and until nothing is left of it.
func (c *control) settled() call.CDR {
	c.t.Helper()

	var cdrs []statestore.CDR

	c.await("the call ends", func() bool {
		cdrs = must[[]statestore.CDR](c.t)(c.store.CDRs(c.t.Context(), nil, 0))

		return len(cdrs) > 0
	})
	c.await("both forget the call, and its channels are free", func() bool {
		for s, err := range c.store.Sessions(c.t.Context()) {
			if err != nil || s.Err != nil {
				c.t.Fatal(err, s.Err)
			}

			if key.KindOf(s.Key) == key.KindCall && (s.Record.Life != statestore.Ended || len(s.Record.Timers)+len(s.Record.Outbox) > 0) {
				return false
			}
		}

		left := 0
		for _, u := range []*user{c.calling, c.called} {
			left += len(must[*access.Station](c.t)(c.table.Station(c.t.Context(), u.id)).Calls)
		}

		return left == 0 && must[*call.Pool](c.t)(c.table.Pool(c.t.Context(), beam)).Free() == 3
	})

	if cdrs = must[[]statestore.CDR](c.t)(c.store.CDRs(c.t.Context(), nil, 0)); len(cdrs) != 1 {
		c.t.Fatalf("%d call data records", len(cdrs))
	}

	return must[call.CDR](c.t)(call.DecodeCDR(cdrs[0].Payload))
}

// off waits until a station is off, and nothing goes on for it.
func (c *control) off(u *user) {
	c.t.Helper()
	c.await("the station is off, and nothing is armed or looked after for it", func() bool {
		k := key.Station(nil, uint64(u.id))
		r := must[[]statestore.Loaded](c.t)(c.store.Load(c.t.Context(), [][]byte{k}))[0].Record

		return must[*access.Station](c.t)(c.table.Station(c.t.Context(), u.id)).State == access.Off && len(r.Timers) == 0 && !r.Pending()
	})
}

// ways are those in which a dispatcher takes nothing for its stations.
func ways() map[string]manner {
	return map[string]manner{"sleeps": deaf, "other incarnation": lost, "away": away}
}

// The called station can not be reached when it is called: timers end the call, with the
// cause for the calling one, and the station is off when its time is over.
func TestCallsToAParkedLegEnd(t *testing.T) {
	t.Parallel()

	for name, way := range ways() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			c := newControl(t, true)
			c.called.become(way)
			c.calling.say(protocol.Header{Call: 1}, protocol.CallSetup{Called: 18, Service: 1})

			if cdr := c.settled(); cdr.Answered != 0 || cdr.Duration != 0 || cdr.Setup == 0 {
				t.Errorf("%+v", cdr)
			}

			if c.calling.count(protocol.TypeDisconnect) == 0 {
				t.Error("the calling station was not told")
			}

			c.off(c.called)
		})
	}
}

// The same when the leg is lost in the middle of a call, which the other station keeps
// until the lost one's time is over.
func TestCallsOfAParkedLegEnd(t *testing.T) {
	t.Parallel()

	for name, way := range ways() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			c := newControl(t, true)
			c.calling.say(protocol.Header{Call: 1}, protocol.CallSetup{Called: 18, Service: 1})
			c.await("the call is up", func() bool { return c.calling.count(protocol.TypeCallConnect) > 0 })
			c.called.become(way)

			if cdr := c.settled(); cdr.Answered == 0 || cdr.Cause != protocol.CauseFade {
				t.Errorf("%+v", cdr)
			}

			c.off(c.called)
		})
	}
}

// The dispatcher comes back as another incarnation while the call waits for it: the
// station logs on there, and the call comes about.
func TestCallsGoOnWhenTheLegIsBack(t *testing.T) {
	t.Parallel()

	for name, way := range ways() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			c := newControl(t, true)
			c.called.become(way)
			c.calling.say(protocol.Header{Call: 1}, protocol.CallSetup{Called: 18, Service: 1})
			c.await("the call waits for the station", func() bool {
				return len(must[*access.Station](t)(c.table.Station(t.Context(), 18)).Calls) > 0
			})
			c.called.arrive(c.called.epoch + 1)
			c.logOn(c.called)
			c.await("the call is up", func() bool { return c.calling.count(protocol.TypeCallConnect) > 0 })
			c.calling.say(protocol.Header{Call: 1}, protocol.Disconnect{Cause: protocol.CauseNormalClearing})

			if cdr := c.settled(); cdr.Answered == 0 || cdr.Cause != protocol.CauseNormalClearing {
				t.Errorf("%+v", cdr)
			}
		})
	}
}
