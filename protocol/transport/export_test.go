package transport

import (
	"bytes"
	"errors"
	"net/netip"
	"os"
	"time"

	"skyring/protocol/transport/packet"
)

// Handle gives an endpoint a packet as if it had come from the link.
func Handle(e *Endpoint, b []byte, from netip.AddrPort) {
	e.handle(bytes.Clone(b), place{Peer: Peer{Addr: from}})
}

// Tags are an association's verification tags and TSNs, which a spoofer does not know.
func Tags(a *Association) (local, peer uint32) { return a.localTag, a.peerTag }

// Beat lets an association's clocks run as if it were that time.
func Beat(a *Association, now time.Time) { a.beat(now) }

// WithoutWindowUpdates leaves an association to what pion tells the peer of its window.
func WithoutWindowUpdates(a *Association) {
	a.window.mu.Lock()
	defer a.window.mu.Unlock()
	a.window.size = 0
}

// Cookie is a cookie in the open.
type Cookie struct {
	Created             time.Duration // since the endpoint's New
	Peer                netip.AddrPort
	LocalPort, PeerPort uint16
	LocalTag, PeerTag   uint32
	TieLocal, TiePeer   uint32
	LocalTSN, PeerTSN   uint32
	Window              uint32
	In, Out             uint16
	ForwardTSN          bool
	Named               []netip.Addr
}

// SealAndOpen takes a cookie through a key of its own; damage may change the sealed bytes.
func SealAndOpen(c Cookie, damage func([]byte) []byte) (Cookie, error) {
	key, err := newCookieKey()
	if err != nil {
		return Cookie{}, err
	}
	got, err := key.open(damage(key.seal(cookie{
		created: c.Created, tieLocal: c.TieLocal, tiePeer: c.TiePeer,
		terms: terms{
			peer: place{Peer: Peer{Addr: c.Peer}}, localPort: c.LocalPort, peerPort: c.PeerPort, localTag: c.LocalTag, peerTag: c.PeerTag,
			localTSN: c.LocalTSN, peerTSN: c.PeerTSN, peerWindow: c.Window, in: c.In, out: c.Out, forwardTSN: c.ForwardTSN, named: c.Named,
		},
	})))
	return Cookie{
		Created: got.created, Peer: got.peer.Addr, LocalPort: got.localPort, PeerPort: got.peerPort, LocalTag: got.localTag,
		PeerTag: got.peerTag, TieLocal: got.tieLocal, TiePeer: got.tiePeer, LocalTSN: got.localTSN, PeerTSN: got.peerTSN,
		Window: got.peerWindow, In: got.in, Out: got.out, ForwardTSN: got.forwardTSN, Named: got.named,
	}, err
}

// CookieLen is the length of a sealed cookie without other addresses, and CookieMaxLen that with as many as may be.
const (
	CookieLen    = cookieMinLen
	CookieMaxLen = cookieMaxLen
)

// JudgeCookie names the action for a cookie with these tags; existing is nil, or local and peer tag.
func JudgeCookie(c Cookie, existing *[2]uint32) string {
	sealed := cookie{
		tieLocal: c.TieLocal, tiePeer: c.TiePeer, terms: terms{localTag: c.LocalTag, peerTag: c.PeerTag},
	}
	var what *tags
	if existing != nil {
		what = &tags{local: existing[0], peer: existing[1]}
	}
	return map[cookieAction]string{
		cookieDiscard: "discard", cookieFresh: "fresh", cookieRestart: "restart", cookieCollision: "collision",
		cookieDuplicate: "duplicate",
	}[judgeCookie(sealed, what)]
}

// Acknowledged is how many DATA chunks of ours the peer has acknowledged.
func Acknowledged(a *Association) uint32 { return a.sending.acked.Load() }

// Bucket counts how many of the moments, each since a fixed one, find a token of those that come perSecond.
func Bucket(perSecond int, moments ...time.Duration) (taken int) {
	var b bucket
	for _, at := range moments {
		if b.take(at, perSecond) {
			taken++
		}
	}
	return taken
}

// Sweep ends sessions as if it were that time.
func Sweep(l *DTLSLink, now time.Time) {
	for _, s := range l.sessions() {
		s.expire(now)
	}
}

