package transport

import (
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
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

// loadCredentials reads the files. The error says of each what is wrong with it.
func loadCredentials(c SecureConfig, now time.Time) (*credentials, error) {
	loaded := &credentials{identity: c.Identity}
	var faults []error
	note := func(err error) {
		if err != nil {
			faults = append(faults, err)
		}
	}
	var err error
	if c.Certificate != "" {
		loaded.certificate, err = loadCertificate(c.Certificate, c.Key, now)
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

func loadCertificate(file, keyFile string, now time.Time) (*tls.Certificate, error) {
	certPEM, err := textfile.Read(file, maxPEMFile)
	if err != nil {
		return nil, fmt.Errorf("read the certificate: %w", err)
	}
	keyPEM, err := textfile.Read(keyFile, maxPEMFile)
	if err != nil {
		return nil, fmt.Errorf("read the certificate's key: %w", err)
	}
	chain, err := parseCertificates(file, certPEM)
	if err != nil {
		return nil, err
	}
	if err := currentAt(file, chain[0], now); err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("certificate %s and key %s do not go together: %w", file, keyFile, err)
	}
	if key, ok := chain[0].PublicKey.(*rsa.PublicKey); ok && key.N.BitLen() < minRSABits {
		return nil, fmt.Errorf("certificate %s: RSA key of %d bits, want %d or more, or ECDSA", file, key.N.BitLen(), minRSABits)
	}
	return &pair, nil
}

func loadAuthorities(file string, now time.Time) (*x509.CertPool, error) {
	text, err := textfile.Read(file, maxPEMFile)
	if err != nil {
		return nil, fmt.Errorf("read the authorities' certificates: %w", err)
	}
	certificates, err := parseCertificates(file, text)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	expired := error(nil)
	usable := 0
	for _, c := range certificates {
		if !c.IsCA {
			return nil, fmt.Errorf("authorities %s: the certificate of %q is none of an authority (CA)", file, c.Subject)
		}
		if err := currentAt(file, c, now); err != nil {
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

func parseCertificates(file string, text []byte) ([]*x509.Certificate, error) {
	var list []*x509.Certificate
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d of %s: %w", len(list)+1, file, err)
		}
		list = append(list, c)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)", file)
	}
	return list, nil
}

func currentAt(file string, c *x509.Certificate, now time.Time) error {
	switch {
	case now.After(c.NotAfter):
		return fmt.Errorf("the certificate of %q in %s expired on %s", c.Subject, file, c.NotAfter.Format(time.RFC3339))
	case now.Before(c.NotBefore):
		return fmt.Errorf("the certificate of %q in %s is valid from %s on; is the clock right?", c.Subject, file,
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
