package stack_test

import (
	"context"
	"encoding/binary"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"skyring/protocol/receipt"
	"skyring/protocol/transport"
	"skyring/testbed/stack"
)

// Sizes of the benchmark.
const (
	benchAssociations = 100
	benchWindow       = 8                // messages of an association under way
	benchMessages     = 600              // of each association in a round
	benchPaced        = 10_000           // messages a second of all, where they are paced
	benchPacedFor     = 10 * time.Second // of a paced round
	ppidM3UA          = 3
)

// BenchmarkWholePath prints, for each round, how many messages a second have their receipt: over SCTP, dispatcher, NATS, processor and a commit in
// Redis, all on this machine with the senders; and how many echoes the same associations' worth of bare SCTP gives in the same run. Then the time to
// the receipt where messages come at 10,000 a second.
func BenchmarkWholePath(b *testing.B) {
	cfg := config(b)
	cfg.Dispatcher.Receipts = true
	cfg.Processors = 2

	s, err := stack.Start(b.Context(), cfg, zerolog.Nop())
	if err != nil {
		b.Fatal(err)
	}

	defer func() {
		if err := s.Stop(); err != nil {
			b.Error(err)
		}
	}()

	whole := dialStations(b, s, nil)
	bare := dialStations(b, nil, echoServer(b))

	var ways, echoes, ratios, p99s []float64

	for b.Loop() {
		way, echo := flood(b, whole), flood(b, bare)
		p99 := paced(b, whole)

		b.Logf("whole path %.0f/s, bare echo %.0f/s, ratio %.2f; at %d/s p99 %s", way, echo, way/echo, benchPaced, p99)

		ways, echoes, ratios, p99s = append(ways, way), append(echoes, echo), append(ratios, way/echo), append(p99s, p99.Seconds()*1000)
	}

	b.ReportMetric(middle(ways), "way/s")
	b.ReportMetric(middle(echoes), "echo/s")
	b.ReportMetric(middle(ratios), "way/echo")
	b.ReportMetric(middle(p99s), "p99-ms")
	b.ReportMetric(0, "ns/op")
}

func middle(values []float64) float64 { return slices.Sorted(slices.Values(values))[len(values)/2] }

// benchStation is an association whose messages come back, as receipts or as echoes, in any order.
type benchStation struct {
	association *transport.Association
	number      int

	room chan struct{} // a token for each message that may be sent

	mu    sync.Mutex
	sent  []time.Time // by ordinal
	times []time.Duration
}

// back notes that a message came back.
func (s *benchStation) back(m transport.Message) {
	ordinal := binary.BigEndian.Uint64(m.Payload[len(m.Payload)-8:])
	if r, err := receipt.Decode(m.Payload); err == nil {
		ordinal = r.Ordinal - 1
	}

	s.mu.Lock()
	s.times = append(s.times, time.Since(s.sent[ordinal]))
	s.mu.Unlock()

	s.room <- struct{}{}
}

// send sends a message of a circuit of its own, when there is room.
func (s *benchStation) send(b *testing.B) {
	b.Helper()

	<-s.room

	s.mu.Lock()
	ordinal := len(s.sent)
	s.sent = append(s.sent, time.Now())
	s.mu.Unlock()

	if err := s.association.Send(context.Background(), transport.Message{PPID: ppidM3UA, Payload: isup(s.number, ordinal)}); err != nil {
		b.Error(err)
	}
}

// isup is an ISUP message in M3UA (RFC 4666 section 3.3.1) of 128 bytes, of one of 256 circuits of the station; it ends with its ordinal.
func isup(station, ordinal int) []byte {
	const size = 128

	m := append(make([]byte, 0, size), 1, 0, 1, 1, 0, 0, 0, size, 0x02, 0x10, 0, size-8)
	m = binary.BigEndian.AppendUint32(m, uint32(1000+station))
	m = binary.BigEndian.AppendUint32(m, 500)
	m = append(m, 5, 2, 0, 0, byte(ordinal), 0, 6)
	m = append(m, make([]byte, size-8-len(m))...)

	return binary.BigEndian.AppendUint64(m, uint64(ordinal))
}

