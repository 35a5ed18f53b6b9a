package transport

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	writeBatch  = 64    // runs to a system call
	maxSegments = 64    // datagrams to a run; newer kernels take more
	maxRun      = 60000 // bytes of one
)

// bulk are the buffers of the goroutine that writes many packets to a UDP link. Packets to the same peer that follow one
// another and are equally long, the last maybe shorter, are a run: they go through the kernel as one, to be parted at its
// end or by the network card (UDP_SEGMENT).
type bulk struct {
	// static
	raw  syscall.RawConn
	wide bool // the socket is one of IPv6, which takes IPv4-mapped addresses

	headers  [writeBatch]unix.Mmsghdr
	vectors  [writeBatch]unix.Iovec
	names    [writeBatch]unix.RawSockaddrInet6 // have room for IPv4's
	controls [writeBatch]segmentControl
	runs     [writeBatch]run
	singly   bool              // the kernel refuses runs, or refused one
	zones    map[string]uint32 // indices of interfaces, of those that link-local packets went by
}

// run is packets of a parcel that go together: the first and the one behind the last, and their bytes.
type run struct{ from, to, begin, end int }

// segmentControl is the control message that tells how long the packets of a run are.
type segmentControl struct {
	header unix.Cmsghdr
	size   uint16
	_      [6]byte // aligned, the message is no longer than this
}

const segmentSizeLen = 2

func newBulk(socket *net.UDPConn) (*bulk, error) {
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil, err
	}
	w := &bulk{raw: raw, zones: map[string]uint32{}}
	var domain int
	var failed error
	err = raw.Control(func(fd uintptr) {
		domain, failed = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_DOMAIN)
		_, unknown := unix.GetsockoptInt(int(fd), unix.SOL_UDP, unix.UDP_SEGMENT)
		w.singly = unknown != nil // kernels before 4.18 would send a run as one datagram
	})
	if err := errors.Join(err, failed); err != nil {
		return nil, fmt.Errorf("ask for the socket's family: %w", err)
	}
	w.wide = domain == unix.AF_INET6
	for i := range w.headers {
		h, c := &w.headers[i].Hdr, &w.controls[i]
		h.Name, h.Iov = (*byte)(unsafe.Pointer(&w.names[i])), &w.vectors[i]
		h.SetIovlen(1)
		c.header.Level, c.header.Type = unix.SOL_UDP, unix.UDP_SEGMENT
		c.header.SetLen(unix.CmsgLen(segmentSizeLen))
	}
	return w, nil
}

// writePackets implements bulkWriting.
func (l *UDPLink) writePackets(p *parcel) (packets, bytes int) {
	w := l.bulk
	for at := 0; at < len(p.packets); {
		n := 0
		for ; n < writeBatch && at < len(p.packets); n++ {
			w.runs[n] = p.run(at, w.singly)
			at = w.runs[n].to
			w.fill(n, p)
		}
		for done := 0; done < n; {
			sent, err := w.send(done, n)
			for _, r := range w.runs[done : done+sent] {
				packets, bytes = packets+r.to-r.from, bytes+r.end-r.begin
			}
			if done += sent; err != nil { // of the first that was not sent
				more, moreBytes := l.writeSingly(p, w.runs[done], err)
				packets, bytes, done = packets+more, bytes+moreBytes, done+1
			}
		}
	}
	return packets, bytes
}

// writeSingly writes the packets of a run that failed.
func (l *UDPLink) writeSingly(p *parcel, r run, why error) (packets, bytes int) {
	if r.to == r.from+1 {
		return 0, 0
	}
	if errors.Is(why, unix.EIO) || errors.Is(why, unix.EINVAL) { // no checksums by the card, IPsec; frames shorter than the packets
		l.bulk.singly = true
	}
	for begin := r.begin; r.from < r.to; r.from++ {
		one := p.packets[r.from]
		if l.WritePacket(p.b[begin:one.end], one.to.Peer) == nil {
			packets, bytes = packets+1, bytes+one.end-begin
		}
		begin = one.end
	}
	return packets, bytes
}

// run finds the packets that go together with the one at an index.
func (p *parcel) run(at int, singly bool) run {
	r := run{from: at, to: at + 1, end: p.packets[at].end}
	if at > 0 {
		r.begin = p.packets[at-1].end
	}
	size, to := r.end-r.begin, p.packets[at].to
	for last := size; last == size && r.to < len(p.packets) && r.to-r.from < maxSegments && !singly; r.to++ {
		next := p.packets[r.to]
		last = next.end - r.end
		if last > size || next.to != to || next.end-r.begin > maxRun {
			break
		}
		r.end = next.end
	}
	return r
}

// fill makes the header of a run.
func (w *bulk) fill(i int, p *parcel) {
	r, h := w.runs[i], &w.headers[i].Hdr
	w.vectors[i].Base = &p.b[r.begin]
	w.vectors[i].SetLen(r.end - r.begin)
	h.Namelen = w.address(i, p.packets[r.from].to)
	if r.to == r.from+1 {
		h.Control = nil
		h.SetControllen(0)
		return
	}
	w.controls[i].size = uint16(p.packets[r.from].end - r.begin)
	h.Control = (*byte)(unsafe.Pointer(&w.controls[i]))
	h.SetControllen(unix.CmsgSpace(segmentSizeLen))
}

// address writes where a run goes, and gives its length.
func (w *bulk) address(i int, to place) uint32 {
	addr, name := to.Addr.Addr(), &w.names[i]
	name.Port = networkOrder(to.Addr.Port()) // at the same place in both
	if addr.Is4() && !w.wide {
		name.Family = unix.AF_INET
		(*unix.RawSockaddrInet4)(unsafe.Pointer(name)).Addr = addr.As4()
		return unix.SizeofSockaddrInet4
	}
	name.Family, name.Flowinfo, name.Addr, name.Scope_id = unix.AF_INET6, 0, addr.As16(), 0
	if zone := addr.Zone(); zone != "" {
		name.Scope_id = w.zone(zone)
	}
	return unix.SizeofSockaddrInet6
}

// zone is the index of an interface; 0 for one that there is not.
func (w *bulk) zone(name string) uint32 {
	index, known := w.zones[name]
	if !known {
		if i, err := net.InterfaceByName(name); err == nil {
			index = uint32(i.Index)
		}
		w.zones[name] = index
	}
	return index
}

// send writes runs, up to the first that fails; the error is that one's.
func (w *bulk) send(from, to int) (sent int, err error) {
	var failed syscall.Errno
	err = w.raw.Write(func(fd uintptr) bool {
		for {
			n, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, fd, uintptr(unsafe.Pointer(&w.headers[from])), uintptr(to-from), 0, 0, 0)
			switch {
			case errno == unix.EINTR:
				continue
			case errno == unix.EAGAIN:
				return false
			case errno != 0:
				failed = errno
			default:
				sent = int(n)
			}
			return true
		}
	})
	if err == nil && failed != 0 {
		err = failed
	}
	return sent, err
}
