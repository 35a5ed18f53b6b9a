package transport_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"skyring/protocol/transport"
	"skyring/protocol/transport/packet"
)

// floodKind is a kind of packets that an attacker sends in great number.
type floodKind struct {
	name    string
	packets int // how many make the flood
	make    func(tb testing.TB, live *livePair) [][]byte
	spoofed bool // they come from the live peer's address and UDP port
}

func floods() []floodKind {
	return []floodKind{
		{name: "inits", packets: 100_000, make: initPackets},
		{name: "inits-in-its-name", packets: 100_000, make: initsInItsName, spoofed: true},
		{name: "wrong-tags", packets: 100_000, make: wrongTags, spoofed: true},
		{name: "cookie-echoes", packets: 100_000, make: cookieEchoes, spoofed: true},
		{name: "garbage", packets: 150_000, make: garbagePackets},
		{name: "corpora", packets: 150_000, make: corpusPackets},
	}
}

// livePair is an association that somebody uses while others flood its server.
type livePair struct {
	server, client     *transport.Endpoint
	clientLink         transport.Link
	dialled, accepted  *transport.Association
	atClient, atServer <-chan transport.Message
}

func newLivePair(tb testing.TB) *livePair {
	tb.Helper()
	l := &livePair{server: start(tb, steady()), clientLink: listenUDP(tb)}
	l.client, _ = startOn(tb, l.clientLink, steady())
	l.dialled, l.accepted = connect(tb, l.client, l.server)
	return l
}

const manyPackets = 4096 // different ones of a kind; a flood repeats them

// initPackets are INITs from as many SCTP ports.
func initPackets(testing.TB, *livePair) (list [][]byte) {
	for i := range manyPackets {
		b := packet.Header{SourcePort: uint16(2000 + i), DestinationPort: 2905}.Append(nil)
		list = append(list, packet.Init{
			InitiateTag: rand.Uint32() | 1, Window: 1 << 16, OutboundStreams: 10, InboundStreams: 10, InitialTSN: rand.Uint32(),
		}.Append(b, packet.TypeInit))
	}
	return withChecksums(list)
}

// initsInItsName are INITs with the live association's addresses and ports, as of a peer that restarts.
func initsInItsName(_ testing.TB, live *livePair) (list [][]byte) {
	for range manyPackets {
		list = append(list, packet.Init{
			InitiateTag: rand.Uint32() | 1, Window: 1 << 16, OutboundStreams: 10, InboundStreams: 10, InitialTSN: rand.Uint32(),
		}.Append(live.header(0), packet.TypeInit))
	}
	return withChecksums(list)
}

// wrongTags are all that would end or disturb the live association, did they bear its tag.
func wrongTags(_ testing.TB, live *livePair) (list [][]byte) {
	none := make([]byte, 4)
	chunks := [][]byte{
		packet.AppendChunk(nil, packet.TypeAbort, 0, nil),
		packet.AppendChunk(nil, packet.TypeAbort, 1, nil),
		packet.Data{TSN: rand.Uint32(), Beginning: true, Ending: true, Payload: []byte("spoofed")}.Append(nil),
		packet.AppendChunk(nil, packet.TypeSack, 0, make([]byte, 12)),
		packet.AppendChunk(nil, packet.TypeHeartbeat, 0, packet.AppendParameter(nil, 1, make([]byte, 8))),
		packet.AppendChunk(nil, packet.TypeHeartbeatAck, 0, packet.AppendParameter(nil, 1, make([]byte, 8))),
		packet.AppendChunk(nil, packet.TypeShutdown, 0, none),
		packet.AppendChunk(nil, packet.TypeShutdownAck, 0, nil),
		packet.AppendChunk(nil, packet.TypeShutdownComplete, 1, nil),
		packet.AppendChunk(nil, packet.TypeError, 0, packet.AppendParameter(nil, 3, none)),
		packet.AppendChunk(nil, packet.TypeForwardTSN, 0, none),
		packet.Init{InitiateTag: 7, Window: 1 << 16, OutboundStreams: 1, InboundStreams: 1}.Append(nil, packet.TypeInit),
		packet.Init{InitiateTag: 7, Window: 1 << 16, OutboundStreams: 1, InboundStreams: 1}.Append(nil, packet.TypeInitAck),
	}
	for i := range manyPackets {
		list = append(list, append(live.header(live.wrongTag()), chunks[i%len(chunks)]...))
	}
	return withChecksums(list)
}

