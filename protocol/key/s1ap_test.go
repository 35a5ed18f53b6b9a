package key_test

import (
	"bytes"
	"testing"

	"skyring/protocol/key"
)

// Element ids of TS 36.413 section 9.4.7.
const (
	idMMEUE = 0
	idCause = 2
	idENBUE = 8
	idNAS   = 26
	idIDs   = 99
)

func s1apVectors(tb testing.TB) []vector {
	tb.Helper()

	const ue = "s1ap:assoc=0000000000000001/ue="

	nas := func(n int) []byte { return element(idNAS, bytes.Repeat([]byte{0x5A}, n)) }

	return []vector{
		{"Initial UE Message, id of 1 octet", 18, s1ap(0, 12, ie(idENBUE, "00 07"), nas(20)), ue + "7"},
		{"id of 2 octets", 18, s1ap(0, 13, ie(idMMEUE, "c0 dc0e2b4a"), ie(idENBUE, "40 0123")), ue + "291"},
		{"id of 3 octets", 18, s1ap(0, 13, ie(idMMEUE, "00 01"), ie(idENBUE, "80 ffffff")), ue + "16777215"},
		{"id 0", 18, s1ap(0, 13, ie(idENBUE, "00 00")), ue + "0"},
		{"id not in its shortest form", 18, s1ap(0, 13, ie(idENBUE, "80 000007")), ue + "7"},
		{"successful outcome", 18, s1ap(1, 9, ie(idMMEUE, "00 01"), ie(idENBUE, "00 07")), ue + "7"},
		{"unsuccessful outcome", 18, s1ap(2, 9, ie(idMMEUE, "00 01"), ie(idENBUE, "00 07")), ue + "7"},
		{"id behind an element of 2 length octets", 18, s1ap(0, 13, nas(300), ie(idENBUE, "00 07")), ue + "7"},
		{"id behind an empty element", 18, s1ap(0, 13, nas(0), ie(idENBUE, "00 07")), ue + "7"},
		{"id in the second fragment", 18, s1ap(0, 13, nas(16383), nas(100), ie(idENBUE, "40 0123")), ue + "291"},
		{"id behind a fragmented element", 18, s1ap(0, 13, nas(70000), ie(idENBUE, "00 07")), ue + "7"},
		{"id behind an element of whole fragments", 18, s1ap(0, 13, nas(65536), ie(idENBUE, "00 07")), ue + "7"},
		// The last octet of the first fragment is within the element's header and id: at each place.
		{"fragment ends before the element", 18, s1ap(0, 13, nas(16384-3-5), ie(idENBUE, "40 0123")), ue + "291"},
		{"fragment ends in the id", 18, s1ap(0, 13, nas(16384-3-5-1), ie(idENBUE, "40 0123")), ue + "291"},
		{"fragment ends behind the id", 18, s1ap(0, 13, nas(16384-3-5-2), ie(idENBUE, "40 0123")), ue + "291"},
		{"fragment ends behind criticality", 18, s1ap(0, 13, nas(16384-3-5-3), ie(idENBUE, "40 0123")), ue + "291"},
		{"fragment ends behind the length", 18, s1ap(0, 13, nas(16384-3-5-4), ie(idENBUE, "40 0123")), ue + "291"},
		{"fragment ends within the value", 18, s1ap(0, 13, nas(16384-3-5-6), ie(idENBUE, "40 0123")), ue + "291"},
		// UE-S1AP-IDs: choice of the pair, no extensions; 4 bits, then 2 bits of length per id.
		{"pair of 1 octet each", 18, s1ap(0, 23, ie(idIDs, "00 05 00 07"), ie(idCause, "20")), ue + "7"},
		{"pair of 4 and 3 octets", 18, s1ap(0, 23, ie(idIDs, "0c dc0e2b4a 80 1f71ef"), ie(idCause, "20")), ue + "2060783"},
		{"pair with extensions behind", 18, s1ap(0, 23, ie(idIDs, "14 0001 40 0203 0000")), ue + "515"},
		{"MME's id alone", 18, s1ap(0, 23, ie(idIDs, "40 05"), ie(idCause, "20")), association1},
		{"extension of the choice", 18, s1ap(0, 23, ie(idIDs, "80 01 00")), association1},
		{"paging", 18, s1ap(0, 10, ie(80, "1234")), association1},
		{"handover request: MME's id alone", 18, s1ap(0, 1, ie(idMMEUE, "00 07")), association1},
		{"no elements", 18, s1ap(0, 17), association1},
		{"extended message", 18, unhex(tb, "00 0d 40 09 80 0001 0008 00 02 0007"), ue + "7"},
	}
}

