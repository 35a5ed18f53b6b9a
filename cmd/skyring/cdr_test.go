package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"skyring/statestore"
	"skyring/testbed/servers"
)

// TestNumbersThatGoBackAreTold walks a position over records and counts of a Redis that lost some.
func TestNumbersThatGoBackAreTold(t *testing.T) {
	t.Parallel()

	at := func(sequence uint64, id string) cdrPosition { return cdrPosition{7: {ID: id, Sequence: sequence}} }

	for name, c := range map[string]struct {
		position cdrPosition
		count    statestore.CDRCount
		want     deviation
		after    uint64
	}{
		"as it should be":             {at(5, "9-0"), statestore.CDRCount{Count: 5, Sequence: 5, ID: "9-0"}, deviation{}, 5},
		"trimmed":                     {at(5, "9-0"), statestore.CDRCount{Count: 5}, deviation{}, 5},
		"nothing ever":                {cdrPosition{}, statestore.CDRCount{}, deviation{}, 0},
		"newest missing":              {at(5, "9-0"), statestore.CDRCount{Count: 7, Sequence: 5, ID: "9-0"}, deviation{from: 6, to: 7}, 7},
		"all missing":                 {cdrPosition{}, statestore.CDRCount{Count: 2}, deviation{from: 1, to: 2}, 2},
		"one that came just now":      {at(5, "9-0"), statestore.CDRCount{Count: 6, Sequence: 6, ID: "10-0"}, deviation{}, 5},
		"rolled back":                 {at(5, "9-0"), statestore.CDRCount{Count: 3, Sequence: 3, ID: "8-0"}, deviation{from: 4, to: 5, back: true}, 3},
		"emptied":                     {at(5, "9-0"), statestore.CDRCount{}, deviation{from: 1, to: 5, back: true}, 0},
		"--from, all forgotten":       {at(0, "9-0"), statestore.CDRCount{Count: 4}, deviation{}, 0},
		"--from, as it should be":     {at(0, "9-0"), statestore.CDRCount{Count: 4, Sequence: 4, ID: "8-0"}, deviation{}, 0},
		"--from, with newest missing": {at(0, "9-0"), statestore.CDRCount{Count: 5, Sequence: 4, ID: "8-0"}, deviation{from: 5, to: 5}, 5},
	} {
		got, wrong := c.position.compare(7, c.count)
		if got != c.want || wrong != (c.want != deviation{}) || c.position[7].Sequence != c.after {
			t.Errorf("%s: %+v, then %+v", name, got, c.position[7])
		}
	}

	p := at(100, "9-0")
	if d, wrong := p.advance(statestore.CDR{Partition: 7, Sequence: 91, ID: "10-0"}); !wrong || d != (deviation{from: 91, to: 100, back: true}) {
		t.Errorf("a number that was given before: %+v", d)
	}

	if d, wrong := p.advance(statestore.CDR{Partition: 7, Sequence: 92, ID: "11-0"}); wrong {
		t.Errorf("the one after it: %+v", d)
	}
}

// redisCommand has the server at a URL do one command.
func redisCommand(t *testing.T, address, command string) {
	t.Helper()

	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}

	network, host := "tcp", u.Host
	if u.Scheme == "unix" {
		network, host = "unix", u.Path
	}

	conn, err := (&net.Dialer{}).DialContext(t.Context(), network, host)
	if err != nil {
		t.Fatal(err)
	}

	defer conn.Close() //nolint:errcheck // of a test

	if _, err := io.WriteString(conn, command+"\r\n"); err != nil {
		t.Fatal(err)
	}

	if answer, err := bufio.NewReader(conn).ReadString('\n'); err != nil || strings.HasPrefix(answer, "-") {
		t.Fatalf("%s: %s, %v", command, answer, err)
	}
}

// TestExportKnowsWhatRedisLost takes the newest records away behind an export's back, once with their
// count and once without.
func TestExportKnowsWhatRedisLost(t *testing.T) {
	t.Parallel()

	_, address := backbone(t)
	position := filepath.Join(t.TempDir(), "position")
	export := func() (string, error) {
		_, stderr, err := skyring(t, "cdr", "export", "--position", position, "--redis", address)

		return stderr, err
	}

	writeCDRs(t, address, "{}")

	if stderr, err := export(); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}

	var first struct{ Partition int }
	if err := json.Unmarshal([]byte(mustSkyring(t, "cdr", "export", "--redis", address)), &first); err != nil {
		t.Fatal(err)
	}

	count := fmt.Sprintf("%s:{%d}:cdr:n", DefaultConfig().Namespace, first.Partition)
	redisCommand(t, address, "INCR "+count)

	if stderr, err := export(); err == nil || !strings.Contains(stderr, "call detail records 2 to 2 are missing") {
		t.Errorf("the newest is missing: %v: %s", err, stderr)
	}

	if stderr, err := export(); err != nil {
		t.Errorf("it is told again: %v: %s", err, stderr)
	}

	redisCommand(t, address, "DEL "+count)

	if stderr, err := export(); err == nil || !strings.Contains(stderr, "1 to 2 of call detail records are given again") {
		t.Errorf("the count went back: %v: %s", err, stderr)
	}
}

// TestFollowOutlivesRedis takes Redis away from an export that follows.
func TestFollowOutlivesRedis(t *testing.T) {
	t.Parallel()

	cfg := servers.DefaultRedisConfig(shortDir(t))
	cfg.AppendFsync = "always"

	server, err := servers.StartRedis(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = server.Stop(context.Background()) })

	writeCDRs(t, server.URL(), `{"call":"before"}`)

	p := startProcess(t, "cdr", "export", "--follow", "--redis", server.URL())
	p.await(t, `"call":"before"`)

	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}

	p.await(t, "the export waits for Redis")

	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}

	writeCDRs(t, server.URL(), `{"call":"after"}`)

	if text := p.await(t, `"call":"after"`); strings.Count(text, `"call":"before"`) != 1 {
		t.Errorf("it did not go on where it was:\n%s", text)
	}

	if err := p.signal(t, os.Interrupt); err != nil {
		t.Errorf("interrupted: %v", err)
	}
}
