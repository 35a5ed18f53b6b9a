package transport

import (
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"skyring/protocol/textfile"
)

const (
	minRSABits = 2048
	maxPEMFile = 4 << 20 // bytes of certificates, thousands of authorities
)

// credentials are what the files of a SecureConfig hold. They never change: a reload makes others.
type credentials struct {
	certificate *tls.Certificate // nil without
	authorities *x509.CertPool
	psks        pskTable // nil without
	identity    string   // a client's
}

// role is which end of a DTLS session a configuration is for.
type role uint8

const (
	serving role = iota + 1
	dialling
)

// usage is what a certificate of the role has to be for, the words for it, and who makes such a one.
func (r role) usage() (want x509.ExtKeyUsage, words string) {
	if r == serving {
		return x509.ExtKeyUsageServerAuth, "a listener's own must be for serverAuth, as that of \"skyring cert --server\" is"
	}
	return x509.ExtKeyUsageClientAuth, "a client's own must be for clientAuth, as that of \"skyring cert --client\" is"
}

// loadCredentials reads the files. The error says of each what is wrong with it, by the key that names it.
func loadCredentials(c SecureConfig, r role, now time.Time) (*credentials, error) {
	loaded := &credentials{identity: c.Identity}
	var faults []error
	note := func(err error) {
		if err != nil {
			faults = append(faults, err)
		}
	}
	var err error
	if c.Certificate != "" {
		loaded.certificate, err = loadCertificate(c.Certificate, c.Key, r, now)
		note(err)
		loaded.authorities, err = loadAuthorities(c.CA, now)
		note(err)
	}
	if c.PSK != "" {
		loaded.psks, err = readPSKFile(c.PSK)
		note(err)
		if _, listed := loaded.psks[c.Identity]; err == nil && c.Identity != "" && !listed {
			note(fmt.Errorf("identity: %q is on no line of %s", c.Identity, c.PSK))
		}
	}
	return loaded, errors.Join(faults...)
}

// readNamed reads a file; the error says which setting names it.
func readNamed(key, file string, limit int64) ([]byte, error) {
	text, err := textfile.Read(file, limit)
	if err != nil {
		return nil, fmt.Errorf("%s: the file cannot be read: %w", key, err)
	}
	return text, nil
}

func loadCertificate(file, keyFile string, r role, now time.Time) (*tls.Certificate, error) {
	certPEM, certFault := readNamed("certificate", file, maxPEMFile)
	keyPEM, keyFault := readNamed("key", keyFile, maxPEMFile)
	if keyFault == nil {
		keyFault = checkKey(keyFile, keyPEM)
	}
	if err := errors.Join(certFault, keyFault); err != nil {
		return nil, err
	}
	chain, err := parseCertificates("certificate", file, certPEM)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(currentAt("certificate", file, chain[0], now), checkUsage(file, chain[0], r), checkOrder(file, chain)); err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("key: certificate %s and key %s do not go together: %w", file, keyFile, err)
	}
	if key, ok := chain[0].PublicKey.(*rsa.PublicKey); ok && key.N.BitLen() < minRSABits {
		return nil, fmt.Errorf("certificate: %s has an RSA key of %d bits, want %d or more, or ECDSA", file, key.N.BitLen(), minRSABits)
	}
	return &pair, nil
}

// checkKey says what a file that should hold a private key is instead.
func checkKey(file string, text []byte) error {
	kind := ""
	for rest := text; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		kind = block.Type
		if strings.Contains(kind, "ENCRYPTED") || strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED") {
			return fmt.Errorf("key: %s is encrypted, and nobody is there to ask for its password: want it in the clear (\"openssl pkey\"), "+
				"readable by its owner alone", file)
		}
		if strings.HasSuffix(kind, "PRIVATE KEY") {
			return nil
		}
	}
	if kind == blockCertificate {
		return fmt.Errorf("key: %s holds a certificate and no private key: are certificate and key exchanged?", file)
	}
	return fmt.Errorf("key: %s holds no private key in PEM form (-----BEGIN PRIVATE KEY-----)", file)
}

// checkUsage refuses a certificate that peers would refuse in this role (RFC 5280 section 4.2.1.12).
func checkUsage(file string, c *x509.Certificate, r role) error {
	want, words := r.usage()
	if len(c.ExtKeyUsage)+len(c.UnknownExtKeyUsage) == 0 || slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageAny) || slices.Contains(c.ExtKeyUsage, want) {
		return nil
	}
	only := "neither serverAuth nor clientAuth"
	if slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageClientAuth) {
		only = "clientAuth alone"
	} else if slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageServerAuth) {
		only = "serverAuth alone"
	}
	return fmt.Errorf("certificate: that of %q in %s is for %s (extended key usage): %s", c.Subject, file, only, words)
}

// checkOrder refuses a chain whose certificates do not sign one another (RFC 5246 section 7.4.2).
func checkOrder(file string, chain []*x509.Certificate) error {
	for i, c := range chain[:len(chain)-1] {
		if err := c.CheckSignatureFrom(chain[i+1]); err != nil {
			return fmt.Errorf("certificate: in %s that of %q is followed by that of %q, which did not sign it: want our own first, and each "+
				"one's signer after it", file, c.Subject, chain[i+1].Subject)
		}
	}
	return nil
}

func loadAuthorities(file string, now time.Time) (*x509.CertPool, error) {
	text, err := readNamed("ca", file, maxPEMFile)
	if err != nil {
		return nil, err
	}
	certificates, err := parseCertificates("ca", file, text)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	expired := error(nil)
	usable := 0
	for _, c := range certificates {
		if !c.IsCA {
			return nil, fmt.Errorf("ca: the certificate of %q in %s is none of an authority (CA)", c.Subject, file)
		}
		if err := currentAt("ca", file, c, now); err != nil {
			expired = err
			continue
		}
		pool.AddCert(c)
		usable++
	}
	if usable == 0 {
		return nil, expired
	}
	return pool, nil
}

const blockCertificate = "CERTIFICATE" // in PEM

func parseCertificates(key, file string, text []byte) ([]*x509.Certificate, error) {
	var list []*x509.Certificate
	secret := false
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		if block.Type != blockCertificate {
			secret = secret || strings.HasSuffix(block.Type, "PRIVATE KEY")
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s: certificate %d of %s: %w", key, len(list)+1, file, err)
		}
		list = append(list, c)
	}
	if len(list) == 0 && secret {
		return nil, fmt.Errorf("%s: %s holds a private key and no certificate in PEM form: are certificate and key exchanged?", key, file)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: %s holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)", key, file)
	}
	return list, nil
}

func currentAt(key, file string, c *x509.Certificate, now time.Time) error {
	switch {
	case now.After(c.NotAfter):
		return fmt.Errorf("%s: the certificate of %q in %s expired on %s", key, c.Subject, file, c.NotAfter.Format(time.RFC3339))
	case now.Before(c.NotBefore):
		return fmt.Errorf("%s: the certificate of %q in %s is valid from %s on; is the clock right?", key, c.Subject, file,
			c.NotBefore.Format(time.RFC3339))
	}
	return nil
}

// verify checks a client's chain of certificates, the client's own first.
func (c *credentials) verify(chain []*x509.Certificate, now time.Time) error {
	if c.authorities == nil {
		return errors.New("no authorities are configured")
	}
	between := x509.NewCertPool()
	for _, one := range chain[1:] {
		between.AddCert(one)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{
		Roots: c.authorities, Intermediates: between, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	return err
}
