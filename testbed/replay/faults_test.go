package replay_test

import (
	"context"
	"sync"
	"syscall"
	"testing"

	"github.com/rs/zerolog"

	"skyring/testbed/replay"
	"skyring/testbed/trace"
)

// TestProcessorKilled kills a processor's process in the middle: another one
// takes its sessions over.
func TestProcessorKilled(t *testing.T) {
	s := startStack(t)
	victim := s.child("victim")
	s.node("survivor")

	v := interrupted(t, s, sync.OnceFunc(func() {
		if err := victim.Process.Kill(); err != nil {
			t.Errorf("kill: %v", err)
		}
	}))
	if !v.OK() {
		t.Errorf("want a good verdict, got %+v", v)
	}

	if v.Nodes["victim"] == 0 || v.Nodes["survivor"] == 0 {
		t.Errorf("nodes %v, want both to have worked", v.Nodes)
	}
}

// TestRedisRestarted stops redis-server in the middle, in order, so that it keeps all,
// and starts it again: the stack waits and loses nothing.
func TestRedisRestarted(t *testing.T) {
	s := startStack(t)
	s.node("p1")
	s.node("p2")

	var restarting sync.WaitGroup
	defer restarting.Wait()

	v := interrupted(t, s, sync.OnceFunc(func() {
		restarting.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()

			if err := s.redis.Restart(ctx); err != nil {
				t.Errorf("restart: %v", err)
			}
		})
	}))
	if !v.OK() || !v.Ledger {
		t.Errorf("want a good verdict, got %+v", v)
	}
}

// TestNATSRestarted ends the NATS server in the middle and starts another one at its
// address.
func TestNATSRestarted(t *testing.T) {
	s := startStack(t)
	s.node("p1")
	s.node("p2")

	v := interrupted(t, s, sync.OnceFunc(s.restartNATS))
	if !v.OK() || !v.Ledger {
		t.Errorf("want a good verdict, got %+v", v)
	}
}

// interrupted replays and has something happen after a fifth of the messages.
func interrupted(t *testing.T, s *stack, happen func()) *replay.Verdict {
	t.Helper()

	tr := generated(t, 6000)
	cfg := patient(s.addr)
	cfg.Window = 32
	happened := false

	r, err := replay.New(cfg, []*trace.Trace{tr}, s.store, func(done, total uint64) {
		if done > total/5 {
			happened = true

			happen()
		}
	}, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()

	v, err := r.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}

	if !happened {
		t.Error("nothing happened in between")
	}

	return v
}

// TestStalledProcessor stops a processor's process for good while it holds messages: it
// keeps its connection, so that only deadlines tell.
func TestStalledProcessor(t *testing.T) {
	s := startStack(t)
	stalled := s.child("stalled")
	s.node("other")

	v := interrupted(t, s, sync.OnceFunc(func() {
		if err := stalled.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Errorf("stop: %v", err)
		}
	}))
	if !v.OK() {
		t.Errorf("want a good verdict, got %+v", v)
	}
}
