package trace

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"time"

	"skyring/protocol/transport/packet"
)

const (
	maxCandidates = 16 // conversations with the same ports and tag that are looked at
	maxRecent     = 8  // conversations of the same addresses and ports that are looked at

	flagT = 0x01 // of ABORT and SHUTDOWN-COMPLETE: the tag is the sender's own (RFC 9260 section 8.5.1)

	parameterIPv4 = 5 // of INIT and INIT-ACK (RFC 9260 section 3.3.2.1)
	parameterIPv6 = 6
)

// path is one direction between two transport addresses.
type path struct {
	src, dst         netip.AddrPort
	srcPort, dstPort uint16 // SCTP ports
}

func (p path) reversed() path {
	return path{src: p.dst, dst: p.src, srcPort: p.dstPort, dstPort: p.srcPort}
}

// sighting is an SCTP packet of the capture.
type sighting struct {
	path
	tag    uint32
	chunks []packet.Chunk // those that are well formed
	number uint64         // of its record
	time   time.Time
	cut    []byte // a last chunk that was not captured whole, else nil
}

func (s sighting) has(t packet.ChunkType) bool {
	return len(s.chunks) > 0 && s.chunks[0].Type == t
}

type pathTag struct {
	path
	tag uint32
}

type portsTag struct {
	srcPort, dstPort uint16
	tag              uint32
}

// sending is a direction of a conversation.
type sending struct {
	conversation *conversation
	from         side
}

// tracker sorts packets into conversations by addresses, ports and verification tags.
type tracker struct {
	conversations []*conversation
	exact         map[pathTag]sending
	byTag         map[portsTag][]sending   // for the other paths of multi-homed ends
	recent        map[path][]*conversation // latest last, under both paths
	memory        arena
	fragments     uint64
}

func newTracker() *tracker {
	return &tracker{
		exact: make(map[pathTag]sending), byTag: make(map[portsTag][]sending), recent: make(map[path][]*conversation),
	}
}

// packet takes one packet into its conversation.
func (t *tracker) packet(p sighting) {
	var s sending
	switch {
	case p.has(packet.TypeInit):
		s = t.init(p)
	default:
		s = t.find(p)
	}
	c := s.conversation
	c.packets++
	c.ends[s.from].sends.packets++
	c.stop = later(c.stop, p.time)
	c.start = earlier(c.start, p.time)
	c.ends[s.from].learn(p.src)
	c.ends[s.from.other()].learn(p.dst)
	for _, chunk := range p.chunks {
		t.chunk(s, p, chunk)
	}
	if p.cut != nil {
		t.cutChunk(s, p)
	}
}

func (t *tracker) chunk(s sending, p sighting, chunk packet.Chunk) {
	sends := &s.conversation.ends[s.from].sends
	if f, tsn, ok := userData(chunk); ok {
		f.time, f.packet = p.time, p.number
		if sends.add(f, tsn, &t.memory) {
			t.fragments++
		}
		return
	}
	switch chunk.Type { //nolint:exhaustive // the rest is the conversation's
	case packet.TypeInit, packet.TypeInitAck:
		t.announce(s, p, chunk)
	default:
		s.conversation.note(s.from, chunk)
	}
}

// cutChunk takes what is there of a chunk that the snap length cut: its TSN is not missing, its message is.
func (t *tracker) cutChunk(s sending, p sighting) {
	chunk := packet.Chunk{Type: packet.ChunkType(p.cut[0]), Flags: p.cut[1], Value: p.cut[packet.ChunkHeaderLen:], Raw: p.cut}
	f, tsn, ok := userData(chunk)
	if !ok {
		return
	}
	f.time, f.packet, f.cut, f.payload = p.time, p.number, true, nil
	if s.conversation.ends[s.from].sends.add(f, tsn, &t.memory) {
		t.fragments++
	}
}

// announce takes tag, initial TSN and addresses from an INIT or INIT-ACK.
func (t *tracker) announce(s sending, p sighting, chunk packet.Chunk) {
	init, err := packet.ParseInit(chunk)
	if err != nil {
		return
	}
	c := s.conversation
	if chunk.Type == packet.TypeInit {
		c.initSeen[s.from] = true
		c.setClient(s.from)
	} else {
		c.acknowledged = true
		c.setClient(s.from.other())
	}
	sender := &c.ends[s.from]
	sender.sends.expect(init.InitialTSN)
	t.bind(sending{conversation: c, from: s.from.other()}, p.reversed(), init.InitiateTag)
	for parameter, err := range packet.Parameters(init.Parameters) {
		if err != nil {
			break
		}
		addr, ok := netip.AddrFromSlice(parameter.Value)
		if ok && (parameter.Type == parameterIPv4 && addr.Is4() || parameter.Type == parameterIPv6 && addr.Is6()) {
			sender.learn(netip.AddrPortFrom(addr, p.src.Port()))
		}
	}
}

// init finds the conversation of a packet with an INIT: the same one for a copy, the other side's for a collision
// (RFC 9260 section 5.2.1), else a new one, which a restart (section 5.2.2) is too.
func (t *tracker) init(p sighting) sending {
	init, err := packet.ParseInit(p.chunks[0])
	if err != nil {
		return t.find(p)
	}
	for _, c := range slices.Backward(t.recent[p.path]) {
		from, ok := c.sideOf(p.src, p.srcPort)
		if !ok || c.ending != EndingNone {
			continue
		}
		if c.initSeen[from] && slices.Contains(c.ends[from].tags, init.InitiateTag) {
			return sending{conversation: c, from: from}
		}
		if c.pending(from.other()) {
			return sending{conversation: c, from: from}
		}
	}
	return t.open(p)
}

