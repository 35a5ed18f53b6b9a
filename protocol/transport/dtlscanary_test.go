package transport_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"net"
	"net/netip"
	"reflect"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/pion/dtls/v3"

	"skyring/protocol/transport"
)

// These tests hold what pion/dtls does that the DTLS link relies on, or makes up for. When one fails after an upgrade, read
// what it says, and whether the front can do with less.

// stockListener is pion's own, with a pre-shared key.
func stockListener(t *testing.T) net.Listener {
	t.Helper()
	l, err := dtls.ListenWithOptions("udp", net.UDPAddrFromAddrPort(loopback()), stockOptions()...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func stockKey([]byte) ([]byte, error) { return hex.DecodeString(key("gw-7")) }

func stockOptions() []dtls.ServerOption {
	return []dtls.ServerOption{
		dtls.WithLoggerFactory(quiet()), dtls.WithPSK(stockKey), dtls.WithCipherSuites(dtls.TLS_PSK_WITH_AES_128_GCM_SHA256),
	}
}

func stockClient() []dtls.ClientOption {
	return []dtls.ClientOption{
		dtls.WithLoggerFactory(quiet()), dtls.WithPSK(stockKey), dtls.WithPSKIdentityHint([]byte("gw-7")),
		dtls.WithCipherSuites(dtls.TLS_PSK_WITH_AES_128_GCM_SHA256),
	}
}

// pion's listener keeps a connection for each ClientHello, and does no handshake until it is told to. Were its cookie
// stateless, dtlshello.go could go.
func TestCanaryDTLSListenerKeepsHellos(t *testing.T) {
	l := stockListener(t)
	s := newHelloSender(t, mustAddr(t, l.Addr()))
	s.send(hello(1, nil))
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { done <- conn.(*dtls.Conn).HandshakeContext(ctx) }()
	s.read()
	during := runtime.NumGoroutine()
	cancel()
	if err := <-done; err == nil {
		t.Error("the handshake came through")
	}
	_ = conn.Close()
	// Counted by what ends with it: tests before may leave some that are about to end.
	eventually(t, "three goroutines or more that a ClientHello costs", func() bool { return during-runtime.NumGoroutine() >= 3 })
}

// The memory where pion keeps the cookie that it expects: 20 bytes, at Conn.state.cookie (pionCookie).
func TestCanaryDTLSCookie(t *testing.T) {
	pipe, other := net.Pipe()
	t.Cleanup(func() { _, _ = pipe.Close(), other.Close() })
	conn, err := dtls.ServerWithOptions(packets{pipe}, pipe.RemoteAddr(), stockOptions()...)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var waiting sync.WaitGroup
	waiting.Go(func() { _ = conn.HandshakeContext(ctx) })
	if _, err := other.Write(hello(1, nil)); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 2048)
	n, err := other.Read(answer)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	waiting.Wait()
	cookie := reflect.ValueOf(conn).Elem().FieldByName("state").FieldByName("cookie")
	if cookie.Kind() != reflect.Slice || cookie.Len() != 20 || string(cookie.Bytes()) != string(answer[28:n]) {
		t.Errorf("the cookie of %x is not %v", answer[:n], cookie)
	}
	_ = conn.Close()
}

// packets makes a pipe a net.PacketConn.
type packets struct{ net.Conn }

func (p packets) ReadFrom(b []byte) (int, net.Addr, error) {
	n, err := p.Read(b)
	return n, p.RemoteAddr(), err
}

func (p packets) WriteTo(b []byte, _ net.Addr) (int, error) { return p.Write(b) }

// On an established session, pion answers a forged record in the clear with a fatal alert, by which the peer ends it.
// Were they dropped, acceptable could let more through.
func TestCanaryDTLSForgedRecordEndsSession(t *testing.T) {
	for name, forged := range map[string][]byte{
		"data": plainRecord(23, 99, []byte("x")), "unknown type": plainRecord(29, 99, []byte("x")),
		"broken ChangeCipherSpec": plainRecord(20, 99, []byte{7}),
	} {
		t.Run(name, func(t *testing.T) {
			l := stockListener(t)
			accepted := make(chan *dtls.Conn, 1)
			go func() {
				conn, err := l.Accept()
				if err == nil {
					err = conn.(*dtls.Conn).HandshakeContext(deadline(t))
				}
				if err != nil {
					t.Error(err)
				}
				accepted <- conn.(*dtls.Conn)
			}()
			socket, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(loopback()))
			if err != nil {
				t.Fatal(err)
			}
			client, err := dtls.ClientWithOptions(socket, l.Addr(), stockClient()...)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = client.Close() }()
			if err := client.HandshakeContext(deadline(t)); err != nil {
				t.Fatal(err)
			}
			server := <-accepted
			defer func() { _ = server.Close() }()
			go func() {
				buffer := make([]byte, 100)
				for {
					if _, err := server.Read(buffer); err != nil {
						return
					}
				}
			}()
			// A spoofer writes from the client's address; here the client's own socket does.
			if _, err := socket.WriteTo(forged, l.Addr()); err != nil {
				t.Fatal(err)
			}
			_ = client.SetReadDeadline(time.Now().Add(patience))
			if _, err := client.Read(make([]byte, 100)); err == nil || isTimeout(err) {
				t.Errorf("the session goes on: %v", err)
			}
		})
	}
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

