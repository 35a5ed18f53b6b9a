package trace_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"skyring/testbed/generate"
	"skyring/testbed/trace"
)

func TestFilesThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	good := capture(t, layers.LinkTypeRaw, toServer(t, 0, data(1, 0, 0, whole, "a")))
	udp := ip(t, "10.0.0.1", "10.0.0.2", layers.IPProtocolUDP, stack(t, []byte("x"), &layers.UDP{SrcPort: 1, DstPort: 2}))
	for name, test := range map[string]struct {
		content []byte
		want    error
		says    string
	}{
		"empty":            {nil, trace.ErrEmpty, "is empty"},
		"one byte":         {[]byte{0xd4}, trace.ErrNotCapture, "starts as bytes d4"},
		"text":             {[]byte("Hello, wörld\n"), trace.ErrNotCapture, "starts as text"},
		"zip":              {[]byte("PK\x03\x04\x00\x00"), trace.ErrNotCapture, "zip"},
		"snoop":            {[]byte("snoop\x00\x00\x00"), trace.ErrNotCapture, "editcap"},
		"gzip of text":     {zipped(t, []byte("text")), trace.ErrNotCapture, "text"},
		"gzip of nothing":  {zipped(t, nil), trace.ErrEmpty, "empty"},
		"gzip header":      {[]byte{0x1f, 0x8b, 0x08}, trace.ErrDamaged, "gzip"},
		"cut file header":  {good[:20], trace.ErrCutShort, "within its pcap file header, at byte 20"},
		"cut first packet": {good[:50], trace.ErrCutShort, "in packet 1, which starts at offset 24"},
		"cut after header": {good[:40], trace.ErrCutShort, "in packet 1"},
		"wrong version":    {slices.Concat(good[:4], []byte{9, 0}, good[6:]), trace.ErrDamaged, "version"},
		"no packets":       {good[:24], trace.ErrNoSCTP, "pcap capture without packets"},
		"no SCTP":          {capture(t, layers.LinkTypeRaw, crafted{data: udp}, crafted{data: udp}), trace.ErrNoSCTP, "no SCTP in its 2 packets (2 UDP)"},
		"link type":        {capture(t, layers.LinkTypeMTP3, crafted{data: udp}), trace.ErrLinkType, "MTP3 (141)"},
		"link number":      {capture(t, 147, crafted{data: udp}), trace.ErrLinkType, "of unknown link type 147)"},
		"garbage":          {capture(t, layers.LinkTypeRaw, crafted{data: []byte{0x45, 1, 2}}), trace.ErrNoSCTP, "1 damaged, the first is packet 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "file.pcap")
			if err := os.WriteFile(path, test.content, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := open(t, path)
			if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), path) {
				t.Errorf("error %q, want %v with %q", err, test.want, test.says)
			}
		})
	}
	if _, err := open(t, t.TempDir()); !errors.Is(err, trace.ErrDirectory) {
		t.Errorf("a directory: %v", err)
	}
	if _, err := open(t, filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("a missing file: %v", err)
	}
}

// What comes before the cut is used, wherever the cut is, and the warning says which packet it is in.
func TestFileCutShortAnywhere(t *testing.T) {
	cfg := generate.DefaultConfig()
	cfg.Messages, cfg.Associations = 2, 1
	for _, cfg.Format = range []generate.Format{generate.PCAP, generate.PCAPNG} {
		var file bytes.Buffer
		if _, err := generate.Write(&file, cfg); err != nil {
			t.Fatal(err)
		}
		before, clean := uint64(0), uint64(0)
		for n := range file.Len() {
			got, err := trace.Read(context.Background(), bytes.NewReader(file.Bytes()[:n]), "cut", trace.DefaultConfig())
			if err != nil {
				var fault *trace.FileError
				if !errors.As(err, &fault) || before > 0 {
					t.Fatalf("%s cut at %d: %v", cfg.Format, n, err)
				}
				continue
			}
			if got.Packets < before {
				t.Fatalf("%s cut at %d: %d packets, %d when cut earlier", cfg.Format, n, got.Packets, before)
			}
			if !slices.ContainsFunc(got.Warnings, isCut) {
				clean++
			}
			for _, w := range got.Warnings {
				if isCut(w) && (w.Packet != got.Packets+1 || w.Offset > int64(n) || w.Offset == 0) {
					t.Fatalf("%s cut at %d: warning %+v after %d packets", cfg.Format, n, w, got.Packets)
				}
			}
			before = got.Packets
		}
		if before < 10 || clean != before { // a cut right after a packet is none
			t.Errorf("%s: %d packets, no warning at %d cuts", cfg.Format, before, clean)
		}
	}
}

func isCut(w trace.Warning) bool { return strings.Contains(w.Text, "is cut short") }

