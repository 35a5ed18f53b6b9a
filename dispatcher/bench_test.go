package dispatcher_test

import (
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"

	"skyring/dispatcher"
	"skyring/protocol/bus"
	"skyring/protocol/transport"
)

const inFlight = 256

func benchNATS(b *testing.B) string {
	b.Helper()

	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true})
	if err != nil {
		b.Fatal(err)
	}

	s.Start()
	b.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })

	if !s.ReadyForConnections(patience) {
		b.Fatal("the NATS server does not start")
	}

	return s.ClientURL()
}

func benchConn(b *testing.B, url string) *bus.Conn {
	b.Helper()

	cfg := bus.DefaultConfig()
	cfg.URL = url

	c, err := bus.Connect(b.Context(), cfg, b.Name(), zerolog.Nop())
	if err != nil {
		b.Fatal(err)
	}

	b.Cleanup(c.Close)

	return c
}

// BenchmarkDispatch is the way of a message behind SCTP, to a node that answers at
// once: 200 bytes, 256 in flight on 64 associations.
func BenchmarkDispatch(b *testing.B) {
	url := benchNATS(b)
	echo(b, url)

	link, err := transport.ListenUDP(loopback())
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = link.Close() }()

	endpoint, err := transport.New(link, transport.DefaultConfig(), zerolog.Nop())
	if err != nil {
		b.Fatal(err)
	}

	cfg := dispatcher.DefaultConfig()
	cfg.Namespace = testNamespace
	cfg.Receipts = true

	d, err := dispatcher.New(cfg, endpoint, benchConn(b, url), zerolog.Nop())
	if err != nil {
		b.Fatal(err)
	}

	defer d.Serve()()

	for d.Stats().Checksum == 0 {
		<-time.After(time.Millisecond)
	}

	const feeds = 64

	var work sync.WaitGroup

	b.ReportAllocs()
	b.ResetTimer()

	for i := range feeds {
		f := d.NewFeed(uint64(i+1), inFlight/feeds)
		n := b.N / feeds

		work.Go(func() {
			for range n {
				f.Deliver(transport.Message{Payload: make([]byte, 200)})
			}
		})
		work.Go(func() {
			for range n {
				f.Reply()
			}
		})
	}

	work.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s")
	b.ReportMetric(float64(d.Stats().Written)/float64(d.Stats().Frames), "msg/frame")
}

// echo is a node that commits everything.
func echo(b *testing.B, url string) {
	b.Helper()

	c := benchConn(b, url)
	h := bus.Heartbeat{ID: "n1", Incarnation: 1, State: bus.Ready, Capacity: 1}

	var (
		w bus.AnswerWriter
		e bus.Envelope
	)

	beat := func() {
		h.Sequence++
		_ = c.Publish(testNamespace.Heartbeats(), "", h.Append(nil))
	}

	handle := func(m bus.Message) {
		r, err := bus.DecodeEnvelopes(m.Data)
		if err != nil {
			b.Error(err)

			return
		}

		w.Reset(nil, r.Dispatcher(), 1)

		for r.Next(&e) {
			if err := w.Append(&bus.Answer{Entry: e.Entry, Attempt: e.Attempt, Status: bus.Committed}); err != nil {
				b.Error(err)
			}
		}

		_ = c.Publish(m.Reply, "", w.Bytes())
	}

	if _, err := c.Subscribe(testNamespace.Node("n1"), handle); err != nil {
		b.Fatal(err)
	}

	tick, done := time.NewTicker(500*time.Millisecond), make(chan struct{})

	go func() {
		for {
			beat()

			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	}()

	b.Cleanup(func() { tick.Stop(); close(done) })
}

// BenchmarkRequest is nc.Request on the same server, 256 in flight: the measure.
func BenchmarkRequest(b *testing.B) {
	url := benchNATS(b)

	responder, err := nats.Connect(url)
	if err != nil {
		b.Fatal(err)
	}
	defer responder.Close()

	if _, err := responder.Subscribe("echo", func(m *nats.Msg) { _ = m.Respond(m.Data[:14]) }); err != nil {
		b.Fatal(err)
	}

	if err := responder.Flush(); err != nil {
		b.Fatal(err)
	}

	c, err := nats.Connect(url)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()

	var work sync.WaitGroup

	b.ResetTimer()

	for range inFlight {
		work.Go(func() {
			data := make([]byte, 200)
			for range b.N / inFlight {
				if _, err := c.Request("echo", data, patience); err != nil {
					b.Error(err)

					return
				}
			}
		})
	}

	work.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s")
}
