package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/caarlos0/env/v11"
)

// TestUsageErrors holds wrong command lines to exit code 2 and to a sentence.
func TestUsageErrors(t *testing.T) {
	t.Parallel()

	for args, want := range map[string]string{
		"bogus":                                       `unknown command "bogus"`,
		"dispatche":                                   "did you mean dispatcher?",
		"help bogus":                                  `unknown command "bogus"`,
		"trace bogus":                                 `unknown command "bogus"`,
		"trace":                                       "a command is missing: generate, inspect",
		"session":                                     "a command is missing: list, show",
		"session lst":                                 `unknown command "lst"`,
		"completion":                                  "a command is missing",
		"session list --limit -1":                     "--limit is -1",
		"dispatcher --set a.b=c":                      "--set a.b: names no setting",
		"dispatcher --set dispatcher=4":               "--set dispatcher: is a section",
		"dispatcher --set dispatcher.window=":         "--set dispatcher.window: is empty: a whole number is right",
		"dispatcher --set dispatcher.window=8.5":      `is "8.5": a whole number is right`,
		"dispatcher --set dispatcher.deadline=5":      "such as 400ms",
		"dispatcher --set sctp.port=70000":            "a whole number from 0 to 65535 is right",
		"dispatcher --set sctp.port=-1":               "a whole number from 0 to 65535 is right",
		"dispatcher --set dispatcher.retryShare=NaN":  "a number is right",
		"dispatcher --set dispatcher.receipts=maybe":  "true or false is right",
		"dispatcher --set dispatcher.expiry=55s":      "dispatcher.expiry is 55s and processor.longestExpiry 1m0s",
		"processor --set processor.longestExpiry=35s": "at least 10s shorter",
		"up --set dispatcher.expiry=2m":               "dispatcher.expiry is 2m0s",
		"processor --print-config --set processor.longestExpiry=35s":              "at least 10s shorter",
		"up --print-config --set dispatcher.window=0":                             "dispatcher.window",
		"dispatcher --print-config --listen here":                                 "sctp.listen",
		"processor --set redis.url=http://user:secret@h:1":                        "http://user:xxxxx@h:1",
		"processor --set redis.url=redis://user:secret@host:port":                 "redis://user:xxxxx@host:port",
		"replay --target 127.0.0.1:9 --receipts off testdata/none.pcap":           "--redis",
		"replay --set dispatcher.receipts=false testdata/none.pcap":               "none.pcap",
		"replay --receipts on --set dispatcher.receipts=false testdata/none.pcap": "would send none",
		"replay --target 127.0.0.1:9 --log-level loud testdata/none.pcap":         "log.level",
		"session list --namespace nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn":      "namespace: ",
		"processor --namespace nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn":         "namespace: ",
		"session list --redis redis://u:secret@h:x":                               "redis://u:xxxxx@h:x",
		"replay --target 127.0.0.1:9 --redis nowhere testdata/none.pcap":          "redis.url: \"nowhere\" must start with",
		"trace generate --speed 3":                                                "unknown flag: --speed",
		"replay --speed 0.0001 testdata/none.pcap":                                "0.001",
		"replay --times 0 testdata/none.pcap":                                     "times: 0",
		"replay --processors 0 testdata/none.pcap":                                "up.processors",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()

			var stdout, stderr bytes.Buffer

			err := run(t.Context(), strings.Fields(args), &stdout, &stderr)
			if code := exitCode(err); code != exitUsage {
				t.Errorf("exit code %d (%v), want %d", code, err, exitUsage)
			}

			if !strings.Contains(stderr.String(), want) {
				t.Errorf("standard error does not say %q:\n%s", want, &stderr)
			}

			if stdout.Len() > 0 {
				t.Errorf("standard output:\n%s", &stdout)
			}

			for _, never := range []string{"secret", "unmarshal", "strconv", "Go value"} {
				if strings.Contains(stderr.String(), never) {
					t.Errorf("standard error says %q:\n%s", never, &stderr)
				}
			}
		})
	}
}

// TestHelpSucceeds asks for help in every way.
func TestHelpSucceeds(t *testing.T) {
	t.Parallel()

	for _, args := range [][]string{nil, {"help"}, {"help", "trace", "inspect"}, {"trace", "--help"}, {"--version"}} {
		var stdout, stderr bytes.Buffer
		if err := run(t.Context(), args, &stdout, &stderr); err != nil || stdout.Len() == 0 {
			t.Errorf("skyring %v: %v\n%s", args, err, &stderr)
		}
	}
}