// flood sends as fast as windows allow and returns messages a second.
func flood(b *testing.B, stations []*benchStation) float64 {
	b.Helper()

	begun := time.Now()

	each(stations, func(s *benchStation) {
		for range benchMessages {
			s.send(b)
		}

		s.rest()
	})

	return float64(benchMessages*len(stations)) / time.Since(begun).Seconds()
}

// rest waits until nothing is under way.
func (s *benchStation) rest() {
	for range benchWindow {
		<-s.room
	}

	for range benchWindow {
		s.room <- struct{}{}
	}
}

// paced sends at a steady rate and returns the time within which 99 % came back.
func paced(b *testing.B, stations []*benchStation) time.Duration {
	b.Helper()

	for _, s := range stations {
		s.times = nil
	}

	step := time.Second * time.Duration(len(stations)) / benchPaced

	var place atomic.Int64

	each(stations, func(s *benchStation) {
		due := time.Now().Add(step * time.Duration(place.Add(1)) / time.Duration(len(stations))) // not all at once

		for end := due.Add(benchPacedFor); due.Before(end); due = due.Add(step) {
			<-time.After(time.Until(due))
			s.send(b)
		}

		s.rest()
	})

	var all []time.Duration
	for _, s := range stations {
		all = append(all, s.times...)
	}

	slices.Sort(all)

	return all[len(all)*99/100]
}

func each(stations []*benchStation, do func(*benchStation)) {
	var work sync.WaitGroup
	for _, s := range stations {
		work.Go(func() { do(s) })
	}

	work.Wait()
}

// benchEndpoint runs an endpoint until the benchmark ends.
func benchEndpoint(b *testing.B) *transport.Endpoint {
	b.Helper()

	link, err := transport.ListenUDP(config(b).Listen)
	if err != nil {
		b.Fatal(err)
	}

	e, err := transport.New(link, transport.DefaultConfig(), zerolog.Nop())
	if err != nil {
		b.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)

	go func() { ended <- e.Run(ctx) }()

	b.Cleanup(func() {
		cancel()

		if err := <-ended; err != nil {
			b.Error(err)
		}
	})

	return e
}

// echoServer sends everything back.
func echoServer(b *testing.B) *transport.Endpoint {
	b.Helper()

	e := benchEndpoint(b)

	var serving sync.WaitGroup

	ctx, cancel := context.WithCancel(context.Background())

	serving.Go(func() {
		for {
			a, err := e.Accept(ctx)
			if err != nil {
				return
			}

			serving.Go(func() { _ = a.Receive(ctx, func(m transport.Message) { _ = a.Send(ctx, m) }) })
		}
	})
	b.Cleanup(func() {
		cancel()
		serving.Wait()
	})

	return e
}

// dialStations sets associations up with a stack, or with an echo server.
func dialStations(b *testing.B, s *stack.Stack, server *transport.Endpoint) []*benchStation {
	b.Helper()

	at := server.LocalAddr
	if s != nil {
		at = s.Addr
	}

	client := benchEndpoint(b)

	var (
		stations  []*benchStation
		receiving sync.WaitGroup
	)

	for i := range benchAssociations {
		a, err := client.Dial(b.Context(), at(), transport.Dial{RemotePort: 2905})
		if err != nil {
			b.Fatal(err)
		}

		station := &benchStation{association: a, number: i, room: make(chan struct{}, benchWindow)}
		for range benchWindow {
			station.room <- struct{}{}
		}

		receiving.Go(func() { _ = a.Receive(context.Background(), station.back) })

		stations = append(stations, station)
	}

	b.Cleanup(func() {
		for _, station := range stations {
			station.association.Abort("the benchmark is over")
		}

		receiving.Wait()
	})

	return stations
}
