package body_test

import (
	"errors"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"skyring/processor/body"
)

func TestUnknownFieldsAreGivenBack(t *testing.T) {
	inner := body.AppendVarint(nil, 1, 7)
	foreign := body.AppendString(nil, 99, "a newer version's")
	b := append(body.AppendMessage(nil, 3, append(inner, foreign...)), foreign...)
	var got uint8
	var innerUnknown string
	unknown, err := body.Fields(b, func(f body.Field) (bool, error) {
		if f.Number != 3 {
			return false, nil
		}
		var err error
		innerUnknown, err = f.Message(func(f body.Field) (bool, error) {
			if f.Number != 1 {
				return false, nil
			}
			var err error
			got, err = f.Uint8()
			return true, err
		})
		return true, err
	})
	if err != nil || got != 7 || innerUnknown != string(foreign) || string(unknown) != string(foreign) {
		t.Errorf("%d, %q, %q, %v", got, innerUnknown, unknown, err)
	}
}

func TestZeroesAreLeftOut(t *testing.T) {
	if b := body.AppendString(body.AppendBool(body.AppendVarint(nil, 1, 0), 2, false), 3, ""); len(b) != 0 {
		t.Errorf("%x", b)
	}
}

func TestWhatDoesNotFitIsRefused(t *testing.T) {
	number, text := body.AppendVarint(nil, 1, 1<<33), body.AppendString(nil, 1, "x")
	for name, c := range map[string]struct {
		b    []byte
		read func(body.Field) error
	}{
		"cut tag":    {[]byte{0x80}, func(body.Field) error { return nil }},
		"cut value":  {protowire.AppendTag(nil, 1, protowire.BytesType), func(body.Field) error { return nil }},
		"too large":  {number, func(f body.Field) error { _, err := f.Uint32(); return err }},
		"no flag":    {number, func(f body.Field) error { _, err := f.Bool(); return err }},
		"no number":  {text, func(f body.Field) error { _, err := f.Int64(); return err }},
		"no string":  {number, func(f body.Field) error { _, err := f.Bytes(); return err }},
		"no message": {number, func(f body.Field) error { _, err := f.Message(nil); return err }},
		"broken message": {text, func(f body.Field) error {
			_, err := f.Message(func(body.Field) (bool, error) { return true, nil })
			return err
		}},
	} {
		if _, err := body.Fields(c.b, func(f body.Field) (bool, error) { return true, c.read(f) }); !errors.Is(err, body.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
