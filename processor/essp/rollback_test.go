package essp_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9" //nolint:depguard // tests look behind the store, and take it back to what it was

	"skyring/processor"
	"skyring/processor/access"
	"skyring/processor/call"
	"skyring/protocol"
	"skyring/protocol/key"
	"skyring/statestore"
)

// image is all that a Redis server has.
type image []entry

type entry struct {
	key, value string
	ttl        time.Duration // 0: none
}

func (c *control) redisClient() *redis.Client {
	c.t.Helper()

	client := redis.NewClient(must[*redis.Options](c.t)(redis.ParseURL(c.redis.URL())))
	c.t.Cleanup(func() { _ = client.Close() })

	return client
}

// dumpScript reads all keys at one time.
const dumpScript = `
local all = {}
for _, k in ipairs(redis.call("KEYS", "*")) do
	all[#all+1] = k
	all[#all+1] = redis.call("DUMP", k)
	all[#all+1] = tostring(math.max(redis.call("PTTL", k), 0))
end
return all`

// image is what the store has now.
func (c *control) image() image {
	c.t.Helper()

	all := must[[]string](c.t)(c.redisClient().Eval(c.t.Context(), dumpScript, nil).StringSlice())

	var i image

	for ; len(all) > 0; all = all[3:] {
		i = append(i, entry{key: all[0], value: all[1], ttl: must[time.Duration](c.t)(time.ParseDuration(all[2] + "ms"))})
	}

	return i
}

// rollBack takes the store back to an image, at once, when the processor knows of an epoch that is not in it.
func (c *control) rollBack(to image) {
	c.t.Helper()

	client, last := c.redisClient(), ""
	for range 3 {
		c.await("an epoch is given", func() bool {
			now, err := client.Get(c.t.Context(), "skyring:epoch").Result()
			changed := err == nil && now != last
			last = now

			return changed
		})
	}

	must[[]redis.Cmder](c.t)(c.redisClient().TxPipelined(c.t.Context(), func(p redis.Pipeliner) error {
		p.FlushDB(c.t.Context())

		for _, e := range to {
			p.Restore(c.t.Context(), e.key, e.ttl, e.value)
		}

		return nil
	}))
}

// deafened is a handler that is not told that the store lost writes (R8 switched off).
type deafened struct{ processor.SessionHandler }

func (d deafened) ApplyInput(s processor.Session, in processor.Input) (processor.Result, error) {
	if in.Kind == processor.Resynced {
		return processor.Result{Discard: true}, nil
	}

	return d.SessionHandler.ApplyInput(s, in) //nolint:wrapcheck // it stands for it
}

// deafen has stations and calls not told.
func deafen(h processor.Handlers, stations, calls processor.SessionHandler) processor.Handlers {
	return h.ForKind(key.KindStation, deafened{stations}).ForKind(key.KindCall, deafened{calls})
}

// active waits until the call is up for all.
func (c *control) active() {
	c.t.Helper()
	c.calling.say(protocol.Header{Call: 1}, protocol.CallSetup{Called: 18, Service: 1})
	c.await("the call is up and confirmed", func() bool { return c.callIs(func(x *call.Call) bool { return x.Confirmed }) })
}

// callIs tells something of the only call that is not over.
func (c *control) callIs(so func(*call.Call) bool) bool {
	c.t.Helper()

	for s, err := range c.store.Sessions(c.t.Context()) {
		if err != nil || s.Err != nil {
			c.t.Fatal(err, s.Err)
		}

		if key.KindOf(s.Key) == key.KindCall && s.Record.Life != statestore.Ended && so(must[*call.Call](c.t)(call.Decode(s.Record.Body))) {
			return true
		}
	}

	return false
}

// pass waits until the store's clock has gone on.
func (c *control) pass(d time.Duration) {
	c.t.Helper()

	until := must[int64](c.t)(c.store.Time(c.t.Context())) + d.Microseconds()
	c.await("time goes by", func() bool { return must[int64](c.t)(c.store.Time(c.t.Context())) > until })
}

// A call that both stations had ended comes back with an older image of the store. They are asked for it, and it ends; were they not, it would stay.
func TestACallThatComesBackEnds(t *testing.T) {
	t.Parallel()

	for name, ruled := range map[string]bool{"asked": true, "not asked": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			c := newControl(t, ruled)
			c.active()

			before := c.image()
			c.calling.say(protocol.Header{Call: 1}, protocol.Disconnect{Cause: protocol.CauseNormalClearing})

			if cdr := c.settled(); cdr.Cause != protocol.CauseNormalClearing {
				t.Errorf("%+v", cdr)
			}

			c.rollBack(before)
			c.await("the processor notices", func() bool { return c.node.Stats().Rollbacks > 0 })

			if !ruled {
				c.pass(2 * time.Second)

				if !c.callIs(func(x *call.Call) bool { return x.State == call.Active && x.Calling.Hold == call.HoldGranted }) {
					t.Error("the call ends without being asked for")
				}

				return
			}

			if cdr := c.settled(); cdr.Answered == 0 || cdr.Cause != protocol.CauseTemporaryFailure {
				t.Errorf("%+v", cdr)
			}
		})
	}
}

// A call that goes on comes back a little older: nothing happens to it.
func TestACallThatGoesOnStays(t *testing.T) {
	t.Parallel()

	c := newControl(t, true)
	c.active()

	before := c.image()
	c.called.say(protocol.Header{Call: c.called.lastCall()}, protocol.ChannelStatus{Cause: protocol.CauseFade})
	c.await("the call changes", func() bool { return c.callIs(func(x *call.Call) bool { return !x.Called.Locked }) })
	c.rollBack(before)
	c.await("both stations are asked", func() bool {
		return c.calling.count(protocol.TypeStatusEnquiry) > 0 && c.called.count(protocol.TypeStatusEnquiry) > 0
	})
	c.await("they have answered", func() bool { return c.quiet(c.calling) && c.quiet(c.called) })

	if !c.callIs(func(x *call.Call) bool { return x.State == call.Active }) {
		t.Error("the call ended")
	}

	c.calling.say(protocol.Header{Call: 1}, protocol.Disconnect{Cause: protocol.CauseNormalClearing})

	if cdr := c.settled(); cdr.Cause != protocol.CauseNormalClearing {
		t.Errorf("%+v", cdr)
	}
}

// A call that the store forgot altogether is cleared at its stations, whose channels are given out again.
func TestACallThatIsForgottenIsCleared(t *testing.T) {
	t.Parallel()

	for name, ruled := range map[string]bool{"told": true, "not told": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			c := newControl(t, ruled)
			before := c.image()

			c.active()
			c.rollBack(before)
			c.await("the processor notices", func() bool { return c.node.Stats().Rollbacks > 0 })

			if !ruled {
				c.pass(2 * time.Second)

				if c.calling.count(protocol.TypeReset)+c.called.count(protocol.TypeReset) > 0 {
					t.Error("the stations clear the call")
				}

				return
			}

			c.await("both stations clear the call", func() bool {
				return c.calling.count(protocol.TypeReset) > 0 && c.called.count(protocol.TypeReset) > 0
			})
			c.await("they have said so", func() bool { return c.quiet(c.calling) && c.quiet(c.called) })
		})
	}
}

// quiet tells that the gateway waits for nothing of a station.
func (c *control) quiet(u *user) bool {
	c.t.Helper()

	return len(must[*access.Station](c.t)(c.table.Station(c.t.Context(), u.id)).Requests) == 0
}
