package dispatcher_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"skyring/dispatcher"
	"skyring/protocol/transport"
)

// BenchmarkSlowPeers is what 8 associations get, which have 16 messages each under way and
// read their receipts, beside associations that send as fast as they can and read nothing.
// An iteration is a message of the former.
func BenchmarkSlowPeers(b *testing.B) {
	for _, slow := range []int{0, 20} {
		b.Run(fmt.Sprintf("slow=%d", slow), func(b *testing.B) { benchSlowPeers(b, slow) })
	}
}

func benchSlowPeers(b *testing.B, slow int) {
	b.Helper()

	const good, window = 8, 16

	url := benchNATS(b)
	echo(b, url)
	epochs(b, url)

	cfg := dispatcher.DefaultConfig()
	cfg.Namespace = testNamespace
	cfg.Receipts = true

	server, stopServer := benchEndpoint(b)
	client, stopClient := benchEndpoint(b)

	d, err := dispatcher.New(cfg, server, benchConn(b, url), zerolog.Nop())
	if err != nil {
		b.Fatal(err)
	}

	ctx, stop := context.WithCancel(context.Background())

	var running, flooding sync.WaitGroup

	running.Go(func() { _ = d.Run(ctx) })

	for d.Stats().Checksum == 0 {
		<-time.After(time.Millisecond)
	}

	links := dialAll(b, client, server, good+slow)
	for _, link := range links[good:] {
		flooding.Go(func() {
			for link.Send(ctx, transport.Message{Payload: make([]byte, 200)}) == nil {
			}
		})
	}

	b.ResetTimer()

	var (
		mu    sync.Mutex
		waits []time.Duration
		work  sync.WaitGroup
	)

	for _, link := range links[:good] {
		work.Go(func() {
			w := converse(b, link, b.N/good+1, window)

			mu.Lock()
			defer mu.Unlock()

			waits = append(waits, w...)
		})
	}

	work.Wait()
	b.StopTimer()
	slices.Sort(waits)
	b.ReportMetric(float64(len(waits))/b.Elapsed().Seconds(), "msg/s")
	b.ReportMetric(float64(waits[len(waits)*999/1000].Microseconds())/1000, "ms-p99.9")
	b.ReportMetric(float64(d.Stats().Submitted-uint64(len(waits)))/b.Elapsed().Seconds(), "slow-msg/s")

	stop()
	stopClient()
	flooding.Wait()
	running.Wait()
	stopServer()
}

// converse sends n messages, a window of them under way, and returns how long each took to its receipt.
func converse(b *testing.B, link *transport.Association, n, window int) []time.Duration {
	b.Helper()

	room, received := make(chan struct{}, window), make(chan struct{}, window)
	sent, waits := make(chan time.Time, window), make([]time.Duration, 0, n)

	go func() { _ = link.Receive(context.Background(), func(transport.Message) { received <- struct{}{} }) }()

	var counting sync.WaitGroup

	counting.Go(func() {
		for range n {
			<-received

			waits = append(waits, time.Since(<-sent))
			<-room
		}
	})

	for range n {
		room <- struct{}{}

		sent <- time.Now()

		if err := link.Send(b.Context(), transport.Message{Payload: make([]byte, 200)}); err != nil {
			b.Error(err)

			break
		}
	}

	counting.Wait()

	return waits
}
