package interop_test

import (
	"context"
	"fmt"
	"net/netip"
	"strconv"
	"testing"
	"time"

	"skyring/testbed/interop"
)

// BenchmarkEcho prints echoed messages a second between two processes of usrsctp: what our own figures stand next to.
func BenchmarkEcho(b *testing.B) {
	if built.err != nil {
		b.Skip(built.err)
	}
	for _, load := range []struct{ associations, window, count int }{{1, 64, 20_000}, {100, 8, 400}} {
		b.Run(fmt.Sprintf("usrsctp/associations=%d/window=%d", load.associations, load.window), func(b *testing.B) {
			local := netip.MustParseAddr("127.0.0.1")
			server := interop.Options{UDP: freePort(b), Bind: []netip.Addr{local}, Port: port, Echo: true, Quiet: true}
			client := interop.Options{
				UDP: freePort(b), RemoteUDP: server.UDP, Bind: []netip.Addr{local}, Connect: local, To: port, Quiet: true,
				Associations: load.associations,
			}
			there := benchPeer(b, server)
			await(b, there, "ready")
			here := benchPeer(b, client)
			for range load.associations {
				await(b, here, "up")
			}
			var rate, p50, p99 float64
			rounds := 0
			for b.Loop() {
				if err := here.Command("echo %d %d 128", load.count, load.window); err != nil {
					b.Fatal(err)
				}
				e := await(b, here, "echoed")
				if e.Word(0) != strconv.Itoa(load.count*load.associations) {
					b.Fatalf("%s", e)
				}
				rate += float64(load.count*load.associations) / nanoseconds(b, e.Word(1)).Seconds()
				p50 += nanoseconds(b, e.Word(2)).Seconds()
				p99 += nanoseconds(b, e.Word(3)).Seconds()
				rounds++
			}
			here.Kill()
			there.Kill()
			n := float64(rounds)
			cpu := (here.CPU() + there.CPU()).Seconds() / (n * float64(load.count*load.associations))
			b.ReportMetric(rate/n, "msg/s")
			b.ReportMetric(cpu*1e6, "cpu-us/msg")
			b.ReportMetric(p50/n*1e6, "p50-us")
			b.ReportMetric(p99/n*1e6, "p99-us")
		})
	}
}

func benchPeer(b *testing.B, o interop.Options) *interop.Peer {
	b.Helper()
	p, err := interop.Start(context.Background(), built.program, o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(p.Kill)
	return p
}

// await skips events until one of a kind comes.
func await(b *testing.B, p *interop.Peer, kind string) interop.Event {
	b.Helper()
	limit := time.After(patience)
	for {
		select {
		case e, ok := <-p.Events():
			switch {
			case !ok || e.Kind == "fault":
				b.Fatalf("the peer says %q; wanted %q", e, kind)
			case e.Kind == kind:
				return e
			}
		case <-limit:
			b.Fatalf("the peer does not say %q", kind)
		}
	}
}

func nanoseconds(b *testing.B, text string) time.Duration {
	b.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return time.Duration(n)
}
