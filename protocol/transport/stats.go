package transport

import (
	"iter"
	"sync/atomic"
)

// Counter names what an endpoint counts. All counters grow from 0 at New.
type Counter uint8

// The counters. Those after the traffic are reasons why something was dropped, refused or ended.
const (
	PacketsReceived Counter = iota
	PacketsSent
	BytesReceived
	BytesSent
	InitsReceived
	AssociationsAccepted
	AssociationsDialled
	Rebinds        // a peer's UDP port changed, and the new one answered
	PathsConfirmed // an address that the peer named in INIT or INIT-ACK answered
	PathChanges    // packets go on over another of the peer's addresses
	Restarts
	SendErrors                // the link refused a packet; SCTP repeats it
	MalformedPackets          // header, chunk lengths or ports that cannot be
	BadChecksums              // CRC32c wrong
	OversizedPackets          // longer than pion reads, and no association's; or a chunk so long
	OutOfTheBlue              // belongs to no association
	UnansweredBlue            // of those, the ones that must not be answered
	WrongPorts                // tag of an association, but other SCTP ports
	WrongAddresses            // tag of an association, but another IP address
	BadInits                  // INIT or INIT-ACK that must be discarded
	RefusedInits              // INIT answered with ABORT
	BadCookies                // forged, cut short, or not for this packet
	StaleCookies              // older than the cookie life
	ReplayedCookies           // of an association that has ended
	MismatchedCookies         // refused by the action table of RFC 9260 section 5.2.4
	RefusedAssociations       // no room: ABORT "out of resource"
	SourceRefusedAssociations // too many from the source: ABORT "out of resource"
	LimitedInits              // INITs beyond what is answered a second: dropped
	LimitedSourceInits        // INITs beyond what is answered to the source a second: dropped
	LimitedBlue               // packets out of the blue beyond what is answered a second: dropped
	OversizedMessages         // a message longer than configured: the association is aborted
	QueueOverflows            // a packet came while the association's packet queue was full; SCTP repeats it
	ShutWindows               // an association holds all that it may for its receiver: its peer waits
	SendWaits                 // a Send, or Flush, had to wait until the peer acknowledged
	UnknownChunks
	UnwantedChunks      // chunks that mean nothing in an established association
	BadStreams          // DATA past the negotiated streams
	EmptyData           // DATA without user data: the association is aborted
	BadAcknowledgements // SACK or SHUTDOWN for what was never sent: the association is aborted; or a SACK's block that cannot be
	ProtocolAborts      // pion found the protocol broken, or too many small messages held: the association is aborted
	BadHeartbeats       // HEARTBEAT-ACK without our nonce
	PathFailures
	PausedData // DATA that came while the association was paused: not acknowledged

	OwnPackets // over IP: what we have sent ourselves, heard again

	// Plain UDP, and IP.
	ForeignSources // a packet from outside the allow-list: dropped unread

	// DTLS: traffic.
	HelloVerifies     // ClientHello without cookie, answered with HelloVerifyRequest; nothing is kept
	HandshakesStarted // a ClientHello brought its cookie back, or we dialled
	SessionsOpened    // handshakes that came through
	AddressChanges    // a session's datagrams come from another UDP address, by its connection ID

	// DTLS: why a datagram was dropped.
	BadHellos        // ClientHello that cannot be read, is in fragments, or is not of DTLS 1.2
	BadHelloCookies  // ClientHello with a cookie that is forged, too old or another address's
	UnknownRecords   // records that belong to no session
	BadRecords       // records that cannot be, or not at that time; pion would end the session
	SessionOverflows // a datagram came while the session's queue was full, or was too much for a handshake

	// DTLS: why a handshake was refused or failed, or a session ended.
	HalfOpenRefused       // too many handshakes under way
	SourceHalfOpenRefused // too many handshakes under way from the source
	SessionsRefused       // too many sessions
	HandshakeTimeouts     // the peer fell silent
	UnknownIdentities     // a pre-shared key's identity that no line names
	UnprovenIdentities    // an identity was named, and no proof of its key came in time
	RefusedCertificates   // the certificate is not signed by our authorities, has expired, or names no clear identity
	HandshakeFailures     // other: no suite in common, an alert of the peer, a broken message
	ClosedSessions        // by the peer, by an alert, or with the link
	IdleSessions          // nobody used them
	RevokedSessions       // key or certificate is not valid any more
	ReplacedSessions      // their peer began anew at the same address
	AbandonedSessions     // their peer answers no more

	numCounters
)

