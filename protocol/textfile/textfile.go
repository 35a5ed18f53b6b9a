// Package textfile reads the small files that an operator names: configurations, certificates, keys. A path may be wrong, and name
// a device or a capture of gigabytes: none is read beyond its limit.
package textfile

import (
	"fmt"
	"io"
	"os"
)

// Read reads a whole file of at most limit bytes; a pipe will do too. Errors: those of the file, and one that says how long
// the file may be.
func Read(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path) //nolint:gosec // the operator names it
	if err != nil {
		return nil, err //nolint:wrapcheck // says the act and the path
	}
	defer f.Close() //nolint:errcheck // of a file that was read

	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err //nolint:wrapcheck // says the act and the path
	}

	if int64(len(text)) > limit {
		return nil, fmt.Errorf("%s is longer than the %d bytes that such a file may have: is it the right one?", path, limit)
	}

	return text, nil
}
