package transport_test

import (
	"fmt"
	"net/netip"
	"runtime"
	"syscall"
	"testing"
	"time"

	"skyring/protocol/transport"
)

// BenchmarkDTLSHandshake is the cost of setting a session up, both ends.
func BenchmarkDTLSHandshake(b *testing.B) {
	ca, file := newAuthority(b), pskFile(b, "gw-7 17")
	for _, c := range []struct {
		name           string
		server, client transport.SecureConfig
	}{
		{"psk", pskServer(file), pskClient(file, "gw-7")},
		{"p256", ca.secure(ca.issue("dispatcher")), ca.secure(ca.issue("gw-7", speaksFor("17")))},
	} {
		b.Run(c.name, func(b *testing.B) {
			server, link := serveDTLS(b, c.server)
			client := openDTLS(b, c.client, loopback())
			e, _ := startOn(b, client, steady())
			cpu := processTime(b)
			for b.Loop() {
				a, err := e.Dial(deadline(b), server.LocalAddr(), transport.Dial{RemotePort: 2905})
				if err != nil {
					b.Fatal(err)
				}
				accept(b, server)
				a.Abort("next")
				transport.Sweep(client, time.Now().Add(time.Hour))
				eventually(b, "the server knows", func() bool { return link.Sessions() == 0 })
			}
			b.ReportMetric(float64((processTime(b)-cpu).Microseconds())/float64(b.N), "cpu-us/session")
		})
	}
}

// processTime is what the process has used of the processors.
func processTime(tb testing.TB) time.Duration {
	tb.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkDTLSEcho is the round trip of 128 bytes over an association, next to plain UDP.
func BenchmarkDTLSEcho(b *testing.B) {
	file, ca := pskFile(b, "gw-7 17"), newAuthority(b)
	for _, c := range []struct {
		name string
		ends func(b *testing.B) (client, server *transport.Endpoint)
	}{
		{"plain", func(b *testing.B) (client, server *transport.Endpoint) {
			b.Helper()
			return start(b, steady()), start(b, steady())
		}},
		{"psk-chacha20", func(b *testing.B) (client, server *transport.Endpoint) {
			b.Helper()
			server, _ = serveDTLS(b, pskServer(file))
			return clientDTLS(b, pskClient(file, "gw-7")), server
		}},
		{"p256-aes128gcm", func(b *testing.B) (client, server *transport.Endpoint) {
			b.Helper()
			server, _ = serveDTLS(b, ca.secure(ca.issue("dispatcher")))
			return clientDTLS(b, ca.secure(ca.issue("gw-7"))), server
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			client, server := c.ends(b)
			dialled, accepted := connect(b, client, server)
			back, there := collect(b, dialled), collect(b, accepted)
			go func() {
				for m := range there {
					if accepted.Send(deadline(b), m) != nil {
						return
					}
				}
			}()
			m := transport.Message{Stream: 1, PPID: 3, Payload: make([]byte, 128)}
			for b.Loop() {
				if err := dialled.Send(deadline(b), m); err != nil {
					b.Fatal(err)
				}
				next(b, back)
			}
		})
	}
}

// BenchmarkDTLSHelloFlood is what a ClientHello costs that keeps nothing, the answer through the socket included.
func BenchmarkDTLSHelloFlood(b *testing.B) {
	link := openReceiver(b, pskServer(pskFile(b, "gw-7 17")))
	from := netip.MustParseAddrPort("127.0.0.1:9")
	h := hello(1, nil)
	for b.Loop() {
		transport.Receive(link, h, from)
	}
}

// BenchmarkDTLSIdle is what idle associations take, each in a session of its own: server and client together, without
// their sockets.
func BenchmarkDTLSIdle(b *testing.B) {
	const clients = 200
	var lines []string
	for n := range clients {
		lines = append(lines, fmt.Sprintf("gw-%d %d", n, n+1))
	}
	file := pskFile(b, lines...)
	cfg := pskServer(file)
	cfg.MaxHalfOpenPerSource = clients
	server, link := serveDTLS(b, cfg)
	list := dtlsClients(b, file, clients)
	connectAll := func() (all []*transport.Association) {
		for n, client := range list {
			a, err := client.Dial(deadline(b), server.LocalAddr(), transport.Dial{RemotePort: 2905, Link: n % linksEach})
			if err != nil {
				b.Fatal(err)
			}
			all = append(all, a)
			accept(b, server)
		}
		return all
	}
	for range b.N {
		for _, a := range connectAll() { // once before, so that all buffers of the links are there
			a.Abort("once more")
		}
		eventually(b, "the server knows", func() bool { return server.Stats().Associations == 0 })
		transport.Sweep(link, time.Now().Add(time.Hour))
		eventually(b, "the clients know", func() bool { return list[0].Stats().Sessions+list[clients-1].Stats().Sessions == 0 })
		heap, stack, goroutines := settled()
		all := connectAll()
		heapAfter, stackAfter, goroutinesAfter := settled()
		b.ReportMetric(float64(heapAfter-heap)/clients/1024, "heapKB/both-ends")
		b.ReportMetric(float64(stackAfter-stack)/clients/1024, "stackKB/both-ends")
		b.ReportMetric(float64(goroutinesAfter-goroutines)/clients, "goroutines/both-ends")
		for _, a := range all {
			a.Abort("done")
		}
	}
}

// settled reads the memory in use when the collector has halved grown stacks and emptied pools some times.
func settled() (heap, stack uint64, goroutines int) {
	for range 6 {
		runtime.GC()
	}
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	return now.HeapAlloc, now.StackInuse, runtime.NumGoroutine()
}
