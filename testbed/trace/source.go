package trace

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
)

const (
	readBuffer  = 64 << 10
	wantCapture = "a pcap or pcapng capture (gzip allowed) is needed, as tcpdump, dumpcap and Wireshark write it"
)

// record is one packet of a capture. Its data is valid until the next one is read.
type record struct {
	link   layers.LinkType
	data   []byte
	length int // on the wire; more than len(data) when the packet was cut to the snap length
	time   time.Time
	offset int64 // of the record in the unpacked file
}

// source reads the records of a capture one by one.
type source struct {
	format     string
	compressed bool
	buffered   *bufio.Reader
	counted    *countingReader
	pcap       *pcapgo.Reader // one of the two is set
	ng         *pcapgo.NgReader
}

// openSource tells format and compression by their magic numbers and reads the file header. The fault lacks the name.
func openSource(r io.Reader) (*source, *FileError) {
	s := &source{}
	s.buffer(r)
	magic, err := s.buffered.Peek(2)
	if bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		unzip, err := gzip.NewReader(s.buffered)
		if err != nil {
			return nil, &FileError{Detail: "starts as gzip, but its header is damaged (" + err.Error() + ")", Want: wantCapture, Err: ErrDamaged}
		}
		s.compressed = true
		s.buffer(unzip)
	} else if err != nil && !errors.Is(err, io.EOF) {
		return nil, &FileError{Detail: "cannot be read", Want: err.Error(), Err: err}
	}
	return s, s.open()
}

func (s *source) buffer(r io.Reader) {
	s.counted = &countingReader{r: r}
	s.buffered = bufio.NewReaderSize(s.counted, readBuffer)
}

func (s *source) open() *FileError {
	head, err := s.buffered.Peek(512)
	if len(head) == 0 {
		if err != nil && !errors.Is(err, io.EOF) {
			return s.headerFault(err)
		}
		return &FileError{Detail: "is empty", Want: wantCapture, Err: ErrEmpty}
	}
	switch formatOf(head) {
	case "pcap":
		s.format = "pcap"
		s.pcap, err = pcapgo.NewReader(s.buffered)
	case "pcapng":
		s.format = "pcapng"
		s.ng, err = pcapgo.NewNgReader(s.buffered, pcapgo.NgReaderOptions{WantMixedLinkType: true, SkipUnknownVersion: true})
	default:
		return &FileError{Detail: "is no capture: it starts as " + describe(head), Want: wantCapture, Err: ErrNotCapture}
	}
	if err != nil {
		return s.headerFault(err)
	}
	return nil
}

func (s *source) headerFault(err error) *FileError {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &FileError{
			Detail: fmt.Sprintf("is cut short within its %s file header, at byte %d", s.format, s.offset()),
			Want:   "copy or capture it again", Err: ErrCutShort,
		}
	}
	return &FileError{Detail: "has a damaged file header (" + err.Error() + ")", Want: wantCapture, Err: ErrDamaged}
}

// next reads a record; the error is io.EOF at a clean end. The record's offset is set in any case.
func (s *source) next() (record, error) {
	var (
		rec = record{offset: s.offset()}
		ci  gopacket.CaptureInfo
		err error
	)
	if s.pcap != nil {
		rec.data, ci, err = s.pcap.ZeroCopyReadPacketData()
		rec.link = s.pcap.LinkType()
		if errors.Is(err, io.EOF) && ci.CaptureLength > 0 {
			err = io.ErrUnexpectedEOF // the file ends right after a record's header
		}
	} else {
		rec.data, ci, err = s.ng.ZeroCopyReadPacketData()
		if err == nil {
			rec.link, err = s.interfaceLink(ci.InterfaceIndex)
		}
	}
	rec.length, rec.time = ci.Length, ci.Timestamp
	return rec, err
}

func (s *source) interfaceLink(index int) (layers.LinkType, error) {
	description, err := s.ng.Interface(index)
	if err != nil {
		return 0, fmt.Errorf("interface %d of the section: %w", index, err)
	}
	return description.LinkType, nil
}

// offset is how many bytes of the unpacked file have been taken.
func (s *source) offset() int64 { return s.counted.n - int64(s.buffered.Buffered()) }

type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	return n, err
}

// formatOf knows the magic numbers of pcap (microseconds and nanoseconds, both byte orders) and pcapng.
func formatOf(head []byte) string {
	if len(head) < 4 {
		return ""
	}
	switch [4]byte(head) {
	case [4]byte{0xa1, 0xb2, 0xc3, 0xd4}, [4]byte{0xd4, 0xc3, 0xb2, 0xa1}, [4]byte{0xa1, 0xb2, 0x3c, 0x4d}, [4]byte{0x4d, 0x3c, 0xb2, 0xa1}:
		return "pcap"
	case [4]byte{0x0a, 0x0d, 0x0d, 0x0a}:
		return "pcapng"
	}
	return ""
}

// describe says what a file that is no capture looks like.
func describe(head []byte) string {
	for _, known := range []struct{ magic, name string }{
		{"snoop\x00", "a Solaris snoop capture; editcap -F pcapng converts it"},
		{"\x34\xcd\xb2\xa1", "a modified pcap (Kuznetzov's); editcap -F pcapng converts it"},
		{"\xa1\xb2\xcd\x34", "a modified pcap (Kuznetzov's); editcap -F pcapng converts it"},
		{"\x1f\x8b", "gzip within gzip"},
		{"BZh", "bzip2; unpack it first"},
		{"\xfd7zXZ", "xz; unpack it first"},
		{"\x28\xb5\x2f\xfd", "zstd; unpack it first"},
		{"\x04\x22\x4d\x18", "lz4; unpack it first"},
		{"PK\x03\x04", "a zip archive; unpack it first"},
	} {
		if bytes.HasPrefix(head, []byte(known.magic)) {
			return known.name
		}
	}
	if isText(head) {
		return "text"
	}
	return fmt.Sprintf("bytes % x", head[:min(len(head), 8)])
}

func isText(head []byte) bool {
	for rest := head; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		if r == utf8.RuneError && size == 1 {
			return len(rest) < len(head) && !utf8.FullRune(rest) // a rune cut by the end of head
		}
		if r < ' ' && r != '\n' && r != '\r' && r != '\t' {
			return false
		}
		rest = rest[size:]
	}
	return true
}
