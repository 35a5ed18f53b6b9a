package main

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"skyring/processor/table"
	"skyring/protocol"
)

// lineEntry is an entry of the station table with where in the file it is.
type lineEntry struct {
	table.Entry

	place string // "line 3", or "entry 2 (line 1)" of a JSON array
}

func lineOf(line int) string { return fmt.Sprintf("line %d", line) }

// readStations reads a whole file of station entries: CSV with a header, JSON objects
// one a line, or a JSON array. It returns every fault at once, each with its line.
func readStations(r io.Reader) ([]lineEntry, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}

	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")) // spreadsheets put a byte order mark first

	read := readStationCSV
	switch start := bytes.TrimSpace(text); {
	case len(start) == 0:
		return nil, errNoStations
	case start[0] == '[':
		read = readStationArray
	case start[0] == '{':
		read = readStationLines
	}

	entries, faults := read(text)
	if len(entries) == 0 && len(faults) == 0 {
		return nil, errNoStations
	}

	return entries, errors.Join(append(faults, repeated(entries)...)...)
}

// errNoStations refuses a file that holds nothing: who made it meant something else.
var errNoStations = errors.New("there is nothing to import: the file holds no station")

// repeated finds stations that occur more than once.
func repeated(entries []lineEntry) []error {
	first := make(map[protocol.StationID]string, len(entries))

	var faults []error

	for _, e := range entries {
		if place, seen := first[e.ID]; seen {
			faults = append(faults, fmt.Errorf("%s: station %s is in %s already", e.place, e.ID, place))

			continue
		}

		first[e.ID] = e.place
	}

	return faults
}

func readStationCSV(text []byte) (entries []lineEntry, faults []error) {
	reader := csv.NewReader(bytes.NewReader(text))
	reader.TrimLeadingSpace = true
	reader.Comment = '#'
	reader.FieldsPerRecord = -1

	header, err := reader.Read()
	if errors.Is(err, io.EOF) { // comments alone
		return nil, nil
	}

	if err != nil {
		return nil, []error{fmt.Errorf("read the header: %w", err)}
	}

	if err := checkHeader(header); err != nil {
		return nil, []error{err}
	}

	for {
		row, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return entries, faults
		}

		if err != nil { // a quote out of place: what follows can not be told apart
			return entries, append(faults, err)
		}

		line, _ := reader.FieldPos(0)
		if len(row) != len(header) {
			faults = append(faults, fmt.Errorf("line %d: %d fields, the header has %d", line, len(row), len(header)))

			continue
		}

		entries, faults = appendEntry(entries, faults, lineOf(line), csvFields(header, row))
	}
}

// checkHeader wants known columns, each once, and those that no default stands in for.
func checkHeader(header []string) error {
	var faults []error

	for i, name := range header {
		header[i] = strings.TrimSpace(name)
		if !slices.Contains(stationColumns(), header[i]) {
			faults = append(faults, fmt.Errorf("line 1: no column is called %q; they are %s", header[i], strings.Join(stationColumns(), ", ")))
		}

		if slices.Contains(header[:i], header[i]) {
			faults = append(faults, fmt.Errorf("line 1: column %q is there twice", header[i]))
		}
	}

	for _, name := range []string{"id", "key", "beams"} {
		if !slices.Contains(header, name) {
			faults = append(faults, fmt.Errorf("line 1: column %q is missing", name))
		}
	}

	return errors.Join(faults...)
}

func csvFields(header, row []string) stationFields {
	value := func(name string) string {
		if i := slices.Index(header, name); i >= 0 {
			return strings.TrimSpace(row[i])
		}

		return ""
	}

	return stationFields{
		ID: value("id"), Key: value("key"), Beams: beamList(value("beams")), Class: value("class"),
		MaxCalls: value("maxCalls"), MaxPriority: value("maxPriority"), Barred: value("barred"),
	}
}

