package transport

import (
	"net/netip"
	"time"
)

// Handle gives an endpoint a packet as if it had come from the link.
func Handle(e *Endpoint, b []byte, from netip.AddrPort) {
	e.handle(b, place{Peer: Peer{Addr: from}})
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
	Created             time.Time
	Peer                netip.AddrPort
	LocalPort, PeerPort uint16
	LocalTag, PeerTag   uint32
	TieLocal, TiePeer   uint32
	LocalTSN, PeerTSN   uint32
	Window              uint32
	In, Out             uint16
	ForwardTSN          bool
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
			localTSN: c.LocalTSN, peerTSN: c.PeerTSN, peerWindow: c.Window, in: c.In, out: c.Out, forwardTSN: c.ForwardTSN,
		},
	})))
	return Cookie{
		Created: got.created, Peer: got.peer.Addr, LocalPort: got.localPort, PeerPort: got.peerPort, LocalTag: got.localTag,
		PeerTag: got.peerTag, TieLocal: got.tieLocal, TiePeer: got.tiePeer, LocalTSN: got.localTSN, PeerTSN: got.peerTSN,
		Window: got.peerWindow, In: got.in, Out: got.out, ForwardTSN: got.forwardTSN,
	}, err
}

// CookieLen is the length of a sealed cookie.
const CookieLen = cookieLen

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
