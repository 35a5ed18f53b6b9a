package transport_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net/netip"
	"runtime"
	"testing"

	"skyring/protocol/transport"
	"skyring/protocol/transport/packet"
)

// maxSteps bounds a sequence, and with it how many associations one can leave.
const maxSteps = 64

// FuzzSequence drives an endpoint through its states: each byte of the input is a step of a peer, which may follow the
// protocol or not, may come from three addresses, and is mutated now and then. Whatever the order, nothing panics, every
// association has had a cookie, and when all is over no association and no goroutine is left.
func FuzzSequence(f *testing.F) {
	for _, seed := range []string{
		"\x00\x01\x02\x03\x04",             // INIT, COOKIE-ECHO, DATA, SACK, SHUTDOWN
		"\x00\x01\x04\x05\x06",             // and the rest of the shutdown
		"\x00\x01\x02\x00\x01\x02",         // restart
		"\x00\x01\x40\x42\x47\x4b",         // from another address
		"\x00\x01\x01\x01\x08\x0c\x0d",     // repeated cookies, stream reset, FORWARD-TSN
		"\x00\x01\xc2\x85\x9f\xdf",         // mutated
		"\x00\x00\x01\x0a\x02\x02",         // ABORT
		"\x00\x01\x11\x11\x03\x03\x03\x12", // data of ours, and acknowledgements, the last one false
	} {
		f.Add([]byte(seed))
	}
	link := &hole{ended: make(chan struct{})}
	cfg := steady()
	cfg.InitsPerSecond, cfg.InitsPerSourcePerSecond, cfg.BlueRepliesPerSecond = 1<<20, 1<<20, 1<<20
	cfg.MaxAssociations = maxSteps
	e, _ := startOn(f, link, cfg)
	goroutines := runtime.NumGoroutine()
	f.Fuzz(func(t *testing.T, steps []byte) {
		walk := &sequence{t: t, e: e, link: link, tsn: 1000}
		for _, step := range steps[:min(len(steps), maxSteps)] {
			walk.step(step)
		}
		if bytes.HasPrefix(steps, []byte{0, 1}) && len(walk.seen) == 0 {
			t.Fatal("INIT and COOKIE-ECHO make no association")
		}
		if s := e.Stats(); s.Associations > walk.echoes {
			t.Fatalf("%d associations of %d cookies", s.Associations, walk.echoes)
		}
		walk.end()
		eventually(t, "all goroutines have ended", func() bool { return runtime.NumGoroutine() <= goroutines+fuzzersOwn })
		if n := e.Stats().Associations; n != 0 {
			t.Fatalf("%d associations are left", n)
		}
	})
}

// fuzzersOwn goroutines are those of the fuzzer's for the input under test.
const fuzzersOwn = 8

// sequence is a peer's walk through the states.
type sequence struct {
	t      *testing.T
	e      *transport.Endpoint
	link   *hole
	tag    uint32 // the endpoint's, of the last INIT-ACK
	tsn    uint32
	first  uint32 // the endpoint's TSN, of the last INIT-ACK
	cookie []byte
	echoes int
	seen   []*transport.Association
}

// step takes a step: the lowest five bits say which chunk, one bit mutates it, the highest two the address.
func (q *sequence) step(what byte) {
	from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, 1}), 9899)
	switch what >> 6 {
	case 1:
		from = netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, 2}), 9899) // named in INIT
	case 2:
		from = netip.AddrPortFrom(from.Addr(), 9900)
	}
	tag, chunk := q.chunk(what & 0x1F)
	b := packet.Header{SourcePort: 5, DestinationPort: 6, VerificationTag: tag}.Append(nil)
	b = append(b, chunk...)
	if what&0x20 != 0 {
		b[packet.HeaderLen+int(q.tsn)%len(chunk)] ^= 1 << (q.tsn % 8)
	}
	packet.PutChecksum(b)
	transport.Handle(q.e, b, from)
	q.take()
}

