package transport_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"skyring/protocol/transport"
)

// runIdle is the other end of idle associations: it reads a server's address and a number, sets that many up, says so, and
// keeps them until its input ends.
func runIdle(in io.Reader, out io.Writer) error {
	var (
		to string
		n  int
	)
	lines := bufio.NewReader(in)
	if _, err := fmt.Fscanln(lines, &to, &n); err != nil {
		return fmt.Errorf("read what to dial: %w", err)
	}
	link, err := transport.ListenUDP(loopback())
	if err != nil {
		return err
	}
	client, err := transport.New(link, steady(), zerolog.Nop())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- client.Run(ctx) }()
	if err := dialMany(ctx, client, netip.MustParseAddrPort(to), n); err != nil {
		cancel()
		return errors.Join(err, <-ran)
	}
	_, err = fmt.Fprintln(out, "there")
	_, _ = io.Copy(io.Discard, lines)
	cancel()
	return errors.Join(err, <-ran)
}

// dialMany sets n associations up, some at a time.
func dialMany(ctx context.Context, client *transport.Endpoint, to netip.AddrPort, n int) error {
	const workers = 32
	failed := make(chan error, workers)
	for worker := range workers {
		go func() {
			for i := worker; i < n; i += workers {
				if _, err := client.Dial(ctx, to, transport.Dial{RemotePort: 2905}); err != nil {
					failed <- err
					return
				}
			}
			failed <- nil
		}()
	}
	var errs []error
	for range workers {
		errs = append(errs, <-failed)
	}
	return errors.Join(errs...)
}

// footprint is what a process takes.
type footprint struct{ resident, heap, stacks, goroutines float64 }

// measure lets the process come to rest first.
func measureFootprint(tb testing.TB) footprint {
	tb.Helper()
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return footprint{
		resident: residentBytes(tb), heap: float64(m.HeapAlloc), stacks: float64(m.StackInuse), goroutines: float64(runtime.NumGoroutine()),
	}
}

func residentBytes(tb testing.TB) float64 {
	tb.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		tb.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		var kilobytes float64
		if _, err := fmt.Sscanf(line, "VmRSS: %f kB", &kilobytes); err == nil {
			return kilobytes * 1024
		}
	}
	tb.Fatal("no VmRSS")
	return 0
}

func (f footprint) minus(g footprint, n int) footprint {
	each := func(a, b float64) float64 { return (a - b) / float64(n) }
	return footprint{each(f.resident, g.resident), each(f.heap, g.heap), each(f.stacks, g.stacks), each(f.goroutines, g.goroutines)}
}

// idlers gives a server with n associations that a child process has set up; they are accepted and received from, as a
// server's are, when receive says so.
func idlers(tb testing.TB, cfg transport.Config, n int, receive bool) (server *transport.Endpoint, peer *child, before footprint) {
	tb.Helper()
	cfg.InitsPerSecond, cfg.InitsPerSourcePerSecond = 1<<20, 1<<20
	cfg.AcceptBacklog = n // the machine may have no time for who accepts them
	server = start(tb, cfg)
	peer = startChild(tb, childIdles, nil)
	before = measureFootprint(tb)
	peer.say(tb, fmt.Sprintln(server.LocalAddr(), n))
	for range n {
		ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
		a, err := server.Accept(ctx)
		cancel()
		if err != nil {
			tb.Fatal(err)
		}
		if receive {
			go func() { _ = a.Receive(context.Background(), func(transport.Message) {}) }()
		}
	}
	peer.line(tb)
	return server, peer, before
}

// Each idle association has at most five goroutines, the one that receives included, and all are reclaimed when their
// peers vanish.
func TestIdleAssociationsAreReclaimed(t *testing.T) {
	const n = 300
	cfg := restless()
	cfg.HeartbeatInterval = 100 * time.Millisecond
	cfg.MaxMissedHeartbeats = 20
	server, peer, before := idlers(t, cfg, n, true)
	there := measureFootprint(t)
	if each := there.minus(before, n).goroutines; each > 5 {
		t.Errorf("%.1f goroutines each", each)
	}
	peer.kill(t)
	eventually(t, "all have ended", func() bool { return server.Stats().Associations == 0 })
	eventually(t, "their goroutines have ended", func() bool { return float64(runtime.NumGoroutine()) <= before.goroutines })
	eventually(t, "their memory is free", func() bool { // but for what Go keeps of goroutines for later ones
		runtime.GC()
		return measureFootprint(t).minus(before, n).heap < there.minus(before, n).heap/4
	})
	if ends := server.Stats().Count(transport.PathFailures); ends != n {
		t.Errorf("%d path failures", ends)
	}
}

// BenchmarkIdleAssociations prints what an idle association takes on its server, its peer being in another process: of
// resident memory, heap, stacks, and goroutines; and what is left of it after its peer has vanished.
func BenchmarkIdleAssociations(b *testing.B) {
	const n = 10_000
	for _, receive := range []bool{false, true} {
		b.Run(fmt.Sprintf("associations=%d/receiving=%t", n, receive), func(b *testing.B) {
			for b.Loop() {
				cfg := transport.DefaultConfig()
				cfg.MaxMissedHeartbeats = 10
				cfg.HeartbeatInterval = 2 * time.Second
				server, peer, before := idlers(b, cfg, n, receive)
				each := measureFootprint(b).minus(before, n)
				b.ReportMetric(each.resident/1024, "RSS-KB/assoc")
				b.ReportMetric(each.heap/1024, "heap-KB/assoc")
				b.ReportMetric(each.stacks/1024, "stack-KB/assoc")
				b.ReportMetric(each.goroutines, "goroutines/assoc")
				peer.kill(b)
				for server.Stats().Associations > 0 {
					<-time.After(100 * time.Millisecond)
				}
				left := measureFootprint(b).minus(before, n)
				b.ReportMetric(left.heap/1024, "left-heap-KB/assoc")
				b.ReportMetric(left.goroutines, "left-goroutines/assoc")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
