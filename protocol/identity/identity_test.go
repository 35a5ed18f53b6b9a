package identity_test

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"math"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"skyring/protocol/identity"
)

func TestParseStations(t *testing.T) {
	for text, want := range map[string]string{
		"17": "17", "17-4f": "17-4f", "*": "*", "20-42,17": "17,20-42", "3,1,2": "1-3", "1-5,2-3,4-9": "1-9", "9,a": "9-a", "9-10": "9-10",
		"1-ffffffffffffffff": "*", "5,*": "*", "7-7": "7", "FFFFFFFFFFFFFFFF": "ffffffffffffffff", "1-2,4": "1-2,4",
		"0000000000000017": "17",
	} {
		got, err := identity.ParseStations(text)
		if err != nil || got.String() != want {
			t.Errorf("%q: %s, %v; want %s", text, got, err, want)
		}
	}
}

// Stations are written as those of 'skyring station' are: 17 is 0x17.
func TestStationsAreHexadecimal(t *testing.T) {
	set, err := identity.ParseStations("17,a0-b0")
	if err != nil {
		t.Fatal(err)
	}
	for station, want := range map[uint64]bool{17: false, 0x17: true, 0x9f: false, 0xa0: true, 0xaa: true, 0xb0: true, 0xb1: false} {
		if set.Allows(station) != want {
			t.Errorf("station %x: %t", station, !want)
		}
	}
}

func TestParseStationsRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"": `station ""`, "0": "station 0", "0-4": "station 0", "4-3": "3 is less than 4", "1,,2": `station ""`, "1-": `station ""`,
		"-3": `station ""`, "1-2-3": `station "2-3"`, "0x10": "hexadecimal", "+3": "hexadecimal", " 3": "hexadecimal", "17,g": `station "g"`,
		"10000000000000000": "1 to 16", "00000000000000017": "1 to 16", "**": "hexadecimal", "1_7": "hexadecimal",
		strings.Repeat("1,", 1024) + "1": "1025 ranges",
	} {
		got, err := identity.ParseStations(text)
		if err == nil || !strings.Contains(err.Error(), want) || !got.Empty() {
			t.Errorf("%.20q: %s, %v; want an error with %q", text, got, err, want)
		}
	}
}

// A set agrees with the naive reading of its ranges, and its text reads back as itself.
func TestStationsAgreeWithRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.OneOf(rapid.Uint64Range(1, 40), rapid.Uint64Range(math.MaxUint64-20, math.MaxUint64))
		ranges := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) identity.Range {
			a, b := id.Draw(t, "a"), id.Draw(t, "b")
			return identity.Range{First: min(a, b), Last: max(a, b)}
		}), 1, 6).Draw(t, "ranges")
		var parts []string
		for _, r := range ranges {
			parts = append(parts, rangeText(r))
		}
		set, err := identity.ParseStations(strings.Join(parts, ","))
		if err != nil {
			t.Fatal(err)
		}
		again, err := identity.ParseStations(set.String())
		if err != nil || !again.Equal(set) {
			t.Fatalf("%s reads back as %s, %v", set, again, err)
		}
		for station := range uint64(45) {
			probe := []uint64{station, math.MaxUint64 - station}
			for _, s := range probe {
				want := false
				for _, r := range ranges {
					want = want || s >= r.First && s <= r.Last
				}
				if set.Allows(s) != want {
					t.Fatalf("%s of %v: station %x %t", set, parts, s, !want)
				}
			}
		}
	})
}

func rangeText(r identity.Range) string {
	var one, other strings.Builder
	writeID(&one, r.First)
	writeID(&other, r.Last)
	if r.First == r.Last {
		return one.String()
	}
	return one.String() + "-" + other.String()
}

func writeID(b *strings.Builder, id uint64) {
	if id >= 16 {
		writeID(b, id/16)
	}
	b.WriteByte("0123456789abcdef"[id%16])
}

func certificate(t *testing.T, name string, uris ...string) *x509.Certificate {
	t.Helper()
	c := &x509.Certificate{Subject: pkix.Name{CommonName: name}}
	for _, text := range uris {
		uri, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		c.URIs = append(c.URIs, uri)
	}
	return c
}

func TestFromCertificate(t *testing.T) {
	id, err := identity.FromCertificate(certificate(t, "gw-7", "https://example.org/gw-7", "essp:station:17", "essp:station:20-42"))
	if err != nil {
		t.Fatal(err)
	}
	if id.String() != "certificate gw-7 (stations 17,20-42)" || len(id.URIs) != 3 || !id.Proven() {
		t.Errorf("%s, %v", id, id.URIs)
	}
	for station, want := range map[uint64]bool{0: false, 0x16: false, 0x17: true, 0x18: false, 0x20: true, 0x42: true, 0x43: false} {
		if id.Allows(station) != want {
			t.Errorf("station %x: %t", station, !want)
		}
	}
	hub, err := identity.FromCertificate(certificate(t, "hub", "essp:station:*"))
	if err != nil || !hub.Allows(math.MaxUint64) || hub.Allows(0) {
		t.Errorf("%s, %v", hub, err)
	}
	other, err := identity.FromCertificate(certificate(t, "mme-1"))
	if err != nil || other.Allows(0x17) || !other.Proven() {
		t.Errorf("%s, %v", other, err)
	}
}

func TestFromCertificateRefuses(t *testing.T) {
	for want, c := range map[string]*x509.Certificate{
		"no common name":   certificate(t, ""),
		`"essp:sation:17"`: certificate(t, "gw", "essp:sation:17"),
		`station "x"`:      certificate(t, "gw", "essp:station:x"),
		"station 0":        certificate(t, "gw", "essp:station:17", "essp:station:0"),
	} {
		if id, err := identity.FromCertificate(c); err == nil || !strings.Contains(err.Error(), want) || id.Proven() {
			t.Errorf("%s, %v; want an error with %s", id, err, want)
		}
	}
}

func TestZeroIdentityAllowsNothing(t *testing.T) {
	var id identity.Identity
	if id.Proven() || id.Allows(1) || id.String() != "unproven" {
		t.Error(id)
	}
}
