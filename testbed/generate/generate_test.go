package generate_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"testing"
	"time"

	"skyring/protocol/key"
	"skyring/testbed/generate"
	"skyring/testbed/trace"
)

func generated(tb testing.TB, cfg generate.Config) ([]byte, generate.Written) {
	tb.Helper()
	var out bytes.Buffer
	written, err := generate.Write(&out, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return out.Bytes(), written
}

// The bytes of a seed are pinned: a demonstration or a bug report that names a seed means the same everywhere.
func TestSeedGivesTheSameBytes(t *testing.T) {
	const want = "175ff33752f50e5e615e9ecf5d4c6dc3c90373b5da13efdedb3222ff98cc2160"
	data, _ := generated(t, generate.DefaultConfig())
	sum := sha256.Sum256(data)
	if got := hex.EncodeToString(sum[:]); got != want {
		t.Errorf("sha256 of the default capture is %s, want %s", got, want)
	}
	other := generate.DefaultConfig()
	other.Seed++
	if changed, _ := generated(t, other); bytes.Equal(data, changed) {
		t.Error("another seed gives the same bytes")
	}
}

func TestReadBackEqualsWhatWasWritten(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*generate.Config){
		"default":      func(*generate.Config) {},
		"pcap":         func(c *generate.Config) { c.Format = generate.PCAP },
		"repeats":      func(c *generate.Config) { c.Repeats = 0.5 },
		"associations": func(c *generate.Config) { c.Associations, c.Seed = 300, 7 },
		"burst":        func(c *generate.Config) { c.Duration, c.Hold, c.Ring = time.Millisecond, 0, 0 },
		"few":          func(c *generate.Config) { c.Associations, c.Messages = 40, 7 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := generate.DefaultConfig()
			change(&cfg)
			data, written := generated(t, cfg)
			got, err := trace.Read(context.Background(), bytes.NewReader(data), name, trace.DefaultConfig())
			if err != nil {
				t.Fatal(err)
			}
			compare(t, cfg, got, written)
		})
	}
}

func compare(t *testing.T, cfg generate.Config, got *trace.Trace, written generate.Written) {
	t.Helper()
	if len(got.Warnings) > 0 || got.BadCRC > 0 || got.Other > 0 {
		t.Errorf("warnings %v, %d bad checksums, %d other packets", got.Warnings, got.BadCRC, got.Other)
	}
	if int(got.Packets) != written.Packets || len(got.Associations) != written.Associations {
		t.Fatalf("%d packets in %d associations, want %d in %d", got.Packets, len(got.Associations), written.Packets, written.Associations)
	}
	var chunks, repeated uint64
	for _, a := range got.Associations {
		if a.Role != trace.RoleHandshake || a.Ending != trace.EndingShutdown {
			t.Errorf("association %d: roles by %s, ending %q", a.ID, a.Role, a.Ending)
		}
		chunks += a.ToServer.Chunks + a.ToClient.Chunks
		repeated += a.ToServer.Repeated + a.ToClient.Repeated
	}
	if int(chunks) != written.Chunks || int(repeated) != written.Repeated {
		t.Errorf("%d chunks, %d repeated, want %d, %d", chunks, repeated, written.Chunks, written.Repeated)
	}
	want := slices.Clone(written.Messages)
	have := slices.Clone(got.Messages)
	if cfg.Format == generate.PCAP {
		for i := range want {
			want[i].Time = want[i].Time.Truncate(time.Microsecond)
		}
	}
	// associations are numbered by start in the reader: the client's first TSN tells which is which
	bySender(want)
	bySender(have)
	if len(have) != len(want) {
		t.Fatalf("%d messages, want %d", len(have), len(want))
	}
	for i := range want {
		w, h := want[i], have[i]
		w.Association, h.Association = 0, 0
		if !w.Time.Equal(h.Time) || w.Direction != h.Direction || w.Stream != h.Stream || w.PPID != h.PPID ||
			w.Unordered != h.Unordered || w.SSN != h.SSN || w.TSN != h.TSN || !bytes.Equal(w.Payload, h.Payload) {
			t.Fatalf("message %d: %+v, want %+v", i, h, w)
		}
	}
}

func bySender(messages []trace.Message) {
	slices.SortStableFunc(messages, func(a, b trace.Message) int {
		return cmp.Or(cmp.Compare(a.PPID, b.PPID), cmp.Compare(a.TSN, b.TSN), cmp.Compare(a.Direction, b.Direction))
	})
}

// Each protocol's messages are keyed by their own session: a capture with one key an association would demonstrate nothing.
func TestMessagesAreKeyedBySession(t *testing.T) {
	_, written := generated(t, generate.DefaultConfig())
	kinds := make(map[key.Kind]map[string]bool)
	for _, m := range written.Messages {
		k, err := key.Append(nil, uint64(m.Association), m.PPID, m.Payload)
		if err != nil {
			t.Fatalf("PPID %d, % x: %v", m.PPID, m.Payload[:min(len(m.Payload), 40)], err)
		}
		kind := key.KindOf(k)
		if kinds[kind] == nil {
			kinds[kind] = make(map[string]bool)
		}
		kinds[kind][string(k)] = true
	}
	for _, kind := range []key.Kind{key.KindAssociation, key.KindS1AP, key.KindNGAP, key.KindISUP, key.KindDiameter, key.KindH248} {
		if len(kinds[kind]) < 10 {
			t.Errorf("%d sessions are keyed as %v, want at least 10", len(kinds[kind]), kind)
		}
	}
}

func TestFeaturesAreThere(t *testing.T) {
	data, written := generated(t, generate.DefaultConfig())
	got, err := trace.Read(context.Background(), bytes.NewReader(data), "generated", trace.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	var unordered, fragmented, six int
	for _, m := range written.Messages {
		if m.Unordered {
			unordered++
		}
		if len(m.Payload) > 1200 {
			fragmented++
		}
	}
	for _, a := range got.Associations {
		if a.Client.Addrs[0].Is6() {
			six++
		}
	}
	var data0 uint64
	for _, c := range got.Chunks {
		if c.Name == "DATA" {
			data0 = c.Count
		}
	}
	if unordered == 0 || fragmented == 0 || six == 0 || written.Repeated == 0 {
		t.Errorf("unordered %d, fragmented %d, IPv6 %d, repeated %d: want some of each", unordered, fragmented, six, written.Repeated)
	}
	if int(data0) != written.Chunks || len(written.Messages) < generate.DefaultConfig().Messages {
		t.Errorf("%d chunks of %d, %d messages", data0, written.Chunks, len(written.Messages))
	}
}

func TestValidateNamesEveryFault(t *testing.T) {
	_, err := generate.Write(nil, generate.Config{})
	if err == nil {
		t.Fatal("settings of nothing are taken")
	}
	for _, want := range []string{"associations", "duration", "start", "format"} {
		if !bytes.Contains([]byte(err.Error()), []byte(want)) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
}

type fullDisk struct{}

var errFull = errors.New("no space left")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestWriterErrorIsReported(t *testing.T) {
	for _, format := range []generate.Format{generate.PCAP, generate.PCAPNG} {
		cfg := generate.DefaultConfig()
		cfg.Format = format
		if _, err := generate.Write(fullDisk{}, cfg); !errors.Is(err, errFull) {
			t.Errorf("%s: error %v, want %v", format, err, errFull)
		}
	}
}
