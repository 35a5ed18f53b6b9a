package trace_test

import (
	"testing"

	"skyring/testbed/trace"
)

func TestPPIDNames(t *testing.T) {
	for ppid, want := range map[uint32]string{
		0: "unspecified", 2: "M2UA", 3: "M3UA", 5: "M2PA", 7: "H.248", 10: "DUA", 18: "S1AP", 27: "X2AP", 37: "NPMP data", 43: "M2AP",
		46: "Diameter", 60: "NGAP", 62: "F1AP", 73: "W1AP", 74: "", 1234: "", 0xffffffff: "",
	} {
		if got := trace.PPIDName(ppid); got != want {
			t.Errorf("PPID %d is %q, want %q", ppid, got, want)
		}
	}
}