// TestS1APFaults has messages that lie.
func TestS1APFaults(t *testing.T) {
	perFaults(t, 18, "s1ap: ", idENBUE, idIDs)

	wantFault(t, 18, s1ap(0, 13, ie(idENBUE, "c0 00000007")), "s1ap: RAN UE id: out of range")
	wantFault(t, 18, s1ap(0, 23, ie(idIDs, "00 05 c0 00000007")), "s1ap: RAN UE id: out of range")
	wantFault(t, 18, []byte("S1AP"), "s1ap: message: length past the end")
}

// perFaults has what is wrong alike in S1AP and NGAP.
func perFaults(t *testing.T, ppid uint32, protocol string, ranID, pairID uint16) {
	t.Helper()

	for _, c := range []struct {
		fault   string
		payload []byte
	}{
		{"message type: cut short", nil},
		{"message type: cut short", []byte{0x00, 0x0D}},
		{"message type: unknown", unhex(t, "60 0d 00 03 000000")},
		{"message type: unknown", unhex(t, "80 0d 00 03 000000")},
		{"message: length past the end", unhex(t, "00 0d 00")},
		{"message: length past the end", unhex(t, "00 0d 00 80")},
		{"message: length past the end", unhex(t, "00 0d 00 04 000000")},
		{"message: length past the end", append(unhex(t, "00 0d 00 c1"), make([]byte, 16383)...)},
		{"message: fragment length impossible", unhex(t, "00 0d 00 c0 000000")},
		{"message: fragment length impossible", unhex(t, "00 0d 00 c5 000000")},
		{"message: bytes after the end", unhex(t, "00 0d 00 03 000000 00")},
		{"information elements: fewer than counted", unhex(t, "00 0d 00 02 0000")},
		{"information elements: fewer than counted", unhex(t, "00 0d 00 03 000001")},
		{"information elements: fewer than counted", unhex(t, "00 0d 00 05 000001 0002")},
		{"information element: length past the end", unhex(t, "00 0d 00 06 000001 000200")},
		{"information element: length past the end", unhex(t, "00 0d 00 07 000001 000200 80")},
		{"information element: length past the end", unhex(t, "00 0d 00 07 000001 000200 01")},
		{"information element: length past the end", unhex(t, "00 0d 00 08 000001 000200 c1 00")},
		{"information element: fragment length impossible", unhex(t, "00 0d 00 08 000001 000200 c0 00")},
		{"information element: fragment length impossible", unhex(t, "00 0d 00 08 000001 000200 ff 00")},
		{"information element: fragment length impossible", s1ap(0, 13, element(ranID, make([]byte, 16384)))},
		{"RAN UE id: length past the end", s1ap(0, 13, ie(ranID, ""))},
		{"RAN UE id: length past the end", s1ap(0, 13, ie(ranID, "00"))},
		{"RAN UE id: length past the end", s1ap(0, 13, ie(ranID, "40 07"))},
		{"RAN UE id: bytes after the end", s1ap(0, 13, ie(ranID, "00 07 00"))},
		{"UE id pair: length past the end", s1ap(0, 23, ie(pairID, ""))},
		{"UE id pair: length past the end", s1ap(0, 23, ie(pairID, "00"))},
		{"UE id pair: length past the end", s1ap(0, 23, ie(pairID, "00 05"))},
		{"RAN UE id: length past the end", s1ap(0, 23, ie(pairID, "00 05 00"), ie(idCause, "20"))},
		{"RAN UE id: length past the end", s1ap(0, 23, ie(pairID, "00 05 40 07"), ie(idCause, "20"))},
	} {
		wantFault(t, ppid, c.payload, protocol+c.fault)
	}
}

func BenchmarkS1AP(b *testing.B) {
	benchmark(b, 18, s1ap(0, 13, ie(idMMEUE, "c0 dc0e2b4a"), ie(idENBUE, "80 1f71ef"), element(idNAS, make([]byte, 60))))
}

func BenchmarkS1APRelease(b *testing.B) {
	benchmark(b, 18, s1ap(0, 23, ie(idIDs, "0c dc0e2b4a 80 1f71ef"), ie(idCause, "20")))
}

func benchmark(b *testing.B, ppid uint32, payload []byte) {
	b.Helper()
	b.ReportAllocs()

	buffer := make([]byte, 0, key.MaxLen)

	for b.Loop() {
		if _, err := key.Append(buffer, 1, ppid, payload); err != nil {
			b.Fatal(err)
		}
	}
}
