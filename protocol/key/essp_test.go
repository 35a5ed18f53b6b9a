package key_test

import (
	"bytes"
	"slices"
	"testing"

	"skyring/protocol"
	"skyring/protocol/key"
)

// essp encodes a message of a station.
func essp(tb testing.TB, station protocol.StationID, m protocol.Message) []byte {
	tb.Helper()

	b, err := protocol.Append(nil, protocol.Header{Station: station, Sequence: 1}, m)
	if err != nil {
		tb.Fatal(err)
	}

	return b
}

func esspVectors(tb testing.TB) []vector {
	tb.Helper()

	return []vector{
		{"LOGON-REQUEST", protocol.PPID, essp(tb, 23, protocol.LogonRequest{BootNonce: 1}), "station:0000000000000017"},
		{"HEARTBEAT", protocol.PPID, essp(tb, 1<<64-1, protocol.Heartbeat{}), "station:ffffffffffffffff"},
		{"length is the decoder's", protocol.PPID, append(essp(tb, 5, protocol.Heartbeat{}), 0), "station:0000000000000005"},
	}
}

// TestESSPFaults has headers that name no station.
func TestESSPFaults(t *testing.T) {
	good := essp(t, 23, protocol.Heartbeat{})
	change := func(at int, b ...byte) []byte {
		out := slices.Clone(good)
		copy(out[at:], b)

		return out
	}

	wantFault(t, protocol.PPID, nil, "essp: header: cut short")
	wantFault(t, protocol.PPID, good[:19], "essp: header: cut short")
	wantFault(t, protocol.PPID, change(0, 2), "essp: version: not 1")
	wantFault(t, protocol.PPID, change(8, 0, 0, 0, 0, 0, 0, 0, 0), "essp: station: 0")
}

// TestESSPAgreesWithProtocol: two packages read the same header, and have to read the same.
func TestESSPAgreesWithProtocol(t *testing.T) {
	good := essp(t, 0x0102030405060708, protocol.Heartbeat{})

	for n := range 24 {
		for at := range good {
			b := append(slices.Clone(good), 0, 0, 0, 0)[:n]
			if at < n {
				b[at] = 0
			}

			agree(t, b)
		}
	}
}

func agree(t *testing.T, b []byte) {
	t.Helper()

	station, peekErr := protocol.PeekStation(b)
	k, err := key.Append(nil, 1, protocol.PPID, b)

	if (peekErr == nil) != (err == nil) {
		t.Fatalf("% x: protocol says %v, key says %v", b, peekErr, err)
	}

	if id, is := key.StationOf(k); is != (err == nil) || id != uint64(station) {
		t.Fatalf("% x: protocol says %v, key says %v", b, station, id)
	}
}

func FuzzESSPAgreesWithProtocol(f *testing.F) {
	f.Add(essp(f, 23, protocol.Heartbeat{}))
	f.Fuzz(func(t *testing.T, b []byte) { agree(t, b) })
}

// TestOwnKeys has the keys that are not read from messages.
func TestOwnKeys(t *testing.T) {
	call := key.CallID{Station: 0x17, Boot: 0x8f3c1a5577aa0b21, Reference: 3, Sequence: 12}

	for want, k := range map[string][]byte{
		"station:0000000000000017":                                 key.Station(nil, 0x17),
		"call:0000000000000017/boot=8f3c1a5577aa0b21/ref=3/seq=12": key.Call(nil, call),
		"pool:65535": key.Pool(nil, 65535),
	} {
		back, err := key.Parse(want)
		if got := key.Format(k); got != want || err != nil || !bytes.Equal(back, k) {
			t.Errorf("% x formats to %q, want %q, which parses to % x, %v", k, got, want, back, err)
		}
	}

	if got := key.Call([]byte("head"), call); string(got) != "head\x0a\x00\x00\x00\x00\x00\x00\x00\x17\x8f\x3c\x1a\x55\x77\xaa\x0b\x21\x00\x03\x00\x00\x00\x0c" {
		t.Errorf("% x", got)
	}
}

func TestOwnKeysAreReadBack(t *testing.T) {
	call := key.CallID{Station: 1, Boot: 2, Reference: 3, Sequence: 4}
	station, of, pool := key.Station(nil, 7), key.Call(nil, call), key.Pool(nil, 9)

	if got, is := key.CallOf(of); !is || got != call {
		t.Errorf("% x is %+v, %v", of, got, is)
	}

	if got, is := key.StationOf(station); !is || got != 7 {
		t.Errorf("% x is %v, %v", station, got, is)
	}

	if got, is := key.PoolOf(pool); !is || got != 9 {
		t.Errorf("% x is %v, %v", pool, got, is)
	}

	for _, k := range [][]byte{nil, key.Association(nil, 1), station[:8], append(slices.Clone(of), 0), append(slices.Clone(pool), 0)} {
		_, isStation := key.StationOf(k)
		_, isCall := key.CallOf(k)
		_, isPool := key.PoolOf(k)

		if isStation || isCall || isPool {
			t.Errorf("% x is read", k)
		}
	}
}

func TestOwnKeysOfOthersAreRefused(t *testing.T) {
	for _, s := range []string{
		"station:17", "station:000000000000001G", "call:0000000000000017", "call:0000000000000017/boot=1/ref=3/seq=12",
		"call:0000000000000017/boot=8f3c1a5577aa0b21/ref=65536/seq=12", "pool:", "pool:65536", "pool:01", "raw:0b0001",
	} {
		if k, err := key.Parse(s); err == nil {
			t.Errorf("%q parses to % x", s, k)
		}
	}
}

func BenchmarkESSP(b *testing.B) {
	benchmark(b, protocol.PPID, essp(b, 23, protocol.LogonRequest{BootNonce: 1}))
}
