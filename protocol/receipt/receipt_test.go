package receipt_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"skyring/protocol/receipt"
)

func sample() receipt.Receipt {
	return receipt.Receipt{
		Stream: 0x0102, Unordered: true, Status: receipt.Stale,
		Ordinal: 0x1112131415161718, Hash: 0x2122232425262728,
	}
}

func TestLayout(t *testing.T) {
	got := hex.EncodeToString(sample().Append(nil))

	const want = "01" + "01" + "0102" + "02" + "000000" + "1112131415161718" + "2122232425262728"
	if got != want {
		t.Fatalf("got  %s\nwant %s", got, want)
	}
}

func TestAppendKeepsWhatIsThere(t *testing.T) {
	b := sample().Append([]byte("head"))
	if len(b) != 4+receipt.Size || string(b[:4]) != "head" {
		t.Fatalf("% x", b)
	}
}

func TestRoundTrip(t *testing.T) {
	for _, unordered := range []bool{false, true} {
		for s := receipt.Committed; s <= receipt.Quarantined; s++ {
			want := receipt.Receipt{Stream: 65535, Unordered: unordered, Status: s, Ordinal: 1, Hash: 0}

			got, err := receipt.Decode(want.Append(nil))
			if err != nil || got != want {
				t.Errorf("%+v became %+v, %v", want, got, err)
			}
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	cases := map[string]struct {
		spoil func(b []byte) []byte
		names string
	}{
		"empty":        {func([]byte) []byte { return nil }, "length 0"},
		"short":        {func(b []byte) []byte { return b[:23] }, "length 23"},
		"long":         {func(b []byte) []byte { return append(b, 0) }, "length 25"},
		"version 0":    {func(b []byte) []byte { b[0] = 0; return b }, "version 0"},
		"version 2":    {func(b []byte) []byte { b[0] = 2; return b }, "version 2"},
		"flag":         {func(b []byte) []byte { b[1] |= 2; return b }, "flags 0x02"},
		"status 0":     {func(b []byte) []byte { b[4] = 0; return b }, "status 0"},
		"status 4":     {func(b []byte) []byte { b[4] = 4; return b }, "status 4"},
		"reserved 1st": {func(b []byte) []byte { b[5] = 1; return b }, "reserved"},
		"reserved 2nd": {func(b []byte) []byte { b[6] = 1; return b }, "reserved"},
		"reserved 3rd": {func(b []byte) []byte { b[7] = 1; return b }, "reserved"},
		"ordinal":      {func(b []byte) []byte { clear(b[8:16]); return b }, "ordinal 0"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := receipt.Decode(c.spoil(sample().Append(nil)))
			if !errors.Is(err, receipt.ErrMalformed) || !strings.Contains(err.Error(), c.names) {
				t.Fatalf("got %v, want an error that names %q", err, c.names)
			}
		})
	}
}

// The hash has to be the same on every machine and in every version: these are the
// reference values of XXH3_64bits without seed.
func TestHashIsReferenceXXH3(t *testing.T) {
	for in, want := range map[string]uint64{
		"":    0x2d06800538d394c2,
		"a":   0xe6c632b61e964e1f,
		"abc": 0x78af5f94892f3950,
	} {
		if got := receipt.Hash([]byte(in)); got != want {
			t.Errorf("Hash(%q) = %#x, want %#x", in, got, want)
		}
	}
}

func TestStatusNames(t *testing.T) {
	for s, want := range map[receipt.Status]string{
		0: "status 0", receipt.Committed: "committed", receipt.Stale: "stale",
		receipt.Quarantined: "quarantined", 200: "status 200",
	} {
		if got := s.String(); got != want {
			t.Errorf("Status(%d) is %q, want %q", uint8(s), got, want)
		}
	}
}

func TestNoAllocations(t *testing.T) {
	buffer := make([]byte, 0, receipt.Size)

	allocations := testing.AllocsPerRun(100, func() {
		b := sample().Append(buffer)
		if _, err := receipt.Decode(b); err != nil {
			t.Fatal(err)
		}
	})
	if allocations != 0 {
		t.Fatalf("%v allocations", allocations)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(sample().Append(nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := receipt.Decode(b)
		if err != nil {
			return
		}

		if again := r.Append(nil); !bytes.Equal(b, again) {
			t.Fatalf("% x decodes to %+v, which encodes to % x", b, r, again)
		}
	})
}
