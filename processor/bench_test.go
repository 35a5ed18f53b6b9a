package processor_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9" //nolint:depguard // measures what Redis does without the store

	"skyring/processor"
	"skyring/processor/ledger"
	"skyring/protocol/bus"
	"skyring/protocol/key"
	"skyring/statestore"
)

// Sizes of the throughput benchmark.
const (
	benchOps      = 40_000 // messages a cell
	benchInFlight = 256
	benchSessions = 4096
)

// BenchmarkCommit prints, for each round, messages per second over the processor's whole way (NATS, worker, ledger, commit, answer), and of the bare
// commit script: through the client's automatic pipeline with as many in flight, and through eight pipelines of 32.
func BenchmarkCommit(b *testing.B) {
	s := newSite(b)
	s.everySecond(b)
	cfg := processor.DefaultConfig()
	cfg.ID, cfg.DrainQuiet = "a", 20*time.Millisecond
	n := s.startWith(cfg, processor.NewHandlers(ledger.Handler{}))
	d := s.dispatcher("d", 1)
	script := must[[]byte](b)(os.ReadFile("../statestore/commit.lua"))
	sha := must[string](b)(s.client().ScriptLoad(b.Context(), string(script)).Result())
	c, blob := s.client(), string(make([]byte, 300))
	for i := range benchSessions {
		must[string](b)(c.Set(b.Context(), bareKey(i), blob, time.Hour).Result())
	}
	var way, auto, pipes float64
	sequence := uint64(0)
	for b.Loop() {
		w := perSecond(func() { sequence = d.flood(n.id, sequence) })
		a := perSecond(func() { s.autoPipeline(b, sha) })
		p := perSecond(func() { s.pipelines(b, sha) })
		b.Logf("whole way %.0f/s, bare script by AutoPipeline %.0f/s (ratio %.2f), by 8 pipelines of 32 %.0f/s (ratio %.2f)", w, a, w/a, p, w/p)
		way, auto, pipes = way+w, auto+a, pipes+p
	}
	rounds := float64(b.N)
	b.ReportMetric(way/rounds, "way/s")
	b.ReportMetric(auto/rounds, "autopipeline/s")
	b.ReportMetric(pipes/rounds, "pipelines/s")
	b.ReportMetric(way/auto, "way/autopipeline")
	b.ReportMetric(way/pipes, "way/pipelines")
	b.ReportMetric(0, "ns/op")
}

func perSecond(f func()) float64 {
	began := time.Now()
	f()
	return benchOps / time.Since(began).Seconds()
}

// everySecond lets the server sync its file each second, as installations do.
func (s *site) everySecond(tb testing.TB) {
	tb.Helper()
	must[string](tb)(s.client().ConfigSet(tb.Context(), "appendfsync", "everysec").Result())
}

// flood keeps messages of random sessions in flight, one of each session, until all are answered.
func (d *dispatcher) flood(to string, sequence uint64) uint64 {
	payload := make([]byte, 200)
	expiry := time.Now().Add(30 * time.Second).UnixMicro()
	inFlight, done := 0, 0
	var frame []bus.Envelope
	for issued := 0; done < benchOps; {
		frame = frame[:0]
		for ; inFlight < benchInFlight && issued < benchOps; inFlight++ {
			sequence++
			issued++
			k := key.Association(nil, uint64(rand.IntN(benchSessions)))
			frame = append(frame, bus.Envelope{
				Entry: sequence, Attempt: 1, Epoch: 1, Sequence: sequence, Expiry: expiry, PPID: 18, Key: k, Payload: payload,
			})
		}
		for chunk := frame; len(chunk) > 0; chunk = chunk[min(32, len(chunk)):] {
			d.send(to, chunk[:min(32, len(chunk))]...)
		}
		for more := true; more; more = len(d.answers) > 0 {
			if a := d.next(); a.Status != bus.Committed {
				d.tb.Fatalf("%+v", a)
			}
			inFlight--
			done++
		}
	}
	return sequence
}

// bareKey names a value that the bare script writes.
func bareKey(i int) string { return "bare:{" + strconv.Itoa(i%256) + "}:s:" + strconv.Itoa(i) }

func (s *site) autoPipeline(b *testing.B, sha string) {
	b.Helper()
	c := s.client()
	blob := string(make([]byte, 300))
	ap := must[*redis.AutoPipeliner](b)(c.AutoPipeline())
	defer func() { _ = ap.Close() }()
	var next atomic.Int64
	var group sync.WaitGroup
	for range benchInFlight {
		group.Go(func() {
			for next.Add(1) <= benchOps {
				err := ap.EvalSha(b.Context(), sha, []string{bareKey(rand.IntN(benchSessions))}, blob[:12], blob, 3600000, int64(math.MaxInt64)).Err()
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
}

func (s *site) pipelines(b *testing.B, sha string) {
	b.Helper()
	c := s.client()
	blob := string(make([]byte, 300))
	var next atomic.Int64
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for next.Add(32) <= benchOps {
				p := c.Pipeline()
				for range 32 {
					p.EvalSha(b.Context(), sha, []string{bareKey(rand.IntN(benchSessions))}, blob[:12], blob, 3600000, int64(math.MaxInt64))
				}
				if _, err := p.Exec(b.Context()); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
}

// BenchmarkMemory prints what a ledger session takes in Redis: a UE on an S1 association after 20 messages on two streams, committed by two nodes.
func BenchmarkMemory(b *testing.B) {
	const sessions = 20_000
	s := newSite(b)
	s.everySecond(b)
	store, c := s.store(), s.client()
	used := func() float64 {
		var bytes float64
		for line := range strings.Lines(must[string](b)(c.Info(b.Context(), "memory").Result())) {
			if _, err := fmt.Sscanf(line, "used_memory:%g", &bytes); err == nil {
				break
			}
		}
		return bytes
	}
	for b.Loop() {
		must[string](b)(c.FlushAll(b.Context()).Result())
		before := used()
		var commits []statestore.Commit
		for i := range sessions {
			commits = append(commits, statestore.Commit{
				Key: ueKey(b, i), Record: ledgerRecord(i), Expiry: time.Now().Add(time.Hour).UnixMicro(), TTL: 24 * time.Hour,
			})
			if len(commits) == 500 {
				must[[]statestore.Outcome](b)(store.Commit(b.Context(), commits))
				commits = commits[:0]
			}
		}
		b.ReportMetric((used()-before)/sessions, "used-bytes/session")
	}
	name := s.redisName(string(ueKey(b, 77)))
	b.ReportMetric(float64(must[int64](b)(c.MemoryUsage(b.Context(), name).Result())), "MEMORY-USAGE-bytes")
	b.ReportMetric(float64(must[int64](b)(c.StrLen(b.Context(), name).Result())), "value-bytes")
	b.ReportMetric(0, "ns/op")
}

func ueKey(b *testing.B, i int) []byte {
	b.Helper()
	return must[[]byte](b)(key.Parse(fmt.Sprintf("s1ap:assoc=%016x/ue=%d", 0x00061a0000000000+i%100, i)))
}

// ledgerRecord is made by the engine.
func ledgerRecord(i int) *statestore.Record {
	var r *statestore.Record
	for m := range uint64(20) {
		e := env(m+1, 0, fmt.Sprintf("\x00\x0d message %d of %d", m, i))
		e.PPID, e.Stream = 18, uint16(m%2)
		r = processor.Judge(processor.Judgement{
			Handlers: processor.NewHandlers(ledger.Handler{}), Record: r, Now: now, Longest: longest, Envelopes: []bus.Envelope{e},
		}).Record
		r.Version++
	}
	r.Version = 0
	return r
}
