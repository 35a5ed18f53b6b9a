package stack_test

import (
	"context"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"skyring/processor/access"
	"skyring/processor/essp"
	"skyring/processor/table"
	"skyring/protocol"
	"skyring/protocol/client"
	"skyring/protocol/transport"
	"skyring/testbed/stack"
)

const beam = 7

// terminal is a station whose modem locks and whose user answers at once.
type terminal struct {
	t      *testing.T
	client *client.Client
	events chan string       // what befell it, in order
	up     chan *client.Call // the call that is active
}

func (s *terminal) tell(event string) {
	select {
	case s.events <- event:
	default:
		s.t.Errorf("station %s: nobody waits for %q", s.client.Station(), event)
	}
}

func (s *terminal) LoggedOn(on client.LogOn) { s.tell("on at " + on.Target.String()) }
func (s *terminal) LoggedOff(why error) {
	s.t.Logf("station %s is off: %v", s.client.Station(), why)
	s.tell("off")
}

func (s *terminal) Announced(c *client.Call)          { s.tell("called by " + c.Peer().String()) }
func (s *terminal) Proceeding(*client.Call)           {}
func (s *terminal) Alerting(*client.Call)             {}
func (s *terminal) Connected(c *client.Call)          { s.up <- c; s.tell("connected") }
func (s *terminal) Cleared(_ *client.Call, why error) { s.tell("cleared: " + why.Error()) }
func (s *terminal) Assigned(c *client.Call, _ protocol.Channel) {
	s.do(c.Locked())

	if c.Incoming() {
		s.do(c.Answer())
	}
}

func (s *terminal) do(err error) {
	if err != nil {
		s.t.Errorf("station %s: %v", s.client.Station(), err)
	}
}

// next waits for the next thing to befall the station.
func (s *terminal) next() string {
	s.t.Helper()

	deadline := time.NewTimer(patience)
	defer deadline.Stop()

	select {
	case event := <-s.events:
		return event
	case <-deadline.C:
		s.t.Fatalf("station %s: nothing happens", s.client.Station())

		return ""
	}
}

func (s *terminal) want(event string) {
	s.t.Helper()

	if got := s.next(); got != event {
		s.t.Fatalf("station %s: %s, want %s", s.client.Station(), got, event)
	}
}

// switchOn has a station of the table log on at the first of its targets, until the test ends.
func switchOn(t *testing.T, id protocol.StationID, targets ...netip.AddrPort) *terminal {
	t.Helper()

	cfg := client.DefaultConfig()
	cfg.Station, cfg.Key, cfg.Beam, cfg.Targets = id, keyOf(id), beam, targets
	cfg.DialTimeout, cfg.Timers = patience, cfg.Timers.Scaled(10) // a busy machine is no reason to try elsewhere

	reachable := make([]transport.Target, 0, len(targets))
	for _, at := range targets {
		reachable = append(reachable, transport.Target{Mode: transport.ModeUDP, Address: at})
	}

	dialer, err := transport.NewDialer(reachable, transport.SecureConfig{}, transport.DefaultConfig(), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}

	s := &terminal{t: t, events: make(chan string, 16), up: make(chan *client.Call, 1)}
	if s.client, err = client.New(cfg, dialer, s, zerolog.Nop()); err != nil {
		t.Fatal(err)
	}

	var dialling, running sync.WaitGroup

	dials, hangUp := context.WithCancel(context.Background())
	runs, switchOff := context.WithCancel(context.Background())

	dialling.Go(func() { s.do(dialer.Run(dials)) })
	running.Go(func() { s.do(s.client.Run(runs)) })
	t.Cleanup(func() {
		switchOff()
		running.Wait()
		hangUp()
		dialling.Wait()
	})
	s.want("on at " + targets[0].String())

	return s
}

func keyOf(id protocol.StationID) [access.KeySize]byte { return [access.KeySize]byte{1, byte(id)} }

// provision puts stations and their channels into the tables.
func provision(t *testing.T, operator *table.Table, ids ...protocol.StationID) {
	t.Helper()

	var entries []table.Entry
	for _, id := range ids {
		entries = append(entries, table.Entry{ID: id, Profile: access.Profile{Key: keyOf(id), Beams: []protocol.Beam{beam}, MaxCalls: 1}})
	}

	if _, err := operator.Put(t.Context(), entries, table.Add); err != nil {
		t.Fatal(err)
	}

	if _, err := operator.SetPool(t.Context(), beam, 1, 4); err != nil {
		t.Fatal(err)
	}
}

// TestCallsGoBetweenDispatchers lets stations at two dispatchers call each other. Then the calling one's dispatcher ends: the
// station logs on at the other, the call stays up, and what the called station does reaches it there.
func TestCallsGoBetweenDispatchers(t *testing.T) {
	cfg := config(t)
	cfg.ESSP = essp.DefaultConfig()

	first, err := start(t, cfg)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := first.Stop(); err != nil {
			t.Error(err)
		}
	})

	second := beside(t, cfg, first)
	operator := table.New(first.Store())
	provision(t, operator, 0x17, 0x18)

	calling, called := switchOn(t, 0x17, second.Addr(), first.Addr()), switchOn(t, 0x18, first.Addr())

	if _, err := calling.client.Call(0x18, client.CallOptions{Service: protocol.ServiceVoice}); err != nil {
		t.Fatal(err)
	}

	called.want("called by 0000000000000017")
	called.want("connected")
	calling.want("connected")

	if err := second.Stop(); err != nil {
		t.Fatal(err)
	}

	calling.want("off")
	calling.want("on at " + first.Addr().String())

	if pool, err := operator.Pool(t.Context(), beam); err != nil || len(pool.Held) != 2 {
		t.Fatalf("the call does not hold its channels: %+v, %v", pool, err)
	}

	called.do((<-called.up).HangUp(protocol.CauseNormalClearing))
	cleared(t, called)
	cleared(t, calling)
	settled(t, first, operator)
}

// beside starts a dispatcher alone on the servers of another stack.
func beside(t *testing.T, cfg stack.Config, first *stack.Stack) *stack.Stack {
	t.Helper()

	cfg.NATS.URL, cfg.Redis.URL = first.NATS(), first.Redis()
	cfg.NATS.ConnectTimeout = patience
	cfg.Dispatcher.ID, cfg.Processors = "d2", 0

	second, err := start(t, cfg)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := second.Stop(); err != nil { // again: it has nothing left to do then
			t.Error(err)
		}
	})

	return second
}

// cleared waits for the end of a station's call.
func cleared(t *testing.T, s *terminal) {
	t.Helper()

	if event := s.next(); !strings.HasPrefix(event, "cleared: ") || !strings.Contains(event, "normal call clearing") {
		t.Fatalf("station %s: %s", s.client.Station(), event)
	}
}

// settled waits until all channels are free and the call has its record, which tells of one call that was answered.
func settled(t *testing.T, s *stack.Stack, operator *table.Table) {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	cdrs, err := s.Store().CDRs(ctx, nil, patience)
	if err != nil || len(cdrs) != 1 || !strings.Contains(string(cdrs[0].Payload), `"releasedBy":"called"`) {
		t.Fatalf("%d records: %v, %v", len(cdrs), cdrs, err)
	}

	for tick := time.NewTicker(20 * time.Millisecond); ; {
		pool, err := operator.Pool(ctx, beam)
		if err != nil {
			t.Fatal(err)
		}

		if len(pool.Held) == 0 {
			tick.Stop()

			return
		}

		<-tick.C
	}
}
