package replay_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"skyring/protocol/receipt"
	"skyring/protocol/transport"
	"skyring/testbed/replay"
	"skyring/testbed/trace"
)

func TestVerdictByReceiptsAndLedger(t *testing.T) {
	const n = 40 // messages a direction and association: 160 in all

	tests := map[string]struct {
		behave func(int, receipt.Receipt) (int, []receipt.Receipt)
		want   counts
	}{
		"good": {once, counts{sent: 160, acknowledged: 160}},
		"receipt doubled": {func(i int, r receipt.Receipt) (int, []receipt.Receipt) {
			if i == 70 {
				return 1, []receipt.Receipt{r, r}
			}

			return 1, []receipt.Receipt{r}
		}, counts{sent: 160, acknowledged: 160, doubled: 1}},
		"receipt dropped": {func(i int, r receipt.Receipt) (int, []receipt.Receipt) {
			if i == 70 {
				return 1, nil
			}

			return 1, []receipt.Receipt{r}
		}, counts{sent: 160, acknowledged: 159, lost: 1}},
		"message dropped": {func(i int, r receipt.Receipt) (int, []receipt.Receipt) {
			if i == 70 {
				return 0, nil
			}

			return 1, []receipt.Receipt{r}
		}, counts{sent: 160, acknowledged: 159, lost: 1, differs: 1}},
		"committed twice": {func(i int, r receipt.Receipt) (int, []receipt.Receipt) {
			if i == 70 {
				return 2, []receipt.Receipt{r}
			}

			return 1, []receipt.Receipt{r}
		}, counts{sent: 160, acknowledged: 160, differs: 1}},
		"another content": {func(i int, r receipt.Receipt) (int, []receipt.Receipt) {
			if i == 70 {
				r.Hash++
			}

			return 1, []receipt.Receipt{r}
		}, counts{sent: 160, acknowledged: 159, lost: 1, unexpected: 1}},
		"ordinal never sent": {func(i int, r receipt.Receipt) (int, []receipt.Receipt) {
			far := r
			far.Ordinal = 1000

			if i == 70 {
				return 1, []receipt.Receipt{far, r}
			}

			return 1, []receipt.Receipt{r}
		}, counts{sent: 160, acknowledged: 160, unexpected: 1}},
		"quarantined": {func(i int, r receipt.Receipt) (int, []receipt.Receipt) {
			if i == 70 {
				r.Status = receipt.Quarantined

				return 0, []receipt.Receipt{r}
			}

			return 1, []receipt.Receipt{r}
		}, counts{sent: 160, acknowledged: 159, lost: 1, differs: 1}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			store := openStore(t)
			g := &target{t: t, store: store, behave: tt.behave}
			v := run(t, config(g.start(16)), store, capture(n))

			if got := countsOf(v); got != tt.want {
				t.Errorf("got  %+v\nwant %+v\n%+v", got, tt.want, v)
			}

			if good := name == "good"; v.OK() != good {
				t.Errorf("OK %v, want %v: %+v", v.OK(), good, v)
			}

			checkRest(t, v, n)
		})
	}
}

// checkRest looks at what a fault must not change.
func checkRest(t *testing.T, v *replay.Verdict, n uint64) {
	t.Helper()

	if v.PPID[100] != 2*n || v.PPID[101] != 2*n || len(v.PPID) != 2 {
		t.Errorf("PPIDs %v, want %d each of 100 and 101", v.PPID, 2*n)
	}

	if v.Sessions != 4 || v.Associations != 4 {
		t.Errorf("%d sessions over %d associations, want 4 each", v.Sessions, v.Associations)
	}

	if l := v.Latency; l.P50 <= 0 || l.P50 > l.P99 || l.P99 > l.P999 || v.Seconds <= 0 || *v.MessagesPerSecond <= 0 {
		t.Errorf("latency %+v, %v s, %v/s", l, v.Seconds, *v.MessagesPerSecond)
	}

	var nodes uint64
	for _, count := range v.Nodes {
		nodes += count
	}

	if nodes < v.Sent-1 || nodes > v.Sent+1 {
		t.Errorf("nodes %v, want all of %d", v.Nodes, v.Sent)
	}
}

