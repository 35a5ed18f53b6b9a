package transport

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// errTaken is for an association whose place another one has taken meanwhile.
var errTaken = errors.New("another association has its tag, or its addresses and ports")

// errDialled is for an association that a peer sets up where Dial has begun meanwhile: Dial gets it (RFC 9260 section 5.2.1).
var errDialled = errors.New("the same association is being dialled")

// tuple names an association by its addresses and ports. The peer's UDP port is part of it: two stations behind one NAT
// may well use the same SCTP ports.
type tuple struct {
	peer                place
	peerPort, localPort uint16
}

// hostTuple is a tuple but for the UDP port. Whether two with the same are one station that has restarted behind another
// port, or two behind one NAT, nobody can tell from the packets of the new one: so the old one is asked (paths.question),
// and ends soon unless it answers. Were the new one taken for a restart right away, as kernels do, two stations with the
// same SCTP ports would end each other's association again and again, and whoever shares an address with a station could
// cut it off.
type hostTuple struct {
	link                uint8
	addr                netip.Addr
	peerPort, localPort uint16
}

func (t tuple) host() hostTuple {
	return hostTuple{link: t.peer.link, addr: t.peer.Addr.Addr(), peerPort: t.peerPort, localPort: t.localPort}
}

func (a *Association) tupleAt(at place) tuple {
	return tuple{peer: at, peerPort: a.peerPort, localPort: a.localPort}
}

// registry finds associations and handshakes by tag and by tuple.
type registry struct {
	// static
	limit       int // of associations
	sourceLimit int // of those that one source set up

	mu        sync.RWMutex
	byTag     map[uint32]*Association    // by local tag
	byTuple   map[tuple]*Association     // by each confirmed address
	latest    map[hostTuple]*Association // the last that a peer set up
	bySource  map[netip.Prefix]int       // associations that it set up
	dialTag   map[uint32]*dialing        // by local tag
	dialTuple map[tuple]*dialing
	spent     spentTags
	closed    bool // nothing is added any more
}

func newRegistry(limit, sourceLimit int) *registry {
	return &registry{
		limit: limit, sourceLimit: sourceLimit, bySource: map[netip.Prefix]int{}, byTag: map[uint32]*Association{}, byTuple: map[tuple]*Association{}, latest: map[hostTuple]*Association{},
		dialTag: map[uint32]*dialing{}, dialTuple: map[tuple]*dialing{}, spent: spentTags{until: map[uint32]time.Time{}},
	}
}

// tagged finds what a packet with that verification tag belongs to.
func (r *registry) tagged(tag uint32) (*Association, *dialing) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.byTag[tag], r.dialTag[tag]
}

// at finds what exists between two addresses and ports.
func (r *registry) at(t tuple) (*Association, *dialing) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.byTuple[t], r.dialTuple[t]
}

// full reports whether no more associations may be set up, in all or from an address, and which of both.
func (r *registry) full(from netip.Addr) (bool, Counter) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.closed || len(r.byTag) >= r.limit {
		return true, RefusedAssociations
	}
	return r.bySource[sourceOf(from)] >= r.sourceLimit, SourceRefusedAssociations
}

func (r *registry) len() int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.byTag)
}

// add enters an association, whose tag and tuple must be free. The error says that they are not, or there is no room. It
// gives the association that the same peer may have set up before behind another UDP port, nil for none.
func (r *registry) add(a *Association) (before *Association, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := a.tupleAt(a.peer)
	switch {
	case r.closed:
		return nil, errRefusing
	case len(r.byTag) >= r.limit:
		return nil, r.noRoom()
	case r.byTag[a.localTag] != nil || r.byTuple[key] != nil:
		return nil, errTaken
	case a.origin == byPeer && r.dialTuple[key] != nil:
		return nil, errDialled
	}
	r.byTag[a.localTag], r.byTuple[key] = a, a
	a.tuples = []tuple{key}
	if a.origin == byPeer {
		r.bySource[sourceOf(a.peer.Addr.Addr())]++
		if a.peer.session == nil { // a session is its own place
			before = r.latest[key.host()]
			r.latest[key.host()] = a
		}
	}
	return before, nil
}

// remove forgets an association; until spent its tag opens no cookie.
func (r *registry) remove(a *Association, spent time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byTag[a.localTag] == a {
		delete(r.byTag, a.localTag)
		r.spent.add(a.localTag, spent)
		r.release(a)
	}
	for _, key := range a.tuples {
		delete(r.byTuple, key)
	}
	a.tuples = nil
	if host := a.tupleAt(a.peer).host(); r.latest[host] == a {
		delete(r.latest, host)
	}
}

