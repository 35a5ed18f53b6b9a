package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"skyring/protocol/textfile"
	"skyring/statestore"
)

// maxPosition is the longest file of a position, in bytes: a place for each partition takes 100.
const maxPosition = 16 << 20

// cdrPosition is how far an export came, by partition.
type cdrPosition map[int]cdrPlace

// cdrPlace is the last record of a partition that was written. Sequence 0 beside an ID
// means that the count begins with the next one.
type cdrPlace struct {
	ID       string `json:"id"`
	Sequence uint64 `json:"sequence"`
}

// begin leaves out what was written before a time.
func (p cdrPosition) begin(partitions int, at time.Time) {
	ms := at.UnixMilli() - 1
	if ms < 0 {
		return
	}

	id := strconv.FormatInt(ms, 10) + "-18446744073709551615" // the last that this millisecond can have
	for i := range partitions {
		p[i] = cdrPlace{ID: id}
	}
}

// ids are those to go on after.
func (p cdrPosition) ids() map[int]string {
	ids := make(map[int]string, len(p))
	for partition, place := range p {
		ids[partition] = place.ID
	}

	return ids
}

// deviation is what is wrong with the numbers of a partition's records; the zero one is nothing.
type deviation struct {
	from, to uint64 // both included
	back     bool   // these numbers were given before, and are given again; else they are missing
}

// advance goes on to a record, and tells what is wrong with its number.
func (p cdrPosition) advance(c statestore.CDR) (d deviation, wrong bool) {
	before := p[c.Partition]
	p[c.Partition] = cdrPlace{ID: c.ID, Sequence: c.Sequence}

	switch {
	case before.Sequence == 0 && before.ID != "":
		return d, false
	case c.Sequence <= before.Sequence:
		return deviation{from: c.Sequence, to: before.Sequence, back: true}, true
	case c.Sequence > before.Sequence+1:
		return deviation{from: before.Sequence + 1, to: c.Sequence - 1}, true
	default:
		return d, false
	}
}

// compare tells whether a partition counted as far as its records go, once all of them were
// read, and goes on with its count.
func (p cdrPosition) compare(partition int, c statestore.CDRCount) (d deviation, wrong bool) {
	place := p[partition]
	if c.ID != "" && compareIDs(c.ID, place.ID) > 0 { // a newer one is there by now
		return d, false
	}

	last := place.Sequence

	switch {
	case last > 0 || place.ID == "":
	case c.ID == "": // everything before --from may be forgotten
		return d, false
	default:
		last = c.Sequence
	}

	switch {
	case c.Count > last:
		d = deviation{from: last + 1, to: c.Count}
	case c.Count < last:
		d = deviation{from: c.Count + 1, to: last, back: true}
	default:
		return d, false
	}

	place.Sequence = c.Count
	p[partition] = place

	if c.Count == 0 { // it begins anew
		delete(p, partition)
	}

	return d, true
}

// read takes the position over that a file holds; one that is not there is the beginning.
func (p cdrPosition) read(path string) error {
	text, err := textfile.Read(path, maxPosition)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}

	if err != nil {
		return usagef("read the position: %w", err)
	}

	if err := json.Unmarshal(text, &p); err != nil {
		return usagef("position %s: %w", path, err)
	}

	return nil
}

// write replaces the file, so that it always holds one whole position.
func (p cdrPosition) write(path string) error {
	text, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("write the position: %w", err)
	}

	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write the position: %w", err)
	}

	_, err = file.Write(append(text, '\n'))
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return errors.Join(fmt.Errorf("write the position: %w", err), os.Remove(file.Name()))
	}

	if err := os.Rename(file.Name(), path); err != nil {
		return errors.Join(fmt.Errorf("write the position: %w", err), os.Remove(file.Name()))
	}

	return nil
}
