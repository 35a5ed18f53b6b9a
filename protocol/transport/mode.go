package transport

import "fmt"

// Mode is how SCTP packets travel on a link.
type Mode uint8

// The modes.
const (
	ModeUDP  Mode = iota + 1 // in UDP as they are (RFC 6951)
	ModeDTLS                 // in DTLS records (RFC 8261)
	ModeIP                   // as IP protocol 132
)

// String is the mode as the configuration has it.
func (m Mode) String() string {
	switch m {
	case ModeUDP:
		return "udp"
	case ModeDTLS:
		return "dtls"
	case ModeIP:
		return "ip"
	}
	return "unknown"
}

// Silence is what a person should think of, in brackets, when nothing answers a dial in this mode.
func (m Mode) Silence() string {
	switch m {
	case ModeDTLS:
		return "(nobody listens there, or one without DTLS)"
	case ModeUDP:
		return "(nobody listens there, or one that wants DTLS or does not let this address in)"
	case ModeIP:
	}
	return "(nobody listens there, or one that does not let this address in)"
}

// MarshalText implements encoding.TextMarshaler.
func (m Mode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (m *Mode) UnmarshalText(text []byte) error {
	switch string(text) {
	case "udp":
		*m = ModeUDP
	case "dtls":
		*m = ModeDTLS
	case "ip":
		*m = ModeIP
	default:
		return fmt.Errorf("mode %q: want udp, dtls or ip", text)
	}
	return nil
}
