package transport

import (
	"net"
	"net/netip"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// readBatch is how many datagrams are taken from the kernel at once: in a flood, and with many busy associations, most
	// of a packet's cost is the system call.
	readBatch = 32

	// maxBatches is how many are taken before it is looked whether the socket is still open: Close waits for who reads.
	maxBatches = 64

	datagramRoom = 1<<16 + 5*64 // the longest datagram; not a power of 2, so that not all begin in the same lines of a cache
)

// batch are the buffers of the goroutine that reads a UDP link. Their headers are filled in once, and nothing is allocated
// for a packet; golang.org/x/net does both for each call.
type batch struct {
	raw     syscall.RawConn
	buffer  []byte // the kernel gives its pages when they are written, seldom all
	headers [readBatch]unix.Mmsghdr
	vectors [readBatch]unix.Iovec
	names   [readBatch]unix.RawSockaddrInet6 // have room for IPv4's
	zones   map[uint32]string                // names of interfaces, of those that link-local packets came by
}

func newBatch(socket *net.UDPConn) (*batch, error) {
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil, err
	}
	b := &batch{raw: raw, buffer: make([]byte, readBatch*datagramRoom), zones: map[uint32]string{}}
	for i := range b.headers {
		h := &b.headers[i].Hdr
		b.vectors[i].Base = &b.buffer[i*datagramRoom]
		b.vectors[i].SetLen(datagramRoom)
		h.Iov, h.Name = &b.vectors[i], (*byte)(unsafe.Pointer(&b.names[i]))
		h.SetIovlen(1)
	}
	return b, nil
}

// readPackets waits for packets and has each handled; its bytes are the link's again after that. The error is as
// ReadPacket's. One goroutine at a time may call it.
func (l *UDPLink) readPackets(handle func(b []byte, from Peer)) error {
	heard, failed := false, syscall.Errno(0)
	err := l.batch.raw.Read(func(fd uintptr) bool {
		for batches := 1; ; batches++ {
			n, errno := l.batch.receive(fd)
			switch {
			case errno == unix.EINTR:
				continue
			case errno == unix.EAGAIN:
				return false
			case errno != 0:
				failed = errno
				return true
			}
			heard = true
			for i := range n {
				l.take(i, handle)
			}
			if batches == maxBatches {
				return true
			}
			if n < readBatch { // no more was there: what comes now wakes us, and a call that finds nothing is saved
				return false
			}
			runtime.Gosched() // else those for whom packets came would wait for us, who may read on and on in a flood
		}
	})
	if err == nil && !heard && failed != 0 { // else it fails again
		err = os.NewSyscallError("recvmmsg", failed)
	}
	return err
}

func (b *batch) receive(fd uintptr) (n int, errno syscall.Errno) {
	for i := range b.headers {
		b.headers[i].Hdr.Namelen = unix.SizeofSockaddrInet6
	}
	r, _, errno := unix.Syscall6(unix.SYS_RECVMMSG, fd, uintptr(unsafe.Pointer(&b.headers[0])), readBatch, 0, 0, 0)
	return int(r), errno
}

// take has a datagram handled, if it comes from where it may.
func (l *UDPLink) take(i int, handle func(b []byte, from Peer)) {
	from := l.batch.source(i)
	if !l.allows(from.Addr()) {
		l.count.add(ForeignSources)
		return
	}
	begin := i * datagramRoom
	handle(l.batch.buffer[begin:begin+int(l.batch.headers[i].Len)], Peer{Addr: from})
}

// source is where a datagram came from, never an IPv4-mapped address.
func (b *batch) source(i int) netip.AddrPort {
	name := &b.names[i]
	port := networkOrder(name.Port) // at the same place in both
	if name.Family == unix.AF_INET {
		return netip.AddrPortFrom(netip.AddrFrom4((*unix.RawSockaddrInet4)(unsafe.Pointer(name)).Addr), port)
	}
	addr := netip.AddrFrom16(name.Addr).Unmap()
	if name.Scope_id != 0 {
		addr = addr.WithZone(b.zone(name.Scope_id))
	}
	return netip.AddrPortFrom(addr, port)
}

// zone is the name of an interface, as the standard library has it in addresses.
func (b *batch) zone(index uint32) string {
	name, known := b.zones[index]
	if !known {
		name = strconv.FormatUint(uint64(index), 10)
		if i, err := net.InterfaceByIndex(int(index)); err == nil {
			name = i.Name
		}
		b.zones[index] = name
	}
	return name
}

// networkOrder turns a port as the kernel has it, big-endian in memory, into a number, and back.
func networkOrder(port uint16) uint16 {
	b := (*[2]byte)(unsafe.Pointer(&port))
	return uint16(b[0])<<8 | uint16(b[1])
}
