package protocol_test

import (
	"encoding/binary"
	"errors"
	"testing"

	"skyring/protocol"
)

// TestHeaderSpoiled spoils each field of a header.
func TestHeaderSpoiled(t *testing.T) {
	for _, c := range []struct {
		name    string
		at      int
		bytes   string
		offset  int
		problem protocol.Problem
	}{
		{"version 0", 0, "00", 0, protocol.ErrVersion},
		{"version 2", 0, "02", 0, protocol.ErrVersion},
		{"no type", 1, "00", 1, protocol.ErrType},
		{"unknown type", 1, "ff", 1, protocol.ErrType},
		{"priority 16", 2, "10", 2, protocol.ErrPriority},
		{"flag", 3, "02", 3, protocol.ErrFlags},
		{"response", 3, "01", 3, protocol.ErrResponse},
		{"length 0", 4, "0000", 4, protocol.ErrLength},
		{"length short", 4, "0013", 4, protocol.ErrLength},
		{"length long", 4, "0015", 4, protocol.ErrLength},
		{"call", 6, "0001", 6, protocol.ErrCall},
		{"call 0 of the gateway", 6, "8000", 6, protocol.ErrCall},
		{"station", 8, "0000000000000000", 8, protocol.ErrStation},
		{"sequence", 16, "00000000", 16, protocol.ErrSequence},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := wire(header(protocol.TypeHeartbeat), nil)
			copy(b[c.at:], unhex(t, c.bytes))
			wantDecodeError(t, b, protocol.DecodeError{Offset: c.offset, Problem: c.problem})

			if _, err := protocol.PeekHeader(b); !errors.Is(err, c.problem) {
				t.Errorf("PeekHeader: %v", err)
			}
		})
	}

	for n := range 20 {
		wantDecodeError(t, make([]byte, n), protocol.DecodeError{Offset: n, Problem: protocol.ErrTruncated})
	}
}

// TestHeaderOfErrorIsTold: whoever answers needs station, call and sequence.
func TestHeaderOfErrorIsTold(t *testing.T) {
	want := header(protocol.TypeCallSetup)

	h, m, err := protocol.Decode(wire(want, nil))
	if h != want || m != nil || err == nil {
		t.Fatalf("%+v, %v, %v", h, m, err)
	}

	answer := protocol.Header{Priority: 5, Flags: protocol.Response, Station: 0x17, Call: 3, Sequence: 0x01020304}
	if got := h.Answer(); got != answer || !got.Response() || h.Response() {
		t.Fatalf("%+v", got)
	}

	var e *protocol.DecodeError
	if !errors.As(err, &e) {
		t.Fatal(err)
	}

	wantError := protocol.Error{Element: protocol.ElementCalled, Offset: 20, Cause: protocol.CauseElementMissing}
	if e.Message() != wantError {
		t.Fatalf("%+v", e.Message())
	}
}

func TestAppendRefusesHeaders(t *testing.T) {
	good := header(protocol.TypeHeartbeat)

	for problem, spoil := range map[protocol.Problem]func(*protocol.Header){
		protocol.ErrType:     func(h *protocol.Header) { h.Type = protocol.TypeHeartbeatAck },
		protocol.ErrPriority: func(h *protocol.Header) { h.Priority = 16 },
		protocol.ErrFlags:    func(h *protocol.Header) { h.Flags = 0x80 },
		protocol.ErrResponse: func(h *protocol.Header) { h.Flags = protocol.Response },
		protocol.ErrCall:     func(h *protocol.Header) { h.Call = 1 },
		protocol.ErrStation:  func(h *protocol.Header) { h.Station = 0 },
		protocol.ErrSequence: func(h *protocol.Header) { h.Sequence = 0 },
	} {
		h := good
		spoil(&h)

		b, err := protocol.Append([]byte("head"), h, protocol.Heartbeat{})
		if !errors.Is(err, problem) || string(b) != "head" {
			t.Errorf("%v: %v, %q", problem, err, b)
		}
	}

	good.Type = 0
	if _, err := protocol.Append(nil, good, protocol.Heartbeat{}); err != nil {
		t.Errorf("a header without type: %v", err)
	}
}

func TestPeekStation(t *testing.T) {
	b := wire(header(protocol.TypeHeartbeat), nil)
	if got, err := protocol.PeekStation(b); got != 0x17 || err != nil {
		t.Fatalf("%v, %v", got, err)
	}

	if _, err := protocol.PeekStation(b[:19]); !errors.Is(err, protocol.ErrTruncated) {
		t.Errorf("cut short: %v", err)
	}

	b[0] = 2
	if _, err := protocol.PeekStation(b); !errors.Is(err, protocol.ErrVersion) {
		t.Errorf("version 2: %v", err)
	}

	b[0] = 1
	binary.BigEndian.PutUint64(b[8:], 0)

	if _, err := protocol.PeekStation(b); !errors.Is(err, protocol.ErrStation) {
		t.Errorf("station 0: %v", err)
	}
}

