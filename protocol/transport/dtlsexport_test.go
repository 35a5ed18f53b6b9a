package transport

import (
	"net/netip"
	"time"
)

// CookieSentTo reports whether a cookie that was made in one DTLS session is taken in another; 0 is none.
func CookieSentTo(made, taken uint64) bool {
	at := Peer{Addr: netip.MustParseAddrPort("127.0.0.1:9")}
	c := cookie{session: made, terms: terms{peer: place{Peer: at}}}
	if taken != 0 {
		at.session = &session{number: taken}
	}
	return c.sentTo(place{Peer: at})
}

// SessionTimes are when an association's session was used last, and when it settles, since its link was opened.
func SessionTimes(a *Association) (used, settles time.Duration) {
	return time.Duration(a.peer.session.used.Load()), time.Duration(a.peer.session.settles.Load())
}
