package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"skyring/protocol/textfile"
)

// Files of the authority in the directory of certificates.
const (
	authorityFile    = "ca.pem"
	authorityKeyFile = "ca-key.pem"
	authorityYears   = 10
	startEarly       = time.Hour // before now, for clocks that are behind
	maxAuthority     = 1 << 20   // bytes of either file
)

// issuer is a certificate authority, and the files that it is to write.
type issuer struct {
	dir         string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	made        bool // now, and not there before
	files       newFiles
}

// openAuthority takes the authority in a directory, or makes one.
func openAuthority(dir string, now time.Time) (*issuer, error) {
	a := &issuer{dir: dir}

	text, err := textfile.Read(a.path(authorityFile), maxAuthority)
	if errors.Is(err, fs.ErrNotExist) {
		return a, a.create(now)
	}

	if err != nil {
		return nil, fmt.Errorf("read the authority's certificate: %w", err)
	}

	keyText, err := textfile.Read(a.path(authorityKeyFile), maxAuthority)
	if err != nil {
		return nil, fmt.Errorf("%s is there, and its key is wanted to sign with it: %w", a.path(authorityFile), err)
	}

	if err := a.parse(text, keyText); err != nil {
		return nil, &usageError{err: err}
	}

	if now.After(a.certificate.NotAfter) {
		return nil, usagef("the authority in %s expired on %s", a.path(authorityFile), a.certificate.NotAfter.Format(time.DateOnly))
	}

	return a, nil
}

func (a *issuer) parse(text, keyText []byte) error {
	block, _ := pem.Decode(text)
	keyBlock, _ := pem.Decode(keyText)

	if block == nil || keyBlock == nil {
		return fmt.Errorf("%s or %s is not in PEM form", a.path(authorityFile), a.path(authorityKeyFile))
	}

	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil || !certificate.IsCA {
		return errors.Join(fmt.Errorf("%s is no certificate of an authority", a.path(authorityFile)), err)
	}

	key, err := x509.ParsePKCS8PrivateKey(keyBlock.Bytes)
	if err != nil {
		return fmt.Errorf("%s: %w", a.path(authorityKeyFile), err)
	}

	ours, ok := key.(*ecdsa.PrivateKey)
	if !ok || !ours.PublicKey.Equal(certificate.PublicKey) {
		return fmt.Errorf("%s is not the ECDSA key of %s", a.path(authorityKeyFile), a.path(authorityFile))
	}

	a.certificate, a.key = certificate, ours

	return nil
}

func (a *issuer) path(name string) string { return filepath.Join(a.dir, name) }

func (a *issuer) create(now time.Time) error {
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "skyring development authority " + now.UTC().Format(time.DateOnly)}, IsCA: true,
		BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		NotBefore: now.Add(-startEarly), NotAfter: now.AddDate(authorityYears, 0, 0),
	}

	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make the authority's key: %w", err)
	}

	a.certificate, a.key, a.made = template, key, true

	der, err := a.sign(template, key)
	if err != nil {
		return err
	}

	if a.certificate, err = x509.ParseCertificate(der); err != nil {
		return fmt.Errorf("read the authority's certificate back: %w", err)
	}

	what := "authority, valid until " + template.NotAfter.Format(time.DateOnly)

	return a.files.add(a.path(authorityFile), a.path(authorityKeyFile), what, der, key)
}

func (a *issuer) sign(template *x509.Certificate, key *ecdsa.PrivateKey) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("make a serial number: %w", err)
	}

	template.SerialNumber = serial.Add(serial, big.NewInt(1))

	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("sign the certificate of %q: %w", template.Subject.CommonName, err)
	}

	return der, nil
}

// issueServer makes the certificate of a dispatcher.
func (a *issuer) issueServer(list []string, until time.Time) error {
	names, ips, err := namesAndAddresses(list)
	if err != nil {
		return err
	}

	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: list[0]}, DNSNames: names, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, ip := range ips {
		template.IPAddresses = append(template.IPAddresses, net.IP(ip.AsSlice()))
	}

	return a.issue("server", template, until, "dispatcher, dialled as "+strings.Join(list, " or "))
}

// issueClient makes the certificate of who speaks for stations.
func (a *issuer) issueClient(s speaker, until time.Time) error {
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: s.name}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	for part := range strings.SplitSeq(s.stations.String(), ",") {
		template.URIs = append(template.URIs, &url.URL{Scheme: "essp", Opaque: "station:" + part})
	}

	return a.issue("client-"+s.name, template, until, "client "+s.name+", speaks for stations "+s.stations.String())
}

func (a *issuer) issue(file string, template *x509.Certificate, until time.Time, what string) error {
	if until.After(a.certificate.NotAfter) {
		until = a.certificate.NotAfter
	}

	template.NotBefore, template.NotAfter = time.Now().Add(-startEarly), until
	template.KeyUsage, template.BasicConstraintsValid = x509.KeyUsageDigitalSignature, true

	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make the key of %q: %w", template.Subject.CommonName, err)
	}

	der, err := a.sign(template, key)
	if err != nil {
		return err
	}

	return a.files.add(a.path(file+".pem"), a.path(file+"-key.pem"), what+", until "+until.Format(time.DateOnly), der, key)
}

// newFiles are written together, and never over others.
type newFiles struct{ list []newFile }

type newFile struct {
	path, what string
	mode       fs.FileMode // but for what umask takes away
	text       []byte
}

// Permissions of the files: a certificate is for everybody, its key for the owner alone.
const (
	openFile   fs.FileMode = 0o644
	secretFile fs.FileMode = 0o600
)

// add notes a certificate and its key; it refuses when there is a file of either name.
func (f *newFiles) add(path, keyPath, what string, der []byte, key *ecdsa.PrivateKey) error {
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("encode a key: %w", err)
	}

	for _, one := range [...]newFile{
		{path: path, what: what, mode: openFile, text: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})},
		{path: keyPath, what: "its private key", mode: secretFile, text: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})},
	} {
		if slices.ContainsFunc(f.list, func(other newFile) bool { return other.path == one.path }) {
			return usagef("%s would be made twice: give each client a name of its own, NAME=STATIONS", one.path)
		}

		if _, err := os.Lstat(one.path); !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(usagef("%s is there already, and is not overwritten: remove it, or use another --dir or name", one.path), err)
		}

		f.list = append(f.list, one)
	}

	return nil
}

// write makes all files; on an error those that were made are removed.
func (f *newFiles) write() error {
	for i, one := range f.list {
		if err := one.write(); err != nil {
			for _, made := range f.list[:i] {
				err = errors.Join(err, os.Remove(made.path))
			}

			return err
		}
	}

	return nil
}

func (f *newFile) write() error {
	file, err := os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, f.mode)
	if err != nil {
		return fmt.Errorf("make a certificate's file: %w", err)
	}

	if _, err := file.Write(f.text); err != nil {
		return errors.Join(fmt.Errorf("write a certificate's file: %w", err), file.Close(), os.Remove(f.path))
	}

	return file.Close()
}