// find tells whose packet it is: known by path and tag, by tag on another path, by path alone where tags are missing or
// not known yet, else a new conversation's.
func (t *tracker) find(p sighting) sending {
	if s, ok := t.exact[pathTag{path: p.path, tag: p.tag}]; ok {
		return s
	}
	if s, ok := t.reflected(p); ok {
		return s
	}
	if p.tag != 0 {
		if s, ok := t.otherPath(p); ok {
			if s.conversation.hasRoom(s.from, p.path) {
				t.bind(s, p.path, p.tag)
			}
			return s
		}
	}
	if s, ok := t.unpaired(p); ok {
		if p.tag != 0 {
			t.bind(s, p.path, p.tag)
		}
		return s
	}
	s := t.open(p)
	if p.tag != 0 {
		t.bind(s, p.path, p.tag)
	}
	return s
}

// reflected finds the packet by its sender's own tag, which the T bit says it carries.
func (t *tracker) reflected(p sighting) (sending, bool) {
	if !p.has(packet.TypeAbort) && !p.has(packet.TypeShutdownComplete) || p.chunks[0].Flags&flagT == 0 {
		return sending{}, false
	}
	s, ok := t.exact[pathTag{path: p.reversed(), tag: p.tag}]
	return sending{conversation: s.conversation, from: s.from.other()}, ok
}

// otherPath finds a conversation with the same ports and tag where one address is known, or the TSNs go on.
func (t *tracker) otherPath(p sighting) (sending, bool) {
	candidates := t.byTag[portsTag{srcPort: p.srcPort, dstPort: p.dstPort, tag: p.tag}]
	candidates = candidates[max(0, len(candidates)-maxCandidates):]
	for _, s := range slices.Backward(candidates) {
		if s.conversation.ends[s.from].knows(p.src) || s.conversation.ends[s.from.other()].knows(p.dst) {
			return s, true
		}
	}
	for _, chunk := range p.chunks {
		_, tsn, ok := userData(chunk)
		if !ok {
			continue
		}
		for _, s := range slices.Backward(candidates) {
			if s.conversation.ends[s.from].sends.near(tsn) {
				return s, true
			}
		}
		break
	}
	return sending{}, false
}

// unpaired finds the conversation on this path whose tag in this direction is not known yet: the one whose TSNs the packet
// acknowledges, else the latest. A packet without a tag, as some tools write it, goes to the latest whatever its tags.
func (t *tracker) unpaired(p sighting) (sending, bool) {
	var latest sending
	for _, c := range slices.Backward(t.recent[p.path]) {
		from, ok := c.sideOf(p.src, p.srcPort)
		if !ok {
			continue
		}
		s, to := sending{conversation: c, from: from}, &c.ends[from.other()]
		switch {
		case p.tag == 0:
			return s, true
		case len(to.tags) > 0 || c.ending != EndingNone:
			continue
		case p.acknowledges(&to.sends):
			return s, true
		case latest.conversation == nil:
			latest = s
		}
	}
	return latest, latest.conversation != nil
}

// acknowledges tells whether a SACK in the packet is about what a direction sends.
func (s sighting) acknowledges(sends *direction) bool {
	for _, chunk := range s.chunks {
		if chunk.Type == packet.TypeSack && len(chunk.Value) >= 4 {
			return sends.near(binary.BigEndian.Uint32(chunk.Value))
		}
	}
	return false
}

// open starts a conversation, with the packet's sender as end 0.
func (t *tracker) open(p sighting) sending {
	c := &conversation{start: p.time, stop: p.time}
	c.ends[0].port, c.ends[1].port = p.srcPort, p.dstPort
	c.ends[0].learn(p.src)
	c.ends[1].learn(p.dst)
	t.conversations = append(t.conversations, c)
	t.remember(p.path, c)
	if p.path != p.reversed() {
		t.remember(p.reversed(), c)
	}
	return sending{conversation: c, from: 0}
}

func (t *tracker) remember(p path, c *conversation) {
	known := t.recent[p]
	if len(known) == maxRecent {
		known = slices.Delete(known, 0, 1)
	}
	t.recent[p] = append(known, c)
}

// bind says that packets on a path with a tag belong to a direction.
func (t *tracker) bind(s sending, p path, tag uint32) {
	to := &s.conversation.ends[s.from.other()]
	if !slices.Contains(to.tags, tag) {
		if len(to.tags) == maxTags {
			return
		}
		to.tags = append(to.tags, tag)
		key := portsTag{srcPort: p.srcPort, dstPort: p.dstPort, tag: tag}
		t.byTag[key] = append(t.byTag[key], s)
	}
	t.exact[pathTag{path: p, tag: tag}] = s
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// endOfChunk is what is left of a packet at an offset where a chunk goes past the end; nil when that is too little.
func endOfChunk(b []byte, offset int) []byte {
	if offset+packet.ChunkHeaderLen > len(b) || int(binary.BigEndian.Uint16(b[offset+2:])) <= len(b)-offset {
		return nil
	}
	return b[offset:]
}