// PeerOf is where a link reaches an association's peer.
func PeerOf(a *Association) Peer { return a.paths.place().Peer }

// CID is the connection ID by which an association's peer names its session.
func CID(a *Association) []byte { return a.peer.session.cid[:] }

// Receive gives a link a datagram as if it had come from the socket.
func Receive(l *DTLSLink, b []byte, from netip.AddrPort) { l.receive(b, from, time.Now()) }

// TurnHelloKeys lets the keys of HelloVerifyRequest age.
func TurnHelloKeys(age time.Duration, h []byte, from netip.AddrPort) (accepted bool) {
	start := time.Unix(1_000_000, 0)
	keys := newHelloKeys(start)
	first, _ := readClientHello(h)
	cookie := keys.cookie(first, from, start)
	first.cookie = cookie
	return keys.good(first, from, start.Add(age))
}

// Inbox counts how many packets of these sizes an inbox keeps.
func Inbox(limit, maxBytes int, sizes ...int) (kept int) {
	q := inbox{limit: limit, maxBytes: maxBytes, wake: make(chan struct{}, 1)}
	for _, size := range sizes {
		if q.put(&packetBuffer{b: make([]byte, size)}) {
			kept++
		}
	}
	for q.take() != nil {
		kept += 1000 // and how many come out
	}
	if q.bytes != 0 || q.length != 0 {
		return -1
	}
	return kept
}

// Settle ends the time in which an association's peer may repeat the last flight of its DTLS handshake.
func Settle(a *Association) { a.peer.session.settles.Store(0) }

// Usable tells whether an address that a peer names becomes a path over UDP from a bound address, with these networks
// allowed: 192.0.2.0/24, 10.0.0.0/8, 169.254.0.0/16, 224.0.0.0/4, 2001:db8::/32, fe80::/10, the loopbacks and more.
func Usable(bound, from, named netip.Addr) bool {
	var (
		l        UDPLink
		networks []netip.Prefix
	)
	for _, text := range []string{
		"192.0.2.0/24", "10.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "255.255.255.255/32", "0.0.0.0/32", "::/1",
		"fe80::/10", "ff00::/8",
	} {
		networks = append(networks, netip.MustParsePrefix(text))
	}
	l.allowed.set(networks)
	e := Endpoint{links: []Link{&boundLink{UDPLink: &l, addr: bound}}}
	return len(e.usable([]netip.Addr{named}, place{Peer: Peer{Addr: netip.AddrPortFrom(from, 9899)}})) == 1
}

// boundLink says to be bound elsewhere.
type boundLink struct {
	*UDPLink

	addr netip.Addr
}

func (l *boundLink) LocalAddr() netip.AddrPort { return netip.AddrPortFrom(l.addr, 9899) }

// Named are the addresses that an association's peer named in its handshake.
func Named(a *Association) []netip.Addr { return a.named }

// Stalled is how long nothing of what was sent has been acknowledged.
func Stalled(a *Association, now time.Time) time.Duration {
	return a.sending.stalled(a.endpoint.clock(now))
}

// SocketFile is a plain link's socket for another process.
func SocketFile(l Link) (*os.File, error) {
	udp, ok := l.(*UDPLink)
	if !ok {
		return nil, errors.New("no plain link")
	}
	return udp.socket.File()
}

// KernelSilent looks for the kernel's SCTP below a directory.
func KernelSilent(root string) error { return kernelSilent(root) }

// InstallUnaware takes a cookie as onCookieEcho does that looked before Dial began.
func InstallUnaware(e *Endpoint, echo []byte, from netip.AddrPort) (*Association, error) {
	e.handling.Lock()
	defer e.handling.Unlock()
	chunk, _, err := packet.ChunkAt(echo, 0)
	if err != nil {
		return nil, err
	}
	c, err := e.cookies.open(chunk.Value)
	if err != nil {
		return nil, err
	}
	c.peer = place{Peer: Peer{Addr: from}}
	in := &inbound{header: packet.Header{SourcePort: c.peerPort, DestinationPort: c.localPort}, from: c.peer}
	return e.install(in, c, nil, nil), nil
}

// ReadPackets reads from a link as Run does, once.
func ReadPackets(l *UDPLink, handle func(b []byte)) error {
	return l.readPackets(func(b []byte, _ Peer) { handle(b) })
}