// TestNamespaceFault reports a wrong namespace once, whoever finds it.
func TestNamespaceFault(t *testing.T) {
	t.Parallel()

	for _, namespace := range []string{"a b", strings.Repeat("n", 40)} {
		for _, command := range []string{"up", "processor", "dispatcher"} {
			var stdout, stderr bytes.Buffer

			err := run(t.Context(), []string{command, "--print-config", "--namespace", namespace}, &stdout, &stderr)
			if exitCode(err) != exitUsage || strings.Count(stderr.String(), "namespace: ") != 1 {
				t.Errorf("skyring %s: %v\n%s", command, err, &stderr)
			}
		}
	}
}

// TestEnvironmentFaults names the variable and what would be right.
func TestEnvironmentFaults(t *testing.T) {
	t.Parallel()

	c := DefaultConfig()

	err := applyEnvironment(&c, []string{
		"SKYRING_DISPATCHER_WINDOW=many", "SKYRING_SCTP_PORT=70000", "SKYRING_DISPATCHER_DEADLINE=5",
		"SKYRING_DISPATCHER_RECEIPTS=perhaps", "SKYRING_WINDOW=1", "OTHER=1",
	})
	if err == nil {
		t.Fatal("no error")
	}

	for _, want := range []string{
		`environment variable SKYRING_DISPATCHER_WINDOW is "many": a whole number is right`,
		`environment variable SKYRING_SCTP_PORT is "70000": a whole number from 0 to 65535 is right`,
		`environment variable SKYRING_DISPATCHER_DEADLINE is "5": a duration with its unit is right, such as 400ms, 10s or 24h`,
		`environment variable SKYRING_DISPATCHER_RECEIPTS is "perhaps": true or false is right`,
		`environment variable SKYRING_WINDOW names no setting`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\ndoes not say %s", err, want)
		}
	}

	c = DefaultConfig()
	if err := applyEnvironment(&c, []string{"SKYRING_DISPATCHER_WINDOW=", "SKYRING_NATS_URL=", "SKYRING_DISPATCHER_ID=d9"}); err != nil {
		t.Fatal(err)
	}

	want := DefaultConfig()
	want.Dispatcher.ID = "d9"

	if c != want {
		t.Error("an empty variable is not as good as none")
	}
}

// TestNothingMeansDefaults reads files that hold no setting.
func TestNothingMeansDefaults(t *testing.T) {
	t.Parallel()

	for _, text := range []string{"", "\n", "# only a comment\n", "---\n", "---\n# c\n", "--- # c\n...\n", "null\n", "dispatcher:\n", "\uFEFF", "---\n---\n"} {
		c := DefaultConfig()
		if err := decodeYAML([]byte(text), &c); err != nil {
			t.Errorf("%q: %v", text, err)
		}

		if c != DefaultConfig() {
			t.Errorf("%q changes the defaults", text)
		}
	}
}

// TestFileFaults names line, setting and what would be right, of all faults at once.
func TestFileFaults(t *testing.T) {
	t.Parallel()

	for text, wants := range map[string][]string{
		"dispatcher:\n  window: 8.5\n  deadline: 5\n  receipts: 1\n  retryShare: much\n  id:\n": {
			`line 2: dispatcher.window is "8.5": a whole number is right`,
			`line 3: dispatcher.deadline is "5": a duration with its unit is right`,
			`line 4: dispatcher.receipts is "1": true or false is right`,
			`line 5: dispatcher.retryShare is "much": a number is right`,
			`line 6: dispatcher.id has no value: write "" for an empty one`,
		},
		"dispatcher:\n  window:\n":                       {"line 2: dispatcher.window has no value: a whole number is right"},
		"dispatcher:\n  window: [1, 2]\n":                {"dispatcher.window holds several values"},
		"dispatcher:\n  deadline: 99999999999h\n":        {"a duration"},
		"dispatcher:\n  window: 99999999999999999999\n":  {"a whole number is right"},
		"dispatcher:\n  window: .inf\n":                  {"a whole number is right"},
		"dispatcher: 5\n":                                {"line 1: dispatcher must hold settings"},
		"- a\n":                                          {"line 1: the file must hold settings"},
		"just words\n":                                   {"line 1: the file must hold settings"},
		"namespace: a\n---\nnamespace: b\n":              {"line 3: a second document begins"},
		"sctp:\n  port: 9899\n  prot: 1\nspeed: 2\n":     {"line 3: sctp.prot names no setting", "line 4: speed names no setting"},
		"\x7fELF\x02\x01\x01\x00secret":                  {"it is no text: byte 0x7f at offset 0"},
		"namespace: a\xff\n":                             {"it is no text: byte 0xff at offset 12"},
		"namespace: a\nnamespace: b\n":                   {"namespace"},
		"namespace: \"" + strings.Repeat("x", 1000) + "": {"..."},
	} {
		c := DefaultConfig()

		err := decodeYAML([]byte(text), &c)
		if err == nil {
			t.Errorf("%q is taken", text)

			continue
		}

		for _, want := range wants {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v\ndoes not say %s", text, err, want)
			}
		}

		if len(err.Error()) > 600 || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the error is a dump: %v", text, err)
		}
	}

	good := DefaultConfig()
	if err := decodeYAML([]byte("sctp: &s\n  port: \"9900\"\n  listen: \"127.0.0.1:1\"\nredis:\n  sentinelMaster: \"\"\nmetrics:\n  listen: \"\"\n"), &good); err != nil || good.SCTP.Port != 9900 {
		t.Errorf("port %d, %v", good.SCTP.Port, err)
	}
}

