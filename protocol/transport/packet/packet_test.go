package packet_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"strings"
	"testing"

	"skyring/protocol/transport/packet"
)

func TestHeader(t *testing.T) {
	b := packet.Header{SourcePort: 1, DestinationPort: 0x8002, VerificationTag: 0xDEADBEEF}.Append(nil)
	if got := hex.EncodeToString(b); got != "00018002deadbeef00000000" {
		t.Fatalf("wrote %s", got)
	}
	packet.PutChecksum(b)
	h, err := packet.ParseHeader(b)
	if err != nil || h.SourcePort != 1 || h.DestinationPort != 0x8002 || h.VerificationTag != 0xDEADBEEF {
		t.Fatalf("read %+v, %v", h, err)
	}
	if h.Checksum != packet.Checksum(b) {
		t.Errorf("checksum %x, want %x", h.Checksum, packet.Checksum(b))
	}
	if _, err := packet.ParseHeader(b[:11]); !errors.Is(err, packet.ErrShortHeader) {
		t.Errorf("11 bytes: %v", err)
	}
}

func TestChecksum(t *testing.T) {
	b := bytes.Repeat([]byte{0xA5, 1, 2}, 50)
	packet.PutChecksum(b)
	zeroed := append([]byte(nil), b...)
	copy(zeroed[8:12], make([]byte, 4))
	if want := crc32.Checksum(zeroed, crc32.MakeTable(crc32.Castagnoli)); packet.Checksum(b) != want {
		t.Errorf("checksum %x, want %x", packet.Checksum(b), want)
	}
	if !packet.ChecksumOK(b) {
		t.Error("own checksum is wrong")
	}
	for i := range b {
		b[i] ^= 0x10
		if packet.ChecksumOK(b) {
			t.Errorf("a flipped bit at %d goes unseen", i)
		}
		b[i] ^= 0x10
	}
	for n := range packet.HeaderLen {
		if packet.ChecksumOK(b[:n]) {
			t.Errorf("%d bytes have a right checksum", n)
		}
	}
	if n := testing.AllocsPerRun(100, func() { packet.ChecksumOK(b) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// captured is a packet of S1AP as a capture has it: DATA, then a SACK without its padding.
func captured() []byte {
	b := packet.Header{SourcePort: 36412, DestinationPort: 36412, VerificationTag: 7}.Append(nil)
	b = packet.Data{TSN: 9, Stream: 2, SSN: 3, PPID: 18, Beginning: true, Ending: true, Payload: []byte("abcde")}.Append(b)
	return append(b, byte(packet.TypeHeartbeat), 0, 0, 5, 'x')
}

func TestChunks(t *testing.T) {
	var got []string
	for c, err := range packet.Chunks(captured()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, c.Type.String()+" "+string(c.Value))
	}
	want := []string{"DATA \x00\x00\x00\x09\x00\x02\x00\x03\x00\x00\x00\x12abcde", "HEARTBEAT x"}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got %q", got)
	}
	for _, err := range packet.Chunks(captured()) {
		if err == nil {
			break // an early end must not go on
		}
	}
	b := captured()
	if n := testing.AllocsPerRun(100, func() {
		for c, err := range packet.Chunks(b) {
			if err != nil || len(c.Raw) == 0 {
				t.Error("lost")
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestLyingLengths(t *testing.T) {
	header := packet.Header{SourcePort: 1, DestinationPort: 1}.Append(nil)
	for _, c := range []struct {
		name, chunks string
		offset       int
		fault        error
	}{
		{"type only", "00", 12, packet.ErrCutShort},
		{"no length", "000000", 12, packet.ErrCutShort},
		{"length 0", "00000000", 12, packet.ErrTooSmall},
		{"length 3", "00000003", 12, packet.ErrTooSmall},
		{"one too long", "0000000500", 0, nil},
		{"past the end", "00000006aa", 12, packet.ErrPastEnd},
		{"the highest", "0000ffff", 12, packet.ErrPastEnd},
		{"second chunk", "0b0000040a000005", 16, packet.ErrPastEnd},
		{"rest after padding", "0b000005aa00000099", 20, packet.ErrCutShort},
	} {
		t.Run(c.name, func(t *testing.T) {
			raw, _ := hex.DecodeString(c.chunks)
			var last error
			for _, err := range packet.Chunks(append(append([]byte(nil), header...), raw...)) {
				if last != nil {
					t.Fatal("goes on after an error")
				}
				last = err
			}
			if c.fault == nil {
				if last != nil {
					t.Fatal(last)
				}
				return
			}
			var wrong *packet.LengthError
			if !errors.Is(last, c.fault) || !errors.As(last, &wrong) || wrong.Offset != c.offset {
				t.Fatalf("got %v, want %v at %d", last, c.fault, c.offset)
			}
		})
	}
	for _, err := range packet.Chunks(header[:5]) {
		if !errors.Is(err, packet.ErrShortHeader) {
			t.Errorf("short header: %v", err)
		}
	}
}

func TestData(t *testing.T) {
	for flags := range 16 {
		d := packet.Data{
			TSN: 0xFFFFFFFF, Stream: 65535, SSN: 1, PPID: 0xFEDCBA98, Payload: []byte("xy"),
			Ending: flags&1 != 0, Beginning: flags&2 != 0, Unordered: flags&4 != 0, Immediate: flags&8 != 0,
		}
		b := d.Append(packet.Header{}.Append(nil))
		if len(b)%4 != 0 {
			t.Errorf("%d bytes are not padded", len(b))
		}
		c, next, err := packet.ChunkAt(b, packet.HeaderLen)
		if err != nil || next != len(b) || int(c.Flags) != flags {
			t.Fatalf("%+v %d %v", c, next, err)
		}
		got, err := packet.ParseData(c)
		if err != nil || !bytes.Equal(got.Payload, d.Payload) {
			t.Fatalf("%+v %v", got, err)
		}
		got.Payload, d.Payload = nil, nil
		if got.TSN != d.TSN || got.Stream != d.Stream || got.SSN != d.SSN || got.PPID != d.PPID ||
			got.Unordered != d.Unordered || got.Beginning != d.Beginning || got.Ending != d.Ending ||
			got.Immediate != d.Immediate {
			t.Errorf("got %+v, want %+v", got, d)
		}
	}
	short := packet.Chunk{Type: packet.TypeData, Value: make([]byte, 11), Raw: make([]byte, 15)}
	if _, err := packet.ParseData(short); !errors.Is(err, packet.ErrCutShort) {
		t.Errorf("15 bytes: %v", err)
	}
}

func TestInit(t *testing.T) {
	params := packet.AppendParameter(nil, 7, []byte("cookie"))
	params = packet.AppendParameter(params, 0xC000, nil)
	b := packet.Init{
		InitiateTag: 1, Window: 2, OutboundStreams: 3, InboundStreams: 4, InitialTSN: 5, Parameters: params,
	}.Append(packet.Header{}.Append(nil), packet.TypeInitAck)
	c, _, err := packet.ChunkAt(b, packet.HeaderLen)
	if err != nil || c.Type != packet.TypeInitAck {
		t.Fatalf("%v %v", c.Type, err)
	}
	got, err := packet.ParseInit(c)
	if err != nil || got.InitiateTag != 1 || got.Window != 2 || got.OutboundStreams != 3 || got.InboundStreams != 4 ||
		got.InitialTSN != 5 {
		t.Fatalf("%+v %v", got, err)
	}
	var types []uint16
	for p, err := range packet.Parameters(got.Parameters) {
		if err != nil {
			t.Fatal(err)
		}
		types = append(types, p.Type)
		if p.Type == 7 && string(p.Value) != "cookie" {
			t.Errorf("cookie %q", p.Value)
		}
	}
	if len(types) != 2 || types[1] != 0xC000 {
		t.Errorf("parameters %x", types)
	}
	if _, err := packet.ParseInit(packet.Chunk{Type: packet.TypeInit, Value: make([]byte, 15)}); err == nil {
		t.Error("15 bytes are an INIT")
	}
	for _, err := range packet.Parameters([]byte{0, 7, 0, 9, 1}) {
		if !errors.Is(err, packet.ErrPastEnd) {
			t.Errorf("lying parameter: %v", err)
		}
	}
}

func TestChunkType(t *testing.T) {
	for _, c := range []struct {
		t          packet.ChunkType
		name       string
		skip, tell bool
	}{
		{0, "DATA", false, false},
		{14, "SHUTDOWN-COMPLETE", false, false},
		{15, "AUTH", false, false},
		{16, "chunk type 16", false, false},
		{64, "I-DATA", false, true},
		{130, "RE-CONFIG", true, false},
		{193, "ASCONF", true, true},
		{255, "chunk type 255", true, true},
	} {
		if c.t.String() != c.name || c.t.Skippable() != c.skip || c.t.Reportable() != c.tell {
			t.Errorf("%d: %s %v %v", c.t, c.t, c.t.Skippable(), c.t.Reportable())
		}
	}
}

// FuzzPacket: whatever the bytes, reading ends, stays inside and what was read can be written again.
func FuzzPacket(f *testing.F) {
	f.Add(captured())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = packet.ParseHeader(b)
		_ = packet.ChecksumOK(b)
		read := 0
		for c, err := range packet.Chunks(b) {
			if err != nil {
				_ = err.Error()
				break
			}
			read += len(c.Raw)
			if again := packet.AppendChunk(nil, c.Type, c.Flags, c.Value); !bytes.Equal(again[:len(c.Raw)], c.Raw) {
				t.Fatalf("read %x, wrote %x", c.Raw, again)
			}
			if d, err := packet.ParseData(c); err == nil && c.Type == packet.TypeData && c.Flags < 16 {
				if again := d.Append(nil); !bytes.Equal(again[:len(c.Raw)], c.Raw) {
					t.Fatalf("read %x, wrote %x", c.Raw, again)
				}
			}
			if i, err := packet.ParseInit(c); err == nil && c.Type == packet.TypeInit && c.Flags == 0 {
				if again := i.Append(nil, c.Type); !bytes.Equal(again[:len(c.Raw)], c.Raw) {
					t.Fatalf("read %x, wrote %x", c.Raw, again)
				}
			}
			for p, err := range packet.Parameters(c.Value) {
				if err == nil && len(p.Raw) != len(p.Value)+packet.ChunkHeaderLen {
					t.Fatalf("parameter %x", p.Raw)
				}
			}
		}
		if read > len(b) {
			t.Fatalf("%d bytes of %d", read, len(b))
		}
	})
}