// swapper holds a receipt back until the next one on the same association has gone.
type swapper struct {
	mu   sync.Mutex
	held map[uint16]receipt.Receipt
}

func TestReceiptsOutOfOrder(t *testing.T) {
	var once sync.Once

	s := swapper{held: map[uint16]receipt.Receipt{}}
	g := &target{t: t, behave: func(_ int, r receipt.Receipt) (int, []receipt.Receipt) {
		s.mu.Lock()
		defer s.mu.Unlock()

		if r.Unordered {
			return 1, []receipt.Receipt{r}
		}

		if held, ok := s.held[r.Stream]; ok {
			delete(s.held, r.Stream)

			return 1, []receipt.Receipt{r, held}
		}

		out := []receipt.Receipt{r}

		once.Do(func() {
			s.held[r.Stream] = r
			out = nil
		})

		return 1, out
	}}

	cfg := config(g.start(16))
	cfg.Side = replay.Client
	tr := capture(30)
	tr.Messages = slices.DeleteFunc(tr.Messages, func(m trace.Message) bool { return m.Association != 0 })

	v := run(t, cfg, nil, tr)
	if want := (counts{sent: 30, acknowledged: 30, outOfOrder: 1}); countsOf(v) != want {
		t.Errorf("got %+v, want %+v: %+v", countsOf(v), want, v)
	}

	if v.OK() || v.Ledger || len(v.Warnings) != 1 {
		t.Errorf("OK %v, ledger %v, warnings %q, want a bad verdict that says the ledger was not compared", v.OK(), v.Ledger, v.Warnings)
	}
}

// TestUnorderedMatchByContent gives unordered messages ordinals as if they had arrived
// the other way round.
func TestUnorderedMatchByContent(t *testing.T) {
	var (
		mu   sync.Mutex
		held []receipt.Receipt
	)

	g := &target{t: t, behave: func(_ int, r receipt.Receipt) (int, []receipt.Receipt) {
		mu.Lock()
		defer mu.Unlock()

		held = append(held, r)
		if len(held) < 10 {
			return 1, nil
		}

		for i := range held {
			held[i].Ordinal = uint64(len(held) - i)
		}

		return 1, append(held, held[3])
	}}

	cfg := config(g.start(16))
	cfg.Side = replay.Client
	tr := capture(10)
	tr.Messages = slices.DeleteFunc(tr.Messages, func(m trace.Message) bool { return m.Association != 0 })

	for i := range tr.Messages {
		m := &tr.Messages[i]
		m.Unordered, m.Stream = true, 0
		m.Payload = fmt.Appendf(nil, "one of %d", i/4) // equal ones among them
	}

	v := run(t, cfg, nil, tr)
	if want := (counts{sent: 10, acknowledged: 10, doubled: 1}); countsOf(v) != want {
		t.Errorf("got %+v, want %+v", countsOf(v), want)
	}
}

func TestTargetWithoutReceipts(t *testing.T) {
	tests := map[string]struct {
		mode   replay.ReceiptMode
		behave func(int, receipt.Receipt) (int, []receipt.Receipt)
		want   counts
	}{
		"good, noticed": {replay.ReceiptsAuto, once, counts{sent: 160, acknowledged: 160}},
		"good, told":    {replay.ReceiptsOff, once, counts{sent: 160, acknowledged: 160}},
		"lost": {replay.ReceiptsOff, func(i int, _ receipt.Receipt) (int, []receipt.Receipt) {
			return min(1, i%70), nil
		}, counts{sent: 160, acknowledged: 158, lost: 2, differs: 2}},
		"doubled": {replay.ReceiptsAuto, func(i int, _ receipt.Receipt) (int, []receipt.Receipt) {
			if i == 80 { // not the last: the verdict need not wait for what comes behind that
				return 2, nil
			}

			return 1, nil
		}, counts{sent: 160, acknowledged: 160, doubled: 1, differs: 1}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			store := openStore(t)
			g := &target{t: t, store: store, behave: tt.behave, silent: true}

			cfg := config(g.start(16))
			cfg.Receipts, cfg.Window = tt.mode, 5

			v := run(t, cfg, store, capture(40))

			got := countsOf(v)
			if name == "lost" {
				got.differs = max(got.differs, 2) // both may be of one session
			}

			if got != tt.want || v.Receipts {
				t.Errorf("got  %+v\nwant %+v\n%+v", got, tt.want, v)
			}
		})
	}
}