// TestAssignments takes texts as they stand.
func TestAssignments(t *testing.T) {
	t.Parallel()

	c := DefaultConfig()

	for _, assignment := range []string{`redis.url=redis://:a#b: "c@h:1`, "metrics.listen=", "namespace=007", "dispatcher.window=4", "dispatcher.retryShare=0.5", "dispatcher.receipts=true"} {
		if err := applyAssignment(&c, assignment); err != nil {
			t.Error(err)
		}
	}

	want := DefaultConfig()
	want.Redis.URL, want.Namespace, want.Dispatcher.Window = `redis://:a#b: "c@h:1`, "007", 4
	want.Dispatcher.RetryShare, want.Dispatcher.Receipts = 0.5, true

	if c != want {
		t.Errorf("%+v", c)
	}
}

// TestBinaryConfiguration is not shown on the terminal.
func TestBinaryConfiguration(t *testing.T) {
	t.Parallel()

	file := filepath.Join(t.TempDir(), "binary")
	if err := os.WriteFile(file, slices.Concat([]byte("\x7fELF"), make([]byte, 1<<20)), 0o600); err != nil {
		t.Fatal(err)
	}

	var stdout, stderr bytes.Buffer

	err := run(t.Context(), []string{"dispatcher", "--config", file}, &stdout, &stderr)
	if exitCode(err) != exitUsage || stderr.Len() > 300 || !strings.Contains(stderr.String(), "no text") {
		t.Errorf("%v: %d bytes of error", err, stderr.Len())
	}
}

// TestExitCodes maps errors to exit codes, through wrapping.
func TestExitCodes(t *testing.T) {
	t.Parallel()

	for code, err := range map[int]error{
		0: nil, exitFailed: errors.Join(errors.New("x"), errBadVerdict), exitUsage: errors.Join(errors.New("x"), usagef("y")),
	} {
		if got := exitCode(err); got != code {
			t.Errorf("exit code of %v: %d, want %d", err, got, code)
		}
	}
}

// TestVariablesOfSettings holds the names of the variables to those that the environment is read by.
func TestVariablesOfSettings(t *testing.T) {
	t.Parallel()

	c := DefaultConfig()

	fields, err := env.GetFieldParamsWithOptions(&c, env.Options{Prefix: envPrefix})
	if err != nil {
		t.Fatal(err)
	}

	var read, known []string
	for _, field := range fields {
		read = append(read, field.Key)
	}

	for _, one := range configTree().settings {
		known = append(known, one.variable)
	}

	slices.Sort(read)
	slices.Sort(known)

	if !slices.Equal(read, known) {
		t.Errorf("read %q\nknown %q", read, known)
	}
}

// TestGeneratedForms writes the same capture plain, within gzip and to standard output.
func TestGeneratedForms(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	plain, packed := filepath.Join(dir, "c.pcapng"), filepath.Join(dir, "c.pcapng.gz")

	var printed, about bytes.Buffer

	for _, into := range []string{plain, packed, "-"} {
		printed.Reset()
		about.Reset()

		if err := run(t.Context(), []string{"trace", "generate", "--messages", "60", "-o", into}, &printed, &about); err != nil {
			t.Fatal(err)
		}
	}

	if !strings.Contains(about.String(), "-: ") {
		t.Errorf("standard error says %q", &about)
	}

	want, err := os.ReadFile(plain)
	if err != nil {
		t.Fatal(err)
	}

	if !bytes.Equal(want, printed.Bytes()) {
		t.Errorf("%d bytes on standard output, %d in the file", printed.Len(), len(want))
	}

	file, err := os.Open(packed)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // was read only

	unpacked, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}

	if got, err := io.ReadAll(unpacked); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes within gzip, %d in the file: %v", len(got), len(want), err)
	}
}
