package key_test

import (
	"bytes"
	"errors"
	"testing"

	"skyring/protocol/key"
)

// TestKeys has the key of every valid message.
func TestKeys(t *testing.T) {
	for _, v := range vectors(t) {
		t.Run(v.name, func(t *testing.T) {
			k, err := key.Append([]byte("head"), 1, v.ppid, v.payload)
			if err != nil {
				t.Fatal(err)
			}

			if !bytes.HasPrefix(k, []byte("head")) {
				t.Fatalf("% x does not begin with what was there", k)
			}

			if got := key.Format(k[4:]); got != v.key {
				t.Fatalf("got  %s\nwant %s\nfor  % x", got, v.key, v.payload)
			}

			if len(k)-4 > key.MaxLen {
				t.Fatalf("%d bytes", len(k)-4)
			}
		})
	}
}

// wantFault checks that a payload has a fault and the key of its association.
func wantFault(t *testing.T, ppid uint32, payload []byte, want string) {
	t.Helper()

	k, err := key.Append([]byte("head"), 7, ppid, payload)

	var fault key.Fault
	if !errors.As(err, &fault) || err.Error() != want {
		t.Errorf("got %v, want %s for % x", err, want, payload[:min(len(payload), 64)])
	}

	if fault == 0 || int(fault) >= key.Faults {
		t.Errorf("fault %d is not within an array of Faults", fault)
	}

	if want := key.Association([]byte("head"), 7); !bytes.Equal(k, want) {
		t.Errorf("got key % x, want that of the association for % x", k, payload)
	}
}

// TestTruncationsEndInKeyOrFault cuts every valid message at every place. Whatever is
// left has a key: the message's own, or that of the association.
func TestTruncationsEndInKeyOrFault(t *testing.T) {
	for _, v := range vectors(t) {
		whole, _ := key.Append(nil, 1, v.ppid, v.payload)
		step := max(len(v.payload)/2000, 1)

		for n := 0; n < len(v.payload); n += step {
			// Its own array: reading on would be out of range.
			cut := append(make([]byte, 0, n), v.payload[:n]...)

			k, err := key.Append(nil, 1, v.ppid, cut)

			own := key.KindOf(k) == key.KindAssociation && bytes.Equal(k, key.Association(nil, 1))
			if !own && !bytes.Equal(k, whole) || err != nil && !own {
				t.Fatalf("%s cut to %d bytes: key %s, %v", v.name, n, key.Format(k), err)
			}
		}
	}
}

// TestTruncatedIsNoticed: protocols with a length in front notice every cut.
func TestTruncatedIsNoticed(t *testing.T) {
	for _, v := range vectors(t) {
		fragmented := len(v.payload) >= 16384
		text := len(v.payload) > 0 && v.ppid == 7 && v.payload[0] != 0x30

		if v.ppid != 3 && v.ppid != 7 && v.ppid != 18 && v.ppid != 46 && v.ppid != 60 || fragmented || text || v.name == "padding not counted" {
			continue
		}

		for n := range v.payload {
			if _, err := key.Append(nil, 1, v.ppid, v.payload[:n]); err == nil {
				t.Errorf("%s cut to %d of %d bytes: no fault", v.name, n, len(v.payload))
			}
		}
	}
}

func TestNoAllocations(t *testing.T) {
	buffer := make([]byte, 0, key.MaxLen)

	for _, v := range vectors(t) {
		for _, payload := range [][]byte{v.payload, v.payload[:len(v.payload)*2/3], v.payload[:min(len(v.payload), 1)]} {
			allocations := testing.AllocsPerRun(20, func() {
				k, err := key.Append(buffer, 1, v.ppid, payload)

				fault, is := err.(key.Fault) //nolint:errorlint // errors.As allocates
				if is && fault.Error() == "" || key.Hash(k) == 0 {
					t.Fatal("no text or hash")
				}
			})
			if allocations != 0 {
				t.Errorf("%s (%d bytes): %v allocations", v.name, len(payload), allocations)
			}
		}
	}
}

func TestFaultTexts(t *testing.T) {
	seen := map[string]key.Fault{}

	for n := range key.Faults {
		f := key.Fault(n)
		if other, twice := seen[f.String()]; twice || f.String() == "" {
			t.Errorf("faults %d and %d both read %q", f, other, f)
		}

		seen[f.String()] = f
	}

	if got := key.Fault(255).String(); got != "fault 255" {
		t.Errorf("unknown fault reads %q", got)
	}
}

func TestAssociationPart(t *testing.T) {
	for _, v := range vectors(t) {
		k, _ := key.Append(nil, 1, v.ppid, v.payload)
		other, _ := key.Append(nil, 2, v.ppid, v.payload)
		zero := key.WithAssociation([]byte("x"), k, 0)[1:]

		if got := key.HasAssociation(k); got != !bytes.Equal(k, other) {
			t.Errorf("%s: HasAssociation is %v, keys on two associations % x and % x", v.name, got, k, other)
		}

		if !bytes.Equal(key.WithAssociation(nil, zero, 2), other) {
			t.Errorf("%s: % x does not become % x", v.name, k, other)
		}
	}

	for _, k := range [][]byte{nil, {}, {1}, {2, 0}, {99, 1, 2, 3, 4, 5, 6, 7, 8, 9}} {
		if key.HasAssociation(k) || !bytes.Equal(key.WithAssociation(nil, k, 5), k) {
			t.Errorf("% x, which Append does not make, has no association part", k)
		}
	}
}

// TestHashIsPinned: keys have to fall on the same node on every machine and in every version.
func TestHashIsPinned(t *testing.T) {
	k := key.Association(nil, 0x0102030405060708)
	if want := []byte{1, 1, 2, 3, 4, 5, 6, 7, 8}; !bytes.Equal(k, want) {
		t.Fatalf("% x, want % x", k, want)
	}

	const want = 0x84fd45a8344dffe2
	if got := key.Hash(k); got != want {
		t.Fatalf("hash %#x, want %#x", got, uint64(want))
	}
}

func FuzzAppend(f *testing.F) {
	for _, v := range vectors(f) {
		if len(v.payload) < 1024 { // mutation of the fragmented ones takes all the time
			f.Add(v.ppid, v.payload)
		}
	}

	f.Fuzz(func(t *testing.T, ppid uint32, payload []byte) {
		k, err := key.Append(nil, 1, ppid, payload)
		if len(k) == 0 || len(k) > key.MaxLen {
			t.Fatalf("key of %d bytes", len(k))
		}

		if err != nil && !bytes.Equal(k, key.Association(nil, 1)) {
			t.Fatalf("%v with key %s", err, key.Format(k))
		}

		back, err := key.Parse(key.Format(k))
		if err != nil || !bytes.Equal(back, k) {
			t.Fatalf("% x, %s, % x, %v", k, key.Format(k), back, err)
		}
	})
}
