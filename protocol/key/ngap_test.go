package key_test

import "testing"

// Element ids of TS 38.413 section 9.4.7.
const (
	idAMFUE  = 10
	idRANUE  = 85
	idNGIDs  = 114
	idNGNAS  = 38
	idNGCaus = 15
)

func ngapVectors(tb testing.TB) []vector {
	tb.Helper()

	const ue = "ngap:assoc=0000000000000001/ue="

	return []vector{
		{"Initial UE Message", 60, per(0, 15, ie(idRANUE, "00 01"), element(idNGNAS, make([]byte, 26))), ue + "1"},
		{"downlink", 60, per(0, 4, ie(idAMFUE, "80 0102030405"), ie(idRANUE, "40 0102")), ue + "258"},
		{"largest id", 60, per(0, 46, ie(idRANUE, "c0 ffffffff")), ue + "4294967295"},
		{"path switch request", 60, per(0, 25, ie(idRANUE, "00 09"), ie(100, "00 01")), ue + "9"},
		// UE-NGAP-IDs: 2 bits of choice, 2 of the pair's sequence, 3 bits of length.
		{"pair of 1 octet each", 60, per(0, 41, ie(idNGIDs, "00 05 00 07"), ie(idNGCaus, "00")), ue + "7"},
		{"pair of 5 and 4 octets", 60, per(0, 41, ie(idNGIDs, "08 0102030405 c0 01020304")), ue + "16909060"},
		{"AMF's id alone", 60, per(0, 41, ie(idNGIDs, "40 05")), association1},
		{"other choice", 60, per(0, 41, ie(idNGIDs, "80 000000 00")), association1},
		{"NG setup request", 60, per(0, 21, ie(27, "00")), association1},
	}
}

// TestNGAPFaults has messages that lie.
func TestNGAPFaults(t *testing.T) {
	perFaults(t, 60, "ngap: ", idRANUE, idNGIDs)

	// 3 bits of length less one have values no id has.
	wantFault(t, 60, per(0, 41, ie(idNGIDs, "0a 010203040506 00 07")), "ngap: RAN UE id: out of range")
}

func BenchmarkNGAP(b *testing.B) {
	benchmark(b, 60, per(0, 4, ie(idAMFUE, "80 0102030405"), ie(idRANUE, "40 0102"), element(idNGNAS, make([]byte, 60))))
}
