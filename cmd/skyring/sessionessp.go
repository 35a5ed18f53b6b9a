package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"skyring/processor/access"
	"skyring/processor/call"
	"skyring/protocol"
	"skyring/protocol/key"
	"skyring/statestore"
)

// esspSummary is what a line of a listing tells of a station, a call or a channel pool.
type esspSummary struct {
	Key     string `json:"key"`
	Kind    string `json:"kind"` // station, call or pool
	PPID    uint32 `json:"ppid"`
	State   string `json:"state"` // of the station's log-on or of the call; of a pool, channels held of those it has
	Version uint64 `json:"version"`
	First   string `json:"first"` // a call's set-up
	Last    string `json:"last"`  // when a station was heard, or the last that befell a call
	Error   string `json:"error,omitempty"`
}

// legView is the association that a station's messages go to.
type legView struct {
	Dispatcher  string `json:"dispatcher"`
	Incarnation string `json:"incarnation"`
	Epoch       string `json:"epoch"`
	Stream      uint16 `json:"stream"`
	Gone        bool   `json:"gone"` // the dispatcher said that it has no such association
}

// timerView is a timer that is armed.
type timerView struct {
	Name string `json:"name"`
	Due  string `json:"due"`
}

// endView is one side of a call.
type endView struct {
	Station  string        `json:"station"`
	Beam     protocol.Beam `json:"beam"`
	Channel  uint16        `json:"channel"` // 0: none
	Hold     string        `json:"hold"`
	Dialogue string        `json:"dialogue"`
	Locked   bool          `json:"locked"`
}

// callView is what is shown of a call.
type callView struct {
	Calling    endView           `json:"calling"`
	Called     endView           `json:"called"`
	Service    uint8             `json:"service"`
	Priority   protocol.Priority `json:"priority"`
	Setup      string            `json:"setup"`
	Assigned   string            `json:"assigned"`
	Alerting   string            `json:"alerting"`
	Answered   string            `json:"answered"`
	Released   string            `json:"released"`
	Ended      string            `json:"ended"`
	Cause      protocol.Cause    `json:"cause"`
	CauseName  string            `json:"causeName,omitempty"`
	ReleasedBy string            `json:"releasedBy,omitempty"`
}

// esspDetail is everything about one station, call or channel pool, but a station's key.
type esspDetail struct {
	esspSummary

	Leg     *legView     `json:"leg,omitempty"`
	Timers  []timerView  `json:"timers"`
	Outbox  int          `json:"outbox"` // effects that were not acknowledged yet
	Sources []sourceView `json:"sources"`
	Station *stationView `json:"station,omitempty"`
	Call    *callView    `json:"call,omitempty"`
	Pool    *poolView    `json:"pool,omitempty"`
}

// ofESSP tells that a session is a station, a call or a channel pool, and no ledger.
func ofESSP(s statestore.Session) bool {
	kind := key.KindOf(s.Key)

	return kind == key.KindStation || kind == key.KindCall || kind == key.KindPool
}

// esspDetails reads a session of ESSP. One that cannot be read says why in Error.
func esspDetails(s statestore.Session) esspDetail {
	kind := key.KindOf(s.Key)
	d := esspDetail{
		esspSummary: esspSummary{Key: key.Format(s.Key), Kind: kind.String(), PPID: protocol.PPID, State: "-", First: "-", Last: "-"},
		Timers:      []timerView{}, Sources: []sourceView{},
	}

	err := s.Err
	if err == nil {
		d.common(kind, s.Record)
		err = d.body(kind, s)
	}

	if err != nil {
		d.Error = err.Error()
	}

	return d
}

// common takes over what records of all kinds have.
func (d *esspDetail) common(kind key.Kind, r *statestore.Record) {
	d.Version, d.Outbox, d.Sources = r.Version, len(r.Outbox), append(d.Sources, sourceViews(r.Sources)...)

	if l := r.Leg; l != nil {
		d.Leg = &legView{
			Dispatcher: l.Dispatcher, Incarnation: fmt.Sprintf("%016x", l.Incarnation), Epoch: fmt.Sprintf("%016x", l.Epoch),
			Stream: l.Stream, Gone: l.Gone,
		}
	}

	for _, t := range r.Timers {
		d.Timers = append(d.Timers, timerView{Name: timerName(kind, t.Name), Due: timestamp(t.Due)})
	}
}

// body reads the part that each kind has of its own. An empty one is no fault: a station that
// is in no table, a beam without channels.
func (d *esspDetail) body(kind key.Kind, s statestore.Session) error {
	b := s.Record.Body

	switch {
	case kind == key.KindCall:
		c, err := call.Decode(b)
		if err == nil {
			d.ofCall(c)
		}

		return err
	case len(b) == 0:
		return nil
	case kind == key.KindPool:
		p, err := call.DecodePool(b)
		if err == nil {
			view := viewPool(p)
			d.Pool, d.State = &view, fmt.Sprintf("held:%d/%d", view.Held, p.Size())
		}

		return err
	default:
		station, err := access.Decode(b)
		if err == nil {
			id, _ := key.StationOf(s.Key)
			view := viewStation(protocol.StationID(id), station)
			d.Station, d.State, d.Last = &view, view.State, timestamp(station.Heard)
		}

		return err
	}
}

