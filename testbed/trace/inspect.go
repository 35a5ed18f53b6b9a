package trace

import (
	"cmp"
	"slices"
	"time"

	"skyring/protocol/key"
)

// Inspection is what a capture holds, told to a person or, as JSON, to a program. Its fields' names are stable.
type Inspection struct {
	File         string               `json:"file"`
	Format       string               `json:"format"`
	Compressed   bool                 `json:"compressed"`
	LinkTypes    []string             `json:"linkTypes"`
	Packets      uint64               `json:"packets"`
	SCTPPackets  uint64               `json:"sctpPackets"`
	OverUDP      uint64               `json:"overUdp"`
	BadCRC       uint64               `json:"badCrc"`
	Malformed    uint64               `json:"malformed"`
	Cut          uint64               `json:"cut"`
	Other        uint64               `json:"other"`
	Start        *time.Time           `json:"start"`   // null without SCTP packets that can be read
	Seconds      float64              `json:"seconds"` // from the first SCTP packet to the last
	Chunks       []ChunkCount         `json:"chunks"`
	PPIDs        []PPIDCount          `json:"ppids"`
	Messages     uint64               `json:"messages"`
	Bytes        uint64               `json:"bytes"` // user data of the messages
	Incomplete   uint64               `json:"incomplete"`
	Missing      uint64               `json:"missing"`
	KeyFaults    uint64               `json:"keyFaults"` // messages whose key could not be read: they count to their association
	Warnings     []Warning            `json:"warnings"`
	Associations []AssociationSummary `json:"associations"`
	Sessions     []Session            `json:"sessions"` // the largest first
}

// AssociationSummary is an association of an Inspection.
type AssociationSummary struct {
	ID        int       `json:"id"`
	Client    Endpoint  `json:"client"`
	Server    Endpoint  `json:"server"`
	Role      Role      `json:"role"`
	Handshake bool      `json:"handshake"`
	Ending    Ending    `json:"ending"`
	Start     time.Time `json:"start"`
	Seconds   float64   `json:"seconds"`
	ToServer  Flow      `json:"toServer"`
	ToClient  Flow      `json:"toClient"`
}

// Session is what the dispatcher would take as one session: the messages of one key. The association in a key is the
// association's ID in this capture.
type Session struct {
	Key          string    `json:"key"`
	Kind         string    `json:"kind"`
	Associations int       `json:"associations"` // that its messages came on
	Messages     uint64    `json:"messages"`
	Bytes        uint64    `json:"bytes"`
	Start        time.Time `json:"start"`
	Seconds      float64   `json:"seconds"`
}

// Inspect sums a trace up.
func Inspect(t *Trace) *Inspection {
	in := &Inspection{
		File: t.File, Format: t.Format, Compressed: t.Compressed, LinkTypes: t.LinkTypes, Packets: t.Packets,
		SCTPPackets: t.SCTPPackets, OverUDP: t.OverUDP, BadCRC: t.BadCRC, Malformed: t.Malformed, Cut: t.Cut, Other: t.Other,
		Seconds: t.End.Sub(t.Start).Seconds(), Chunks: notNil(t.Chunks), Warnings: notNil(t.Warnings),
		Associations: make([]AssociationSummary, 0, len(t.Associations)),
	}
	if !t.Start.IsZero() {
		in.Start = &t.Start
	}
	ppids := make(map[uint32]*PPIDCount)
	for _, a := range t.Associations {
		in.Associations = append(in.Associations, AssociationSummary{
			ID: a.ID, Client: a.Client, Server: a.Server, Role: a.Role, Handshake: a.Handshake, Ending: a.Ending,
			Start: a.Start, Seconds: a.End.Sub(a.Start).Seconds(), ToServer: a.ToServer, ToClient: a.ToClient,
		})
		in.add(ppids, a.ToServer)
		in.add(ppids, a.ToClient)
	}
	in.PPIDs = make([]PPIDCount, 0, len(ppids))
	for _, count := range ppids {
		in.PPIDs = append(in.PPIDs, *count)
	}
	slices.SortFunc(in.PPIDs, func(a, b PPIDCount) int {
		return cmp.Or(cmp.Compare(b.Messages, a.Messages), cmp.Compare(b.Chunks, a.Chunks), cmp.Compare(a.PPID, b.PPID))
	})
	in.Sessions, in.KeyFaults = sessions(t.Messages)
	return in
}

func (in *Inspection) add(ppids map[uint32]*PPIDCount, flow Flow) {
	in.Messages += flow.Messages
	in.Bytes += flow.Bytes
	in.Incomplete += flow.Incomplete
	in.Missing += flow.Missing
	for _, count := range flow.PPIDs {
		sum, ok := ppids[count.PPID]
		if !ok {
			sum = &PPIDCount{PPID: count.PPID, Name: count.Name}
			ppids[count.PPID] = sum
		}
		sum.Chunks += count.Chunks
		sum.Unique += count.Unique
		sum.Messages += count.Messages
		sum.Bytes += count.Bytes
	}
}

// sessionSum is a session being summed up.
type sessionSum struct {
	count        Session
	end          time.Time
	associations map[int]struct{}
}

// sessions groups messages by key, the largest session first.
func sessions(messages []Message) (list []Session, faults uint64) {
	sums := make(map[string]*sessionSum)
	var scratch [key.MaxLen]byte
	for _, m := range messages {
		k, err := key.Append(scratch[:0], uint64(m.Association), m.PPID, m.Payload)
		if err != nil {
			faults++
		}
		sum, ok := sums[string(k)]
		if !ok {
			sum = &sessionSum{associations: make(map[int]struct{}), end: m.Time, count: Session{
				Key: key.Format(k), Kind: key.KindOf(k).String(), Start: m.Time,
			}}
			sums[string(k)] = sum
		}
		sum.associations[m.Association] = struct{}{}
		sum.count.Messages++
		sum.count.Bytes += uint64(len(m.Payload))
		sum.end = later(sum.end, m.Time)
	}
	list = make([]Session, 0, len(sums))
	for _, sum := range sums {
		sum.count.Associations = len(sum.associations)
		sum.count.Seconds = sum.end.Sub(sum.count.Start).Seconds()
		list = append(list, sum.count)
	}
	slices.SortFunc(list, func(a, b Session) int {
		return cmp.Or(cmp.Compare(b.Messages, a.Messages), a.Start.Compare(b.Start), cmp.Compare(a.Key, b.Key))
	})
	return list, faults
}

// notNil makes JSON write [] instead of null.
func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
