package generate

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"time"

	"skyring/protocol/transport/packet"
	"skyring/testbed/trace"
)

const (
	maxPacket     = 1400                   // bytes of an SCTP packet
	maxFragment   = 1200                   // bytes of user data in one DATA chunk
	bundleWithin  = 500 * time.Microsecond // messages of one sender this close share a packet
	packetSpacing = 20 * time.Microsecond  // between packets sent in one go
	sackDelay     = 1 * time.Millisecond
	retransmit    = time.Second // RTO.Min (RFC 9260 section 16)
	window        = 131_072     // bytes, advertised
)

// peer is one end of a generated association.
type peer struct {
	addr     netip.Addr
	hardware [6]byte
	port     uint16
	tag      uint32 // that it chose
	tsn      uint32 // of its next chunk
	ssn      map[uint16]uint16
	ip       uint16 // IPv4 identification of its next packet
}

// association writes the packets of one association as seen beside the server: handshake, data, SACKs, shutdown.
type association struct {
	cfg      Config
	index    int
	rng      *rand.Rand
	protocol protocol
	signals  signalling
	ends     [2]peer // indexed by the direction that the end sends in: the client's is trace.ToServer

	now      time.Duration
	frames   []frame
	chunks   int
	repeated int
	messages []trace.Message
}

func newAssociation(cfg Config, index int) *association {
	kinds := protocols()
	a := &association{
		cfg: cfg, index: index, protocol: kinds[index%len(kinds)],
		rng: rand.New(rand.NewPCG(cfg.Seed, uint64(index))),
	}
	a.signals = a.protocol.start(a.rng, cfg, index)
	client, server := addresses(index)
	clientPort := a.protocol.port
	if index/len(kinds)%2 == 1 { // every other round: a client port of its own, else the protocol's at both ends
		clientPort = uint16(49152 + index%16384)
	}
	a.ends[trace.ToServer] = a.newPeer(client, clientPort, 1)
	a.ends[trace.ToClient] = a.newPeer(server, a.protocol.port, 2)
	return a
}

// addresses are of the documentation prefixes for IPv6 (RFC 3849), which every fifth association uses, and of the
// benchmarking prefix for IPv4 (RFC 2544). All associations of a protocol share a server.
func addresses(index int) (client, server netip.Addr) {
	kind := byte(index % len(protocols()))
	hi, lo := byte((index+1)>>8), byte(index+1)
	if index%5 == 4 {
		prefix := [16]byte{0x20, 0x01, 0x0d, 0xb8}
		client, server := prefix, prefix
		client[13], client[14], client[15] = 1, hi, lo
		server[15] = kind + 1
		return netip.AddrFrom16(client), netip.AddrFrom16(server)
	}
	return netip.AddrFrom4([4]byte{198, 18, hi, lo}), netip.AddrFrom4([4]byte{198, 19, 255, kind + 1})
}

func (a *association) newPeer(addr netip.Addr, port uint16, side byte) peer {
	return peer{
		addr: addr, port: port, tag: a.rng.Uint32() | 1, tsn: a.rng.Uint32(), ssn: make(map[uint16]uint16),
		hardware: [6]byte{2, 0, side, 0, byte(a.index >> 8), byte(a.index)},
	}
}

// run writes the whole association with about budget messages.
func (a *association) run(budget int) *association {
	steps := schedule(a.rng, a.cfg, a.signals, budget)
	a.now = between(a.rng, 0, 200*time.Millisecond)
	a.handshake()
	offset := a.now
	for len(steps) > 0 {
		bundle := a.bundle(steps)
		a.now = max(a.now+packetSpacing, offset+bundle[len(bundle)-1].at)
		a.data(bundle)
		steps = steps[len(bundle):]
	}
	a.now += 2 * retransmit
	a.shutdown()
	return a
}

func (a *association) handshake() {
	client, server := &a.ends[trace.ToServer], &a.ends[trace.ToClient]
	cookie := packet.AppendParameter(nil, 7, bytesOf(a.rng, 64)) // state cookie (RFC 9260 section 3.3.3.1)
	a.emit(trace.ToServer, 0, a.init(client).Append(nil, packet.TypeInit))
	answer := a.init(server)
	answer.Parameters = cookie
	a.emit(trace.ToClient, client.tag, answer.Append(nil, packet.TypeInitAck))
	a.emit(trace.ToServer, server.tag, packet.AppendChunk(nil, packet.TypeCookieEcho, 0, cookie[4:]))
	a.emit(trace.ToClient, client.tag, packet.AppendChunk(nil, packet.TypeCookieAck, 0, nil))
}

func (a *association) init(p *peer) packet.Init {
	return packet.Init{
		InitiateTag: p.tag, Window: window, OutboundStreams: a.protocol.streams, InboundStreams: a.protocol.streams, InitialTSN: p.tsn,
	}
}

