package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"

	"skyring/processor/call"
	"skyring/statestore"
)

// cdrFormat writes call detail records.
type cdrFormat interface {
	write(c statestore.CDR) error
	flush() error
}

// newCDRFormat is the format of a name that was checked.
func newCDRFormat(name string, w io.Writer) (cdrFormat, error) { //nolint:ireturn // which format it is, is the question
	if name == "csv" {
		return newCDRTable(w)
	}

	return cdrLines{w}, nil
}

// cdrLines writes an object a line: partition, sequence, and all that the record holds.
type cdrLines struct{ w io.Writer }

func (l cdrLines) write(c statestore.CDR) error {
	payload := bytes.TrimSpace(c.Payload)
	if len(payload) < 2 || payload[0] != '{' {
		return fmt.Errorf("call detail record %d of partition %d is no JSON object", c.Sequence, c.Partition)
	}

	line := fmt.Appendf(nil, `{"partition":%d,"sequence":%d`, c.Partition, c.Sequence)
	if payload[1] != '}' {
		line = append(line, ',')
	}

	_, err := l.w.Write(append(append(line, payload[1:]...), '\n'))

	return err
}

func (cdrLines) flush() error { return nil }

// cdrTable writes CSV: partition, sequence, and the fields that this version knows.
type cdrTable struct{ w *csv.Writer }

func newCDRTable(w io.Writer) (*cdrTable, error) {
	t := &cdrTable{w: csv.NewWriter(w)}
	header := []string{"partition", "sequence"}

	for field := range reflect.TypeFor[call.CDR]().Fields() {
		header = append(header, field.Tag.Get("json"))
	}

	if err := t.w.Write(header); err != nil {
		return nil, fmt.Errorf("write the header: %w", err)
	}

	return t, nil
}

func (t *cdrTable) write(c statestore.CDR) error {
	record, err := call.DecodeCDR(c.Payload)
	if err != nil {
		return fmt.Errorf("call detail record %d of partition %d: %w", c.Sequence, c.Partition, err)
	}

	row := []string{strconv.Itoa(c.Partition), strconv.FormatUint(c.Sequence, 10)}

	for _, value := range reflect.ValueOf(record).Fields() {
		text, err := cell(value)
		if err != nil {
			return err
		}

		row = append(row, text)
	}

	return t.w.Write(row)
}

// cell is a number or a text as it stands in a table.
func cell(v reflect.Value) (string, error) {
	switch {
	case v.CanUint():
		return strconv.FormatUint(v.Uint(), 10), nil
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10), nil
	case v.Kind() == reflect.String:
		return v.String(), nil
	default:
		return "", errors.New("a call detail record has a field that no table can hold")
	}
}

func (t *cdrTable) flush() error {
	t.w.Flush()

	return t.w.Error()
}
