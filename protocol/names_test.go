package protocol_test

import (
	"encoding/hex"
	"fmt"
	"slices"
	"testing"

	"skyring/protocol"
)

func TestNames(t *testing.T) {
	for want, got := range map[string]fmt.Stringer{
		"message 0x7f": protocol.Type(0x7F), "message 0xff": protocol.Type(255), "message 0x0": protocol.Type(0),
		"header": protocol.Element(0), "element 0x7f": protocol.Element(0x7F), "element 0x80": protocol.Element(0x80), "element 0xff": protocol.Element(255),
		"state 9": protocol.CallState(9), "7": protocol.Priority(7), "urgency": protocol.PriorityUrgency,
		"none": protocol.NoCall, "station-3": protocol.CallReference(3), "gateway-3": protocol.CallReference(0x8003),
		"0000000000000017": protocol.StationID(0x17), "12/7": protocol.Channel{Beam: 12, Number: 7},
		"cause 2": protocol.Cause(2), "class 9": protocol.Class(9), "problem 200": protocol.Problem(200),
	} {
		if got.String() != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestClassOfUnknownCauses: a receiver has to do something with every number.
func TestClassOfUnknownCauses(t *testing.T) {
	for n := range 256 {
		c := protocol.Cause(n)
		want := protocol.Temporary

		switch {
		case c.Known():
			continue
		case n >= 48 && n <= 79:
			want = protocol.Permanent
		case n >= 80 && n <= 111:
			want = protocol.Invalid
		}

		if c.Class() != want {
			t.Errorf("cause %d is %v, want %v", n, c.Class(), want)
		}
	}
}

// TestCauseNamesDiffer: logs and records show names alone.
func TestCauseNamesDiffer(t *testing.T) {
	var names []string
	for _, c := range protocol.Causes() {
		names = append(names, c.String())
	}

	slices.Sort(names)

	if len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("names are not unique: %q", names)
	}
}

func TestProblems(t *testing.T) {
	seen := map[string]bool{}

	for n := range protocol.Problems {
		p := protocol.Problem(n)
		if p.Error() == "" || seen[p.String()] || !p.Cause().Known() {
			t.Errorf("problem %d: %q, %v", n, p, p.Cause())
		}

		seen[p.String()] = true
	}
}

// TestLogonProofIsPinned has a value that was computed by another implementation of HMAC-SHA-256.
func TestLogonProofIsPinned(t *testing.T) {
	key := make([]byte, 32)
	for i := range key {
		key[i] = byte(i)
	}

	got := protocol.LogonProof(key, 0x17, nonce(), 0x0102030405060708, 12)

	const want = "1690e13c54489a9b53fe1f035c86791d23f313d886dbacb0045fb1f0467c7dbc"
	if hex.EncodeToString(got[:]) != want {
		t.Fatalf("%x, want %s", got, want)
	}
}

func Example() {
	request := protocol.Header{Priority: protocol.PriorityPriority, Station: 0x17, Call: 1, Sequence: 4}

	b, err := protocol.Append(nil, request, protocol.CallSetup{Called: 0x18, Service: protocol.ServiceVoice})
	if err != nil {
		fmt.Println(err)

		return
	}

	h, m, err := protocol.Decode(b)
	if err != nil {
		fmt.Println(err)

		return
	}

	if setup, is := m.(protocol.CallSetup); is {
		fmt.Println(h.Type, h.Call, "from", h.Station, "to", setup.Called)
	}

	_, _, err = protocol.Decode(b[:len(b)-3])
	fmt.Println(err)
	// Output:
	// CALL-SETUP station-1 from 0000000000000017 to 0000000000000018
	// essp: header at offset 4: length is not that of the message
}
