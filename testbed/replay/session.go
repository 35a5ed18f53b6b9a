package replay

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
)

// source is what a chain belongs to: a lane of an association.
type source struct {
	association uint64 // replay's own number of it, or its epoch in the store
	lane        lane
}

// chain is what is known of the messages of one session that came over one source.
type chain struct {
	count uint64
	bytes uint64 // of user data
	value [32]byte
}

// session is what is known of a session: its chains. The numbers of associations differ
// between replay and store, so sessions are compared by signature.
type session map[source]*chain

// signature is the same for two sessions when their associations can be paired so that
// all chains are equal.
func (s session) signature() string {
	perAssociation := make(map[uint64][][]byte)
	for src, c := range s {
		perAssociation[src.association] = append(perAssociation[src.association], c.encode(src.lane))
	}

	associations := make([][]byte, 0, len(perAssociation))

	for _, chains := range perAssociation {
		slices.SortFunc(chains, bytes.Compare)

		joined := binary.BigEndian.AppendUint32(nil, uint32(len(chains))) //nolint:gosec // at most 65536 streams, twice
		associations = append(associations, append(joined, bytes.Join(chains, nil)...))
	}

	slices.SortFunc(associations, bytes.Compare)

	return string(bytes.Join(associations, nil))
}

// encode is of fixed length, so that chains can be joined.
func (c *chain) encode(l lane) []byte {
	b := binary.BigEndian.AppendUint16(nil, l.stream)
	if l.unordered {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}

	b = binary.BigEndian.AppendUint64(b, c.count)
	b = binary.BigEndian.AppendUint64(b, c.bytes)

	return append(b, c.value[:]...)
}

// total sums up all chains.
func (s session) total() chain {
	var sum chain
	for _, c := range s {
		sum.count += c.count
		sum.bytes += c.bytes
	}

	return sum
}

func (c chain) String() string {
	return fmt.Sprintf("%s of %d bytes", plural(c.count, "message"), c.bytes)
}

func plural(n uint64, what string) string {
	if n == 1 {
		return "1 " + what
	}

	return fmt.Sprintf("%d %ss", n, what)
}

// sorted lists the sources in an order that does not depend on association numbers as
// far as chains differ.
func (s session) sorted() []source {
	sources := make([]source, 0, len(s))
	for src := range s {
		sources = append(sources, src)
	}

	slices.SortFunc(sources, func(a, b source) int {
		return cmp.Or(
			cmp.Compare(a.lane.stream, b.lane.stream),
			compareBool(a.lane.unordered, b.lane.unordered),
			cmp.Compare(a.association, b.association),
		)
	})

	return sources
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}