func readStationLines(text []byte) (entries []lineEntry, faults []error) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)

	line := 0
	for lines.Scan() {
		line++

		object := bytes.TrimSpace(lines.Bytes())
		if len(object) == 0 {
			continue
		}

		fields, err := decodeFields(object)
		if err != nil {
			faults = append(faults, fmt.Errorf("line %d: %w", line, err))

			continue
		}

		entries, faults = appendEntry(entries, faults, lineOf(line), fields)
	}

	if err := lines.Err(); err != nil {
		faults = append(faults, fmt.Errorf("line %d: %w", line+1, err))
	}

	return entries, faults
}

func readStationArray(text []byte) (entries []lineEntry, faults []error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	lineAt := func(offset int64) int { return 1 + bytes.Count(text[:offset], []byte{'\n'}) }

	if _, err := decoder.Token(); err != nil {
		return nil, []error{err}
	}

	for number := 1; decoder.More(); number++ {
		var object json.RawMessage
		if err := decoder.Decode(&object); err != nil {
			return entries, append(faults, fmt.Errorf("entry %d (line %d): %w", number, lineAt(decoder.InputOffset()), err))
		}

		place := fmt.Sprintf("entry %d (line %d)", number, lineAt(decoder.InputOffset()-int64(len(object))))

		fields, err := decodeFields(object)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", place, err))

			continue
		}

		entries, faults = appendEntry(entries, faults, place, fields)
	}

	if _, err := decoder.Token(); err != nil {
		return entries, append(faults, fmt.Errorf("line %d: the array does not end: %w", lineAt(decoder.InputOffset()), err))
	}

	if rest := bytes.TrimSpace(text[decoder.InputOffset():]); len(rest) > 0 {
		faults = append(faults, fmt.Errorf("line %d: something follows the array", lineAt(decoder.InputOffset())))
	}

	return entries, faults
}

// decodeFields reads one JSON object; a member that is unknown is a fault.
func decodeFields(object []byte) (stationFields, error) {
	var raw struct {
		ID          string       `json:"id"`
		Key         string       `json:"key"`
		Beams       beamList     `json:"beams"`
		Class       *json.Number `json:"class"`
		MaxCalls    *json.Number `json:"maxCalls"`
		MaxPriority *json.Number `json:"maxPriority"`
		Barred      bool         `json:"barred"`
	}

	decoder := json.NewDecoder(bytes.NewReader(object))
	decoder.DisallowUnknownFields()

	if err := decoder.Decode(&raw); err != nil {
		return stationFields{}, plainly(err)
	}

	if decoder.More() {
		return stationFields{}, errors.New("something follows the object")
	}

	number := func(n *json.Number) string {
		if n == nil {
			return ""
		}

		return n.String()
	}

	return stationFields{
		ID: raw.ID, Key: raw.Key, Beams: raw.Beams, Class: number(raw.Class), MaxCalls: number(raw.MaxCalls),
		MaxPriority: number(raw.MaxPriority), Barred: strconv.FormatBool(raw.Barred),
	}, nil
}

// plainly says for a value of a wrong type what would be right.
func plainly(err error) error {
	wrong, ofType := errors.AsType[*json.UnmarshalTypeError](err)

	switch {
	case !ofType:
		return err
	case wrong.Field == "":
		return fmt.Errorf("a JSON %s: an object with id, key and beams is right", wrong.Value)
	case wrong.Field == "id" || wrong.Field == "key":
		return fmt.Errorf(`%s is a JSON %s: a string of hexadecimal digits is right, such as "17", in quotes`, wrong.Field, wrong.Value)
	case wrong.Field == "barred":
		return fmt.Errorf("barred is a JSON %s: true or false is right, without quotes", wrong.Value)
	default:
		return fmt.Errorf("%s is a JSON %s: a number is right", wrong.Field, wrong.Value)
	}
}

func appendEntry(entries []lineEntry, faults []error, place string, fields stationFields) ([]lineEntry, []error) {
	entry, err := fields.entry()
	if err != nil {
		for fault := range strings.SplitSeq(err.Error(), "\n") {
			faults = append(faults, fmt.Errorf("%s: %s", place, fault))
		}

		return entries, faults
	}

	return append(entries, lineEntry{Entry: entry, place: place}), faults
}
