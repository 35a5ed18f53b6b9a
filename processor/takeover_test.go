package processor_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"skyring/processor"
	"skyring/protocol/bus"
	"skyring/statestore"
)

// Names under which this test program, run again, learns that it is a processor.
const (
	childID    = "SKYRING_TEST_NODE"
	childNATS  = "SKYRING_TEST_NATS"
	childRedis = "SKYRING_TEST_REDIS"
)

// child runs a quick processor in a process of its own.
func (s *site) child(id string) *exec.Cmd {
	s.tb.Helper()
	watch := s.watch(id)
	cmd := exec.Command(os.Args[0], "-test.run=^TestChildProcessor$") //nolint:gosec,noctx // this program itself; ended below
	cmd.Env = append(os.Environ(), childID+"="+id, childNATS+"="+s.nats.URL(), childRedis+"="+s.url)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		s.tb.Fatal(err)
	}
	s.tb.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
		if s.tb.Failed() {
			s.tb.Logf("processor %s said: %s", id, said.String())
		}
	})
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		select {
		case h := <-watch:
			if h.State == bus.Ready {
				return cmd
			}
		case <-deadline.C:
			s.tb.Fatalf("processor %s is never ready", id)
		}
	}
}

// TestChildProcessor is no test but the processor that site.child starts.
func TestChildProcessor(t *testing.T) {
	id := os.Getenv(childID)
	if id == "" {
		t.Skip("runs as a child of other tests only")
	}
	ctx, stop := signal.NotifyContext(t.Context(), syscall.SIGTERM)
	defer stop()
	busConfig, storeConfig := bus.DefaultConfig(), statestore.DefaultConfig()
	busConfig.URL, storeConfig.URL = os.Getenv(childNATS), os.Getenv(childRedis)
	storeConfig.Timeout = patience // a busy machine has not failed
	store := must[*statestore.Store](t)(statestore.Open(ctx, storeConfig, zerolog.Nop()))
	defer store.Close() //nolint:errcheck // the process ends
	conn := must[*bus.Conn](t)(bus.Connect(ctx, busConfig, id, zerolog.Nop()))
	defer conn.Close()
	p := must[*processor.Processor](t)(processor.New(quickConfig(id), store, conn, toys(), zerolog.Nop()))
	if err := p.Run(ctx); err != nil {
		t.Fatal(err)
	}
}

// leased counts the leases of a processor, and tells the longest time that one of them has left.
func (s *site) leased(ctx context.Context, id string) (n int, longest time.Duration) {
	s.tb.Helper()
	c := s.client()
	for _, name := range must[[]string](s.tb)(c.Keys(ctx, "*:lease").Result()) {
		if owner := c.Get(ctx, name).Val(); strings.HasPrefix(owner, id+"/") {
			n++
			longest = max(longest, c.PTTL(ctx, name).Val())
		}
	}
	return n, longest
}

// R6: the process that holds the leases is killed while timers fire and become due, and notifications are on their way. Another one goes on when the
// leases have ended, which none outlives by more than two thirds of LeaseTTL, and each timer has fired once.
func TestTimersOfAKilledProcessFireOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	holder := s.child("holder")
	wait(t, func() bool { n, _ := s.leased(t.Context(), "holder"); return n == len(partitions(s)) })
	survivor, d := s.quick("survivor"), s.dispatcher("d", 1)
	const sessions = 60
	names := make([]string, sessions)
	for i := range uint64(sessions) {
		names[i] = fmt.Sprintf("a%02d", i)
		committed(t, d.ask("holder", to(names[i], i+1, fmt.Sprintf("arm 1 1|arm 2 %d|tell b%d:x", 10*i, i%8))))
	}
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	killed := must[int64](t)(s.store().Time(t.Context()))
	if _, longest := s.leased(t.Context(), "holder"); longest > quickConfig("").LeaseTTL*2/3 {
		t.Errorf("a lease of the dead lives for %v", longest)
	}
	s.settled(names...)
	t.Logf("all settled %v after the kill, leases end %v after it at the latest, the last timer was due after %v",
		time.Duration(must[int64](t)(s.store().Time(t.Context()))-killed)*time.Microsecond, quickConfig("").LeaseTTL, 10*sessions*time.Millisecond)
	heard := 0
	for _, name := range names {
		body := s.heard(name)
		if strings.Count(body, "t1 ") != 1 || strings.Count(body, "t2 ") != 1 {
			t.Errorf("%s: %q", name, body)
		}
	}
	for i := range 8 {
		heard += strings.Count(s.heard(fmt.Sprintf("b%d", i)), ":x ")
	}
	if heard != sessions {
		t.Errorf("%d of %d notifications took effect", heard, sessions)
	}
	wait(t, func() bool { return survivor.Stats().Partitions == uint64(len(partitions(s))) })
}
