package protocol_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"skyring/protocol"
)

// corpusFile is a message in testdata: what is expected of it in lines that begin with
// "#", and its bytes in hexadecimal.
type corpusFile struct {
	name    string
	want    []string
	message []byte
}

// corpus reads the files of a folder of testdata.
func corpus(tb testing.TB, folder string) []corpusFile {
	tb.Helper()

	names, err := filepath.Glob(filepath.Join("testdata", folder, "*.txt"))
	if err != nil || len(names) == 0 {
		tb.Fatalf("no files in testdata/%s: %v", folder, err)
	}

	files := make([]corpusFile, 0, len(names))

	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			tb.Fatal(err)
		}

		f := corpusFile{name: filepath.Base(name)}

		var digits strings.Builder

		for line := range strings.Lines(string(text)) {
			if want, is := strings.CutPrefix(line, "# "); is {
				f.want = append(f.want, strings.TrimSpace(want))
			} else {
				digits.WriteString(line)
			}
		}

		f.message = unhex(tb, digits.String())
		files = append(files, f)
	}

	return files
}

// TestValidCorpus: each file decodes to what it says and encodes to the same bytes.
func TestValidCorpus(t *testing.T) {
	seen := map[protocol.Type]bool{}

	for _, f := range corpus(t, "valid") {
		h, m, err := protocol.Decode(f.message)
		if err != nil {
			t.Errorf("%s: %v", f.name, err)

			continue
		}

		seen[h.Type] = true

		got := []string{fmt.Sprintf("%+v", h), fmt.Sprintf("%T%+v", m, m)}
		if fmt.Sprint(got) != fmt.Sprint(f.want) {
			t.Errorf("%s: got\n%s\nwant\n%s", f.name, strings.Join(got, "\n"), strings.Join(f.want, "\n"))
		}

		if again, err := protocol.Append(nil, h, m); err != nil || !bytes.Equal(again, f.message) {
			t.Errorf("%s: encodes to % x, %v", f.name, again, err)
		}
	}

	for _, typ := range allTypes() {
		if !seen[typ] {
			t.Errorf("no %v in testdata/valid", typ)
		}
	}
}

// TestInvalidCorpus: each file is refused with the error it says.
func TestInvalidCorpus(t *testing.T) {
	for _, f := range corpus(t, "invalid") {
		_, m, err := protocol.Decode(f.message)
		if err == nil || m != nil || len(f.want) != 1 || err.Error() != f.want[0] {
			t.Errorf("%s: got %v, want %q", f.name, err, f.want)
		}
	}
}
