package transport

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"net/netip"
	"time"
)

// errBadCookie is for a cookie that this endpoint did not make, or not in this form.
var errBadCookie = errors.New("bad cookie")

// terms are what both sides of an association agreed on in the handshake.
type terms struct {
	peer                place
	localPort, peerPort uint16
	localTag, peerTag   uint32
	localTSN, peerTSN   uint32
	peerWindow          uint32
	in, out             uint16 // streams
	forwardTSN          bool
	named               []netip.Addr // other addresses of the peer's, at most maxNamed; none is confirmed
}

// cookie is the state that the server does not keep: it travels to the client and back (RFC 9260 section 5.1.3).
//
//	0  created, ns since New      u64     36 peer window          u32
//	8  local tag, peer tag        2 u32   40 streams in, out      2 u16
//	16 local TSN, peer TSN        2 u32   44 flags                u8
//	24 tie tags: local, peer      2 u32   45 peer address         16 bytes
//	32 local port, peer port      2 u16   61 peer UDP port        u16
//	63 link                       u8      64 DTLS session         u64
//	72 number of other addresses  u8, at most maxNamed
//	73 each: length 4 or 16       u8      address
//	.. HMAC-SHA-256 of the above  32 bytes
type cookie struct {
	terms

	created  time.Duration // on the endpoint's clock, so that a step of the machine's makes no cookie younger
	tieLocal uint32        // tags of the association that existed when INIT came, else 0
	tiePeer  uint32
	session  uint64 // number of the DTLS session that INIT came in; 0 for none
}

const (
	cookieFixedLen = 73
	cookieMinLen   = cookieFixedLen + sha256.Size
	cookieMaxLen   = cookieMinLen + maxNamed*(1+16)

	cookieForwardTSN = 1
	cookieIPv4       = 2
)

// cookieKey signs cookies. It lives as long as its endpoint and never leaves it. A flood makes it work for each packet, so
// it keeps its memory; one goroutine at a time may use it.
type cookieKey struct {
	mac hash.Hash
	sum [sha256.Size]byte
}

func newCookieKey() (*cookieKey, error) {
	var key [sha256.Size]byte
	if _, err := rand.Read(key[:]); err != nil {
		return nil, fmt.Errorf("make the cookie key: %w", err)
	}
	return &cookieKey{mac: hmac.New(sha256.New, key[:])}, nil
}

func (k *cookieKey) seal(c cookie) []byte {
	b := make([]byte, 0, cookieMaxLen)
	b = binary.BigEndian.AppendUint64(b, uint64(c.created))
	for _, v := range [...]uint32{c.localTag, c.peerTag, c.localTSN, c.peerTSN, c.tieLocal, c.tiePeer} {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	b = binary.BigEndian.AppendUint16(b, c.localPort)
	b = binary.BigEndian.AppendUint16(b, c.peerPort)
	b = binary.BigEndian.AppendUint32(b, c.peerWindow)
	b = binary.BigEndian.AppendUint16(b, c.in)
	b = binary.BigEndian.AppendUint16(b, c.out)
	b = append(b, c.flags())
	address := c.peer.Addr.Addr().As16()
	b = append(b, address[:]...)
	b = binary.BigEndian.AppendUint16(b, c.peer.Addr.Port())
	b = append(b, c.peer.link)
	b = binary.BigEndian.AppendUint64(b, c.session)
	b = append(b, byte(len(c.named)))
	for _, addr := range c.named {
		raw := addr.AsSlice()
		b = append(append(b, byte(len(raw))), raw...)
	}
	return k.sign(b, b)
}

// open checks the signature and reads the cookie; age, addresses and session are for the caller. The error is errBadCookie.
func (k *cookieKey) open(b []byte) (cookie, error) {
	end := len(b) - sha256.Size
	if end < cookieFixedLen || len(b) > cookieMaxLen || !hmac.Equal(k.sign(k.sum[:0], b[:end]), b[end:]) {
		return cookie{}, errBadCookie
	}
	u16, u32 := binary.BigEndian.Uint16, binary.BigEndian.Uint32
	address := netip.AddrFrom16([16]byte(b[45:61]))
	if b[44]&cookieIPv4 != 0 {
		address = address.Unmap()
	}
	return cookie{
		created: time.Duration(binary.BigEndian.Uint64(b)), tieLocal: u32(b[24:]), tiePeer: u32(b[28:]),
		session: binary.BigEndian.Uint64(b[64:]),
		terms: terms{
			localTag: u32(b[8:]), peerTag: u32(b[12:]), localTSN: u32(b[16:]), peerTSN: u32(b[20:]),
			localPort: u16(b[32:]), peerPort: u16(b[34:]), peerWindow: u32(b[36:]),
			named: cookieAddresses(b[cookieFixedLen:end]),
			in:    u16(b[40:]), out: u16(b[42:]), forwardTSN: b[44]&cookieForwardTSN != 0,
			peer: place{Peer: Peer{Addr: netip.AddrPortFrom(address, u16(b[61:]))}, link: b[63]},
		},
	}, nil
}

// cookieAddresses reads the addresses of a cookie that is ours.
func cookieAddresses(b []byte) (list []netip.Addr) {
	for len(b) > 0 {
		n := 1 + int(b[0])
		addr, _ := netip.AddrFromSlice(b[1:n])
		list, b = append(list, addr), b[n:]
	}
	return list
}

func (c cookie) flags() (flags byte) {
	if c.forwardTSN {
		flags |= cookieForwardTSN
	}
	if c.peer.Addr.Addr().Is4() {
		flags |= cookieIPv4
	}
	return flags
}

func (k *cookieKey) sign(dst, body []byte) []byte {
	k.mac.Reset()
	k.mac.Write(body)
	return k.mac.Sum(dst)
}
