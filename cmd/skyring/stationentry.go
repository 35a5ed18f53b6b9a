package main

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"skyring/processor/table"
	"skyring/protocol"
)

// stationFields are the values of an entry as text; missing ones are empty.
type stationFields struct {
	ID          string
	Key         string
	Beams       beamList
	Class       string
	MaxCalls    string
	MaxPriority string
	Barred      string
}

// stationColumns are the columns that a CSV file may have.
func stationColumns() []string {
	return []string{"id", "key", "beams", "class", "maxCalls", "maxPriority", "barred"}
}

// Limits and defaults of an entry.
const (
	defaultMaxCalls    = 1
	defaultMaxPriority = 15 // nobody in distress is to be refused for want of an entry
)

// entry checks the values and returns every fault at once.
func (f stationFields) entry() (table.Entry, error) {
	var e table.Entry

	id, err := parseStation(f.ID)
	faults := []error{err}
	e.ID = id

	e.Profile.Key, err = parseKey(f.Key)
	faults = append(faults, err)

	e.Profile.Beams, err = f.Beams.list()
	faults = append(faults, err)

	class, err := parseNumber("class", f.Class, 0, 255)
	e.Profile.Class = uint8(class) //nolint:gosec // at most 255
	faults = append(faults, err)

	calls, err := parseNumber("maxCalls", f.MaxCalls, defaultMaxCalls, 255)
	e.Profile.MaxCalls = uint8(calls) //nolint:gosec // at most 255
	faults = append(faults, err)

	priority, err := parseNumber("maxPriority", f.MaxPriority, defaultMaxPriority, 15)
	e.Profile.MaxPriority = protocol.Priority(priority) //nolint:gosec // at most 15
	faults = append(faults, err)

	if f.Barred != "" {
		if e.Profile.Barred, err = strconv.ParseBool(f.Barred); err != nil {
			faults = append(faults, fmt.Errorf("barred is %q: true or false is right", f.Barred))
		}
	}

	return e, errors.Join(faults...)
}

// parseNumber reads a number from 0 to most, fallback where there is none.
func parseNumber(name, text string, fallback, most uint64) (uint64, error) {
	if text == "" {
		return fallback, nil
	}

	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n > most {
		return 0, fmt.Errorf("%s is %q: 0 to %d is right", name, text, most)
	}

	return n, nil
}

// parseKey reads a station's key: 64 hexadecimal digits.
func parseKey(text string) (key [32]byte, err error) {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != len(key) {
		return key, fmt.Errorf("key has %d characters: 64 hexadecimal digits are right (openssl rand -hex 32 makes them)", len(text))
	}

	return [32]byte(b), nil
}

// beamList is beam numbers as text, separated by spaces, commas or semicolons.
type beamList string

// UnmarshalJSON takes an array of numbers, or text.
func (b *beamList) UnmarshalJSON(text []byte) error {
	var (
		numbers []uint64
		joined  string
	)

	if err := json.Unmarshal(text, &joined); err == nil {
		*b = beamList(joined)

		return nil
	}

	if err := json.Unmarshal(text, &numbers); err != nil {
		return errors.New("beams: an array of beam numbers is right")
	}

	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = strconv.FormatUint(n, 10)
	}

	*b = beamList(strings.Join(words, " "))

	return nil
}

// list is the beams as numbers.
func (b beamList) list() ([]protocol.Beam, error) {
	words := strings.FieldsFunc(string(b), func(r rune) bool { return strings.ContainsRune(" ,;", r) })
	if len(words) == 0 {
		return nil, errors.New("beams are missing: the numbers of the beams that may serve the station")
	}

	list := make([]protocol.Beam, 0, len(words))

	for _, word := range words {
		n, err := strconv.ParseUint(word, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("beam %q: 0 to 65535 is right", word)
		}

		if slices.Contains(list, protocol.Beam(n)) {
			return nil, fmt.Errorf("beam %s is there twice", word)
		}

		list = append(list, protocol.Beam(n))
	}

	return list, nil
}

// parseStation reads a station id: up to 16 hexadecimal digits, as everything prints them.
func parseStation(text string) (protocol.StationID, error) {
	digits := strings.TrimPrefix(strings.TrimPrefix(strings.ToLower(text), "station:"), "0x")

	id, err := strconv.ParseUint(digits, 16, 64)
	if err != nil || id == 0 {
		return 0, fmt.Errorf("station id %q: 1 to 16 hexadecimal digits that are not all 0 are right", text)
	}

	return protocol.StationID(id), nil
}
