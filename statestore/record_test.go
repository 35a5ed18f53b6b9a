package statestore_test

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"skyring/statestore"
)

func sample() *statestore.Record {
	return &statestore.Record{
		Version: 7, Tag: 0xCAFEF00D, Handler: 18,
		Sources: []statestore.Source{
			{Epoch: 5, Mark: 900, Touched: 1_700_000_000_000_000},
			{Epoch: 6, Mark: 12, Touched: 1_700_000_000_000_001, Ring: []statestore.Transaction{
				{Sequence: 3, Effect: statestore.Applied},
				{Sequence: 9, Effect: statestore.Quarantined},
				{Sequence: 12, Effect: statestore.Applied, HasReply: true, Reply: statestore.Reply{
					Stream: 4, PPID: 18, Unordered: true, Payload: []byte("reply"),
				}},
			}},
		},
		Body: []byte("body"),
	}
}

func TestRecordSurvivesItsEncoding(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]*statestore.Record{
		"full":    sample(),
		"minimal": {Version: 1},
		"no body": {Version: 1 << 63, Sources: sample().Sources},
	} {
		b, err := r.Append([]byte("before"))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := statestore.Decode(b[len("before"):])
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !reflect.DeepEqual(normal(got), normal(r)) {
			t.Errorf("%s: got %+v\nwant %+v", name, got, r)
		}
	}
}

// normal makes empty and nil rings equal.
func normal(r *statestore.Record) *statestore.Record {
	c := r.Clone()
	for i := range c.Sources {
		if len(c.Sources[i].Ring) == 0 {
			c.Sources[i].Ring = nil
		}
		c.Sources[i].Ring = append([]statestore.Transaction(nil), c.Sources[i].Ring...)
	}
	return c
}

// golden is sample() on the wire: sessions written by a released version must stay readable.
const golden = "\x00\x00\x00\x00\x00\x00\x00\x07\xca\xfe\xf0\x0d\x01\x00\x00\x00\x12\x00\x02" +
	"\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x03\x84\x00\x06\x0a\x24\x18\x1e\x40\x00\x00" +
	"\x00\x00\x00\x00\x00\x00\x00\x06\x00\x00\x00\x00\x00\x00\x00\x0c\x00\x06\x0a\x24\x18\x1e\x40\x01\x03" +
	"\x00\x00\x00\x00\x00\x00\x00\x03\x01" +
	"\x00\x00\x00\x00\x00\x00\x00\x09\x02" +
	"\x00\x00\x00\x00\x00\x00\x00\x0c\x0d\x00\x04\x00\x00\x00\x12\x00\x00\x00\x05reply" +
	"body"

func TestRecordLayoutDoesNotChange(t *testing.T) {
	t.Parallel()
	b, err := sample().Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b, []byte(golden)) {
		t.Errorf("got  %x\nwant %x", b, golden)
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	change := func(at int, value byte) []byte {
		b := []byte(golden)
		b[at] = value
		return b
	}
	for name, c := range map[string]struct {
		b    []byte
		want error
	}{
		"empty":                 {nil, statestore.ErrCorrupt},
		"stamp alone":           {[]byte(golden[:12]), statestore.ErrCorrupt},
		"newer format":          {change(12, 3), statestore.ErrFormat},
		"format 0":              {change(12, 0), statestore.ErrCorrupt},
		"version 0":             {change(7, 0), statestore.ErrCorrupt},
		"cut in header":         {[]byte(golden[:15]), statestore.ErrCorrupt},
		"cut in source":         {[]byte(golden[:30]), statestore.ErrCorrupt},
		"cut in ring":           {[]byte(golden[:75]), statestore.ErrCorrupt},
		"lying source count":    {change(17, 0xFF), statestore.ErrCorrupt},
		"lying ring count":      {change(68, 9), statestore.ErrCorrupt},
		"effect 0":              {change(77, 0), statestore.ErrCorrupt},
		"unknown flag":          {change(77, 0x11), statestore.ErrCorrupt},
		"unordered, no reply":   {change(77, 0x09), statestore.ErrCorrupt},
		"falling sequences":     {change(76, 10), statestore.ErrCorrupt},
		"sequence over mark":    {change(94, 13), statestore.ErrCorrupt},
		"reply longer than all": {change(102, 0xFF), statestore.ErrCorrupt},
	} {
		if _, err := statestore.Decode(c.b); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
}

func TestAppendRefusesWhatDecodeWould(t *testing.T) {
	t.Parallel()
	long := make([]statestore.Transaction, statestore.RingSize+1)
	for i := range long {
		long[i] = statestore.Transaction{Sequence: uint64(i + 1), Effect: statestore.Applied}
	}
	for name, r := range map[string]*statestore.Record{
		"version 0":    {},
		"long ring":    {Version: 1, Sources: []statestore.Source{{Mark: 100, Ring: long}}},
		"over mark":    {Version: 1, Sources: []statestore.Source{{Mark: 1, Ring: long[1:3]}}},
		"no effect":    {Version: 1, Sources: []statestore.Source{{Mark: 1, Ring: []statestore.Transaction{{Sequence: 1}}}}},
		"many sources": {Version: 1, Sources: make([]statestore.Source, 1<<16)},
	} {
		if b, err := r.Append([]byte("x")); err == nil || string(b) != "x" {
			t.Errorf("%s: got %q, %v", name, b, err)
		}
	}
}

func TestPushKeepsTheLast(t *testing.T) {
	t.Parallel()
	var s statestore.Source
	for i := uint64(1); i <= 20; i++ {
		s.Push(statestore.Transaction{Sequence: i * 2, Effect: statestore.Applied}, int64(i))
	}
	if s.Mark != 40 || s.Touched != 20 || len(s.Ring) != statestore.RingSize {
		t.Fatalf("%+v", s)
	}
	if _, found := s.Find(24); found {
		t.Error("24 should have fallen out")
	}
	if tx, found := s.Find(26); !found || tx.Sequence != 26 {
		t.Error("26 should be there")
	}
}

func TestCloneShares(t *testing.T) {
	t.Parallel()
	r := sample()
	c := r.Clone()
	c.Sources[1].Push(statestore.Transaction{Sequence: 13, Effect: statestore.Applied}, 1)
	c.Sources[0].Mark = 1000
	if !reflect.DeepEqual(normal(r), normal(sample())) {
		t.Error("a change of the clone reached the record")
	}
	if (*statestore.Record)(nil).Clone() == nil || (*statestore.Record)(nil).Stamp() != (statestore.Stamp{}) {
		t.Error("no record has an empty clone and no stamp")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(golden))
	f.Add([]byte(golden[:19]))
	f.Add(must[[]byte](f)(active().Append(nil)))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := statestore.Decode(b)
		if err != nil {
			return
		}
		again, err := r.Append(nil)
		if err != nil {
			t.Fatalf("decoded, but can not be encoded: %v", err)
		}
		if !bytes.Equal(again, b) {
			t.Fatalf("got  %x\nfrom %x", again, b)
		}
	})
}
