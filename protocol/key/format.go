package key

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrFormat is what each error of Parse wraps.
var ErrFormat = errors.New("not a formatted key")

// Prefixes of formatted keys that are not the name of their kind.
const (
	prefixHashed = "diameter-xxh3:"
	prefixRaw    = "raw:"
)

// Format returns a key in printable ASCII without spaces, for people, logs and command
// lines. Parse is its inverse for any k, keys that Append does not make included: those
// are "raw:" and their bytes in hexadecimal.
//
//	association:000614f2a8c01d33
//	s1ap:assoc=000614f2a8c01d33/ue=17          ngap: likewise
//	isup:pc=11522-12163/cic=213
//	sccp:pc=1-2/sls=5
//	m3ua:pc=1-2/si=13/sls=5
//	diameter:pgw.example;1876543210;523        bytes that are not printable ASCII, space and % as %XX
//	diameter-xxh3:78af5f94892f395078af5f94892f3950
//	h248:assoc=000614f2a8c01d33/context=5
//	station:0000000000000017
//	call:0000000000000017/boot=8f3c1a5577aa0b21/ref=3/seq=12
//	pool:12
func Format(k []byte) string {
	if len(k) == 0 {
		return prefixRaw
	}

	switch kind, body := Kind(k[0]), k[1:]; {
	case kind == KindAssociation && len(body) == 8:
		return "association:" + hex.EncodeToString(body)
	case (kind == KindS1AP || kind == KindNGAP) && len(body) == 12:
		return numbered(kind, body, "ue")
	case kind == KindH248 && len(body) == 12:
		return numbered(kind, body, "context")
	case kind == KindISUP && len(body) == 10:
		return points(kind, body) + "/cic=" + decimal(uint64(binary.BigEndian.Uint16(body[8:])))
	case kind == KindSCCP && len(body) == 9:
		return points(kind, body) + "/sls=" + decimal(uint64(body[8]))
	case kind == KindM3UA && len(body) == 10:
		return points(kind, body) + "/si=" + decimal(uint64(body[8])) + "/sls=" + decimal(uint64(body[9]))
	case kind == KindDiameter && len(body) > 1 && body[0] == sessionPlain:
		return "diameter:" + escape(body[1:])
	case kind == KindDiameter && len(body) == 17 && body[0] == sessionHashed:
		return prefixHashed + hex.EncodeToString(body[1:])
	default:
		return formatOwn(k)
	}
}

// formatOwn formats the keys of our own sessions, and what is none.
func formatOwn(k []byte) string {
	if id, is := StationOf(k); is {
		return "station:" + hexadecimal(id)
	}

	if c, is := CallOf(k); is {
		return "call:" + hexadecimal(c.Station) + "/boot=" + hexadecimal(c.Boot) +
			"/ref=" + decimal(uint64(c.Reference)) + "/seq=" + decimal(uint64(c.Sequence))
	}

	if beam, is := PoolOf(k); is {
		return "pool:" + decimal(uint64(beam))
	}

	return prefixRaw + hex.EncodeToString(k)
}

// hexadecimal returns 16 digits.
func hexadecimal(v uint64) string { return hex.EncodeToString(binary.BigEndian.AppendUint64(nil, v)) }

// Parse returns the key that Format formatted. It takes nothing else: an error wraps
// ErrFormat and says what was found.
func Parse(s string) ([]byte, error) {
	k := parse(s)
	if k == nil || Format(k) != s {
		return nil, fmt.Errorf("%w: %q: want one such as s1ap:assoc=000614f2a8c01d33/ue=17", ErrFormat, s)
	}

	return k, nil
}

func numbered(kind Kind, body []byte, name string) string {
	return kind.String() + ":assoc=" + hex.EncodeToString(body[:8]) + "/" + name + "=" +
		decimal(uint64(binary.BigEndian.Uint32(body[8:])))
}

