package dispatcher_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"skyring/dispatcher"
	"skyring/protocol/bus"
	"skyring/protocol/transport"
)

// BenchmarkAssociationMemory is what an association costs that has sent 64 messages of
// 200 bytes and is idle: heap and stacks of the dispatcher's side, of the station's side,
// and both. Run it with -benchtime=1x.
func BenchmarkAssociationMemory(b *testing.B) {
	const associations, messages = 1000, 64

	for range b.N {
		url := benchNATS(b)
		echo(b, url)
		epochs(b, url)

		cfg := dispatcher.DefaultConfig()
		cfg.Namespace = testNamespace
		cfg.Receipts = true

		server, stopServer := benchEndpoint(b)
		client, stopClient := benchEndpoint(b)
		before := memory()
		links := dialAll(b, client, server, associations)
		idle := memory()

		d, err := dispatcher.New(cfg, server, benchConn(b, url), zerolog.Nop())
		if err != nil {
			b.Fatal(err)
		}

		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan error, 1)

		go func() { ended <- d.Run(ctx) }()

		talk(b, links, messages)

		loaded := memory()

		b.ReportMetric((idle-before)/associations, "B/pair-set-up")
		b.ReportMetric((loaded-before)/associations, "B/pair-used")
		b.ReportMetric((loaded-idle)/associations, "B/serving")

		began := time.Now()

		stop()

		if err := <-ended; err != nil {
			b.Error(err)
		}

		b.ReportMetric(time.Since(began).Seconds(), "s/drain")
		stopClient()
		stopServer()
	}
}

// epochs answers epoch queries for the node of echo.
func epochs(b *testing.B, url string) {
	b.Helper()

	var last atomic.Uint64

	c := benchConn(b, url)

	_, err := c.Subscribe(testNamespace.Ask("n1"), func(m bus.Message) {
		r := bus.EpochReply{Epoch: last.Add(1), RedisTime: time.Now().UnixMicro()}
		_ = c.Publish(m.Reply, "", r.Append(nil))
	})
	if err != nil {
		b.Fatal(err)
	}
}

func benchEndpoint(b *testing.B) (e *transport.Endpoint, stop func()) {
	b.Helper()

	link, err := transport.ListenUDP(loopback())
	if err != nil {
		b.Fatal(err)
	}

	cfg := transport.DefaultConfig()
	cfg.MaxMissedHeartbeats = 100

	e, err = transport.New(link, cfg, zerolog.Nop())
	if err != nil {
		b.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.Background())

	var running sync.WaitGroup

	running.Go(func() { _ = e.Run(ctx) })

	return e, func() { cancel(); running.Wait() }
}

func dialAll(b *testing.B, client, server *transport.Endpoint, n int) []*transport.Association {
	b.Helper()

	links := make([]*transport.Association, n)

	for i := range links {
		link, err := client.Dial(b.Context(), server.LocalAddr(), transport.Dial{LocalPort: uint16(1000 + i), RemotePort: 5000, Streams: 4})
		if err != nil {
			b.Fatal(err)
		}

		links[i] = link
	}

	return links
}

// talk sends messages on all associations and waits for their receipts.
func talk(b *testing.B, links []*transport.Association, messages int) {
	b.Helper()

	var receipts atomic.Int64

	for _, link := range links {
		go func() { _ = link.Receive(context.Background(), func(transport.Message) { receipts.Add(1) }) }()
	}

	for range messages {
		for _, link := range links {
			if err := link.Send(b.Context(), transport.Message{Payload: make([]byte, 200)}); err != nil {
				b.Fatal(err)
			}
		}
	}

	for receipts.Load() < int64(len(links)*messages) {
		<-time.After(10 * time.Millisecond)
	}
}

// memory is what the heap and stacks use, in bytes.
func memory() float64 {
	runtime.GC()
	runtime.GC()

	var m runtime.MemStats

	runtime.ReadMemStats(&m)

	return float64(m.HeapInuse + m.StackInuse)
}
