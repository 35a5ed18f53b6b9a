package stations_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"skyring/dispatcher"
	"skyring/processor"
	"skyring/processor/call"
	"skyring/processor/essp"
	"skyring/processor/ledger"
	"skyring/processor/saga"
	"skyring/protocol/bus"
	"skyring/protocol/key"
	"skyring/protocol/transport"
	"skyring/statestore"
	"skyring/testbed/stack"
	"skyring/testbed/stations"
)

// processorID names the processor that this test program is to be.
const processorID = "SKYRING_TEST_PROCESSOR"

// TestMain lets the test program be a processor: its arguments are then the URLs of NATS and Redis.
func TestMain(m *testing.M) {
	if id := os.Getenv(processorID); id != "" {
		if err := beProcessor(id, os.Args[1], os.Args[2]); err != nil {
			panic(err)
		}

		return
	}

	goleak.VerifyTestMain(m)
}

func beProcessor(id, nats, redis string) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	stores := statestore.DefaultConfig()
	stores.URL = redis

	store, err := statestore.Open(ctx, stores, zerolog.Nop())
	if err != nil {
		return err
	}

	buses := bus.DefaultConfig()
	buses.URL = nats

	conn, err := bus.Connect(ctx, buses, id, zerolog.Nop())
	if err != nil {
		return err
	}

	handlers, err := essp.Handlers(ctx, essp.DefaultConfig(), store, processor.NewHandlers(ledger.Handler{}))
	if err != nil {
		return err
	}

	cfg := processor.DefaultConfig()
	cfg.ID = id

	p, err := processor.New(cfg, store, conn, handlers, zerolog.Nop())
	if err != nil {
		return err
	}

	return p.Run(ctx)
}

// install starts an installation whose processors are this test program.
func install(t *testing.T, processors int) *stations.Installation {
	t.Helper()

	dir, err := os.MkdirTemp("", "skyring-") //nolint:usetesting // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = os.RemoveAll(dir) })

	cfg := stations.InstallationConfig{
		Stack: stack.Config{
			Listen: netip.MustParseAddrPort("127.0.0.1:0"), Transport: transport.DefaultConfig(), NATSHost: "127.0.0.1",
			NATS: bus.DefaultConfig(), Redis: statestore.DefaultConfig(), Dir: dir, Dispatcher: dispatcher.DefaultConfig(),
			Processor: processor.DefaultConfig(), ESSP: essp.DefaultConfig(),
		},
		Processors: processors,
		Command: func(id, nats, redis string) *exec.Cmd {
			cmd := exec.Command(os.Args[0], nats, redis) //nolint:gosec,noctx // this program itself
			cmd.Env = append(os.Environ(), processorID+"="+id)
			cmd.Stderr = os.Stderr

			return cmd
		},
	}
	cfg.Stack.NATS.URL, cfg.Stack.Redis.URL = "", ""
	cfg.Stack.Dispatcher.DrainTimeout = time.Minute                                // a busy machine takes its time
	cfg.Stack.Dispatcher.CPUThreshold, cfg.Stack.Dispatcher.MemoryThreshold = 0, 0 // all nodes share the machine

	i, err := stations.Start(t.Context(), cfg, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := i.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})

	return i
}

func shortRun() stations.Config {
	cfg := stations.DefaultConfig()
	cfg.Count, cfg.Calls, cfg.Duration, cfg.Hold, cfg.Ring = 60, 12, 6*time.Second, time.Second, 50*time.Millisecond

	return cfg
}

// TestCallsOutliveAProcessor is the demonstration in small: a processor is killed and another
// one added while calls are up.
func TestCallsOutliveAProcessor(t *testing.T) {
	cfg := shortRun()
	cfg.KillProcessor, cfg.AddProcessor = true, true

	var notes []string

	result, err := stations.Run(t.Context(), cfg, install(t, 3).Site(), func(p stations.Progress) {
		if p.Note != "" {
			notes = append(notes, p.Note)
		}
	}, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}

	var text strings.Builder
	if err := result.Render(&text); err != nil {
		t.Fatal(err)
	}

	if !result.OK() || result.Calls < cfg.Calls || !strings.HasSuffix(text.String(), "good\n") {
		t.Errorf("%s%v", text.String(), result.Failures)
	}

	if result.KilledProcessor != "p1" || result.AddedProcessor != "p4" || result.UpAtKill == 0 || result.KeptAtKill != result.UpAtKill {
		t.Errorf("%+v", result)
	}

	if !slices.Equal(notes, []string{"killed processor p1", "added processor p4"}) {
		t.Errorf("notes: %v", notes)
	}

	checkJSON(t, result)
}