func points(kind Kind, body []byte) string {
	return kind.String() + ":pc=" + decimal(uint64(binary.BigEndian.Uint32(body))) + "-" +
		decimal(uint64(binary.BigEndian.Uint32(body[4:])))
}

func decimal(v uint64) string { return strconv.FormatUint(v, 10) }

// escape writes what is not printable ASCII, space and the percent sign as %XX.
func escape(b []byte) string {
	var s strings.Builder

	for _, c := range b {
		if c <= ' ' || c > '~' || c == '%' {
			fmt.Fprintf(&s, "%%%02X", c)
		} else {
			s.WriteByte(c)
		}
	}

	return s.String()
}

// parse reads a formatted key leniently: Parse compares what it makes. nil: not a key.
func parse(s string) []byte {
	name, rest, found := strings.Cut(s, ":")
	if !found {
		return nil
	}

	switch name {
	case "raw":
		return fromHex(rest, []byte{})
	case "association":
		return fromHex(rest, []byte{byte(KindAssociation)})
	case "diameter":
		return unescape(rest, []byte{byte(KindDiameter), sessionPlain})
	case "diameter-xxh3":
		return fromHex(rest, []byte{byte(KindDiameter), sessionHashed})
	case "s1ap":
		return fromFields(rest, KindS1AP, field{"assoc=", "/", 8, 16}, field{"ue=", "", 4, 10})
	case "ngap":
		return fromFields(rest, KindNGAP, field{"assoc=", "/", 8, 16}, field{"ue=", "", 4, 10})
	case "h248":
		return fromFields(rest, KindH248, field{"assoc=", "/", 8, 16}, field{"context=", "", 4, 10})
	case "isup":
		return fromFields(rest, KindISUP, field{"pc=", "-", 4, 10}, field{"", "/", 4, 10}, field{"cic=", "", 2, 10})
	case "sccp":
		return fromFields(rest, KindSCCP, field{"pc=", "-", 4, 10}, field{"", "/", 4, 10}, field{"sls=", "", 1, 10})
	case "station":
		return fromFields(rest, KindStation, field{"", "", 8, 16})
	case "call":
		return fromFields(rest, KindCall, field{"", "/", 8, 16}, field{"boot=", "/", 8, 16}, field{"ref=", "/", 2, 10}, field{"seq=", "", 4, 10})
	case "pool":
		return fromFields(rest, KindPool, field{"", "", 2, 10})
	case "m3ua":
		return fromFields(rest, KindM3UA, field{"pc=", "-", 4, 10}, field{"", "/", 4, 10}, field{"si=", "/", 1, 10}, field{"sls=", "", 1, 10})
	default:
		return nil
	}
}

// field is a number in a formatted key: what is before it, what ends it ("": the end of
// the key), its bytes in the key, and its base.
type field struct {
	before, after string
	size, base    int
}

// fromFields makes a key of numbers, nil if s does not have them.
func fromFields(s string, kind Kind, fields ...field) []byte {
	k := []byte{byte(kind)}

	for _, f := range fields {
		rest, found := strings.CutPrefix(s, f.before)
		if !found {
			return nil
		}

		digits := rest
		if f.after != "" {
			if digits, rest, found = strings.Cut(rest, f.after); !found {
				return nil
			}
		}

		v, err := strconv.ParseUint(digits, f.base, 8*f.size)
		if err != nil {
			return nil
		}

		k = append(k, binary.BigEndian.AppendUint64(nil, v)[8-f.size:]...)
		s = rest
	}

	return k
}

func fromHex(s string, head []byte) []byte {
	k, err := hex.AppendDecode(head, []byte(s))
	if err != nil {
		return nil
	}

	return k
}

func unescape(s string, head []byte) []byte {
	for {
		plain, rest, found := strings.Cut(s, "%")
		head = append(head, plain...)

		if !found {
			return head
		}

		if len(rest) < 2 {
			return nil
		}

		if head = fromHex(rest[:2], head); head == nil {
			return nil
		}

		s = rest[2:]
	}
}
