package trace_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"net"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"skyring/protocol/transport/packet"
	"skyring/testbed/trace"
)

const (
	clientPort = 40000
	serverPort = 36412
	clientTag  = 0x11111111 // chosen by the client: on packets to it
	serverTag  = 0x22222222
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// crafted is one record of a capture that a test writes.
type crafted struct {
	at   time.Duration
	data []byte
	wire int // length on the wire, 0 for that of data
}

// capture writes a pcap of one link type.
func capture(tb testing.TB, link layers.LinkType, records ...crafted) []byte {
	tb.Helper()
	var out bytes.Buffer
	w := pcapgo.NewWriterNanos(&out)
	if err := w.WriteFileHeader(65535, link); err != nil {
		tb.Fatal(err)
	}
	for _, r := range records {
		info := gopacket.CaptureInfo{Timestamp: epoch.Add(r.at), CaptureLength: len(r.data), Length: max(r.wire, len(r.data))}
		if err := w.WritePacket(info, r.data); err != nil {
			tb.Fatal(err)
		}
	}
	return out.Bytes()
}

func read(tb testing.TB, data []byte) *trace.Trace {
	tb.Helper()
	got, err := trace.Read(context.Background(), bytes.NewReader(data), "crafted", trace.DefaultConfig())
	if err != nil {
		tb.Fatal(err)
	}
	checkTrace(tb, got)
	return got
}

// sctp is an SCTP packet with a right checksum.
func sctp(src, dst uint16, tag uint32, chunks ...[]byte) []byte {
	b := packet.Header{SourcePort: src, DestinationPort: dst, VerificationTag: tag}.Append(nil)
	for _, c := range chunks {
		b = append(b, c...)
	}
	packet.PutChecksum(b)
	return b
}

func data(tsn uint32, stream, ssn uint16, flags uint8, payload string) []byte {
	return packet.Data{
		TSN: tsn, Stream: stream, SSN: ssn, PPID: 18, Payload: []byte(payload), Unordered: flags&packet.FlagUnordered != 0,
		Beginning: flags&packet.FlagBeginning != 0, Ending: flags&packet.FlagEnding != 0,
	}.Append(nil)
}

const whole = packet.FlagBeginning | packet.FlagEnding

func idata(tsn uint32, stream uint16, mid, field uint32, flags uint8, payload string) []byte {
	value := binary.BigEndian.AppendUint32(nil, tsn)
	value = binary.BigEndian.AppendUint16(value, stream)
	value = append(value, 0, 0)
	value = binary.BigEndian.AppendUint32(value, mid)
	value = binary.BigEndian.AppendUint32(value, field)
	return packet.AppendChunk(nil, packet.TypeIData, flags, append(value, payload...))
}

func initChunk(kind packet.ChunkType, tag, tsn uint32, addrs ...string) []byte {
	var parameters []byte
	for _, addr := range addrs {
		ip := net.ParseIP(addr)
		if four := ip.To4(); four != nil {
			parameters = packet.AppendParameter(parameters, 5, four)
		} else {
			parameters = packet.AppendParameter(parameters, 6, ip)
		}
	}
	return packet.Init{InitiateTag: tag, Window: 65536, OutboundStreams: 8, InboundStreams: 8, InitialTSN: tsn, Parameters: parameters}.Append(nil, kind)
}

// ip puts a payload into IPv4.
func ip(tb testing.TB, src, dst string, protocol layers.IPProtocol, payload []byte) []byte {
	tb.Helper()
	return stack(tb, payload, &layers.IPv4{
		Version: 4, TTL: 64, Protocol: protocol, SrcIP: net.ParseIP(src).To4(), DstIP: net.ParseIP(dst).To4(),
	})
}

// stack serialises layers around a payload, the outermost first.
func stack(tb testing.TB, payload []byte, around ...gopacket.SerializableLayer) []byte {
	tb.Helper()
	buffer := gopacket.NewSerializeBuffer()
	options := gopacket.SerializeOptions{FixLengths: true}
	if err := gopacket.SerializeLayers(buffer, options, append(around, gopacket.Payload(payload))...); err != nil {
		tb.Fatal(err)
	}
	return bytes.Clone(buffer.Bytes())
}

// toServer and toClient are raw IPv4 packets between one client and one server.
func toServer(tb testing.TB, at time.Duration, chunks ...[]byte) crafted {
	tb.Helper()
	return crafted{at: at, data: ip(tb, "10.0.0.1", "10.0.0.2", layers.IPProtocolSCTP, sctp(clientPort, serverPort, serverTag, chunks...))}
}

func toClient(tb testing.TB, at time.Duration, chunks ...[]byte) crafted {
	tb.Helper()
	return crafted{at: at, data: ip(tb, "10.0.0.2", "10.0.0.1", layers.IPProtocolSCTP, sctp(serverPort, clientPort, clientTag, chunks...))}
}

func payloads(messages []trace.Message) []string {
	list := make([]string, 0, len(messages))
	for _, m := range messages {
		list = append(list, string(m.Payload))
	}
	return list
}

func zipped(tb testing.TB, data []byte) []byte {
	tb.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(data); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}
