package table

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"skyring/processor/access"
	"skyring/protocol"
	"skyring/protocol/key"
	"skyring/statestore"
)

// ErrAbsent says that there is no such station or pool.
var ErrAbsent = errors.New("there is none")

// ErrExists says that a station that was to be added is there already.
var ErrExists = errors.New("it is there already")

// Table reads and writes station table and pools. It may be used by many goroutines.
type Table struct {
	store *statestore.Store // static after New
}

// New takes a store, which stays the caller's.
func New(store *statestore.Store) *Table { return &Table{store: store} }

// Entry is one station of the table.
type Entry struct {
	ID      protocol.StationID
	Profile access.Profile
}

// Mode says what becomes of stations that are in the table already.
type Mode uint8

// Modes of Put.
const (
	Add     Mode = iota + 1 // they are an error
	Replace                 // their profile is replaced; log-on and calls stay as they are
)

// Written counts what Put did.
type Written struct {
	Added     int
	Changed   int
	Unchanged int // they had that profile
}

// Put writes entries, pipelined. Ids are to be different. An error that matches ErrExists names the first
// station that was there; those before and after it may have been written. Entries with
// a profile that is not valid are refused before anything is written.
func (t *Table) Put(ctx context.Context, entries []Entry, mode Mode) (Written, error) {
	var (
		w      Written
		faults []error
	)

	for _, e := range entries {
		if err := e.Profile.Validate(); err != nil {
			faults = append(faults, fmt.Errorf("station %s: %w", e.ID, err))
		}
	}

	if err := errors.Join(faults...); err != nil {
		return w, err
	}

	edits := make([]edit, len(entries))
	for i, e := range entries {
		edits[i] = edit{key: key.Station(nil, uint64(e.ID)), change: func(old []byte, tried bool) ([]byte, error) { return e.apply(old, mode, tried) }}
	}

	if err := t.run(ctx, edits); err != nil {
		return w, fmt.Errorf("write the station table: %w", err)
	}

	for i := range edits {
		switch {
		case !edits[i].written:
			w.Unchanged++
		case edits[i].created:
			w.Added++
		default:
			w.Changed++
		}
	}

	return w, nil
}

// apply makes the new body of a station's record. tried says that an earlier write may have
// gone through unheard.
func (e Entry) apply(old []byte, mode Mode, tried bool) ([]byte, error) {
	if len(old) == 0 {
		return access.NewStation(e.Profile)
	}

	body, err := access.SetProfile(old, e.Profile)
	if err == nil && mode == Add && (!tried || string(body) != string(old)) {
		return nil, fmt.Errorf("station %s: %w", e.ID, ErrExists)
	}

	return body, err
}

// Bar bars a station, or lets it in again, and tells whether that changed anything. One
// that is logged on and barred is logged off by the gateway. The error is ErrAbsent when
// there is no such station.
func (t *Table) Bar(ctx context.Context, id protocol.StationID, barred bool) (changed bool, err error) {
	set := access.Unbar
	if barred {
		set = access.Bar
	}

	edits := []edit{{key: key.Station(nil, uint64(id)), change: func(old []byte, _ bool) ([]byte, error) {
		if len(old) == 0 {
			return nil, ErrAbsent
		}

		return set(old)
	}}}

	if err := t.run(ctx, edits); err != nil {
		return false, fmt.Errorf("station %s: %w", id, err)
	}

	return edits[0].written, nil
}

// Station is one station's record; ErrAbsent when there is none.
func (t *Table) Station(ctx context.Context, id protocol.StationID) (*access.Station, error) {
	body, err := t.body(ctx, key.Station(nil, uint64(id)))
	if err != nil {
		return nil, fmt.Errorf("station %s: %w", id, err)
	}

	return access.Decode(body)
}

// body reads the body of a record.
func (t *Table) body(ctx context.Context, k []byte) ([]byte, error) {
	session, err := t.store.Session(ctx, k)

	switch {
	case errors.Is(err, statestore.ErrAbsent):
		return nil, ErrAbsent
	case err != nil:
		return nil, err
	case session.Err != nil:
		return nil, session.Err
	case len(session.Record.Body) == 0:
		return nil, ErrAbsent
	}

	return session.Record.Body, nil
}

// Stations goes through all stations, in no order. An error with an id is about that
// station's record alone; one without ends it.
func (t *Table) Stations(ctx context.Context) iter.Seq2[Listed, error] {
	return func(yield func(Listed, error) bool) {
		for k, body := range t.bodies(ctx, key.KindStation) {
			if k == nil {
				yield(Listed{}, body.err)

				return
			}

			id, _ := key.StationOf(k)
			listed, err := Listed{ID: protocol.StationID(id)}, body.err

			if err == nil {
				listed.Station, err = access.Decode(body.bytes)
			}

			if err != nil {
				err = fmt.Errorf("station %s: %w", listed.ID, err)
			}

			if !yield(listed, err) {
				return
			}
		}
	}
}

// Listed is a station with its id; Station is nil beside an error.
type Listed struct {
	ID      protocol.StationID
	Station *access.Station
}

// found is the body of a record, or why it can not be had.
type found struct {
	bytes []byte
	err   error
}

// bodies goes through the records of a kind. A nil key comes with the error that ends it.
func (t *Table) bodies(ctx context.Context, kind key.Kind) iter.Seq2[[]byte, found] {
	return func(yield func([]byte, found) bool) {
		for session, err := range t.store.Sessions(ctx) {
			switch {
			case err != nil:
				yield(nil, found{err: err})

				return
			case key.KindOf(session.Key) != kind:
				continue
			case session.Err != nil:
				if !yield(session.Key, found{err: session.Err}) {
					return
				}
			case len(session.Record.Body) > 0:
				if !yield(session.Key, found{bytes: session.Record.Body}) {
					return
				}
			}
		}
	}
}