func TestStreamsAreFolded(t *testing.T) {
	store := openStore(t)
	g := &target{t: t, store: store, behave: once}

	v := run(t, config(g.start(2)), store, capture(40))
	if !v.OK() || len(v.Warnings) != 1 || !strings.Contains(v.Warnings[0], "another stream") {
		t.Errorf("verdict %+v, want a good one that warns of folded streams", v)
	}
}

func TestRoundsAndFilesAddUp(t *testing.T) {
	store := openStore(t)
	g := &target{t: t, store: store, behave: once}

	first, second := capture(10), capture(10)
	for i := range second.Messages { // ISUP: sessions that all associations and files share
		for _, tr := range []*trace.Trace{first, second} {
			tr.Messages[i].PPID, tr.Messages[i].Payload = 3, isup(uint16(i%4), byte(i))
		}
	}

	cfg := config(g.start(16))
	cfg.Times = 3

	run(t, cfg, store, first) // what is there before does not count

	v := run(t, cfg, store, first, second)
	if want := (counts{sent: 240, acknowledged: 240}); countsOf(v) != want || !v.OK() {
		t.Errorf("got %+v, want %+v: %+v", countsOf(v), want, v)
	}

	if v.Sessions != 4 || v.Associations != 24 {
		t.Errorf("%d sessions over %d associations, want 4 circuits over 24", v.Sessions, v.Associations)
	}

	var nodes uint64
	for _, count := range v.Nodes {
		nodes += count
	}

	if nodes != 240 {
		t.Errorf("nodes %v, want those of this run alone", v.Nodes)
	}
}

func TestAssociationFails(t *testing.T) {
	var first sync.Once

	g := &target{t: t, behave: once, admit: func(a *transport.Association) {
		first.Do(func() { a.Abort("maintenance") })
	}}

	v := run(t, config(g.start(16)), nil, capture(20))
	if v.OK() || len(v.Errors) != 1 {
		t.Fatalf("verdict %+v, want one failed association", v)
	}

	for _, want := range []string{"made.pcap", "association", "maintenance", "20 messages"} {
		if !strings.Contains(v.Errors[0], want) {
			t.Errorf("error %q does not say %q", v.Errors[0], want)
		}
	}

	if v.Sent+v.Unsent != 80 || v.Acknowledged != 60 || v.Lost != v.Sent-60 {
		t.Errorf("verdict %+v, want 60 acknowledged and the rest lost or not sent", v)
	}
}

// A target that shuts an association down as soon as it has answered everything did nothing wrong, whether or not its
// last receipts are still on their way then.
func TestTargetClosesAfterTheLastReceipt(t *testing.T) {
	for range 20 {
		g := &target{t: t, behave: once, closeAfter: 10}

		cfg := config(g.start(16))
		cfg.Side = replay.Client

		if v := run(t, cfg, nil, capture(10)); !v.OK() || v.Acknowledged != 20 {
			t.Fatalf("verdict %+v, want a good one", v)
		}
	}
}

// One that does so earlier did.
func TestTargetClosesEarly(t *testing.T) {
	g := &target{t: t, behave: once, closeAfter: 9}

	cfg := config(g.start(16))
	cfg.Side = replay.Client

	v := run(t, cfg, nil, capture(10))
	if v.OK() || v.Acknowledged != 18 || v.Sent+v.Unsent != 20 {
		t.Errorf("verdict %+v, want two messages lost or not sent", v)
	}
}

