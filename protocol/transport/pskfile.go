package transport

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"skyring/protocol/identity"
)

const (
	minKey      = 16 // bytes of a pre-shared key
	maxKey      = 64
	maxIdentity = 128 // bytes; RFC 4279 section 5.3
	maxPSKFile  = 16 << 20
)

// preSharedKey is a line of the file of pre-shared keys.
type preSharedKey struct {
	identity identity.Identity
	key      []byte
	line     int
}

// equal reports whether two lines mean the same.
func (k preSharedKey) equal(other preSharedKey) bool {
	return k.identity.Name == other.identity.Name && bytes.Equal(k.key, other.key) &&
		k.identity.Stations.Equal(other.identity.Stations)
}

// pskTable holds the lines by identity.
type pskTable map[string]preSharedKey

// readPSKFile reads a file of pre-shared keys: a line for each, with blanks between its columns,
//
//	identity hex-key [stations]
//
// where the key is 16 to 64 bytes in hexadecimal and the stations are as in package identity; # begins a comment. The
// error names every line that is wrong.
func readPSKFile(path string) (pskTable, error) {
	text, err := readNamed("psk", path, maxPSKFile)
	if err != nil {
		return nil, err
	}
	return parsePSKs(path, text)
}

func parsePSKs(path string, text []byte) (pskTable, error) {
	table := pskTable{}
	var faults []error
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, maxPSKFile+1)
	for number := 1; lines.Scan(); number++ {
		line, _, _ := strings.Cut(lines.Text(), "#")
		columns := strings.Fields(line)
		if len(columns) == 0 {
			continue
		}
		k, err := parsePSK(columns)
		if earlier, taken := table[k.identity.Name]; err == nil && taken {
			err = fmt.Errorf("identity %q is on line %d already", k.identity.Name, earlier.line)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("psk: %s, line %d: %w", path, number, err))
			continue
		}
		k.line = number
		table[k.identity.Name] = k
	}
	if len(table) == 0 && len(faults) == 0 {
		faults = append(faults, fmt.Errorf("psk: %s holds no key: want lines such as \"station-17 HEXKEY 17\" (\"skyring cert --psk station-17=17\" makes one)", path))
	}
	return table, errors.Join(faults...)
}

// parsePSK reads the columns of a line. The error never shows the key.
func parsePSK(columns []string) (preSharedKey, error) {
	if len(columns) < 2 || len(columns) > 3 {
		return preSharedKey{}, fmt.Errorf("%d columns: want an identity, a key, and optionally stations", len(columns))
	}
	k := preSharedKey{identity: identity.Identity{Method: identity.PreSharedKey, Name: columns[0]}}
	if len(columns[0]) > maxIdentity || !utf8.ValidString(columns[0]) {
		return k, fmt.Errorf("identity of %d bytes: at most %d of UTF-8 may be", len(columns[0]), maxIdentity)
	}
	var err error
	if k.key, err = hex.DecodeString(columns[1]); err != nil {
		return k, fmt.Errorf("the key of %q is not hexadecimal", columns[0])
	}
	if len(k.key) < minKey || len(k.key) > maxKey {
		return k, fmt.Errorf("the key of %q has %d bytes: want %d to %d (\"skyring cert --psk %s\" makes one)",
			columns[0], len(k.key), minKey, maxKey, columns[0])
	}
	if len(columns) == 3 {
		if k.identity.Stations, err = identity.ParseStations(columns[2]); err != nil {
			return k, fmt.Errorf("stations of %q: %w", columns[0], err)
		}
	}
	return k, nil
}