// String is the counter's name in logs and metrics.
func (c Counter) String() string {
	if c >= numCounters {
		return "unknown"
	}
	return [numCounters]string{
		"packetsReceived", "packetsSent", "bytesReceived", "bytesSent", "initsReceived", "associationsAccepted",
		"associationsDialled", "rebinds", "pathsConfirmed", "pathChanges", "restarts", "sendErrors", "malformedPackets", "badChecksums",
		"oversizedPackets", "outOfTheBlue", "unansweredBlue", "wrongPorts", "wrongAddresses", "badInits",
		"refusedInits", "badCookies", "staleCookies", "replayedCookies", "mismatchedCookies", "refusedAssociations",
		"sourceRefusedAssociations", "limitedInits", "limitedSourceInits", "limitedBlue", "oversizedMessages", "queueOverflows",
		"shutWindows", "sendWaits", "unknownChunks", "unwantedChunks", "badStreams", "emptyData",
		"badAcknowledgements", "protocolAborts", "badHeartbeats", "pathFailures",
		"pausedData", "ownPackets", "foreignSources", "helloVerifies", "handshakesStarted", "sessionsOpened", "addressChanges",
		"badHellos", "badHelloCookies", "unknownRecords", "badRecords", "sessionOverflows", "halfOpenRefused",
		"sourceHalfOpenRefused", "sessionsRefused", "handshakeTimeouts", "unknownIdentities", "unprovenIdentities",
		"refusedCertificates", "handshakeFailures", "closedSessions", "idleSessions", "revokedSessions",
		"replacedSessions", "abandonedSessions",
	}[c]
}

// Stats is a snapshot of an endpoint.
type Stats struct {
	Associations int // that exist now
	Sessions     int // DTLS sessions that exist now, handshakes under way included
	counts       [numCounters]uint64
	ends         [numReasons]uint64
}

// Count is the value of one counter.
func (s Stats) Count(c Counter) uint64 { return s.counts[c] }

// All walks the counters in the order of their declaration.
func (s Stats) All() iter.Seq2[Counter, uint64] {
	return func(yield func(Counter, uint64) bool) {
		for c := range numCounters {
			if !yield(c, s.counts[c]) {
				return
			}
		}
	}
}

// Ended is how many associations have ended for a reason.
func (s Stats) Ended(reason CloseReason) uint64 {
	if int(reason) >= numReasons {
		return 0
	}
	return s.ends[reason]
}

// Ends walks the reasons, and how many associations have ended for each.
func (s Stats) Ends() iter.Seq2[CloseReason, uint64] {
	return func(yield func(CloseReason, uint64) bool) {
		for r := PeerShutdown; int(r) < numReasons; r++ {
			if !yield(r, s.ends[r]) {
				return
			}
		}
	}
}

// endCounters count the ends of associations by their reasons.
type endCounters struct{ counts [numReasons]atomic.Uint64 }

func (c *endCounters) add(why CloseReason) { c.counts[why].Add(1) }

func (c *endCounters) snapshot() (ends [numReasons]uint64) {
	for i := range c.counts {
		ends[i] = c.counts[i].Load()
	}
	return ends
}

// counters is written by every goroutine of an endpoint.
type counters struct{ counts [numCounters]atomic.Uint64 }

func (c *counters) add(which Counter) { c.counts[which].Add(1) }

func (c *counters) addN(which Counter, n int) { c.counts[which].Add(uint64(n)) }

// addTo adds the counters to a snapshot.
func (c *counters) addTo(s *Stats) {
	for i := range c.counts {
		s.counts[i] += c.counts[i].Load()
	}
}

func (c *counters) snapshot() (s Stats) {
	for i := range c.counts {
		s.counts[i] = c.counts[i].Load()
	}
	return s
}
