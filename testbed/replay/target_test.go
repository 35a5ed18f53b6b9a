package replay_test

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"skyring/processor"
	"skyring/processor/ledger"
	"skyring/protocol/key"
	"skyring/protocol/receipt"
	"skyring/protocol/transport"
	"skyring/statestore"
	"skyring/testbed/replay"
	"skyring/testbed/servers"
	"skyring/testbed/trace"
)

// patience bounds what should take milliseconds.
const patience = 60 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// target is a small stack of real parts: it takes associations, keeps the ledger in
// store as a processor would, and answers with receipts. behave may change what it does
// with a message.
type target struct {
	t        *testing.T
	endpoint *transport.Endpoint
	store    *statestore.Store // nil: nothing is kept
	silent   bool              // no receipts
	// behave gets each message with its number over all associations, from 1, and its receipt. It returns how often the
	// message is committed, and the receipts to send now.
	behave     func(number int, r receipt.Receipt) (commits int, receipts []receipt.Receipt)
	closeAfter uint64 // messages of an association after which it is shut down; 0: never
	// beside is called with each message after its commits; nil: nothing more is done.
	beside func(ctx context.Context, s *served, m transport.Message) error
	// admit is called with each association; nil: nothing more is done.
	admit func(a *transport.Association)

	mu     sync.Mutex
	number int // guarded by mu
}

func once(_ int, r receipt.Receipt) (int, []receipt.Receipt) { return 1, []receipt.Receipt{r} }

// start serves until the test ends and returns the address.
func (g *target) start(streams uint16) netip.AddrPort {
	g.t.Helper()

	link, err := transport.ListenUDP(netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		g.t.Fatal(err)
	}

	cfg := transport.DefaultConfig()
	cfg.Streams = streams

	g.endpoint, err = transport.New(link, cfg, zerolog.Nop())
	if err != nil {
		g.t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.Background())

	var serving sync.WaitGroup

	serving.Go(func() {
		if err := g.endpoint.Run(ctx); err != nil {
			g.t.Errorf("target: %v", err)
		}
	})
	serving.Go(func() { g.accept(ctx, &serving) })
	g.t.Cleanup(func() {
		cancel()
		serving.Wait()
	})

	return link.LocalAddr()
}

func (g *target) accept(ctx context.Context, serving *sync.WaitGroup) {
	for {
		a, err := g.endpoint.Accept(ctx)
		if err != nil {
			return
		}

		serving.Go(func() {
			if g.admit != nil {
				g.admit(a)
			}

			g.serve(ctx, a)
		})
	}
}

func (g *target) serve(ctx context.Context, a *transport.Association) {
	s := &served{target: g, association: a, ordinals: map[[2]uint32]uint64{}}
	if g.store != nil {
		epoch, err := g.store.Epoch(ctx, 0)
		if err != nil {
			g.t.Errorf("epoch: %v", err)
		}

		s.epoch = epoch.Epoch
	}

	_ = a.Receive(ctx, func(m transport.Message) {
		if err := s.message(ctx, m); err != nil && ctx.Err() == nil {
			g.t.Logf("target: %v", err)
		}
	})
}

// served is one association of a target.
type served struct {
	target      *target
	association *transport.Association
	epoch       uint64

	mu       sync.Mutex
	ordinals map[[2]uint32]uint64 // by stream and U bit
	messages uint64
}

func (s *served) message(ctx context.Context, m transport.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.target.mu.Lock()
	s.target.number++
	number := s.target.number
	s.target.mu.Unlock()

	lane := [2]uint32{uint32(m.Stream), 0}
	if m.Unordered {
		lane[1] = 1
	}

	s.ordinals[lane]++
	commits, receipts := s.target.behave(number, receipt.Receipt{
		Stream: m.Stream, Unordered: m.Unordered, Status: receipt.Committed,
		Ordinal: s.ordinals[lane], Hash: receipt.Hash(m.Payload),
	})

	for range commits {
		if err := s.commit(ctx, m); err != nil {
			return err
		}
	}

	if s.target.beside != nil {
		if err := s.target.beside(ctx, s, m); err != nil {
			return err
		}
	}

	if s.target.silent {
		return nil
	}

	for _, r := range receipts {
		answer := transport.Message{Stream: r.Stream, PPID: receipt.PPID, Payload: r.Append(nil)}
		if err := s.association.Send(ctx, answer); err != nil {
			return fmt.Errorf("send a receipt: %w", err)
		}
	}

	s.messages++
	if s.messages == s.target.closeAfter {
		return s.association.Close(ctx)
	}

	return nil
}

// commit does what a processor does, one message at a time.
func (s *served) commit(ctx context.Context, m transport.Message) error {
	store := s.target.store
	if store == nil {
		return nil
	}

	k, _ := key.Append(nil, s.epoch, m.PPID, m.Payload)

	for {
		loaded, err := store.Load(ctx, [][]byte{k})
		if err != nil {
			return fmt.Errorf("load: %w", err)
		}

		next := loaded[0].Record.Clone()

		l, err := ledger.Decode(next.Body)
		if err != nil {
			return fmt.Errorf("decode: %w", err)
		}

		l.Add(processor.Message{
			Epoch: s.epoch, Stream: m.Stream, Unordered: m.Unordered, PPID: m.PPID,
			Payload: m.Payload, Node: fmt.Sprintf("node-%d", key.Hash(k)%3),
		})
		next.Body = l.Append(nil)

		outcomes, err := store.Commit(ctx, []statestore.Commit{{
			Key: k, Expect: loaded[0].Record.Stamp(), Record: next, TTL: time.Hour,
			Expiry: time.Now().Add(time.Hour).UnixMicro(),
		}})
		if err != nil {
			return fmt.Errorf("commit: %w", err)
		}

		if outcomes[0].Result == statestore.Written {
			return nil
		}
	}
}

// startStore starts redis-server for the test and opens a store in it.
func startStore(t *testing.T) (*servers.Redis, *statestore.Store) {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	redis, err := servers.StartRedis(ctx, servers.DefaultRedisConfig(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := redis.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})

	cfg := statestore.DefaultConfig()
	cfg.URL, cfg.Timeout = redis.URL(), patience // a busy machine has not failed

	store, err := statestore.Open(ctx, cfg, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})

	return redis, store
}

func openStore(t *testing.T) *statestore.Store {
	t.Helper()

	_, store := startStore(t)

	return store
}

// config is for a target on this machine whose silence is noticed soon.
func config(to netip.AddrPort) replay.Config {
	cfg := replay.DefaultConfig()
	cfg.Target = transport.Target{Mode: transport.ModeUDP, Address: to}
	cfg.IdleTimeout = 500 * time.Millisecond

	return cfg
}

func run(t *testing.T, cfg replay.Config, store *statestore.Store, traces ...*trace.Trace) *replay.Verdict {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	r, err := replay.New(cfg, traces, store, nil, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}

	v, err := r.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}

	return v
}
