package trace

import (
	"net/netip"
	"strconv"
	"time"
)

// Trace is what a capture holds of SCTP. Its messages are those that were captured whole; the counters say what is
// missing. It is not safe for concurrent writes, and nothing here writes to it after Read.
type Trace struct {
	File       string   // as the caller named it
	Format     string   // "pcap" or "pcapng"
	Compressed bool     // gzip
	LinkTypes  []string // of the packets, in order of appearance

	Packets     uint64 // records of the file
	SCTPPackets uint64 // packets of SCTP, reassembled from IP fragments and also over UDP
	OverUDP     uint64 // of them, those over UDP (RFC 6951)
	BadCRC      uint64 // of them, those whose CRC32c is wrong, as before transmit offload; they are used
	Malformed   uint64 // of them, those with a header or chunk that lies about its length; the chunks before are used
	Cut         uint64 // of them, those captured only in part (snap length)
	Other       uint64 // packets of anything else
	Chunks      []ChunkCount
	Start, End  time.Time // of SCTP packets; zero when there are none

	Warnings     []Warning
	Associations []Association // by start; an association's ID is its index
	Messages     []Message     // by time; see Message
}

// ChunkCount is how often a chunk type was seen, copies included.
type ChunkCount struct {
	Type  uint8  `json:"type"`
	Name  string `json:"name"`
	Count uint64 `json:"count"`
}

// Warning tells of something that was left out or looks wrong.
type Warning struct {
	Packet uint64 `json:"packet,omitempty"` // where first, counted from 1 as Wireshark does; 0 when it is about the whole file
	Offset int64  `json:"offset,omitempty"` // of that packet in the (unpacked) file, in bytes; 0 when not known
	Text   string `json:"text"`
}

// String is the text and the place.
func (w Warning) String() string {
	switch {
	case w.Packet == 0:
		return w.Text
	case w.Offset == 0:
		return w.Text + " (first in packet " + strconv.FormatUint(w.Packet, 10) + ")"
	default:
		return w.Text + " (packet " + strconv.FormatUint(w.Packet, 10) + ", offset " + strconv.FormatInt(w.Offset, 10) + ")"
	}
}

// Endpoint is one end of an association.
type Endpoint struct {
	Addrs   []netip.Addr `json:"addrs"`             // seen or named in INIT and INIT-ACK, the first seen first
	Port    uint16       `json:"port"`              // SCTP port
	UDPPort uint16       `json:"udpPort,omitempty"` // 0 for SCTP over IP
	Tag     uint32       `json:"tag,omitempty"`     // that it chose, the first of several; 0 when not captured
}

// String is the first address, how many more there are, and the port.
func (e Endpoint) String() string {
	if len(e.Addrs) == 0 {
		return "?:" + strconv.Itoa(int(e.Port))
	}
	s := netip.AddrPortFrom(e.Addrs[0], e.Port).String()
	if more := len(e.Addrs) - 1; more > 0 {
		s += "+" + strconv.Itoa(more)
	}
	return s
}

// Role says how client and server of an association were told apart.
type Role string

// How roles are told apart, the surest first.
const (
	RoleHandshake Role = "handshake" // INIT, INIT-ACK, COOKIE-ECHO or COOKIE-ACK was captured
	RolePort      Role = "port"      // one side alone has a signalling protocol's or a lower-range port: the server
	RoleFirst     Role = "first"     // the first packet's sender is taken as the client
)

// Ending says how an association ended within the capture.
type Ending string

// How an association ended.
const (
	EndingNone     Ending = ""         // the capture ends first
	EndingShutdown Ending = "shutdown" // SHUTDOWN-COMPLETE
	EndingAbort    Ending = "abort"    // ABORT
)

// Association is one SCTP association: two endpoints and the verification tags they chose. A restart, or new tags on the
// same addresses and ports, is a new association.
type Association struct {
	ID             int
	Client, Server Endpoint
	Role           Role
	Handshake      bool // INIT or INIT-ACK was captured; else the capture starts in the middle
	Ending         Ending
	Start, End     time.Time // of its packets
	ToServer       Flow
	ToClient       Flow
}

// Flow counts one direction of an association. Chunks are DATA and I-DATA.
type Flow struct {
	Packets     uint64      `json:"packets"`
	Chunks      uint64      `json:"chunks"`      // all that were seen
	Unique      uint64      `json:"unique"`      // of them, those with a TSN of their own
	Repeated    uint64      `json:"repeated"`    // of them, those whose TSN was seen before: retransmitted or captured twice
	Conflicting uint64      `json:"conflicting"` // of the repeated, those with other content under the same TSN; left out
	Missing     uint64      `json:"missing"`     // TSNs between the first and the last that were not captured
	Empty       uint64      `json:"empty"`       // without user data, which RFC 9260 forbids; no messages
	Messages    uint64      `json:"messages"`    // captured whole
	Incomplete  uint64      `json:"incomplete"`  // captured in part, left out
	Bytes       uint64      `json:"bytes"`       // user data of the messages
	Streams     int         `json:"streams"`     // on which chunks were seen
	PPIDs       []PPIDCount `json:"ppids"`       // by PPID
}

// PPIDCount counts one PPID.
type PPIDCount struct {
	PPID     uint32 `json:"ppid"`
	Name     string `json:"name"`
	Chunks   uint64 `json:"chunks"`   // DATA and I-DATA chunks, all that were seen
	Unique   uint64 `json:"unique"`   // of them, those with a TSN of their own
	Messages uint64 `json:"messages"` // captured whole
	Bytes    uint64 `json:"bytes"`    // user data of the messages
}

// Direction is the way a message goes.
type Direction uint8

// The two ways.
const (
	ToServer Direction = iota
	ToClient
)

// String names the way.
func (d Direction) String() string {
	if d == ToServer {
		return "to server"
	}
	return "to client"
}

// Message is one user message, reassembled. Trace.Messages are by Time; within a direction of an association, the
// ordered messages of each stream come in the order in which their sender sent them, even where the capture shows a
// retransmission late: Time is when the last fragment was captured, or that of the message before it in its stream if
// that is later.
type Message struct {
	Time        time.Time
	Association int // index of Trace.Associations
	Direction   Direction
	Stream      uint16
	PPID        uint32
	Unordered   bool
	SSN         uint32 // stream sequence number; message identifier (MID) for I-DATA
	TSN         uint32 // of the first fragment
	Payload     []byte // at least 1 byte; shared, to be read only
}
