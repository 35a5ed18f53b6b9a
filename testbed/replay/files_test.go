package replay_test

import (
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"skyring/statestore"
	"skyring/testbed/replay"
	"skyring/testbed/shared"
	"skyring/testbed/trace"
)

// captures are real ones with the user messages that tshark finds in them, by PPID:
// DATA chunks with the E bit, each TSN of an address, port and tag once.
func captures() map[string]map[uint32]uint64 {
	return map[string]map[uint32]uint64{
		"gx_gy_combined_04_sctp-only.pcapng":        {18: 544, 46: 1288},
		"inbound_roaming_05_210504_215514-1.pcapng": {18: 23, 46: 102},
		"isup.pcap":              {3: 6},
		"m3ua_synthetic.pcap":    {2: 3, 3: 18},
		"free5gc.pcap":           {60: 13},
		"sctpS1apNgap.pcap":      {18: 76, 60: 17},
		"netperfmeter.pcapng.gz": {36: 235, 37: 352},
		"sctp-test.cap":          {0: 120},
		"sctp-www.cap":           {0: 10},
	}
}

// files lists all captures beside the project.
func files(t *testing.T) []string {
	t.Helper()

	var paths []string

	err := filepath.WalkDir(shared.Traces(t), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			paths = append(paths, path)
		}

		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	return paths
}

// replayCaptures replays the captures of known content and holds the verdicts against
// it.
func replayCaptures(t *testing.T, cfg replay.Config, store *statestore.Store) {
	t.Helper()

	known, found := captures(), 0

	for _, path := range files(t) {
		want, ok := known[filepath.Base(path)]
		if !ok {
			continue
		}

		found++

		tr, err := trace.Open(t.Context(), path, trace.DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}

		v := run(t, cfg, store, tr)
		if !v.OK() || !maps.Equal(v.PPID, want) || v.Acknowledged != v.Sent || !v.Ledger || !v.Receipts {
			t.Errorf("%s: want all of %v acknowledged, got %+v", filepath.Base(path), want, v)
		}
	}

	if found != len(known) {
		t.Errorf("%d captures of %d are there", found, len(known))
	}
}

func TestCapturesOnRealParts(t *testing.T) {
	store := openStore(t)
	g := &target{t: t, store: store, behave: once}
	cfg := config(g.start(64))
	cfg.IdleTimeout = 5 * time.Second // no fault is expected: nobody waits for it
	replayCaptures(t, cfg, store)
}

// TestEveryFileEnds holds that whatever is replayed ends in a verdict or an error that
// says why.
func TestEveryFileEnds(t *testing.T) {
	store := openStore(t)
	g := &target{t: t, store: store, behave: once}
	cfg := config(g.start(64))
	cfg.IdleTimeout = 5 * time.Second

	verdicts := 0

	for _, path := range files(t) {
		tr, err := trace.Open(t.Context(), path, trace.DefaultConfig())
		if err != nil {
			continue // tested where captures are read
		}

		_, err = replay.New(cfg, []*trace.Trace{tr}, store, nil, zerolog.Nop())
		if errors.Is(err, replay.ErrNothing) {
			continue
		}

		if err != nil {
			t.Errorf("%s: %v", path, err)

			continue
		}

		if v := run(t, cfg, store, tr); !v.OK() {
			t.Errorf("%s: %+v", path, v)
		}

		verdicts++
	}

	if verdicts < 30 {
		t.Errorf("%d files ended in a verdict, want at least 30", verdicts)
	}
}
