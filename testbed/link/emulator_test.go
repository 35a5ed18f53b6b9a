package link_test

import (
	"context"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"skyring/testbed/link"
)

// TestRelaysBothWays has each client seen at a port of its own, and answered at its own address.
func TestRelaysBothWays(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"127.0.0.1", "::1"} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			target, a, b := newPeer(t, host), newPeer(t, host), newPeer(t, host)
			cfg := to(target.addr())
			cfg.Listen = netip.AddrPortFrom(netip.MustParseAddr(host), 0)
			e, _ := start(t, cfg)
			a.send(e.Addr(), "of a")
			portA := target.expect("of a")
			b.send(e.Addr(), "of b")
			portB := target.expect("of b")
			a.send(e.Addr(), "again")
			if again := target.expect("again"); again != portA || portA == portB {
				t.Errorf("a is seen at %s and %s, b at %s", portA, again, portB)
			}
			target.send(portB, "for b")
			target.send(portA, "for a")
			if from := a.expect("for a"); from != e.Addr() {
				t.Errorf("answered from %s, not %s", from, e.Addr())
			}
			b.expect("for b")
			eventually(t, "all counted", func() bool { return e.Stats().Ways[link.ToClient].Delivered == 2 })
			if s := e.Stats(); s.Clients != 2 || s.Seen != 2 || s.Ways[link.ToTarget].Delivered != 3 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestImpairmentsTakeEffect sends through a link that loses, doubles and delays as the core says, and accounts for all.
func TestImpairmentsTakeEffect(t *testing.T) {
	t.Parallel()
	const n = 500
	target, client := newPeer(t, "127.0.0.1"), newPeer(t, "127.0.0.1")
	cfg := to(target.addr())
	cfg.Seed = 42
	cfg.ToTarget = link.Direction{Loss: 0.2, Duplicate: 0.2, Reorder: 0.1, ReorderBy: time.Millisecond, Delay: time.Millisecond}
	e, _ := start(t, cfg)
	core, want := link.NewCore(link.ToTarget, 42, cfg.ToTarget), map[string]int{}
	for i := range n {
		text := strconv.Itoa(i)
		want[text] = len(core.Decide(0, len(text), 0).Arrivals)
		client.send(e.Addr(), text)
		eventually(t, "taken", func() bool { return e.Stats().Ways[link.ToTarget].Received == uint64(i+1) })
	}
	total := 0
	for _, copies := range want {
		total += copies
	}
	for range total {
		want[target.next().text]--
	}
	for text, left := range want {
		if left != 0 {
			t.Errorf("packet %s: %d copies more than came", text, left)
		}
	}
	eventually(t, "all counted", func() bool { return e.Stats().Ways[link.ToTarget].Delivered == uint64(total) })
	s := e.Stats().Ways[link.ToTarget]
	if e.Stats().Lag <= 0 {
		t.Error("no machine is never late")
	}
	if s.Dropped(link.Lost) == 0 || s.Duplicated == 0 || s.Overtaken == 0 || s.Received+s.Duplicated != s.Delivered+s.Dropped(link.Lost) {
		t.Errorf("does not add up: %s", s)
	}
}

// TestRebind has the target see another port, and what it sends to the old one gets lost.
func TestRebind(t *testing.T) {
	t.Parallel()
	target, client := newPeer(t, "127.0.0.1"), newPeer(t, "127.0.0.1")
	e, _ := start(t, to(target.addr()))
	client.send(e.Addr(), "before")
	before := target.expect("before")
	e.Rebind()
	target.send(before, "to the old port")
	client.send(e.Addr(), "after")
	after := target.expect("after")
	target.send(after, "to the new port")
	client.expect("to the new port")
	if before == after || e.Stats().Rebinds != 1 {
		t.Errorf("seen at %s, then at %s; %d changes", before, after, e.Stats().Rebinds)
	}
}

// TestRebindEvery changes ports by the clock.
func TestRebindEvery(t *testing.T) {
	t.Parallel()
	target, client := newPeer(t, "127.0.0.1"), newPeer(t, "127.0.0.1")
	cfg := to(target.addr())
	cfg.RebindEvery = 20 * time.Millisecond
	cfg.RebindAt = []time.Duration{time.Millisecond}
	e, _ := start(t, cfg)
	ports := map[netip.AddrPort]bool{}
	for range 4 {
		seen := e.Stats().Rebinds
		client.send(e.Addr(), "x")
		ports[target.expect("x")] = true
		eventually(t, "ports change", func() bool { return e.Stats().Rebinds > seen })
	}
	if len(ports) < 2 {
		t.Errorf("seen at %v only", ports)
	}
}

