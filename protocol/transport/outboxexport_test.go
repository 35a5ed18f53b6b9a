package transport

import (
	"errors"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Parcel puts packets to two peers into a parcel; it gives what became of them.
type Parcel struct{ p parcel }

// Add takes a packet of at most limit bytes, bundled ones too, to a peer at a port.
func (p *Parcel) Add(b []byte, port uint16, limit int) { p.p.add(b, placeAt(port), limit) }

// Packets are those that are to be sent.
func (p *Parcel) Packets() (list [][]byte) {
	begin := 0
	for _, one := range p.p.packets {
		list = append(list, p.p.b[begin:one.end])
		begin = one.end
	}
	return list
}

func placeAt(port uint16) place {
	return place{Peer: Peer{Addr: netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port)}}
}

// WriteAll has a link write packets in bulk, each to its own address, none of them bundled.
func WriteAll(l *UDPLink, packets [][]byte, to []netip.AddrPort) (written, bytes int) {
	var p parcel
	for i, b := range packets {
		p.b = append(p.b, b...)
		p.packets = append(p.packets, outgoing{to: place{Peer: Peer{Addr: to[i]}}, end: len(p.b)})
	}
	return l.writePackets(&p)
}

// Singly tells whether a link has found that it cannot have runs of packets parted.
func Singly(l *UDPLink) bool { return l.bulk.singly }

// WithoutChecksums has a link's socket make none, with which the kernel parts no runs.
func WithoutChecksums(l *UDPLink) error {
	raw, err := l.socket.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_NO_CHECK, 1) })
	return errors.Join(err, failed)
}

// Outbox is one whose link writes when it is told to.
type Outbox struct {
	o *outbox

	Writing chan int      // how many packets a call of the link is to write; it waits to be told
	Go      chan struct{} // lets that call return
}

// OutboxRoom is how many bytes wait at most before senders do.
const OutboxRoom = maxOutbox

// NewOutbox makes one and runs nothing.
func NewOutbox() *Outbox {
	o := &Outbox{Writing: make(chan int), Go: make(chan struct{})}
	o.o = newOutbox(&Endpoint{}, o, 1<<16)
	return o
}

func (o *Outbox) writePackets(p *parcel) (packets, bytes int) {
	o.Writing <- len(p.packets)
	<-o.Go
	return len(p.packets) - 1, len(p.b) // the last one fails
}

// Run is outbox.run.
func (o *Outbox) Run() { o.o.run() }

// Close is outbox.close.
func (o *Outbox) Close() { o.o.close() }

// Add sends a packet to the peer at a port.
func (o *Outbox) Add(b []byte, port uint16) bool { return o.o.add(b, placeAt(port)) }

// Wrote is outbox.wrote.
func (o *Outbox) Wrote() { o.o.wrote() }

// What an outbox waits for until it stands aside, and then until it is tried again.
const (
	SinglesToIdle = singlesToIdle
	IdlePackets   = idlePackets
)

// Stats are the counters of its endpoint.
func (o *Outbox) Stats() Stats { return o.o.endpoint.count.snapshot() }