func TestGzipCutShort(t *testing.T) {
	cfg := generate.DefaultConfig()
	var file bytes.Buffer
	if _, err := generate.Write(&file, cfg); err != nil {
		t.Fatal(err)
	}
	packed := zipped(t, file.Bytes())
	got, err := trace.Read(context.Background(), bytes.NewReader(packed[:len(packed)/2]), "cut.gz", trace.DefaultConfig())
	if err != nil || len(got.Messages) < 100 || !got.Compressed || !slices.ContainsFunc(got.Warnings, isCut) {
		t.Errorf("%d messages, %v, %v", len(got.Messages), got.Warnings, err)
	}
}

func TestByteOrdersAndResolutions(t *testing.T) {
	t.Parallel()
	rec := toServer(t, 123456*time.Microsecond, data(1, 0, 0, whole, "a"))
	for name, test := range map[string]struct {
		order binary.AppendByteOrder
		magic uint32
		unit  time.Duration
	}{
		"little, microseconds": {binary.LittleEndian, 0xa1b2c3d4, time.Microsecond},
		"big, microseconds":    {binary.BigEndian, 0xa1b2c3d4, time.Microsecond},
		"little, nanoseconds":  {binary.LittleEndian, 0xa1b23c4d, time.Nanosecond},
		"big, nanoseconds":     {binary.BigEndian, 0xa1b23c4d, time.Nanosecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := test.order.AppendUint32(nil, test.magic)
			file = test.order.AppendUint16(file, 2)
			file = test.order.AppendUint16(file, 4)
			for _, word := range []uint32{0, 0, 65535, 101} {
				file = test.order.AppendUint32(file, word)
			}
			at := epoch.Add(rec.at)
			for _, word := range []int64{at.Unix(), int64(at.Nanosecond()) / int64(test.unit), int64(len(rec.data)), int64(len(rec.data))} {
				file = test.order.AppendUint32(file, uint32(word))
			}
			got := read(t, append(file, rec.data...))
			if len(got.Messages) != 1 || !got.Messages[0].Time.Equal(at) {
				t.Errorf("messages %+v, want one at %v", got.Messages, at)
			}
		})
	}
}

// A pcapng may hold interfaces of different link types.
func TestSeveralInterfaces(t *testing.T) {
	var file bytes.Buffer
	w, err := pcapgo.NewNgWriter(&file, layers.LinkTypeRaw)
	if err != nil {
		t.Fatal(err)
	}
	description := pcapgo.DefaultNgInterface
	description.LinkType = layers.LinkTypeEthernet
	if _, err := w.AddInterface(description); err != nil {
		t.Fatal(err)
	}
	first := toServer(t, 0, data(1, 0, 0, whole, "a"))
	second := toServer(t, 0, data(2, 0, 1, whole, "b"))
	second.data = stack(t, second.data, ethernet(layers.EthernetTypeIPv4))
	for i, rec := range []crafted{first, second} {
		info := gopacket.CaptureInfo{Timestamp: epoch.Add(time.Duration(i)), CaptureLength: len(rec.data), Length: len(rec.data), InterfaceIndex: i}
		if err := w.WritePacket(info, rec.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	got := read(t, file.Bytes())
	if have := payloads(got.Messages); !slices.Equal(have, []string{"a", "b"}) || len(got.LinkTypes) != 2 {
		t.Errorf("messages %q, link types %v", have, got.LinkTypes)
	}
}

func TestLimitsEndTheReadingWithAWarning(t *testing.T) {
	var file bytes.Buffer
	if _, err := generate.Write(&file, generate.DefaultConfig()); err != nil {
		t.Fatal(err)
	}
	for name, limit := range map[string]func(*trace.Limits){
		"packets: 100":    func(l *trace.Limits) { l.Packets = 100 },
		"messages: 10":    func(l *trace.Limits) { l.Messages = 10 },
		"bytes: 1000":     func(l *trace.Limits) { l.Bytes = 1000 },
		"associations: 3": func(l *trace.Limits) { l.Associations = 3 },
	} {
		cfg := trace.DefaultConfig()
		limit(&cfg.Limits)
		got, err := trace.Read(context.Background(), bytes.NewReader(file.Bytes()), name, cfg)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(got.Warnings, func(w trace.Warning) bool { return strings.Contains(w.Text, "limit "+name) }) {
			t.Errorf("%s: warnings %v", name, got.Warnings)
		}
	}
}

func TestContextEndsTheReading(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	file := capture(t, layers.LinkTypeRaw, toServer(t, 0, data(1, 0, 0, whole, "a")))
	if _, err := trace.Read(ctx, bytes.NewReader(file), "x", trace.DefaultConfig()); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

func TestValidateNamesEveryFault(t *testing.T) {
	_, err := trace.Read(context.Background(), nil, "x", trace.Config{UDPPorts: []uint16{0}})
	for _, want := range []string{"udpPorts[0]", "limits.packets", "limits.messages", "limits.bytes", "limits.associations"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
}