// cookieEchoes are forged cookies.
func cookieEchoes(_ testing.TB, live *livePair) (list [][]byte) {
	for range manyPackets {
		cookie := random(transport.CookieLen)
		list = append(list, packet.AppendChunk(live.header(live.wrongTag()), packet.TypeCookieEcho, 0, cookie))
	}
	return withChecksums(list)
}

// garbagePackets are random bytes, half of them under a right checksum.
func garbagePackets(testing.TB, *livePair) (list [][]byte) {
	for i := range manyPackets {
		b := random(rand.IntN(600))
		if i%2 == 0 && len(b) >= packet.HeaderLen {
			packet.PutChecksum(b)
		}
		list = append(list, b)
	}
	return list
}

// corpusPackets are the shared fuzz corpora, as packets and as chunks under a wrong tag; of long files the beginning, in
// packets as long as they are on Ethernet. TestCorpora has the rest.
func corpusPackets(tb testing.TB, live *livePair) (list [][]byte) {
	tb.Helper()
	const usrsctp = "sctplab+usrsctp"
	for name, b := range corpus(tb, usrsctp+"/CORPUS_CONNECT/*", usrsctp+"/CORPUS_FRAGMENT/*", usrsctp+"/CORPUS_LISTEN/*") {
		for _, whole := range asChunks(name, b[:min(len(b), 8000)]) {
			for chunks := range slices.Chunk(whole, 1400) {
				list = append(list, append(live.header(live.wrongTag()), chunks...), append(live.header(0), chunks...))
			}
		}
	}
	return withChecksums(list)
}

func random(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	return b
}

func (l *livePair) header(tag uint32) []byte {
	return packet.Header{SourcePort: l.accepted.PeerPort(), DestinationPort: l.accepted.LocalPort(), VerificationTag: tag}.Append(nil)
}

func (l *livePair) wrongTag() uint32 {
	local, peer := transport.Tags(l.accepted)
	for {
		if tag := rand.Uint32(); tag != local && tag != peer {
			return tag
		}
	}
}

func withChecksums(list [][]byte) [][]byte {
	for _, b := range list {
		packet.PutChecksum(b)
	}
	return list
}

// attacker gives the way by which a flood's packets go.
func (f floodKind) attacker(tb testing.TB, live *livePair) (send func([]byte) error) {
	tb.Helper()
	if f.spoofed {
		to := transport.Peer{Addr: live.server.LocalAddr()}
		return func(b []byte) error { return live.clientLink.WritePacket(b, to) }
	}
	socket, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.66:0")))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = socket.Close() })
	return func(b []byte) error {
		_, err := socket.WriteToUDPAddrPort(b, live.server.LocalAddr())
		return err
	}
}

// A flood leaves no association and no goroutine behind, and a live association untouched, which is used all the time.
func TestFloods(t *testing.T) {
	const echo = 4000
	for _, f := range floods() {
		if raced {
			f.packets /= 20
		}
		t.Run(f.name, func(t *testing.T) {
			live := newLivePair(t)
			live.atClient, live.atServer = collect(t, live.dialled), collect(t, live.accepted)
			echoes(t, live.dialled, live.atClient, live.atServer, live.accepted)
			list, send := f.make(t, live), f.attacker(t, live)
			goroutines := runtime.NumGoroutine()
			received := receivedFrom(live.server)
			sent := 0
			for received(sent) < f.packets {
				if err := send(list[sent%len(list)]); err != nil {
					t.Fatal(err)
				}
				if sent++; sent%echo == 0 {
					echoes(t, live.dialled, live.atClient, live.atServer, live.accepted)
				}
				if sent > 10*f.packets {
					t.Fatal("most of it is lost on the way")
				}
			}
			echoes(t, live.dialled, live.atClient, live.atServer, live.accepted)
			s := live.server.Stats()
			if s.Associations != 1 || s.Count(transport.AssociationsAccepted) != 1 || s.Count(transport.Restarts) != 0 {
				t.Errorf("%d associations, %d accepted, %d restarts", s.Associations, s.Count(transport.AssociationsAccepted),
					s.Count(transport.Restarts))
			}
			if live.dialled.Err() != nil || live.accepted.Err() != nil || live.accepted.PeerAddr() != live.client.LocalAddr() {
				t.Errorf("the live association: %v, %v", live.dialled.Err(), live.accepted.Err())
			}
			eventually(t, "no goroutine is left behind", func() bool { return runtime.NumGoroutine() <= goroutines })
		})
	}
}

