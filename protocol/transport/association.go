package transport

import (
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pion/sctp"

	"skyring/protocol/transport/packet"
)

// Message is one user message of SCTP.
type Message struct {
	Stream    uint16
	PPID      uint32 // payload protocol identifier, any value
	Unordered bool
	Payload   []byte // the receiver's after delivery; the sender's again after Send
}

// Association is one SCTP association with a peer. Its methods may be called from several goroutines.
type Association struct {
	terms

	// static after establish
	endpoint *Endpoint
	pion     *sctp.Association
	conn     conn
	mtu      uint32 // longest SCTP packet sent
	origin   origin
	tuples   []tuple       // of its confirmed addresses; guarded by the registry's mu
	done     chan struct{} // closed when it has ended

	// each guards itself
	paths     paths
	window    window
	sending   sendBuffer
	intake    intake
	receiving receiver

	ending        sync.Once
	reason        atomic.Pointer[CloseError] // set before done is closed
	violation     atomic.Pointer[string]     // why pion aborts
	peerClosing   atomic.Bool                // SHUTDOWN came
	closing       atomic.Bool                // Close was called
	shutdownAcked atomic.Bool                // SHUTDOWN-ACK went out: SHUTDOWN-COMPLETE is awaited
}

// origin is who set an association up.
type origin uint8

const (
	byPeer origin = iota
	byDial
)

// Streams are the negotiated numbers of streams towards us and towards the peer; ids start at 0.
func (a *Association) Streams() (in, out uint16) { return a.in, a.out }

// PeerAddr is the peer's UDP address. Its port changes when the peer's NAT changes it; in a DTLS session with a connection
// ID the whole of it; and it is another of those that the peer named in its INIT when the one before is silent.
func (a *Association) PeerAddr() netip.AddrPort { return a.paths.place().address() }

// PeerAddrs are all addresses at which the peer has answered, PeerAddr first.
func (a *Association) PeerAddrs() (list []netip.AddrPort) {
	for _, at := range a.paths.confirmed() {
		list = append(list, at.address())
	}
	return list
}

// LocalPort is our SCTP port.
func (a *Association) LocalPort() uint16 { return a.localPort }

// PeerPort is the peer's SCTP port.
func (a *Association) PeerPort() uint16 { return a.peerPort }

// Done is closed when the association has ended. Messages that came before may still be on their way to Receive's
// deliver.
func (a *Association) Done() <-chan struct{} { return a.done }

// Err says why the association ended, always a *CloseError; nil before.
func (a *Association) Err() error {
	if why := a.reason.Load(); why != nil {
		return why
	}
	return nil
}

// establish starts an association as agreed; on an error it is gone, and the peer has heard nothing. It runs on the
// goroutine that reads the link, so that no packet comes between.
func (e *Endpoint) establish(t terms, by origin) (*Association, error) {
	a := &Association{terms: t, endpoint: e, origin: by, done: make(chan struct{}), mtu: e.mtu(t.peer.link)}
	a.conn.association = a
	a.conn.inbox = inbox{limit: e.cfg.PacketQueue, maxBytes: e.cfg.maxQueued(), wake: make(chan struct{}, 1)}
	a.paths.start(t.peer, t.named, e.cfg.HeartbeatInterval)
	a.window.size, a.window.cumulative = e.cfg.ReceiveWindow, t.peerTSN-1
	a.intake.newest = t.peerTSN - 1
	a.sending.start(t.localTSN)
	a.receiving.start()
	pion, err := sctp.ClientWithOptions(e.pionOptions(a)...)
	if err != nil {
		a.end(&CloseError{Reason: EndpointClosed})
		return nil, fmt.Errorf("start the association: %w", err)
	}
	a.pion = pion
	e.tasks.Go(a.supervise)
	before, err := e.table.add(a)
	if err != nil {
		a.end(&CloseError{Reason: EndpointClosed})
		return nil, fmt.Errorf("enter the association: %w", err)
	}
	if before != nil {
		before.paths.question(time.Now())
	}
	if s := t.peer.session; s != nil && !s.attach(a) {
		why := s.why()
		a.end(why)
		return nil, fmt.Errorf("enter the association: %w", why)
	}
	return a, nil
}

