package transport_test

import (
	"bytes"
	"crypto/x509"
	"encoding/hex"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pion/dtls/v3"

	"skyring/protocol/transport"
)

// What was recorded of a session and comes again, from elsewhere, does not move the session there: neither a record that was
// taken before, nor one that was held back and is older than others that were taken (RFC 9146 section 6).
func TestDTLSReplayedRecordMovesNobody(t *testing.T) {
	file := pskFile(t, "gw-7 17")
	server, _ := serveDTLS(t, pskServer(file))
	client := clientDTLS(t, pskClient(file, "gw-7"))
	r, dialled, accepted := connectByRelay(t, client, server)
	sent, received := collect(t, dialled), collect(t, accepted)
	var (
		mu    sync.Mutex
		taken [][]byte
		held  []byte
	)
	r.disturbing(func(b []byte) fate {
		mu.Lock()
		defer mu.Unlock()
		if b[0] != 25 {
			return onTime
		}
		if held == nil {
			held = bytes.Clone(b)
			return lost // SCTP repeats what was in it
		}
		taken = append(taken, bytes.Clone(b))
		return onTime
	})
	for range 5 {
		echoes(t, dialled, sent, received, accepted)
	}
	r.disturbing(func([]byte) fate { return onTime })
	mu.Lock()
	recorded := append(taken, held)
	mu.Unlock()
	before := accepted.PeerAddr()
	thief := newHelloSender(t, server.LocalAddr())
	for _, b := range recorded {
		thief.send(b)
	}
	changes := server.Stats().Count(transport.AddressChanges)
	for range 5 {
		echoes(t, dialled, sent, received, accepted)
		for _, b := range recorded {
			thief.send(b)
		}
	}
	if accepted.PeerAddr() != before || server.Stats().Count(transport.AddressChanges) != changes {
		t.Errorf("the peer is at %s, was at %s", accepted.PeerAddr(), before)
	}
	if len(recorded) < 6 {
		t.Errorf("%d records were recorded", len(recorded))
	}
	_ = thief.socket.SetReadDeadline(time.Now())
	if n, err := thief.socket.Read(make([]byte, 100)); err == nil {
		t.Errorf("the thief is sent %d bytes", n)
	}
}

// An identity of any length is looked up, and neither takes the log nor the server.
func TestDTLSLongIdentity(t *testing.T) {
	server, link := serveDTLS(t, pskServer(pskFile(t, "gw-7 17")))
	for _, length := range []int{129, 10_000, 60_000} {
		identity := bytes.Repeat([]byte("x"), length)
		err := pionHandshake(t, server.LocalAddr(), dtls.WithPSKIdentityHint(identity),
			dtls.WithPSK(func([]byte) ([]byte, error) { return hex.DecodeString(key("gw-7")) }),
			dtls.WithCipherSuites(dtls.TLS_PSK_WITH_AES_128_GCM_SHA256))
		if err == nil {
			t.Errorf("an identity of %d bytes is somebody's", length)
		}
	}
	eventually(t, "no session is left", func() bool { return link.Sessions() == 0 })
	if n := server.Stats().Count(transport.UnknownIdentities); n < 2 { // the longest is more than a handshake may bring
		t.Errorf("%d unknown identities", n)
	}
}

// A thousand clients that begin a handshake and fall silent take no more than may be half open, and leave nothing behind; who
// comes after is served.
func TestDTLSThousandsHalfOpen(t *testing.T) {
	file := pskFile(t, "gw-7 17")
	cfg := pskServer(file)
	cfg.MaxHalfOpen, cfg.HandshakeTimeout = 64, 2*time.Second
	server, link := serveDTLS(t, cfg)
	newHelloSender(t, server.LocalAddr()).cookie(0) // all that serves runs
	goroutines := runtime.NumGoroutine()
	const clients = 1000
	for n := range clients {
		s := newHelloSenderAt(t, server.LocalAddr(), netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 1, byte(n >> 8), byte(n)}), 0))
		s.handshake(n)
		_ = s.socket.Close()
		if open := link.Sessions(); open > cfg.MaxHalfOpen {
			t.Fatalf("%d are half open", open)
		}
	}
	eventually(t, "all are counted", func() bool {
		stats := server.Stats()
		return stats.Count(transport.HandshakesStarted)+stats.Count(transport.HalfOpenRefused) == clients
	})
	if server.Stats().Count(transport.HalfOpenRefused) == 0 {
		t.Error("none was refused")
	}
	eventually(t, "no session is left", func() bool { return link.Sessions() == 0 })
	eventually(t, "no goroutine is left", func() bool { return runtime.NumGoroutine() <= goroutines })
	connect(t, clientDTLS(t, pskClient(file, "gw-7")), server)
}

