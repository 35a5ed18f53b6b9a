package transport

import "net/netip"

// CookieSentTo reports whether a cookie that was made in one DTLS session is taken in another; 0 is none.
func CookieSentTo(made, taken uint64) bool {
	at := Peer{Addr: netip.MustParseAddrPort("127.0.0.1:9")}
	c := cookie{session: made, terms: terms{peer: place{Peer: at}}}
	if taken != 0 {
		at.session = &session{number: taken}
	}
	return c.sentTo(place{Peer: at})
}