// pionOptions make pion begin in ESTABLISHED (SNAP), with the checksums left to us.
func (e *Endpoint) pionOptions(a *Association) []sctp.ClientOption {
	return []sctp.ClientOption{
		sctp.WithName("association"),
		sctp.WithLoggerFactory(e.pionLog),
		sctp.WithNetConn(&a.conn),
		sctp.WithSNAP(a.snapLocal(e.cfg.ReceiveWindow), a.snapPeer()),
		sctp.WithEnableInterleaving(false),
		sctp.WithEnableZeroChecksum(true),
		sctp.WithMTU(a.mtu),
		sctp.WithMaxReceiveBufferSize(e.cfg.ReceiveWindow),
		sctp.WithMaxMessageSize(e.cfg.MaxMessage),
		sctp.WithMaxReassemblyQueueEntries(e.cfg.maxReassembly()),
		sctp.WithRTOMax(float64(e.cfg.RTOMax.Milliseconds())),
	}
}

// snapLocal and snapPeer are the INITs that pion is to believe in. Stream counts are the front end's affair: pion sees
// lanes.
func (t terms) snapLocal(window uint32) []byte {
	return snapInit(t.localTag, window, t.localTSN, []byte{byte(packet.TypeReconfig), byte(packet.TypeForwardTSN)})
}

func (t terms) snapPeer() []byte {
	extensions := []byte{byte(packet.TypeReconfig)}
	if t.forwardTSN {
		extensions = append(extensions, byte(packet.TypeForwardTSN))
	}
	return snapInit(t.peerTag, t.peerWindow, t.peerTSN, extensions)
}

func snapInit(tag, window, tsn uint32, extensions []byte) []byte {
	params := packet.AppendParameter(nil, paramZeroChecksum, u32(1)) // RFC 9653: the lower layer checks
	params = packet.AppendParameter(params, paramExtensions, extensions)
	return packet.Init{
		InitiateTag: tag, Window: window, OutboundStreams: 1<<16 - 1, InboundStreams: 1<<16 - 1, InitialTSN: tsn,
		Parameters: params,
	}.Append(nil, packet.TypeInit)
}

// supervise takes pion's streams as soon as they are there, since pion drops DATA of a new stream while 16 wait. It
// returns when pion has ended.
func (a *Association) supervise() {
	for {
		stream, err := a.pion.AcceptStream()
		if err != nil {
			break
		}
		a.accept(stream)
	}
	_ = a.pion.Close() // waits for pion's reader; the error would be conn's, which gives none
	a.endByProtocol()
	close(a.receiving.accepted)
	a.receiving.resume() // what is there to read is read
}

func (a *Association) hasPorts(h packet.Header) bool {
	return h.SourcePort == a.peerPort && h.DestinationPort == a.localPort
}

func (a *Association) isDone() bool { return a.reason.Load() != nil }

// packet starts a packet to the peer.
func (a *Association) packet(room int) []byte {
	h := packet.Header{SourcePort: a.localPort, DestinationPort: a.peerPort, VerificationTag: a.peerTag}
	return h.Append(make([]byte, 0, packet.HeaderLen+room))
}

// inject gives pion a packet that the peer did not send, or not now.
func (a *Association) inject(b []byte) {
	a.intake.mu.Lock()
	defer a.intake.mu.Unlock()
	if a.intake.shut {
		return
	}
	p := a.endpoint.borrow()
	p.b = append(p.b[:0], b...)
	if !a.conn.inbox.put(p) {
		a.endpoint.packets.Put(p)
	}
}

func (e *Endpoint) borrow() *packetBuffer {
	p, _ := e.packets.Get().(*packetBuffer)
	return p
}
