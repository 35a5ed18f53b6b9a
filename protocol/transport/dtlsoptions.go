package transport

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/pion/dtls/v3"

	"skyring/protocol/identity"
)

const replayWindow = 512 // records; one that is later is dropped

// suites are those of DTLS 1.2 with authenticated encryption, and a key exchange that keeps old records secret when a
// certificate's or a pre-shared key gets known later; but the last, for terminals that have no more than a pre-shared key
// and AES.
func suites(certificates, keys bool) []dtls.CipherSuiteID {
	var list []dtls.CipherSuiteID
	if certificates {
		list = append(list,
			dtls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, dtls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
			dtls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, dtls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
			dtls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, dtls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
		)
	}
	if keys {
		list = append(list, dtls.TLS_ECDHE_PSK_WITH_CHACHA20_POLY1305_SHA256, dtls.TLS_PSK_WITH_AES_128_GCM_SHA256)
	}
	return list
}

// refusal is why the peer's proof was refused; it becomes the handshake's error.
type refusal struct {
	counter Counter
	err     error
}

// proof is what pion's callbacks learn of the peer during a handshake. pion's handshaker owns it until the handshake has
// ended, the session after.
type proof struct {
	identity identity.Identity
	chain    []*x509.Certificate
	until    time.Time // when the first certificate of the chain that proves it expires
	psk      preSharedKey
	refusal  *refusal
}

func (p *proof) refuse(why Counter, err error) error {
	p.refusal = &refusal{counter: why, err: err}
	return err
}

// common are the options of both sides.
func (s *session) common() []dtls.Option {
	return []dtls.Option{
		dtls.WithLoggerFactory(s.link.pionLog),
		dtls.WithExtendedMasterSecret(dtls.RequireExtendedMasterSecret),
		dtls.WithReplayProtectionWindow(replayWindow),
	}
}

// newServer makes pion's side of a handshake that the front has let in.
func (s *session) newServer() (*dtls.Conn, error) {
	c := s.creds
	options := []dtls.ServerOption{
		dtls.WithCipherSuites(suites(c.certificate != nil, c.psks != nil)...),
		dtls.WithConnectionIDGenerator(func() []byte { return s.cid[:] }),
	}
	for _, o := range s.common() {
		options = append(options, o)
	}
	if c.certificate != nil {
		options = append(options, dtls.WithCertificates(*c.certificate), dtls.WithClientAuth(dtls.RequireAndVerifyClientCert),
			dtls.WithClientCAs(c.authorities), dtls.WithVerifyPeerCertificate(s.takeClientCertificate))
	}
	if c.psks != nil {
		options = append(options, dtls.WithPSK(s.takeIdentity))
	}
	return dtls.ServerWithOptions(s.pipe, s.pipe.last, options...)
}

// newClient makes pion's side of a handshake that we begin.
func (s *session) newClient() (*dtls.Conn, error) {
	c := s.creds
	options := []dtls.ClientOption{
		dtls.WithCipherSuites(suites(c.psks == nil, c.psks != nil)...),
		dtls.WithConnectionIDGenerator(dtls.OnlySendCIDGenerator()),
	}
	for _, o := range s.common() {
		options = append(options, o)
	}
	if c.psks == nil {
		name := s.link.cfg.ServerName
		if name == "" { // pion would check no name at all
			name = s.begin.Addr().WithZone("").String()
		}
		return dtls.ClientWithOptions(s.pipe, s.pipe.last, append(options, dtls.WithCertificates(*c.certificate),
			dtls.WithRootCAs(c.authorities), dtls.WithServerName(name), dtls.WithVerifyPeerCertificate(s.takeServerCertificate))...)
	}
	own := c.psks[c.identity]
	return dtls.ClientWithOptions(s.pipe, s.pipe.last, append(options, dtls.WithPSKIdentityHint([]byte(own.identity.Name)),
		dtls.WithPSK(func([]byte) ([]byte, error) {
			s.proof.psk, s.proof.identity = own, own.identity
			return own.key, nil
		}))...)
}

// takeIdentity finds the key of an identity that a client names.
func (s *session) takeIdentity(name []byte) ([]byte, error) {
	k, listed := s.creds.psks[string(name)]
	if !listed {
		return nil, s.proof.refuse(UnknownIdentities, fmt.Errorf("pre-shared keys: no line names the identity %q", printable(name)))
	}
	s.proof.psk, s.proof.identity = k, k.identity
	return k.key, nil
}

// takeClientCertificate is called after pion has verified the chain.
func (s *session) takeClientCertificate(raw [][]byte, verified [][]*x509.Certificate) error {
	chain, err := parseChain(raw)
	if err != nil {
		return s.proof.refuse(RefusedCertificates, err)
	}
	id, err := identity.FromCertificate(chain[0])
	if err != nil {
		return s.proof.refuse(RefusedCertificates, err)
	}
	s.proof.chain, s.proof.identity, s.proof.until = chain, id, validUntil(verified)
	return nil
}

// takeServerCertificate is called after pion has verified the chain. What stations it may name means nothing to a client.
func (s *session) takeServerCertificate(raw [][]byte, verified [][]*x509.Certificate) error {
	chain, err := parseChain(raw)
	if err != nil {
		return s.proof.refuse(RefusedCertificates, err)
	}
	s.proof.chain, s.proof.until = chain, validUntil(verified)
	s.proof.identity = identity.Identity{Method: identity.Certificate, Name: chain[0].Subject.CommonName}
	return nil
}

// validUntil is how long one of the chains holds that were verified, from the peer's certificate to an authority's.
func validUntil(verified [][]*x509.Certificate) (until time.Time) {
	for _, chain := range verified {
		first := chain[0].NotAfter
		for _, c := range chain[1:] {
			if c.NotAfter.Before(first) {
				first = c.NotAfter
			}
		}
		if first.After(until) {
			until = first
		}
	}
	return until
}

func parseChain(raw [][]byte) ([]*x509.Certificate, error) {
	if len(raw) == 0 {
		return nil, errors.New("the peer showed no certificate")
	}
	var chain []*x509.Certificate
	for _, one := range raw {
		c, err := x509.ParseCertificate(one)
		if err != nil {
			return nil, fmt.Errorf("read the peer's certificate: %w", err)
		}
		chain = append(chain, c)
	}
	return chain, nil
}

// pionCookie is the memory that holds the cookie with which pion wants the next ClientHello; nil when pion has changed.
// pion makes it up for each connection, and so would have to keep a connection for every ClientHello; the front makes
// cookies that need none (dtlshello.go), and writes the client's in here once that has come back. It may only be
// touched where pion's handshaker is at rest: in its call of WriteTo, with the HelloVerifyRequest.
func pionCookie(conn *dtls.Conn) []byte {
	state := reflect.ValueOf(conn).Elem().FieldByName("state")
	if state.Kind() != reflect.Struct {
		return nil
	}
	cookie := state.FieldByName("cookie")
	if cookie.Kind() != reflect.Slice || cookie.Type().Elem().Kind() != reflect.Uint8 || cookie.Len() != helloCookieLen {
		return nil
	}
	return cookie.Bytes()
}

// silent reports whether a handshake ended because its time was over.
func silent(err error) bool { return errors.Is(err, context.DeadlineExceeded) }