// TestBounds drops what is too much, under its reason.
func TestBounds(t *testing.T) {
	t.Parallel()
	target, a, b, c := newPeer(t, "127.0.0.1"), newPeer(t, "127.0.0.1"), newPeer(t, "127.0.0.1"), newPeer(t, "127.0.0.1")
	cfg := to(target.addr())
	cfg.MaxClients, cfg.MaxBuffered, cfg.ToTarget.Delay, cfg.ClientIdle = 2, 1<<16, time.Hour, time.Second
	e, stop := start(t, cfg)
	dropped := func(way link.Way, why link.Reason) func() bool {
		return func() bool { return e.Stats().Ways[way].Dropped(why) > 0 }
	}
	a.send(e.Addr(), "a")
	b.send(e.Addr(), "b")
	c.send(e.Addr(), "c")
	eventually(t, "third client refused", dropped(link.ToTarget, link.TooManyClients))
	long := strings.Repeat("x", 1400)
	for range 60 {
		a.send(e.Addr(), long)
	}
	eventually(t, "buffer full", dropped(link.ToTarget, link.BufferFull))
	eventually(t, "silent clients forgotten", func() bool { return e.Stats().Clients == 0 })
	stop()
	s := e.Stats().Ways[link.ToTarget]
	if s.Dropped(link.Ended) == 0 || s.Received != s.Dropped(link.Ended)+s.Dropped(link.BufferFull)+s.Dropped(link.TooManyClients) {
		t.Errorf("does not add up: %s", s)
	}
}

// TestStranger lets nobody but the target answer.
func TestStranger(t *testing.T) {
	t.Parallel()
	target, client, stranger := newPeer(t, "127.0.0.1"), newPeer(t, "127.0.0.1"), newPeer(t, "127.0.0.1")
	e, _ := start(t, to(target.addr()))
	client.send(e.Addr(), "hello")
	port := target.expect("hello")
	stranger.send(netip.AddrPortFrom(target.addr().Addr(), port.Port()), "psst")
	eventually(t, "stranger not heard", func() bool { return e.Stats().Ways[link.ToClient].Dropped(link.Stranger) == 1 })
	target.send(port, "world")
	client.expect("world")
}

// TestOutage loses what is sent in it, and Impair ends it.
func TestOutage(t *testing.T) {
	t.Parallel()
	target, client := newPeer(t, "127.0.0.1"), newPeer(t, "127.0.0.1")
	cfg := to(target.addr())
	cfg.ToTarget.Outages = []link.Outage{{From: 0, For: time.Hour}}
	e, _ := start(t, cfg)
	client.send(e.Addr(), "lost")
	eventually(t, "lost", func() bool { return e.Stats().Ways[link.ToTarget].Dropped(link.InOutage) == 1 })
	if err := e.Impair(link.Direction{Loss: 2}, link.Direction{}); err == nil || !strings.Contains(err.Error(), "loss: 2") {
		t.Errorf("a loss of 2: %v", err)
	}
	if err := e.Impair(link.Direction{}, link.Direction{}); err != nil {
		t.Fatal(err)
	}
	client.send(e.Addr(), "found")
	target.expect("found")
}

// TestFaults names every fault of a configuration.
func TestFaults(t *testing.T) {
	t.Parallel()
	cfg := link.Config{
		Target:   netip.MustParseAddrPort("0.0.0.0:1"),
		ToTarget: link.Direction{Delay: -1, Loss: math.NaN(), Duplicate: 1.5, Reorder: 0.1, Rate: 100, Outages: []link.Outage{{For: 0}}},
		ToClient: link.Direction{Delay: time.Second, Jitter: 2 * time.Second, Reorder: -1},
		RebindAt: []time.Duration{-time.Second}, RebindEvery: time.Nanosecond, MaxClients: 1 << 20,
	}
	_, err := link.New(cfg, zerolog.Nop())
	if err == nil {
		t.Fatal("no fault found")
	}
	for _, want := range []string{
		"listen:", "to target: delay: -1ns", "loss: NaN", "duplicate: 1.5", "reorder by: 0s", "queue in bytes: 0",
		"outage: from 0s for 0s", "to client: jitter: 2s: at most the delay of 1s", "reorder: -1", "rebind: -1s", "rebind every: 1ns",
		"clients: 1048576", "bytes under way: 0", "client idle time: 0s",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\ndoes not say %q", err, want)
		}
	}
	cfg = link.DefaultConfig()
	for target, want := range map[string]string{"0.0.0.0:1": "one host", "127.0.0.1:0": "one host", "127.0.0.1:9": "itself"} {
		cfg.Target, cfg.Listen = netip.MustParseAddrPort(target), netip.MustParseAddrPort("127.0.0.1:9")
		if _, err := link.New(cfg, zerolog.Nop()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("target %s: %v", target, err)
		}
	}
}

// TestStatsText reads the summary.
func TestStatsText(t *testing.T) {
	t.Parallel()
	target, client := newPeer(t, "127.0.0.1"), newPeer(t, "127.0.0.1")
	cfg := to(target.addr())
	cfg.ToTarget.Loss = 1
	e, stop := start(t, cfg)
	client.send(e.Addr(), "x")
	eventually(t, "lost", func() bool { return e.Stats().Ways[link.ToTarget].Dropped(link.Lost) == 1 })
	stop()
	var b strings.Builder
	if err := e.Stats().WriteText(&b); err != nil {
		t.Fatal(err)
	}
	want := "to target: 1 received, 0 delivered, 1 lost\nto client: 0 received, 0 delivered\nclients: 1 seen, 1 at the end, ports changed 0 times\nthis machine was late by 0s at most\n"
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", &b, want)
	}
}

// TestRunEndsAtOnce ends a link that has nothing to do.
func TestRunEndsAtOnce(t *testing.T) {
	t.Parallel()
	e, err := link.New(to(netip.MustParseAddrPort("127.0.0.1:9")), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := e.Run(ctx); err != nil {
		t.Fatal(err)
	}
}