// A datagram longer than pion reads is not cut, which would look like a forged one.
func TestDTLSOversizedRecord(t *testing.T) {
	file := pskFile(t, "gw-7 17")
	server, link := serveDTLS(t, pskServer(file))
	client := clientDTLS(t, pskClient(file, "gw-7"))
	dialled, accepted := connect(t, client, server)
	sent, received := collect(t, dialled), collect(t, accepted)
	for _, kind := range []byte{22, 23, 25} {
		transport.Receive(link, plainRecord(kind, 1<<48, make([]byte, 8200)), client.LocalAddr())
	}
	newHelloSender(t, server.LocalAddr()).send(plainRecord(22, 0, make([]byte, 60_000)))
	counts(t, server, transport.OversizedPackets, 4)
	echoes(t, dialled, sent, received, accepted)
}

// A session that ends while messages are under way ends its associations with a reason at both ends, and every Send returns.
func TestDTLSSessionEndsUnderWay(t *testing.T) {
	ca := newAuthority(t)
	server, link := serveDTLS(t, ca.secure(ca.issue("dispatcher")))
	soon := ca.issue("gw-7", func(c *x509.Certificate) { c.NotAfter = time.Now().Add(10 * time.Minute) })
	client := clientDTLS(t, ca.secure(soon))
	dialled, accepted := connect(t, client, server)
	collect(t, dialled)
	messages := collect(t, accepted)
	_, toServer := flood(t, dialled)
	_, toClient := flood(t, accepted)
	for range 100 {
		next(t, messages)
	}
	transport.Sweep(link, time.Now().Add(11*time.Minute))
	wantReason(t, accepted, transport.SessionEnded)
	wantReason(t, dialled, transport.SessionEnded)
	<-toServer
	<-toClient
	eventually(t, "no session is left", func() bool { return client.Stats().Sessions+server.Stats().Sessions == 0 })
}

// A session lasts as long as every certificate that proves it, and not only the peer's own.
func TestDTLSSessionEndsWithItsAuthority(t *testing.T) {
	ca := newAuthority(t) // for an hour
	server, link := serveDTLS(t, ca.secure(ca.issue("dispatcher")))
	longer := ca.issue("gw-7", func(c *x509.Certificate) { c.NotAfter = time.Now().Add(10 * time.Hour) })
	_, accepted := connect(t, clientDTLS(t, ca.secure(longer)), server)
	collect(t, accepted)
	transport.Sweep(link, time.Now().Add(55*time.Minute))
	if accepted.Err() != nil {
		t.Fatal(accepted.Err())
	}
	transport.Sweep(link, time.Now().Add(65*time.Minute))
	if detail := wantReason(t, accepted, transport.SessionEnded); !strings.Contains(detail, "expired on") {
		t.Errorf("ended with %q", detail)
	}
}

// A step of the machine's clock neither ends a session nor makes it take records in the clear again.
func TestDTLSTimesAreNotOfTheMachinesClock(t *testing.T) {
	begun := time.Now()
	file := pskFile(t, "gw-7 17")
	server, _ := serveDTLS(t, pskServer(file))
	_, accepted := connect(t, clientDTLS(t, pskClient(file, "gw-7")), server)
	used, settles := transport.SessionTimes(accepted)
	if since := time.Since(begun); used <= 0 || used > since || settles <= 0 || settles > since+time.Minute {
		t.Errorf("used %s, settles %s after the link was opened", used, settles)
	}
}

// Where something other than DTLS comes, or another version of it, nothing is answered and nothing kept.
func TestDTLSStrangers(t *testing.T) {
	server, link := serveDTLS(t, pskServer(pskFile(t, "gw-7 17")))
	s := newHelloSender(t, server.LocalAddr())
	old := hello(1, nil)
	old[26] = 0xFF // DTLS 1.0: 0xFEFF
	tls := hello(1, nil)
	tls[1], tls[2] = 3, 3
	for _, b := range [][]byte{old, tls, []byte("INVITE sip:bob SIP/2.0\r\n"), {0}, bytes.Repeat([]byte{22}, 100), {22, 254, 253, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255}} {
		s.send(b)
	}
	if cookie := s.cookie(2); len(cookie) != 20 { // the first answer is this one's
		t.Errorf("a cookie of %d bytes", len(cookie))
	}
	if link.Sessions() != 0 || server.Stats().Count(transport.HelloVerifies) != 1 {
		t.Errorf("%d sessions, %d answers", link.Sessions(), server.Stats().Count(transport.HelloVerifies))
	}
}