// release takes an association off its source's count; the caller holds mu.
func (r *registry) release(a *Association) {
	source := sourceOf(a.peer.Addr.Addr())
	switch n := r.bySource[source]; {
	case a.origin == byDial:
	case n == 1:
		delete(r.bySource, source)
	default:
		r.bySource[source] = n - 1
	}
}

// rebind moves an association's address to its peer's new UDP port, or adds an address where both are the same; false when
// another association or handshake has that, or this one has ended.
func (r *registry) rebind(a *Association, from, to place) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	key, old := a.tupleAt(to), a.tupleAt(from)
	if r.byTag[a.localTag] != a || r.byTuple[key] != nil || r.dialTuple[key] != nil {
		return false
	}
	if r.byTuple[old] == a {
		delete(r.byTuple, old)
		a.tuples = slices.DeleteFunc(a.tuples, func(t tuple) bool { return t == old })
	}
	r.byTuple[key] = a
	a.tuples = append(a.tuples, key)
	return true
}

// wasSpent reports whether a cookie with that local tag belongs to an association that has ended.
func (r *registry) wasSpent(tag uint32, now time.Time) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return now.Before(r.spent.until[tag])
}

// all copies the associations.
func (r *registry) all() []*Association {
	r.mu.RLock()
	defer r.mu.RUnlock()
	list := make([]*Association, 0, len(r.byTag))
	for _, a := range r.byTag {
		list = append(list, a)
	}
	return list
}

// close refuses all that comes later.
func (r *registry) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
}

const (
	firstEphemeral = 49152 // RFC 6335
	ephemeralPorts = 1<<16 - firstEphemeral
)

// addDialing enters a handshake; it picks the local tag, and the local port where that is 0.
func (r *registry) addDialing(d *dialing) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return errRefusing
	}
	if len(r.byTag)+len(r.dialTag) >= r.limit {
		return r.noRoom()
	}
	if err := r.pickPort(d); err != nil {
		return err
	}
	for d.localTag == 0 || r.byTag[d.localTag] != nil || r.dialTag[d.localTag] != nil {
		d.localTag = randomU32()
	}
	r.dialTag[d.localTag], r.dialTuple[d.tuple()] = d, d
	return nil
}

func (r *registry) noRoom() error {
	return fmt.Errorf("%d associations, the most that may be", r.limit)
}

func (r *registry) pickPort(d *dialing) error {
	free := func() bool { return r.byTuple[d.tuple()] == nil && r.dialTuple[d.tuple()] == nil }
	if d.localPort != 0 {
		if !free() {
			return fmt.Errorf("local SCTP port %d is in use towards that peer", d.localPort)
		}
		return nil
	}
	start := randomU32()
	for i := range uint32(ephemeralPorts) {
		d.localPort = uint16(firstEphemeral + (start+i)%ephemeralPorts)
		if free() {
			return nil
		}
	}
	return fmt.Errorf("all %d local SCTP ports are in use towards that peer", ephemeralPorts)
}

// removeDialing forgets a handshake; false when it had been forgotten before.
func (r *registry) removeDialing(d *dialing) bool {
	if !r.claimDialing(d) {
		return false
	}
	r.releaseDialing(d)
	return true
}

// claimDialing forgets a handshake but for its addresses and ports, which nobody else gets until releaseDialing.
func (r *registry) claimDialing(d *dialing) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dialTag[d.localTag] != d {
		return false
	}
	delete(r.dialTag, d.localTag)
	return true
}

func (r *registry) releaseDialing(d *dialing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dialTuple[d.tuple()] == d {
		delete(r.dialTuple, d.tuple())
	}
}

const maxSpentTags = 4096

// spentTags remembers the local tags of associations that ended, so that a recorded COOKIE-ECHO cannot set them up
// again. Beyond maxSpentTags the oldest is forgotten.
type spentTags struct {
	until map[uint32]time.Time
	order []uint32 // ring, oldest at next once full
	next  int
}

func (s *spentTags) add(tag uint32, until time.Time) {
	if len(s.order) < maxSpentTags {
		s.order = append(s.order, tag)
	} else {
		delete(s.until, s.order[s.next])
		s.order[s.next] = tag
		s.next = (s.next + 1) % maxSpentTags
	}
	s.until[tag] = until
}

// randomU32 is unpredictable: tags and TSNs keep blind attackers out.
func randomU32() uint32 {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return binary.BigEndian.Uint32(b[:])
}