func (q *sequence) chunk(what byte) (tag uint32, chunk []byte) {
	q.tsn++
	tsn := binary.BigEndian.AppendUint32(nil, q.tsn)
	data := packet.Data{TSN: q.tsn, Stream: uint16(q.tsn % 5), Beginning: true, Ending: true, Payload: []byte("step")}
	switch what {
	case 0:
		named := packet.AppendParameter(nil, 5, []byte{192, 0, 2, 2})
		return 0, packet.Init{
			InitiateTag: q.tsn, Window: 1 << 16, OutboundStreams: 4, InboundStreams: 4, InitialTSN: q.tsn + 1, Parameters: named,
		}.Append(nil, packet.TypeInit)
	case 1:
		q.echoes++
		return q.tag, packet.AppendChunk(nil, packet.TypeCookieEcho, 0, q.cookie)
	case 2:
		return q.tag, data.Append(nil)
	case 3:
		return q.tag, sackChunk(q.first-1+q.tsn%4, 1, uint16(q.tsn%3))
	case 4:
		return q.tag, packet.AppendChunk(nil, packet.TypeShutdown, 0, be32(q.first-1))
	case 5:
		return q.tag, packet.AppendChunk(nil, packet.TypeShutdownAck, 0, nil)
	case 6:
		return q.tag, packet.AppendChunk(nil, packet.TypeShutdownComplete, 0, nil)
	case 7:
		return q.tag, packet.AppendChunk(nil, packet.TypeHeartbeat, 0, packet.AppendParameter(nil, 1, tsn))
	case 8:
		reset := append(append(append([]byte{}, tsn...), tsn...), 0, 0, 0, 0, 0, 1, 0, 2)
		return q.tag, packet.AppendChunk(nil, packet.TypeReconfig, 0, packet.AppendParameter(nil, 13, reset))
	case 9:
		return q.tag, packet.AppendChunk(nil, packet.TypeInitAck, 0, make([]byte, 16))
	case 10:
		return q.tag, packet.AppendChunk(nil, packet.TypeAbort, 0, nil)
	case 11:
		return q.tag, packet.AppendChunk(nil, packet.TypeHeartbeatAck, 0, packet.AppendParameter(nil, 1, make([]byte, 8)))
	case 12:
		return q.tag, packet.AppendChunk(nil, packet.TypeForwardTSN, 0, tsn)
	case 13:
		return q.tag, packet.AppendChunk(nil, packet.TypeError, 0, packet.AppendParameter(nil, 3, tsn))
	case 14:
		data.Unordered, data.Ending = true, false
		return q.tag, data.Append(nil)
	case 15:
		data.Beginning = false
		return q.tag, data.Append(nil)
	case 16:
		q.tsn += 1000 // a gap
		return q.tag, data.Append(nil)
	case 17:
		q.say()
		return q.tag, sackChunk(q.first - 1)
	case 18:
		return q.tag, packet.AppendChunk(nil, packet.TypeSack, 0, append(tsn, make([]byte, 8)...)) // of what was never sent
	}
	return q.tag, packet.AppendChunk(nil, packet.ChunkType(what*9), what, tsn)
}

// say has the endpoint send something on each association.
func (q *sequence) say() {
	for _, a := range q.seen {
		if err := a.Send(context.Background(), transport.Message{Payload: []byte("said")}); err != nil && !errors.Is(err, transport.ErrClosed) {
			q.t.Fatal(err)
		}
	}
}

// take learns from what the endpoint sent last, and takes associations that have come to be.
func (q *sequence) take() {
	q.link.mu.Lock()
	last := append([]byte(nil), q.link.last...)
	q.link.mu.Unlock()
	if c, _, err := packet.ChunkAt(last, packet.HeaderLen); err == nil && c.Type == packet.TypeInitAck {
		if ack, err := packet.ParseInit(c); err == nil {
			q.tag, q.first = ack.InitiateTag, ack.InitialTSN
			for p, err := range packet.Parameters(ack.Parameters) {
				if err == nil && p.Type == 7 {
					q.cookie = append([]byte(nil), p.Value...)
				}
			}
		}
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for { // Accept gives what waits even so
		a, err := q.e.Accept(ended)
		if err != nil {
			return
		}
		q.seen = append(q.seen, a)
	}
}

// end ends what is left, which must let its goroutines go.
func (q *sequence) end() {
	for _, a := range q.seen {
		a.Abort("walked")
		<-a.Done()
		_ = a.Receive(context.Background(), func(transport.Message) {})
	}
}
