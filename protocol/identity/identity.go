// Package identity says who a peer has proven to be, and which station ids it may speak for. It is pure: transport fills
// it in from a certificate or a pre-shared key, the dispatcher asks it (a station speaks only for itself).
//
// A certificate names stations by URIs among its subject alternative names, each adding to the others:
//
//	essp:station:17        one station, in hexadecimal as everywhere
//	essp:station:17-4f     all from 17 to 4f
//	essp:station:*         every station: a hub that speaks for all
//
// A line of the file of pre-shared keys names them in its third column, in the same form after the last colon, with
// commas between: 17,20-4f. Who is named no station speaks for none: such a peer may carry other protocols, and no ESSP.
package identity

import (
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
)

// Method is how an identity was proven.
type Method uint8

// The methods. None is that of a peer that had to prove nothing.
const (
	None Method = iota
	Certificate
	PreSharedKey
)

// String is the method in lower case words.
func (m Method) String() string {
	switch m {
	case Certificate:
		return "certificate"
	case PreSharedKey:
		return "pre-shared key"
	case None:
	}
	return "none"
}

// Identity is what a peer has proven. The zero value is that of a peer that had to prove nothing: it has no name, and
// Allows says no to every station, so that who forgets to ask Proven refuses too much and not too little.
type Identity struct {
	Method   Method
	Name     string   // common name of the certificate's subject, or the identity of the pre-shared key
	URIs     []string // subject alternative names that are URIs, as in the certificate; not to be changed
	Stations Stations
}

// Proven reports whether the peer has proven anything.
func (i Identity) Proven() bool { return i.Method != None }

// Allows reports whether the peer may speak for a station.
func (i Identity) Allows(station uint64) bool { return i.Stations.Allows(station) }

// String is for logs: "certificate gw-7 (stations 17-4f)".
func (i Identity) String() string {
	if !i.Proven() {
		return "unproven"
	}
	return fmt.Sprintf("%s %s (stations %s)", i.Method, i.Name, i.Stations)
}

const (
	scheme        = "essp:"
	stationScheme = "essp:station:"
)

// FromCertificate reads the identity of a certificate that has been verified. The error says which URI names no
// stations, or that the certificate has no name.
func FromCertificate(c *x509.Certificate) (Identity, error) {
	if c.Subject.CommonName == "" {
		return Identity{}, errors.New("the certificate's subject has no common name (CN)")
	}
	id := Identity{Method: Certificate, Name: c.Subject.CommonName}
	var named []string
	for _, uri := range c.URIs {
		text := uri.String()
		id.URIs = append(id.URIs, text)
		if list, ok := strings.CutPrefix(text, stationScheme); ok {
			named = append(named, list)
		} else if strings.HasPrefix(text, scheme) {
			return Identity{}, fmt.Errorf("URI %q of the certificate of %q: want essp:station:17, essp:station:17-4f or essp:station:*",
				text, id.Name)
		}
	}
	if len(named) == 0 {
		return id, nil
	}
	stations, err := ParseStations(strings.Join(named, ","))
	if err != nil {
		return Identity{}, fmt.Errorf("URIs %s* of the certificate of %q: %w", stationScheme, id.Name, err)
	}
	id.Stations = stations
	return id, nil
}