// receivedFrom tells how many packets have come to a server. After each burst of those sent it waits a while for them, so
// that few are lost in the socket's buffer.
func receivedFrom(server *transport.Endpoint) func(sent int) int {
	const burst, patienceEach = 250, 100 * time.Millisecond
	count := func() int { return int(server.Stats().Count(transport.PacketsReceived)) }
	before, lost := count(), 0
	return func(sent int) int {
		for limit := time.Now().Add(patienceEach); sent%burst == 0 && count()-before+lost < sent; <-time.After(200 * time.Microsecond) {
			if time.Now().After(limit) {
				lost = sent - (count() - before)
			}
		}
		return count() - before
	}
}

// floodRate is how many packets a second come in a flood that is not as fast as can be.
const floodRate = 50_000

// BenchmarkFlood prints what a live association carries during each flood, as a ratio of what it carries without, measured
// right before and after in the same run. The attacker is a process of its own on the same machine; it sends floodRate
// packets a second, or as fast as it can. `make flood` runs it.
func BenchmarkFlood(b *testing.B) {
	for _, f := range floods() {
		for _, perSecond := range []int{floodRate, 0} {
			name := f.name + "/rate=most"
			if perSecond > 0 {
				name = fmt.Sprintf("%s/rate=%d", f.name, perSecond)
			}
			b.Run(name, func(b *testing.B) { f.measure(b, perSecond) })
		}
	}
}

func (f floodKind) measure(b *testing.B, perSecond int) {
	b.Helper()
	const window = 8
	live := newLivePair(b)
	attacker := startAttacker(b, attack{
		Target: live.server.LocalAddr(), Source: netip.MustParseAddr("127.0.0.66"), Inherit: f.spoofed,
		Packets: f.packets, Rate: perSecond, List: f.make(b, live),
	}, f.inherited(b, live))
	carried, stop := live.carry(b, window)
	defer stop()
	var quiet, flooded, sending rate
	for b.Loop() {
		quiet.over(carried, lasting(time.Second))
		flooded.over(carried, func() {
			sending.n += uint64(f.packets)
			sending.took += attacker.attack(b)
		})
		quiet.over(carried, lasting(time.Second))
	}
	if live.accepted.Err() != nil {
		b.Fatal(live.accepted.Err())
	}
	b.ReportMetric(quiet.perSecond(), "quiet-msg/s")
	b.ReportMetric(flooded.perSecond(), "flooded-msg/s")
	b.ReportMetric(flooded.perSecond()/quiet.perSecond(), "flooded/quiet")
	b.ReportMetric(sending.perSecond(), "flood-packets/s")
	b.ReportMetric(0, "ns/op")
}

// inherited is the live peer's socket where the flood comes from its address, else nil.
func (f floodKind) inherited(tb testing.TB, live *livePair) *os.File {
	tb.Helper()
	if !f.spoofed {
		return nil
	}
	file, err := transport.SocketFile(live.clientLink)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = file.Close() })
	return file
}

// rate adds up how often something happened in which time.
type rate struct {
	n    uint64
	took time.Duration
}

func (r *rate) over(count func() uint64, during func()) {
	from, begun := count(), time.Now()
	during()
	r.n, r.took = r.n+count()-from, r.took+time.Since(begun)
}

func (r *rate) perSecond() float64 { return float64(r.n) / r.took.Seconds() }

func lasting(d time.Duration) func() { return func() { <-time.After(d) } }

// carry passes messages there and back, window of them at a time, until it is stopped; carried tells how many came back.
func (l *livePair) carry(tb testing.TB, window int) (carried func() uint64, stop func()) {
	tb.Helper()
	ctx := tb.Context()
	var count atomic.Uint64
	var group sync.WaitGroup
	back := make(chan struct{}, window)
	group.Go(func() { _ = l.accepted.Receive(ctx, func(m transport.Message) { _ = l.accepted.Send(ctx, m) }) })
	group.Go(func() {
		_ = l.dialled.Receive(ctx, func(transport.Message) {
			count.Add(1)
			back <- struct{}{}
		})
	})
	ended := make(chan struct{})
	group.Go(func() {
		payload := make([]byte, benchSize)
		for n := 0; ; n++ {
			if n >= window {
				select {
				case <-back:
				case <-ended:
					return
				}
			}
			binary.BigEndian.PutUint32(payload, uint32(n))
			if err := l.dialled.Send(ctx, transport.Message{PPID: 60, Payload: payload}); err != nil {
				return
			}
		}
	})
	return count.Load, func() {
		close(ended)
		l.dialled.Abort("measured")
		l.accepted.Abort("measured")
		group.Wait()
	}
}
