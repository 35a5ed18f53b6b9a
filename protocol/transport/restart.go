package transport

// tags are the verification tags of an association or of a handshake under way; a peer's tag of 0 is not known yet.
type tags struct{ local, peer uint32 }

// cookieAction is what a valid cookie leads to (RFC 9260 section 5.2.4, table 12).
type cookieAction uint8

const (
	cookieDiscard   cookieAction = iota // actions C and "none of the above"
	cookieFresh                         // nothing existed: a new association
	cookieRestart                       // action A: the peer lost its state
	cookieCollision                     // action B: both sides sent INIT
	cookieDuplicate                     // action D: COOKIE-ACK got lost
)

// judgeCookie compares a cookie with the tags of what exists between the same addresses and ports, nil for nothing.
func judgeCookie(c cookie, existing *tags) cookieAction {
	if existing == nil {
		return cookieFresh
	}
	localMatches, peerMatches := c.localTag == existing.local, c.peerTag == existing.peer
	tied := c.tieLocal == existing.local && c.tiePeer == existing.peer
	switch {
	case localMatches && peerMatches:
		return cookieDuplicate
	case localMatches:
		return cookieCollision
	case !peerMatches && tied:
		return cookieRestart
	}
	return cookieDiscard
}
