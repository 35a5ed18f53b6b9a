package replay_test

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"skyring/protocol/transport"
	"skyring/statestore"
	"skyring/testbed/replay"
	"skyring/testbed/trace"
)

func TestNobodyCanJudge(t *testing.T) {
	g := &target{t: t, behave: once, silent: true}

	cfg := config(g.start(16))

	v := run(t, cfg, nil, capture(4))
	if v.OK() || v.Judgement != replay.Unknown || v.Lost != 0 || v.Unanswered != 16 {
		t.Errorf("verdict %+v, want that nothing can be judged", v)
	}

	text := rendered(t, v)
	for _, want := range []string{"cannot be judged", "--receipts", "--redis", "16 unanswered", "lost 0"} {
		if !strings.Contains(text, want) {
			t.Errorf("the verdict does not say %q:\n%s", want, text)
		}
	}

	cfg.Receipts = replay.ReceiptsOff

	if _, err := replay.New(cfg, []*trace.Trace{capture(4)}, nil, nil, zerolog.Nop()); err == nil {
		t.Error("a replay that nothing can judge begins")
	}
}

func rendered(t *testing.T, v *replay.Verdict) string {
	t.Helper()

	var text strings.Builder
	if err := v.Render(&text); err != nil {
		t.Fatal(err)
	}

	return text.String()
}

// TestUnmeasuredIsNull tells what was not measured from what is zero.
func TestUnmeasuredIsNull(t *testing.T) {
	g := &target{t: t, store: openStore(t), behave: once, silent: true}
	cfg := config(g.start(16))

	for want, store := range map[string]*statestore.Store{"nodes": nil, "": g.store} {
		v := run(t, cfg, store, capture(4))

		encoded, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}

		for _, name := range []string{"latency", "messagesPerSecond", want} {
			if name != "" && !strings.Contains(string(encoded), `"`+name+`":null`) {
				t.Errorf("%s is not null in %s", name, encoded)
			}
		}

		if want == "" && (v.Nodes == nil || !v.OK()) {
			t.Errorf("verdict %+v", v)
		}
	}
}

// TestTargetGoesAwayForGood plays no round after the first one in which nothing could be opened.
func TestTargetGoesAwayForGood(t *testing.T) {
	link, err := transport.ListenUDP(netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}

	addr := link.LocalAddr()
	if err := link.Close(); err != nil {
		t.Fatal(err)
	}

	cfg := config(addr)
	cfg.DialTimeout, cfg.Times = 200*time.Millisecond, 1_000_000

	v := run(t, cfg, nil, capture(2))
	if v.Judgement != replay.Bad || v.Associations != 4 || v.Unsent != 8 {
		t.Errorf("verdict %+v, want one round", v)
	}

	if want := "in round 1 of 1000000 no association could be opened"; !strings.Contains(rendered(t, v), want) {
		t.Errorf("the verdict does not say %q:\n%s", want, rendered(t, v))
	}
}