func mustAddr(t *testing.T, addr net.Addr) netip.AddrPort {
	t.Helper()
	parsed, err := netip.ParseAddrPort(addr.String())
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// A client that is told no server name takes a certificate of any name (newClient).
func TestCanaryDTLSNoServerName(t *testing.T) {
	ca := newAuthority(t)
	server, _ := serveDTLS(t, ca.secure(ca.issue("somebody-else", func(c *x509.Certificate) { c.IPAddresses = nil })))
	own := ca.issue("gw-7")
	pair, err := tls.LoadX509KeyPair(own.certificate, own.key)
	if err != nil {
		t.Fatal(err)
	}
	authorities := x509.NewCertPool()
	authorities.AddCert(ca.certificate)
	if err := pionHandshake(t, server.LocalAddr(), dtls.WithCertificates(pair), dtls.WithRootCAs(authorities)); err != nil {
		t.Errorf("a name is wanted now: %v", err)
	}
}

// A client that refuses a server says so in an alert in the clear that is wrapped as a record with connection ID
// (clearAlert). Without a connection ID, which ours negotiates, it is a plain one.
func TestCanaryDTLSWrappedAlert(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	server, _ := serveDTLS(t, ca.secure(ca.issue("dispatcher")))
	cfg := ca.secure(ca.issue("gw-7"))
	cfg.CA = other.file
	r := newRelay(t, server.LocalAddr())
	var mu sync.Mutex
	wrapped := 0
	r.disturbing(func(b []byte) fate {
		mu.Lock()
		defer mu.Unlock()
		if b[0] == 25 && b[3] == 0 && b[4] == 0 {
			wrapped++
		}
		return onTime
	})
	dialFails(t, clientDTLS(t, cfg), r.addr(), "unknown authority")
	counts(t, server, transport.HandshakeFailures, 1)
	mu.Lock()
	defer mu.Unlock()
	if wrapped != 1 {
		t.Errorf("%d wrapped alerts", wrapped)
	}
}

// The client's own records carry the connection ID that the server asked for, once the handshake is through; stock
// clients as ours.
func TestDTLSWithStockClient(t *testing.T) {
	file := pskFile(t, "gw-7 17")
	server, link := serveDTLS(t, pskServer(file))
	for _, options := range [][]dtls.ClientOption{
		stockClient(), append(stockClient(), dtls.WithConnectionIDGenerator(dtls.OnlySendCIDGenerator())),
		append(stockClient(), dtls.WithCipherSuites(dtls.TLS_ECDHE_PSK_WITH_CHACHA20_POLY1305_SHA256)),
	} {
		if err := pionHandshake(t, server.LocalAddr(), options...); err != nil {
			t.Error(err)
		}
	}
	counts(t, server, transport.SessionsOpened, 3)
	if link.Sessions() != 3 {
		t.Errorf("%d sessions", link.Sessions())
	}
	for _, suite := range []dtls.CipherSuiteID{
		dtls.TLS_PSK_WITH_AES_128_CBC_SHA256, dtls.TLS_PSK_WITH_AES_128_CCM_8, dtls.TLS_ECDHE_PSK_WITH_AES_128_CBC_SHA256,
	} {
		if err := pionHandshake(t, server.LocalAddr(), append(stockClient(), dtls.WithCipherSuites(suite))...); err == nil {
			t.Errorf("suite %x is taken", suite)
		}
	}
	without := append(stockClient(), dtls.WithExtendedMasterSecret(dtls.DisableExtendedMasterSecret))
	if err := pionHandshake(t, server.LocalAddr(), without...); err == nil {
		t.Error("a client without extended master secret is taken")
	}
}
