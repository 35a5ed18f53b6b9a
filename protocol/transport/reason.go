package transport

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/rs/zerolog"

	"skyring/protocol/transport/packet"
)

// ErrClosed is what errors.Is finds in the error of an operation on an association that has ended.
var ErrClosed = errors.New("association closed")

// CloseReason says why an association ended.
type CloseReason uint8

// The reasons.
const (
	PeerShutdown      CloseReason = iota + 1 // the peer closed it, all messages were delivered
	LocalShutdown                            // Close, all messages were delivered
	PeerAbort                                // the peer's ABORT; Detail holds its causes
	LocalAbort                               // Abort, or Close whose context ended first
	PathFailed                               // heartbeats stayed unanswered
	PeerRestarted                            // the peer lost its state and set up a new association, which Accept returns
	EndpointClosed                           // Run ended
	ProtocolViolation                        // the peer broke the protocol; it was sent an ABORT
	SessionEnded                             // the DTLS session under it ended; Detail says why
)

const numReasons = int(SessionEnded) + 1

// level is how an end is logged: at Info when it is a fault of somebody's.
func (r CloseReason) level() zerolog.Level {
	switch r {
	case PeerAbort, PathFailed, PeerRestarted, ProtocolViolation, SessionEnded:
		return zerolog.InfoLevel
	case PeerShutdown, LocalShutdown, LocalAbort, EndpointClosed: // who aborts here has a cause to log
	}
	return zerolog.DebugLevel
}

// String is the reason in lower case words.
func (r CloseReason) String() string {
	switch r {
	case PeerShutdown:
		return "peer shutdown"
	case LocalShutdown:
		return "local shutdown"
	case PeerAbort:
		return "peer abort"
	case LocalAbort:
		return "local abort"
	case PathFailed:
		return "path failed"
	case PeerRestarted:
		return "peer restarted"
	case EndpointClosed:
		return "endpoint closed"
	case ProtocolViolation:
		return "protocol violation"
	case SessionEnded:
		return "session ended"
	}
	return "close reason " + strconv.Itoa(int(r))
}

// CloseError is the error of an association that has ended. errors.Is matches it with ErrClosed.
type CloseError struct {
	Reason CloseReason
	Detail string // printable; empty where the reason says all
}

func (e *CloseError) Error() string {
	if e.Detail == "" {
		return "association closed: " + e.Reason.String()
	}
	return "association closed: " + e.Reason.String() + ": " + e.Detail
}

// Is matches ErrClosed.
func (e *CloseError) Is(target error) bool { return target == ErrClosed }

// cause is the code of an error cause (RFC 9260 section 3.3.10).
type cause uint16

const (
	causeInvalidStream       cause = 1
	causeMissingParameter    cause = 2
	causeStaleCookie         cause = 3
	causeOutOfResource       cause = 4
	causeUnresolvableAddress cause = 5
	causeUnrecognisedChunk   cause = 6
	causeInvalidParameter    cause = 7
	causeUnrecognisedParams  cause = 8
	causeNoUserData          cause = 9
	causeCookieInShutdown    cause = 10
	causeRestartNewAddresses cause = 11
	causeUserAbort           cause = 12
	causeProtocolViolation   cause = 13
)

func (c cause) String() string {
	if c == 0 || c > causeProtocolViolation {
		return "cause " + strconv.Itoa(int(c))
	}
	return [...]string{
		"invalid stream identifier", "missing mandatory parameter", "stale cookie", "out of resource",
		"unresolvable address", "unrecognised chunk type", "invalid mandatory parameter", "unrecognised parameters",
		"no user data", "cookie received while shutting down", "restart with new addresses", "user initiated abort",
		"protocol violation",
	}[c-1]
}

const maxDetail = 512 // bytes of a peer's text that are kept

// describeCauses turns the value of an ABORT or ERROR chunk into text: "user initiated abort (12): station off".
func describeCauses(value []byte) string {
	var parts []string
	for p, err := range packet.Parameters(value) {
		if err != nil {
			parts = append(parts, "malformed cause")
			break
		}
		parts = append(parts, describeCause(cause(p.Type), p.Value))
		if len(parts) == 4 {
			break
		}
	}
	return strings.Join(parts, "; ")
}

func describeCause(c cause, value []byte) string {
	text := fmt.Sprintf("%s (%d)", c, uint16(c))
	if (c == causeUserAbort || c == causeProtocolViolation) && len(value) > 0 {
		text += ": " + printable(value)
	}
	return text
}

func printable(b []byte) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return '.'
		}
		return r
	}, string(b[:min(len(b), maxDetail)]))
}