// TestNoAllocations: the dispatcher peeks at every message.
func TestNoAllocations(t *testing.T) {
	good := wire(header(protocol.TypeHeartbeat), nil)
	for _, b := range [][]byte{good, good[:10], make([]byte, 20)} {
		allocations := testing.AllocsPerRun(100, func() {
			_, _ = protocol.PeekStation(b)
			_, _ = protocol.PeekHeader(b)
		})
		if allocations != 0 {
			t.Errorf("%d bytes: %v allocations", len(b), allocations)
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	for _, c := range []struct {
		m       protocol.Message
		element protocol.Element
		problem protocol.Problem
	}{
		{protocol.LogonRequest{}, protocol.ElementBootNonce, protocol.ErrZero},
		{protocol.LogonConfirm{Heartbeat: -1, Inactivity: 1}, protocol.ElementHeartbeat, protocol.ErrRange},
		{protocol.LogonConfirm{Heartbeat: 1, Inactivity: 1 << 62}, protocol.ElementInactivity, protocol.ErrRange},
		{protocol.LogonConfirm{Heartbeat: 1, Inactivity: 1, Time: -1}, protocol.ElementTime, protocol.ErrRange},
		{protocol.LogonReject{}, protocol.ElementCause, protocol.ErrZero},
		{protocol.CapacityRequest{}, protocol.ElementCapacityKind, protocol.ErrZero},
		{protocol.CapacityRequest{Kind: 4}, protocol.ElementCapacityKind, protocol.ErrRange},
		{protocol.CallSetup{Service: 1}, protocol.ElementCalled, protocol.ErrZero},
		{protocol.ChannelAssign{}, protocol.ElementChannel, protocol.ErrZero},
		{protocol.ChannelAssign{Channel: protocol.Channel{Beam: 1}}, protocol.ElementChannel, protocol.ErrZero},
		{protocol.Handover{Channel: protocol.Channel{Beam: 1}}, protocol.ElementChannel, protocol.ErrZero},
		{protocol.Preempt{Cause: 8, Priority: 16}, protocol.ElementPriority, protocol.ErrRange},
		{protocol.Overload{Level: 101}, protocol.ElementLevel, protocol.ErrRange},
		{protocol.Status{State: 9}, protocol.ElementCallState, protocol.ErrRange},
	} {
		_, err := protocol.Append(nil, header(c.m.Type()), c.m)

		var e *protocol.EncodeError
		if want := (protocol.EncodeError{Type: c.m.Type(), Element: c.element, Problem: c.problem}); !errors.As(err, &e) || *e != want {
			t.Errorf("%+v: got %v, want %v", c.m, err, &want)
		}
	}
}

// TestDecodeRefusesValues has elements whose numbers are not allowed; Append can not make them.
func TestDecodeRefusesValues(t *testing.T) {
	for _, c := range []struct {
		typ      protocol.Type
		elements string
		want     protocol.DecodeError
	}{
		{protocol.TypeLogonRequest, "010100 81080000000000000001 82020000", protocol.DecodeError{Element: protocol.ElementClass, Offset: 20, Problem: protocol.ErrZero}},
		{protocol.TypeLogonRequest, "81080000000000000000 82020000", protocol.DecodeError{Element: protocol.ElementBootNonce, Offset: 20, Problem: protocol.ErrZero}},
		{protocol.TypeLogonConfirm, "020400000001 030400000001 04088000000000000000", protocol.DecodeError{Element: protocol.ElementTime, Offset: 32, Problem: protocol.ErrRange}},
		{protocol.TypeLogonReject, "050400000000 850180", protocol.DecodeError{Element: protocol.ElementRetryAfter, Offset: 20, Problem: protocol.ErrZero}},
		{protocol.TypeChannelAssign, "8904000c0000", protocol.DecodeError{Element: protocol.ElementChannel, Offset: 20, Problem: protocol.ErrZero}},
		{protocol.TypeHandover, "8202000d 8904000d0000", protocol.DecodeError{Element: protocol.ElementChannel, Offset: 24, Problem: protocol.ErrZero}},
		{protocol.TypeHandover, "8202000d 890400000000", protocol.DecodeError{Element: protocol.ElementChannel, Offset: 24, Problem: protocol.ErrZero}},
		{protocol.TypeChannelStatus, "8a0102", protocol.DecodeError{Element: protocol.ElementLocked, Offset: 20, Problem: protocol.ErrRange}},
		{protocol.TypeOverload, "8c0165", protocol.DecodeError{Element: protocol.ElementLevel, Offset: 20, Problem: protocol.ErrRange}},
		{protocol.TypeStatus, "0a0109", protocol.DecodeError{Element: protocol.ElementCallState, Offset: 20, Problem: protocol.ErrRange}},
		{protocol.TypeHeartbeat, "85", protocol.DecodeError{Offset: 20, Problem: protocol.ErrTruncated}},
		{protocol.TypeHeartbeat, "8501", protocol.DecodeError{Offset: 20, Problem: protocol.ErrTruncated}},
		{protocol.TypeHeartbeat, "850110", protocol.DecodeError{Element: protocol.ElementCause, Offset: 20, Problem: protocol.ErrUnknown}},
	} {
		if c.want.Problem == protocol.ErrTruncated {
			c.want.Element = protocol.ElementCause
		}

		wantDecodeError(t, wire(header(c.typ), unhex(t, c.elements)), c.want)
	}
}
