package transport_test

import (
	"crypto/x509"
	"encoding/binary"
	"encoding/pem"
	"net"
	"net/netip"
	"testing"
	"time"
)

func pemOf(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
}

// helloSender is a raw DTLS client that gets no further than its ClientHello.
type helloSender struct {
	t      testing.TB
	socket *net.UDPConn
	server netip.AddrPort
}

func newHelloSender(tb testing.TB, server netip.AddrPort) *helloSender {
	tb.Helper()
	return newHelloSenderAt(tb, server, loopback())
}

func newHelloSenderAt(tb testing.TB, server, at netip.AddrPort) *helloSender {
	tb.Helper()
	socket, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = socket.Close() })
	return &helloSender{t: tb, socket: socket, server: server}
}

// hello is a ClientHello with the random of a number; cookie nil makes it the first.
func hello(number int, cookie []byte) []byte {
	sequence := uint16(0)
	if cookie != nil {
		sequence = 1
	}
	body := binary.BigEndian.AppendUint32([]byte{0xFE, 0xFD}, uint32(number))
	body = append(body, make([]byte, 28)...)
	body = append(body, 0, byte(len(cookie)))
	body = append(body, cookie...)
	body = append(body, 0, 4, 0xCC, 0xAC, 0x00, 0xA8) // the two suites with pre-shared keys
	body = append(body, 1, 0)
	body = append(body, 0, 12, 0, 23, 0, 0, 0, 10, 0, 4, 0, 2, 0, 23) // extended master secret, P-256
	message := append([]byte{1, 0, byte(len(body) >> 8), byte(len(body)), 0, byte(sequence), 0, 0, 0, 0, byte(len(body) >> 8), byte(len(body))}, body...)
	return plainRecord(22, uint64(sequence), message)
}

// plainRecord is a record in the clear.
func plainRecord(kind byte, sequence uint64, body []byte) []byte {
	b := binary.BigEndian.AppendUint64([]byte{kind, 0xFE, 0xFD}, sequence)
	b = binary.BigEndian.AppendUint16(b, uint16(len(body)))
	return append(b, body...)
}

func (s *helloSender) send(b []byte) {
	s.t.Helper()
	if _, err := s.socket.WriteToUDPAddrPort(b, s.server); err != nil {
		s.t.Fatal(err)
	}
}

func (s *helloSender) read() []byte {
	s.t.Helper()
	b := make([]byte, 2048)
	_ = s.socket.SetReadDeadline(time.Now().Add(patience))
	n, _, err := s.socket.ReadFromUDPAddrPort(b)
	if err != nil {
		s.t.Fatal(err)
	}
	return b[:n]
}

// cookie asks for one.
func (s *helloSender) cookie(number int) []byte {
	s.t.Helper()
	first := hello(number, nil)
	s.send(first)
	answer := s.read()
	for answer[0] != 22 || answer[13] != 3 { // of a handshake before
		answer = s.read()
	}
	if len(answer) != 48 || answer[0] != 22 || answer[13] != 3 || len(answer) >= len(first) {
		s.t.Fatalf("%d bytes answer %d: %x", len(answer), len(first), answer)
	}
	return answer[28:]
}

// handshake begins one and falls silent.
func (s *helloSender) handshake(number int) {
	s.t.Helper()
	s.send(hello(number, s.cookie(number)))
}
