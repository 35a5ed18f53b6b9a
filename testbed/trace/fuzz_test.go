package trace_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/gopacket/gopacket/layers"

	"skyring/testbed/shared"
	"skyring/testbed/trace"
)

// FuzzRead reads anything: the end is a trace that holds together, or a sentence. Small captures from beside the project
// are its seeds, and the raw packets of a fuzz corpus within a capture of our own.
func FuzzRead(f *testing.F) {
	if os.Getenv("CI") == "true" || haveShared() {
		for _, path := range corpus(f) {
			content, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			if len(content) > 16<<10 {
				continue
			}
			f.Add(content)
			if filepath.Base(filepath.Dir(path)) == "CORPUS_FRAGMENT" {
				f.Add(capture(f, layers.LinkTypeRaw, toServer(f, 0, content)))
			}
		}
	}
	f.Add(capture(f, layers.LinkTypeRaw, toServer(f, 0, data(1, 0, 0, whole, "a"), idata(2, 0, 0, 18, whole, "b"))))
	cfg := trace.DefaultConfig()
	cfg.Limits = trace.Limits{Packets: 10_000, Messages: 10_000, Bytes: 1 << 20, Associations: 1000}
	f.Fuzz(func(t *testing.T, content []byte) {
		got, err := trace.Read(context.Background(), bytes.NewReader(content), "fuzz", cfg)
		if err != nil {
			if _, ok := errors.AsType[*trace.FileError](err); !ok {
				t.Fatalf("%v is no sentence", err)
			}
			return
		}
		checkTrace(t, got)
		checkInspection(t, got)
	})
}

func haveShared() bool {
	_, err := os.Stat(filepath.Join("..", "..", "..", "shared", "traces", "manifest.tsv"))
	return err == nil
}

func BenchmarkRead(bench *testing.B) {
	for _, name := range []string{
		"magma+magma/gx_gy_combined_04_sctp-only.pcapng", "debian-wireshark/netperfmeter.pcapng.gz", "pevma+mrp/sctp_randpkt_0001-0650.pcap",
		"OISF+suricata-verify/sctp-max-chunks.pcap",
	} {
		bench.Run(filepath.Base(name), func(bench *testing.B) {
			content, err := os.ReadFile(filepath.Join(shared.Traces(bench), name))
			if err != nil {
				bench.Fatal(err)
			}
			bench.SetBytes(int64(len(content)))
			bench.ReportAllocs()
			packets := uint64(0)
			for bench.Loop() {
				got, err := trace.Read(context.Background(), bytes.NewReader(content), name, trace.DefaultConfig())
				if err != nil {
					bench.Fatal(err)
				}
				packets += got.Packets
			}
			bench.ReportMetric(float64(packets)/bench.Elapsed().Seconds(), "packets/s")
		})
	}
}
