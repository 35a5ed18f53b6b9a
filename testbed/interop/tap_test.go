package interop_test

import (
	"math/rand/v2"
	"sync"

	"skyring/protocol/transport"
	"skyring/protocol/transport/packet"
)

// tap counts the chunks that pass a link, and keeps the parameters of the last INIT or INIT-ACK that came. It can lose packets.
type tap struct {
	transport.Link

	mu         sync.Mutex
	in, out    map[packet.ChunkType]int
	parameters map[uint16]int // types, and how often, in the last INIT or INIT-ACK
	silent     bool           // nothing goes out any more
	early      int            // packets in with COOKIE-ECHO and DATA
	dice       *rand.Rand     // for the share of packets that is lost; nil loses nothing
	loss       float64
	dropped    int // lost
}

// ReadPacket implements transport.Link.
func (l *tap) ReadPacket(b []byte) (int, transport.Peer, error) {
	for {
		n, from, err := l.Link.ReadPacket(b)
		if err != nil || l.came(b[:n]) {
			return n, from, err
		}
	}
}

// came takes note of a packet; false loses it.
func (l *tap) came(b []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.in[packet.TypeCookieEcho]
	data := l.in[packet.TypeData]
	count(&l.in, b)
	if l.in[packet.TypeCookieEcho] > before && l.in[packet.TypeData] > data {
		l.early++
	}
	l.note(b)
	return !l.lost()
}

// WritePacket implements transport.Link.
func (l *tap) WritePacket(b []byte, to transport.Peer) error {
	l.mu.Lock()
	silent := l.silent || l.lost()
	count(&l.out, b)
	l.mu.Unlock()
	if silent {
		return nil
	}
	return l.Link.WritePacket(b, to)
}

// lost throws the dice, with mu held.
func (l *tap) lost() bool {
	if l.dice == nil || l.dice.Float64() >= l.loss {
		return false
	}
	l.dropped++
	return true
}

func count(into *map[packet.ChunkType]int, b []byte) {
	if *into == nil {
		*into = map[packet.ChunkType]int{}
	}
	for c, err := range packet.Chunks(b) {
		if err == nil {
			(*into)[c.Type]++
		}
	}
}

func (l *tap) note(b []byte) {
	for c, err := range packet.Chunks(b) {
		if err != nil || c.Type != packet.TypeInit && c.Type != packet.TypeInitAck {
			return
		}
		init, err := packet.ParseInit(c)
		if err != nil {
			return
		}
		l.parameters = map[uint16]int{}
		for p, err := range packet.Parameters(init.Parameters) {
			if err == nil {
				l.parameters[p.Type]++
			}
		}
	}
}

// mute lets nothing out any more, as when the machine is gone.
func (l *tap) mute() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.silent = true
}

// seen counts chunks that came and went.
func (l *tap) seen(t packet.ChunkType) (in, out int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.in[t], l.out[t]
}

// offered is how often a parameter was in the last INIT or INIT-ACK.
func (l *tap) offered(parameter uint16) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.parameters[parameter]
}
