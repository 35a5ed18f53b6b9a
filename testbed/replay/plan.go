package replay

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"skyring/protocol/transport"
	"skyring/testbed/trace"
)

// station is one captured endpoint and what it sent.
type station struct {
	name     string           // file, association and endpoint, for errors
	port     uint16           // SCTP port of the captured server
	offsets  time.Time        // what the times of messages are relative to: the start of its capture
	messages []*trace.Message // in the order of sending, at least one
}

// at is when a message is due after the start of a round, at the pace of the capture.
func (s *station) at(message int) time.Duration {
	return max(0, s.messages[message].Time.Sub(s.offsets))
}

// streams is how many streams the station asks for: its highest id and one, as far as
// an association can have them.
func (s *station) streams() uint16 {
	highest := uint16(0)
	for _, m := range s.messages {
		highest = max(highest, m.Stream)
	}

	return min(highest, transport.MaxStreams-1) + 1
}

// plan lists the stations of captures by the time of their first message. Captures are
// played together, each by its own time. An endpoint that sent no message is left out.
func plan(traces []*trace.Trace, side Side) []*station {
	var stations []*station

	for _, t := range traces {
		stations = append(stations, planOne(t, side)...)
	}

	slices.SortStableFunc(stations, func(a, b *station) int { return cmp.Compare(a.at(0), b.at(0)) })

	return stations
}

func planOne(t *trace.Trace, side Side) []*station {
	type endpoint struct {
		association int
		direction   trace.Direction
	}

	found := make(map[endpoint]*station)

	var stations []*station

	for i := range t.Messages {
		m := &t.Messages[i]
		if !side.includes(m.Direction) {
			continue
		}

		e := endpoint{m.Association, m.Direction}

		s := found[e]
		if s == nil {
			s = &station{
				name:    stationName(t, m),
				port:    t.Associations[m.Association].Server.Port,
				offsets: t.Start,
			}
			found[e] = s
			stations = append(stations, s)
		}

		s.messages = append(s.messages, m)
	}

	return stations
}

// includes tells whether messages that go this way are sent: to the server is what
// clients sent.
func (s Side) includes(d trace.Direction) bool {
	switch s {
	case Client:
		return d == trace.ToServer
	case Server:
		return d == trace.ToClient
	case Both:
		return true
	}

	return false
}

func stationName(t *trace.Trace, m *trace.Message) string {
	a := &t.Associations[m.Association]

	role, end := "client", a.Client
	if m.Direction == trace.ToClient {
		role, end = "server", a.Server
	}

	return fmt.Sprintf("%s association %d %s %s", filepath.Base(t.File), a.ID, role, end)
}
