package table

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"skyring/processor/access"
	"skyring/protocol/key"
	"skyring/statestore"
)

const (
	chunk    = 256              // edits in one pipeline
	lifetime = 10 * time.Second // of a write that was sent
	attempts = 100              // at one record; each means that somebody else wrote it
	unheard  = 5                // of them may stay without an answer
)

// edit is a change of one record.
type edit struct {
	// static
	key    []byte
	change func(old []byte, tried bool) ([]byte, error) // old is empty where there is no record

	// owned by run
	tried   bool // a write may have gone through unheard
	written bool
	created bool
}

// run does edits, each until it is written or found to change nothing.
func (t *Table) run(ctx context.Context, edits []edit) error {
	for len(edits) > 0 {
		n := min(len(edits), chunk)
		if err := t.runChunk(ctx, edits[:n]); err != nil {
			return err
		}

		edits = edits[n:]
	}

	return nil
}

func (t *Table) runChunk(ctx context.Context, edits []edit) error {
	open := make([]*edit, len(edits))
	for i := range edits {
		open[i] = &edits[i]
	}

	silences := 0

	for range attempts {
		again, err := t.attempt(ctx, open)

		switch {
		case err != nil && again == nil:
			return err
		case err != nil:
			if silences++; silences == unheard {
				return err
			}
		case len(again) == 0:
			return nil
		}

		open = again
	}

	return fmt.Errorf("%s is written by others all the time", key.Format(open[0].key))
}

// attempt tries each edit once and returns those that have to be tried again. An error
// without any is final; one with some is that of a server that did not answer.
func (t *Table) attempt(ctx context.Context, edits []*edit) (again []*edit, err error) {
	now, err := t.store.Time(ctx)
	if err != nil {
		return nil, err
	}

	keys := make([][]byte, len(edits))
	for i, e := range edits {
		keys[i] = e.key
	}

	loaded, err := t.store.Load(ctx, keys)
	if err != nil {
		return nil, err
	}

	commits, sent := make([]statestore.Commit, 0, len(edits)), make([]*edit, 0, len(edits))

	for i, e := range edits {
		commit, err := e.commit(loaded[i], now)
		if err != nil {
			return nil, err
		}

		if commit != nil {
			commits, sent = append(commits, *commit), append(sent, e)
		}
	}

	outcomes, unknown := t.store.Commit(ctx, commits)
	for i, e := range sent {
		done, err := e.outcome(outcomes[i])
		if err != nil {
			return nil, err
		}

		if !done {
			again = append(again, e)
		}
	}

	return again, unknown
}

// commit is what writes the edit, nil when it changes nothing.
func (e *edit) commit(loaded statestore.Loaded, now int64) (*statestore.Commit, error) {
	if loaded.Err != nil {
		return nil, fmt.Errorf("%s: %w", key.Format(e.key), loaded.Err)
	}

	record := loaded.Record.Clone()

	body, err := e.change(record.Body, e.tried)
	if err != nil {
		return nil, err
	}

	e.created = len(record.Body) == 0
	if bytes.Equal(body, record.Body) {
		e.written = e.tried

		return nil, nil //nolint:nilnil // nothing to write is no error
	}

	record.Body, record.Life = body, statestore.Kept
	expel(e.key, record, now)

	commit := &statestore.Commit{
		Key: e.key, Expect: loaded.Record.Stamp(), Record: record, Expiry: now + lifetime.Microseconds(), Keep: true, Indexed: true, Due: record.Due(),
	}
	if record.Pending() {
		commit.Pending = now // somebody looks after it at once, which does no harm
	}

	return commit, nil
}

// outcome tells whether the edit is done.
func (e *edit) outcome(o statestore.Outcome) (done bool, err error) {
	switch o.Result {
	case statestore.Written:
		e.written = true

		return true, nil
	case statestore.Conflict, statestore.Absent, statestore.Expired:
		return false, nil
	case statestore.Unknown:
		e.tried = true

		return false, nil
	case statestore.Unreadable, statestore.Refused:
		return false, fmt.Errorf("%s: %w", key.Format(e.key), o.Err)
	default:
		return false, errors.New("commit has no outcome")
	}
}

// expel lets the gateway tell a station that is on and barred now that it is off.
func expel(k []byte, record *statestore.Record, now int64) {
	if key.KindOf(k) != key.KindStation {
		return
	}

	station, err := access.Decode(record.Body)
	if err != nil || !station.Profile.Barred || !station.State.On() {
		return
	}

	record.Timers = slices.DeleteFunc(record.Timers, func(t statestore.Timer) bool { return t.Name == access.TimerProfile })
	record.Generation++
	record.Timers = append(record.Timers, statestore.Timer{Name: access.TimerProfile, Generation: record.Generation, Due: now})
}