// checkJSON holds the line of JSON to its fields.
func checkJSON(t *testing.T, result *stations.Result) {
	t.Helper()

	var line bytes.Buffer
	if err := result.WriteJSON(&line); err != nil {
		t.Fatal(err)
	}

	fields := map[string]any{}
	if err := json.Unmarshal(line.Bytes(), &fields); err != nil {
		t.Fatal(err)
	}

	for name := range strings.FieldsSeq("stations loggedOn calls completed dropped leakedChannels stuckCalls cdrs lost doubled setup answer") {
		if _, there := fields[name]; !there {
			t.Errorf("%s is missing in %s", name, line.String())
		}

		delete(fields, name)
	}

	if len(fields) != 0 || strings.Count(line.String(), "\n") != 1 {
		t.Errorf("too much in %s", line.String())
	}
}

// TestAuditFindsWhatIsLeft spoils pools and stations' table before a run, so that what is
// wrong has to be found.
func TestAuditFindsWhatIsLeft(t *testing.T) {
	i := install(t, 1)
	site := i.Site()

	cfg := shortRun()
	cfg.Count, cfg.Calls, cfg.Duration, cfg.Settle = 8, 2, time.Second, 2*time.Second

	if result, err := stations.Run(t.Context(), cfg, site, nil, zerolog.Nop()); err != nil || !result.OK() {
		t.Fatalf("%+v, %v", result, err)
	}

	holdChannel(t, site.Store)

	result, err := stations.Run(t.Context(), cfg, site, nil, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}

	if result.LeakedChannels != 1 || result.OK() {
		t.Errorf("a channel that leaked was not found: %+v", result)
	}
}

// holdChannel lets a call that there is not hold a channel of a pool.
func holdChannel(t *testing.T, store *statestore.Store) {
	t.Helper()

	for session, err := range store.Sessions(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}

		if key.KindOf(session.Key) != key.KindPool {
			continue
		}

		pool, err := call.DecodePool(session.Record.Body)
		if err != nil {
			t.Fatal(err)
		}

		pool.Held = append(pool.Held, call.Holding{Channel: pool.Last, Call: []byte("nobody"), Side: saga.Calling})

		record := session.Record.Clone()
		record.Body = pool.Append(nil)

		now, err := store.Time(t.Context())
		if err != nil {
			t.Fatal(err)
		}

		outcomes, err := store.Commit(t.Context(), []statestore.Commit{{
			Key: session.Key, Expect: session.Record.Stamp(), Record: record, Expiry: now + time.Minute.Microseconds(), Keep: true, Indexed: true,
		}})
		if err != nil || outcomes[0].Result != statestore.Written {
			t.Fatalf("%+v, %v", outcomes, err)
		}

		return
	}

	t.Fatal("there is no pool")
}

// TestNobodyIsThere ends in a verdict that is bad.
func TestNobodyIsThere(t *testing.T) {
	cfg := shortRun()
	cfg.Count, cfg.Calls, cfg.Duration, cfg.Settle = 2, 1, 200*time.Millisecond, 500*time.Millisecond

	result, err := stations.Run(t.Context(), cfg, stations.Site{Targets: []transport.Target{{Mode: transport.ModeUDP, Address: netip.MustParseAddrPort("127.0.0.1:9")}}}, nil, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}

	if result.OK() || result.LoggedOn != 0 || result.Audited {
		t.Errorf("%+v", result)
	}
}

func TestInterruptedRunEnds(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()

	if result, err := stations.Run(ctx, shortRun(), stations.Site{Targets: []transport.Target{{Mode: transport.ModeUDP, Address: netip.MustParseAddrPort("127.0.0.1:9")}}}, nil, zerolog.Nop()); err == nil {
		t.Errorf("an interrupted run has a result: %+v", result)
	}
}

func TestConfigNamesAllFaults(t *testing.T) {
	t.Parallel()

	err := stations.Config{Calls: 7}.Validate()
	if err == nil || strings.Count(err.Error(), "\n") < 6 {
		t.Errorf("faults: %v", err)
	}

	cfg := shortRun()
	cfg.KillProcessor = true

	if _, err := stations.Run(t.Context(), cfg, stations.Site{}, nil, zerolog.Nop()); err == nil || !strings.Contains(err.Error(), "target") ||
		!strings.Contains(err.Error(), "kill a processor") {
		t.Errorf("a site that can nothing: %v", err)
	}
}

// TestVerdictTellsWhetherItWasAudited renders what came of runs that went well.
func TestVerdictTellsWhetherItWasAudited(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		audited bool
		want    string
	}{
		{true, "verdict      good\n"},
		{false, "verdict      good as far as stations saw; not audited\n"},
	} {
		r := stations.Result{Stations: 2, LoggedOn: 2, Calls: 1, Completed: 1, CDRs: 1, Audited: c.audited, KilledProcessor: "p1", UpAtKill: 1, KeptAtKill: 1}

		var text strings.Builder
		if err := r.Render(&text); err != nil {
			t.Fatal(err)
		}

		if !strings.HasSuffix(text.String(), c.want) || !strings.Contains(text.String(), "processor p1 while 1 calls were up, of which 1 ended as planned") {
			t.Errorf("audited %t:\n%s", c.audited, text.String())
		}
	}
}
