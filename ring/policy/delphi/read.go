package delphi

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"skyring/ring/policy"
)

// Answer is what an expert expects of a factor of a server.
type Answer struct {
	Expert string
	Server string // a node's id, or Total
	Factor string // one of policy.Factors

	Min, Likely, Max float64 // 0 to 1e15, in this order; in any unit that all answers on a factor share
}

// Round is what the experts answered when they were asked once.
type Round []Answer

// Total is the name under which experts are asked for all servers together.
const Total = "total"

// largest is the largest number of an answer, so that no sum of any overflows.
const largest = 1e15

// maxFaults is how many faults of a file are reported at once.
const maxFaults = 20

// columns are the names of the first line.
func columns() []string { return []string{"expert", "server", "factor", "min", "likely", "max"} }

// Read reads the answers of a round: CSV with the first line expert,server,factor,min,likely,max. Space around a field does not count. The error names line and
// column (in bytes) of every fault, of the first twenty where there are more.
func Read(r io.Reader) (Round, error) {
	f := file{csv: csv.NewReader(r), seen: map[key]int{}}
	f.csv.FieldsPerRecord = -1
	f.csv.TrimLeadingSpace = true

	header, err := f.csv.Read()

	switch {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("line 1, column 1: nothing: want the line %s", strings.Join(columns(), ","))
	case err != nil:
		return nil, broken(err)
	}

	// Without the right columns all else would be at fault too.
	if f.header(header); len(f.faults) == 0 {
		f.body()
	}

	if err := errors.Join(f.faults...); err != nil {
		return nil, err
	}

	return f.round, nil
}

// body reads the lines after the first one.
func (f *file) body() {
	for {
		record, err := f.csv.Read()

		switch {
		case errors.Is(err, io.EOF):
			return
		case err != nil: // what follows cannot be told apart
			f.faults = append(f.faults, broken(err))

			return
		}

		if f.record(record); len(f.faults) >= maxFaults {
			f.faults = append(f.faults, errors.New("no further faults are looked for"))

			return
		}
	}
}

// broken says where a file is no CSV.
func broken(err error) error {
	if at, is := errors.AsType[*csv.ParseError](err); is {
		return fmt.Errorf("line %d, column %d: %w", at.Line, at.Column, at.Err)
	}

	return fmt.Errorf("read answers: %w", err)
}

// key is what an expert answers once a round.
type key struct{ expert, server, factor string }

// file is a CSV file while it is read.
type file struct {
	csv    *csv.Reader
	seen   map[key]int // line of each answer
	round  Round
	faults []error
}

// fault notes what is wrong with a field, which may be one past the last.
func (f *file) fault(field, fields int, format string, args ...any) {
	line, column := f.csv.FieldPos(min(field, fields-1))
	f.faults = append(f.faults, fmt.Errorf("line %d, column %d: %w", line, column, fmt.Errorf(format, args...)))
}

func (f *file) header(record []string) {
	want := columns()

	for i, name := range record {
		// Spreadsheets put a byte order mark before the first name.
		if i == 0 {
			name = strings.TrimPrefix(name, "\ufeff")
		}

		if i >= len(want) || strings.TrimSpace(name) != want[i] {
			f.fault(i, len(record), "column %q: want the columns %s", name, strings.Join(want, ","))

			return
		}
	}

	if len(record) < len(want) {
		f.fault(len(record), len(record), "%d columns: want the columns %s", len(record), strings.Join(want, ","))
	}
}

func (f *file) record(record []string) {
	names := columns()
	if len(record) != len(names) {
		f.fault(len(names), len(record), "%d fields: want the %d of %s", len(record), len(names), strings.Join(names, ","))

		return
	}

	before := len(f.faults)

	for i := range record {
		record[i] = strings.TrimSpace(record[i])
	}

	for i := range 2 {
		if record[i] == "" {
			f.fault(i, len(record), "%s is empty: want a name", names[i])
		}
	}

	if factors := policy.Factors(); !slices.Contains(factors, record[2]) {
		f.fault(2, len(record), "%q is no factor: %s are", record[2], strings.Join(factors, ", "))
	}

	var values [3]float64
	for i := range values {
		values[i] = f.number(record, 3+i)
	}

	if len(f.faults) > before {
		return
	}

	f.answer(record, Answer{record[0], record[1], record[2], values[0], values[1], values[2]})
}

func (f *file) number(record []string, i int) float64 {
	v, err := strconv.ParseFloat(record[i], 64)
	if err != nil || !(v >= 0 && v <= largest) {
		f.fault(i, len(record), "%s %q: want a number from 0 to 1e15, such as 12.5", columns()[i], record[i])
	}

	return v
}

// answer takes an answer whose fields are right by themselves.
func (f *file) answer(record []string, a Answer) {
	k := key{a.Expert, a.Server, a.Factor}
	line, _ := f.csv.FieldPos(0)

	switch before, twice := f.seen[k]; {
	case twice:
		f.fault(0, len(record), "%s answered %s of %s before, in line %d", a.Expert, a.Factor, a.Server, before)
	case a.Likely < a.Min:
		f.fault(4, len(record), "likely %v is less than min %v", a.Likely, a.Min)
	case a.Max < a.Likely:
		f.fault(5, len(record), "max %v is less than likely %v", a.Max, a.Likely)
	default:
		f.seen[k] = line
		f.round = append(f.round, a)
	}
}