func (a *association) shutdown() {
	client, server := &a.ends[trace.ToServer], &a.ends[trace.ToClient]
	ack := binary.BigEndian.AppendUint32(nil, server.tsn-1)
	a.emit(trace.ToServer, server.tag, packet.AppendChunk(nil, packet.TypeShutdown, 0, ack))
	a.emit(trace.ToClient, client.tag, packet.AppendChunk(nil, packet.TypeShutdownAck, 0, nil))
	a.emit(trace.ToServer, server.tag, packet.AppendChunk(nil, packet.TypeShutdownComplete, 0, nil))
}

// bundle is how many of the next steps share a packet: one sender, close in time, small enough.
func (a *association) bundle(steps []step) []step {
	size, n := packet.HeaderLen, 0
	for _, s := range steps {
		size += packet.DataOverheadLen + len(s.payload) + 3
		if n > 0 && (size > maxPacket || s.direction != steps[0].direction || s.at-steps[0].at > bundleWithin) {
			break
		}
		n++
		if size > maxPacket {
			break // alone, in fragments
		}
	}
	return steps[:n]
}

// data sends messages in one packet, or one message in several, each fragment in a packet of its own.
func (a *association) data(bundle []step) {
	direction := bundle[0].direction
	var packets [][]byte
	var chunks []packet.Data
	first := make([]packet.Data, len(bundle))
	for i, s := range bundle {
		parts := a.fragments(s)
		first[i] = parts[0]
		chunks = append(chunks, parts...)
	}
	for i, chunk := range chunks {
		if i == 0 || len(bundle) == 1 {
			packets = append(packets, nil)
		}
		packets[len(packets)-1] = chunk.Append(packets[len(packets)-1])
	}
	sent := a.now
	for _, data := range packets {
		sent = a.now
		a.emit(direction, a.ends[1-direction].tag, data)
		if a.rng.Float64() < a.cfg.Repeats {
			a.repeat(direction, data)
		}
	}
	for i, s := range bundle {
		a.messages = append(a.messages, trace.Message{
			Time: a.cfg.Start.Add(sent), Association: a.index, Direction: s.direction, Stream: s.stream, PPID: s.ppid,
			Unordered: s.unordered, SSN: uint32(first[i].SSN), TSN: first[i].TSN, Payload: s.payload,
		})
	}
	a.sack(direction)
}

// fragments makes the DATA chunks of a message and takes their numbers.
func (a *association) fragments(s step) []packet.Data {
	sender := &a.ends[s.direction]
	ssn := sender.ssn[s.stream]
	if s.unordered {
		ssn = 0
	} else {
		sender.ssn[s.stream]++
	}
	var chunks []packet.Data
	for rest := s.payload; ; {
		part := rest[:min(len(rest), maxFragment)]
		rest = rest[len(part):]
		chunks = append(chunks, packet.Data{
			TSN: sender.tsn, Stream: s.stream, SSN: ssn, PPID: s.ppid, Unordered: s.unordered,
			Beginning: len(chunks) == 0, Ending: len(rest) == 0, Payload: part,
		})
		sender.tsn++
		if len(rest) == 0 {
			break
		}
	}
	a.chunks += len(chunks)
	return chunks
}

// repeat sends chunks again when the retransmission timer would have run out.
func (a *association) repeat(direction trace.Direction, chunks []byte) {
	now := a.now
	a.now += retransmit
	a.emit(direction, a.ends[1-direction].tag, chunks)
	a.now = now
	for offset := 0; offset < len(chunks); {
		_, next, err := packet.ChunkAt(chunks, offset)
		if err != nil {
			panic("generate: own chunks are malformed: " + err.Error())
		}
		a.chunks++
		a.repeated++
		offset = next
	}
}

// sack acknowledges everything that was sent in a direction.
func (a *association) sack(direction trace.Direction) {
	value := binary.BigEndian.AppendUint32(nil, a.ends[direction].tsn-1)
	value = binary.BigEndian.AppendUint32(value, window)
	value = append(value, 0, 0, 0, 0) // no gaps, no duplicates
	now := a.now
	a.now += sackDelay
	a.emit(1-direction, a.ends[direction].tag, packet.AppendChunk(nil, packet.TypeSack, 0, value))
	a.now = now
}

// emit writes a packet with the given chunks and lets some time pass.
func (a *association) emit(direction trace.Direction, tag uint32, chunks []byte) {
	src, dst := &a.ends[direction], &a.ends[1-direction]
	data := packet.Header{SourcePort: src.port, DestinationPort: dst.port, VerificationTag: tag}.Append(nil)
	data = append(data, chunks...)
	packet.PutChecksum(data)
	a.frames = append(a.frames, frame{at: a.now, data: encapsulate(src, dst, data)})
	a.now += packetSpacing
}
