package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWrongStationFilesSayWhatIsRight reads files that a person may have made by mistake. No server is
// asked before the file is right.
func TestWrongStationFilesSayWhatIsRight(t *testing.T) {
	t.Parallel()

	secret := `"key":"` + strings.Repeat("ab", 32) + `","beams":[3]`

	for text, want := range map[string]string{
		"":                         "nothing to import",
		"[]":                       "nothing to import",
		" [ ]\n":                   "nothing to import",
		"id,key,beams\n":           "nothing to import",
		"# comments\n":             "nothing to import",
		`{"id":17,` + secret + `}`: `line 1: id is a JSON number: a string of hexadecimal digits is right, such as "17", in quotes`,
		`[{"id":"17",` + secret + `},{"id":18,` + secret + `}]`:   "entry 2 (line 1): id is a JSON number",
		`[{"id":"17",` + secret + `},{"id":"17",` + secret + `}]`: "entry 2 (line 1): station 0000000000000017 is in entry 1 (line 1) already",
		"[\n" + `{"id":"x",` + secret + `}]`:                      `entry 1 (line 2): station id "x"`,
		`[7]`:                                                     "entry 1 (line 1): a JSON number: an object with id, key and beams is right",
		`{"id":"17",` + secret + `,"barred":"yes"}`:               "barred is a JSON string: true or false is right",
		`{"id":"17",` + secret + `,"class":true}`:                 "class is a JSON bool: a number is right",
	} {
		path := filepath.Join(t.TempDir(), "stations")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}

		if _, stderr, err := skyring(t, "station", "import", path, "--redis", "redis://127.0.0.1:1"); exitCode(err) != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%s: %v, want %q:\n%s", text, exitCode(err), want, stderr)
		}
	}
}
