package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"skyring/processor/access"
	"skyring/processor/call"
	"skyring/processor/ledger"
	"skyring/processor/saga"
	"skyring/protocol"
	"skyring/protocol/key"
	"skyring/statestore"
)

// commit writes a record as a processor does.
func commit(t *testing.T, redis string, k []byte, r *statestore.Record) {
	t.Helper()

	cfg := statestore.DefaultConfig()
	cfg.URL, cfg.Namespace, cfg.Timeout = redis, DefaultConfig().Namespace, time.Minute // a busy machine has not failed

	store, err := statestore.Open(t.Context(), cfg, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}

	defer store.Close() //nolint:errcheck // of a test

	outcomes, err := store.Commit(t.Context(), []statestore.Commit{{
		Key: k, Record: r, Expiry: time.Now().Add(time.Hour).UnixMicro(), TTL: time.Hour,
	}})
	if err != nil || outcomes[0].Result != statestore.Written {
		t.Fatalf("%+v, %v", outcomes, err)
	}
}

// esspRecords are a station in a call, the call, its pool, a station without entry, and a ledger.
func esspRecords(t *testing.T, redis string) {
	t.Helper()

	callKey := key.Call(nil, key.CallID{Station: 0x17, Boot: 9})
	station := access.Station{
		State: access.LoggedOn, Epoch: 5, Boot: 9, Beam: 3, Heard: 1e15,
		Profile: access.Profile{Key: [32]byte([]byte(strings.Repeat("K", 32))), Beams: []protocol.Beam{3}},
		Calls:   []access.Call{{Reference: 0x8001, Key: callKey, Side: saga.Calling, Peer: 0x18}},
	}

	commit(t, redis, key.Station(nil, 0x17), &statestore.Record{
		Handler: protocol.PPID, Body: station.Append(nil), Leg: &statestore.Leg{Dispatcher: "d1", Epoch: 5, Stream: 2},
		Timers: []statestore.Timer{{Name: access.TimerInactivity, Due: 2e15}},
		Outbox: []statestore.Entry{{Destination: callKey, Number: 1, Payload: []byte("x")}},
	})

	one := call.Call{
		State: call.Releasing, Calling: call.End{Station: 0x17, Beam: 3, Channel: 7, Hold: call.HoldGranted}, Called: call.End{Station: 0x18},
		Setup: 1e15, Released: 1e15 + 1, Cause: 16, ReleasedBy: call.PartyCalled,
	}
	commit(t, redis, callKey, &statestore.Record{
		Handler: protocol.PPID, Body: one.Append(nil), Timers: []statestore.Timer{{Name: uint8(call.T308Calling), Due: 2e15}},
	})

	pool := call.Pool{Beam: 3, First: 1, Last: 10, Held: []call.Holding{{Channel: 7, Call: callKey, Side: saga.Calling}}}
	commit(t, redis, key.Pool(nil, 3), &statestore.Record{Handler: protocol.PPID, Body: pool.Append(nil)})
	commit(t, redis, key.Station(nil, 0x99), &statestore.Record{Handler: protocol.PPID})

	l := ledger.Ledger{PPID: 18, Count: 1}
	commit(t, redis, key.Association(nil, 4), &statestore.Record{Body: l.Append(nil)})
}

// TestSessionsOfESSPAreShown lists and shows each kind of record, none of which is damaged.
func TestSessionsOfESSPAreShown(t *testing.T) {
	t.Parallel()

	_, redis := backbone(t)
	esspRecords(t, redis)

	listed := mustSkyring(t, "session", "list", "--redis", redis)
	for _, want := range []string{
		`station:0000000000000017 +1163088720 +- +- +logged-on +1 +- +2001-09-09T01:46:40.000Z +-\n`,
		`call:0000000000000017/boot=\S+ +1163088720 +- +- +releasing +1 +2001\S+ +2001\S+ +-\n`,
		`pool:3 +1163088720 +- +- +held:1/10 +1 +- +- +-\n`,
		`station:0000000000000099 +1163088720 +- +- +- +1 `,
		`association:0000000000000004 +18 +1 +0 +[0-9a-f]{16} +1 +- +- +-\n`,
	} {
		if !regexp.MustCompile(want).MatchString(listed) {
			t.Errorf("list lacks %s:\n%s", want, listed)
		}
	}

	if strings.Contains(listed, "cannot be read") {
		t.Errorf("list calls a record damaged:\n%s", listed)
	}

	callKey := key.Format(key.Call(nil, key.CallID{Station: 0x17, Boot: 9}))
	for name, wants := range map[string][]string{
		"station:0000000000000017": {"logged-on", "dispatcher d1 epoch 0000000000000005 stream 2", "inactivity (tG6)", `outbox +1\n`, callKey},
		callKey:                    {"releasing", "station 0000000000000017 beam 3 channel 7 \\(granted\\)", "T308-calling", "16 normal call clearing, by the called"},
		"pool:3":                   {"1-10, 1 held, 9 free", "channel 7 by the calling side of " + callKey},
		"station:0000000000000099": {"no entry"},
	} {
		text, object := mustSkyring(t, "session", "show", name, "--redis", redis), mustSkyring(t, "session", "show", name, "--json", "--redis", redis)
		for _, want := range wants {
			if !strings.Contains(text, want) && !regexp.MustCompile(want).MatchString(text) {
				t.Errorf("show %s lacks %s:\n%s", name, want, text)
			}
		}

		if strings.Contains(text+object, "KKKK") || strings.Contains(text+object, "4b4b4b") || !json.Valid([]byte(object)) {
			t.Errorf("show %s:\n%s%s", name, text, object)
		}
	}
}
