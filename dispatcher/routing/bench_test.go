package routing_test

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/zeebo/xxh3"

	"skyring/dispatcher/routing"
	"skyring/protocol/bus"
	"skyring/ring"
	"skyring/ring/policy"
)

// BenchmarkMessage is the core's part of a message's way: taken, picked, written, answered
// and told. 256 are in flight on 16 nodes; keys are many, so that each message is a pick.
func BenchmarkMessage(b *testing.B) {
	cfg := testConfig()
	cfg.InFlightLimit, cfg.HardCap, cfg.MaxBytesPerNode = 1024, 2048, 8<<20
	core := routing.New(cfg, 1)

	for i := range 16 {
		core.Heartbeat(0, bus.Heartbeat{ID: fmt.Sprintf("n%02d", i), Incarnation: uint64(i + 1), Sequence: 1, State: bus.Ready, Capacity: 1000})
	}

	members, _ := core.PolicyWanted()

	r, err := policy.New(policy.Default, members, policy.Options{Ring: ring.Config{Bits: 16}})
	if err != nil {
		b.Fatal(err)
	}

	core.SetPolicy(0, r)

	var (
		w       bus.EnvelopeWriter
		e       bus.Envelope
		now     time.Duration
		payload = make([]byte, 200)
		key     = make([]byte, 9)
		nodes   = core.Nodes(0)
		total   int
	)

	b.ReportAllocs()

	for b.Loop() {
		now += time.Millisecond

		for range 256 {
			total++
			binary.BigEndian.PutUint64(key, uint64(total%50_000))
			core.Submit(now, &routing.Message{Epoch: 1, Sequence: uint64(total), Key: key, Hash: xxh3.Hash(key), Payload: payload})
		}

		for i, n := range nodes {
			w.Reset(nil, 1)

			if core.Fill(now, n, &w, routing.Frame{Messages: 256, Bytes: 1 << 18}) == 0 {
				continue
			}

			answers, err := bus.DecodeEnvelopes(w.Bytes())
			if err != nil {
				b.Fatal(err)
			}

			core.Heard(now, uint64(i+1))

			for answers.Next(&e) {
				core.Answer(now, uint64(i+1), &bus.Answer{Entry: e.Entry, Attempt: e.Attempt, Status: bus.Committed})
			}
		}

		core.Done()
	}

	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(total), "ns/message")
}
