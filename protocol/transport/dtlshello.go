package transport

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"net/netip"
	"sync"
	"time"
)

// Handshake message types (RFC 6347 section 4.3.2).
const (
	messageClientHello        = 1
	messageHelloVerifyRequest = 3
)

const (
	helloCookieLen   = 20 // what pion compares; of HMAC-SHA-256's 32 bytes
	helloRandomLen   = 32
	helloKeyLife     = time.Minute // a cookie is good for one to two of these
	helloVerifyLen   = recordHeaderLen + handshakeHeaderLen + 3 + helloCookieLen
	helloRandomStart = recordHeaderLen + handshakeHeaderLen + 2
)

// clientHello is the first message of a client, in one record and one fragment (RFC 6347 section 4.2.1).
type clientHello struct {
	raw             []byte // the datagram
	messageSequence uint16
	random          [helloRandomLen]byte
	session         []byte // session id
	cookie          []byte
	cookieAt        int    // offset of the cookie's length in raw
	offers          []byte // cipher suites and compression methods, with their lengths
}

// isClientHello tells whether a datagram begins with one, well formed or not.
func isClientHello(b []byte) bool {
	return len(b) > recordHeaderLen && b[0] == recordHandshake && b[3] == 0 && b[4] == 0 &&
		b[recordHeaderLen] == messageClientHello
}

// readClientHello is strict: a datagram that holds more than the message, a message in fragments, or another version than
// DTLS 1.2 is refused.
func readClientHello(b []byte) (h clientHello, ok bool) {
	r, rest, ok := firstRecord(b, 0)
	if !ok || len(rest) > 0 || len(r.body) < handshakeHeaderLen {
		return h, false
	}
	u24 := func(b []byte) int { return int(b[0])<<16 | int(b[1])<<8 | int(b[2]) }
	length := len(r.body) - handshakeHeaderLen
	if u24(r.body[1:]) != length || u24(r.body[6:]) != 0 || u24(r.body[9:]) != length {
		return h, false
	}
	h.raw, h.messageSequence = b, binary.BigEndian.Uint16(r.body[4:])
	body := reader{b: r.body[handshakeHeaderLen:]}
	version := body.take(2)
	random := body.take(helloRandomLen)
	h.session = body.take(body.length(1))
	h.cookieAt = len(b) - len(body.b)
	h.cookie = body.take(body.length(1))
	offers := body.b
	body.take(body.length(2))
	body.take(body.length(1))
	if body.failed || version[0] != 0xFE || version[1] != 0xFD {
		return h, false
	}
	h.offers = offers[:len(offers)-len(body.b)]
	copy(h.random[:], random)
	return h, true
}

// reader takes fields off a message; past its end it fails and gives nothing.
type reader struct {
	b      []byte
	failed bool
}

func (r *reader) take(n int) []byte {
	if n > len(r.b) {
		r.failed, r.b = true, nil
		return make([]byte, n)
	}
	field := r.b[:n]
	r.b = r.b[n:]
	return field
}

func (r *reader) length(size int) (n int) {
	for _, b := range r.take(size) {
		n = n<<8 | int(b)
	}
	return n
}

// withoutCookie is the ClientHello that came before this one, as far as pion looks at it: pion wants to see it, and the
// front kept nothing of it.
func (h clientHello) withoutCookie() []byte {
	after := h.cookieAt + 1 + len(h.cookie)
	b := make([]byte, 0, len(h.raw)-len(h.cookie))
	b = append(b, h.raw[:h.cookieAt]...)
	b = append(b, 0)
	b = append(b, h.raw[after:]...)
	earlier := uint64(0)
	if sequence(h.raw) == 0 {
		earlier = 1 // any other than this one's
	}
	putSequence(b, earlier)
	binary.BigEndian.PutUint16(b[recordHeaderLen-2:], uint16(len(b)-recordHeaderLen))
	message := b[recordHeaderLen:]
	length := len(message) - handshakeHeaderLen
	for _, at := range [...]int{1, 9} {
		message[at], message[at+1], message[at+2] = byte(length>>16), byte(length>>8), byte(length)
	}
	binary.BigEndian.PutUint16(message[4:], 0)
	return b
}

// helloVerifyRequest asks the sender of a ClientHello to repeat it with a cookie, which proves its address. It is shorter
// than any ClientHello, and takes the record number of that, as RFC 6347 section 4.2.1 says.
func (h clientHello) helloVerifyRequest(cookie []byte) []byte {
	const bodyLen = 3 + helloCookieLen
	b := make([]byte, 0, helloVerifyLen)
	b = append(b, recordHandshake, 0xFE, 0xFF)
	b = append(b, h.raw[3:11]...)
	b = binary.BigEndian.AppendUint16(b, handshakeHeaderLen+bodyLen)
	b = append(b, messageHelloVerifyRequest, 0, 0, bodyLen, 0, 0, 0, 0, 0, 0, 0, bodyLen)
	b = append(b, 0xFE, 0xFF, helloCookieLen)
	return append(b, cookie...)
}

// helloKeys sign the cookies of HelloVerifyRequest.
type helloKeys struct {
	mu                sync.Mutex
	current, previous [sha256.Size]byte
	since             time.Time // current is used
}

func newHelloKeys(now time.Time) *helloKeys {
	k := &helloKeys{since: now}
	_, _ = rand.Read(k.current[:]) // never fails: crypto/rand ends the program instead
	_, _ = rand.Read(k.previous[:])
	return k
}

// turn changes the key when it is time; the caller holds mu.
func (k *helloKeys) turn(now time.Time) {
	if age := now.Sub(k.since); age >= helloKeyLife {
		k.previous, k.since = k.current, now
		if age >= 2*helloKeyLife {
			_, _ = rand.Read(k.previous[:])
		}
		_, _ = rand.Read(k.current[:])
	}
}

// cookie binds what a ClientHello must not change (RFC 6347 section 4.2.1) to where it came from.
func (k *helloKeys) cookie(h clientHello, from netip.AddrPort, now time.Time) []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.turn(now)
	return h.sign(&k.current, from)
}

// good reports whether a ClientHello brought back a cookie of ours that was made for it.
func (k *helloKeys) good(h clientHello, from netip.AddrPort, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.turn(now)
	return hmac.Equal(h.cookie, h.sign(&k.current, from)) || hmac.Equal(h.cookie, h.sign(&k.previous, from))
}

func (h clientHello) sign(key *[sha256.Size]byte, from netip.AddrPort) []byte {
	mac := hmac.New(sha256.New, key[:])
	address := from.Addr().As16()
	mac.Write(address[:])
	mac.Write(binary.BigEndian.AppendUint16(nil, from.Port()))
	mac.Write(h.random[:])
	mac.Write([]byte{byte(len(h.session))})
	mac.Write(h.session)
	mac.Write(h.offers)
	return mac.Sum(nil)[:helloCookieLen]
}