func TestNobodyListens(t *testing.T) {
	link, err := transport.ListenUDP(netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}

	addr := link.LocalAddr()
	if err := link.Close(); err != nil {
		t.Fatal(err)
	}

	cfg := config(addr)
	cfg.DialTimeout = 200 * time.Millisecond

	v := run(t, cfg, nil, capture(2))
	if v.OK() || v.Sent != 0 || v.Unsent != 8 || len(v.Errors) != 4 {
		t.Fatalf("verdict %+v, want four associations that did not come up", v)
	}

	if !strings.Contains(v.Errors[0], addr.String()) {
		t.Errorf("error %q does not name %s", v.Errors[0], addr)
	}
}

func TestPaceOfTheCapture(t *testing.T) {
	var (
		mu    sync.Mutex
		order []uint64
	)

	g := &target{t: t, behave: func(_ int, r receipt.Receipt) (int, []receipt.Receipt) {
		mu.Lock()
		defer mu.Unlock()

		order = append(order, r.Hash)

		return 1, []receipt.Receipt{r}
	}}

	tr := capture(4)
	tr.Messages = slices.DeleteFunc(tr.Messages, func(m trace.Message) bool { return m.Direction == trace.ToClient })

	var want []uint64

	for i := range tr.Messages { // the two associations take turns, far enough apart
		tr.Messages[i].Time = tr.Start.Add(time.Duration(i) * 700 * time.Second)
		tr.Messages[i].Stream, tr.Messages[i].Unordered = 0, false
		want = append(want, receipt.Hash(tr.Messages[i].Payload))
	}

	cfg := config(g.start(16))
	cfg.Speed = 1000
	cfg.IdleTimeout = 20 * time.Millisecond // less than between messages: waiting is not idleness

	if v := run(t, cfg, nil, tr); countsOf(v) != (counts{sent: 8, acknowledged: 8}) {
		t.Errorf("verdict %+v, want all acknowledged", v)
	}

	mu.Lock()
	defer mu.Unlock()

	if !slices.Equal(order, want) {
		t.Errorf("messages arrived in the order %x, want %x", order, want)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	g := &target{t: t, behave: func(number int, r receipt.Receipt) (int, []receipt.Receipt) {
		if number == 10 {
			cancel()
		}

		return 1, []receipt.Receipt{r}
	}}

	cfg := config(g.start(16))
	cfg.Speed = 0.001 // the capture would take long

	tr := capture(10)
	tr.Messages = append(tr.Messages, tr.Messages...)

	for i := range tr.Messages[:40] {
		tr.Messages[i].Time = tr.Start
	}

	r, err := replay.New(cfg, []*trace.Trace{tr}, nil, nil, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}

	v, err := r.Run(ctx)
	if !errors.Is(err, context.Canceled) || v == nil || v.Sent < 10 || v.Unsent == 0 {
		t.Errorf("got %+v, %v, want the verdict so far and the context's error", v, err)
	}

	if v.OK() || v.Judgement != replay.Incomplete || v.Lost != 0 || v.Acknowledged+v.Unanswered != v.Sent || len(v.Errors) > 0 {
		t.Errorf("verdict %+v, want an incomplete one that has no losses", v)
	}

	if text := rendered(t, v); !strings.Contains(text, "verdict          incomplete: the replay was interrupted\n") {
		t.Errorf("the verdict is not told to be incomplete:\n%s", text)
	}
}

func TestProgressReachesTheTotal(t *testing.T) {
	g := &target{t: t, behave: once}
	cfg := config(g.start(16))
	cfg.Times = 2

	var done, total uint64

	r, err := replay.New(cfg, []*trace.Trace{capture(10)}, nil, func(d, n uint64) {
		if d < done {
			t.Errorf("progress went back from %d to %d", done, d)
		}

		done, total = d, n
	}, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}

	if _, err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}

	if done != 80 || total != 80 {
		t.Errorf("progress ended at %d of %d, want 80 of 80", done, total)
	}
}