func (d *esspDetail) ofCall(c *call.Call) {
	end := func(e *call.End) endView {
		return endView{
			Station: e.Station.String(), Beam: e.Beam, Channel: e.Channel, Hold: e.Hold.String(), Dialogue: e.Dialogue.String(), Locked: e.Locked,
		}
	}
	d.Call = &callView{
		Calling: end(&c.Calling), Called: end(&c.Called), Service: c.Service, Priority: c.Priority,
		Setup: timestamp(c.Setup), Assigned: timestamp(c.Assigned), Alerting: timestamp(c.Alerting), Answered: timestamp(c.Answered),
		Released: timestamp(c.Released), Ended: timestamp(c.Ended), Cause: c.Cause, ReleasedBy: string(c.ReleasedBy),
	}
	d.State, d.First = c.State.String(), timestamp(c.Setup)
	d.Last = timestamp(max(c.Setup, c.Assigned, c.Alerting, c.Answered, c.Released, c.Ended))

	if c.Released != 0 {
		d.Call.CauseName = c.Cause.String()
	}
}

// timerName is a timer's name in docs/essp.md where it has one.
func timerName(kind key.Kind, name uint8) string {
	if kind == key.KindCall {
		return call.Timer(name).String()
	}

	names := map[uint8]string{
		access.TimerConfirm: "confirm (tA12)", access.TimerInactivity: "inactivity (tG6)", access.TimerInterrogation: "interrogation (tA13)",
		access.TimerFade: "fade (tG10)", access.TimerRepeat: "repeat (tA50)", access.TimerProfile: "profile",
	}
	if text, known := names[name]; known && kind == key.KindStation {
		return text
	}

	return fmt.Sprintf("timer(%d)", name)
}

// write prints a line of the listing: the columns of a ledger, the state instead of its chain.
func (s esspSummary) write(w io.Writer) error {
	if s.Error != "" {
		return writeUnreadable(w, s.Key, s.Error)
	}

	_, err := fmt.Fprintf(w, "%s\t%d\t-\t-\t%s\t%d\t%s\t%s\t-\n", s.Key, s.PPID, s.State, s.Version, s.First, s.Last)

	return err
}

// write prints the session for people.
func (d esspDetail) write(w io.Writer) error {
	if d.Error != "" {
		_, err := fmt.Fprintf(w, "%s cannot be read: %s\n", d.Key, d.Error)

		return err
	}

	lines := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	row := func(name, format string, values ...any) { fmt.Fprintf(lines, name+"\t"+format+"\n", values...) } //nolint:errcheck // Flush tells

	row("key", "%s", d.Key)
	row("ppid", "%d ESSP", d.PPID)
	row("version", "%d", d.Version)

	switch {
	case d.Station != nil:
		d.Station.rows(row)
	case d.Call != nil:
		row("state", "%s", d.State)
		d.Call.rows(row)
	case d.Pool != nil:
		d.Pool.rows(row)
	default:
		row("state", "no entry in the table")
	}

	if d.Leg != nil {
		gone := ""
		if d.Leg.Gone {
			gone = ", gone"
		}

		row("leg", "dispatcher %s epoch %s stream %d%s", d.Leg.Dispatcher, d.Leg.Epoch, d.Leg.Stream, gone)
	}

	for _, t := range d.Timers {
		row("timer", "%s due %s", t.Name, t.Due)
	}

	row("outbox", "%d", d.Outbox)

	for _, s := range d.Sources {
		row("source", "%s", s)
	}

	return lines.Flush()
}

func (c *callView) rows(row func(name, format string, values ...any)) {
	for i, e := range []endView{c.Calling, c.Called} {
		locked := ""
		if e.Locked {
			locked = ", locked"
		}

		row([]string{"calling", "called"}[i], "station %s beam %s channel %d (%s), dialogue %s%s", e.Station, e.Beam, e.Channel, e.Hold, e.Dialogue, locked)
	}

	row("service", "%d", c.Service)
	row("priority", "%d", uint8(c.Priority))
	row("set up", "%s", c.Setup)
	row("assigned", "%s", c.Assigned)
	row("alerting", "%s", c.Alerting)
	row("answered", "%s", c.Answered)
	row("released", "%s", c.Released)
	row("ended", "%s", c.Ended)

	if c.CauseName != "" {
		row("cause", "%d %s, by the %s", uint8(c.Cause), c.CauseName, c.ReleasedBy)
	}
}

func (p *poolView) rows(row func(name, format string, values ...any)) {
	row("beam", "%s", p.Beam)
	row("channels", "%d-%d, %d held, %d free", p.First, p.Last, p.Held, p.Free)
	row("counted", "%d granted, %d refused, %d freed", p.Granted, p.Refused, p.Freed)

	for _, h := range p.Channels {
		row("held", "channel %d by the %s side of %s since %s", h.Number, h.Side, h.Call, h.Since)
	}
}
