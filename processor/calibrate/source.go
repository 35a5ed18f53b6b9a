package calibrate

import (
	"encoding/binary"

	"skyring/processor/access"
	"skyring/protocol"
	"skyring/protocol/bus"
	"skyring/protocol/key"
)

const (
	foreignPPID = 18  // S1AP: any that the ledger serves
	foreignSize = 200 // bytes of a message
	beam        = protocol.Beam(1)
	boot        = uint64(1) // nonce of all stations
)

// source is an association on which one session speaks.
type source struct {
	epoch    uint64
	sequence uint64
	key      []byte
	station  protocol.StationID // 0: a session of the ledger
	request  uint32             // of the station
}

// foreignSource is a session of the ledger.
func foreignSource(epoch uint64) *source {
	return &source{epoch: epoch, key: key.Association(nil, epoch)}
}

// stationSource is a station.
func stationSource(epoch uint64, id protocol.StationID) *source {
	return &source{epoch: epoch, key: key.Station(nil, uint64(id)), station: id}
}

// secret is the station's key.
func (s *source) secret() (k [access.KeySize]byte) {
	binary.BigEndian.PutUint64(k[:], uint64(s.station))
	k[access.KeySize-1] = 1
	return k
}

// envelope is the next message of the association.
func (s *source) envelope(ppid uint32, payload []byte) bus.Envelope {
	s.sequence++
	return bus.Envelope{Attempt: 1, Epoch: s.epoch, Sequence: s.sequence, Ordinal: s.sequence, PPID: ppid, Key: s.key, Payload: payload}
}

// says is the station's next message. h is empty, or that of the request which it answers.
func (s *source) says(h protocol.Header, m protocol.Message) (bus.Envelope, error) {
	if h.Station = s.station; !h.Response() {
		s.request++
		h.Sequence = s.request
	}
	payload, err := protocol.Append(nil, h, m)
	return s.envelope(protocol.PPID, payload), err
}

// mix makes the messages of all sources, in turn.
type mix struct {
	foreign  []*source
	stations []*source
	payload  []byte // of foreign ones
	count    uint64
}

// The turns of the mix.
const (
	turns         = 4
	heartbeatTurn = 1
	capacityTurn  = 3
)

// next is the next message, and whether its answer is to be a HEARTBEAT-ACK.
func (m *mix) next() (e bus.Envelope, heartbeat bool, err error) {
	turn, round := m.count%turns, m.count/2
	m.count++
	station := m.stations[round%uint64(len(m.stations))]
	switch turn {
	case heartbeatTurn:
		e, err = station.says(protocol.Header{}, protocol.Heartbeat{})
		return e, true, err
	case capacityTurn:
		e, err = station.says(protocol.Header{}, protocol.CapacityRequest{Kind: protocol.CapacityRate, Amount: 64_000})
		return e, false, err
	default:
		return m.foreign[round%uint64(len(m.foreign))].envelope(foreignPPID, m.payload), false, nil
	}
}
