package main

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"

	"skyring/testbed/generate"
)

// standardOutput is the name that stands for it where a file is wanted.
const standardOutput = "-"

// generateTrace writes the capture to a file, to stdout when it is called "-", within gzip when its name says so. A
// line about it goes to stdout, or to stderr when stdout has the capture.
func generateTrace(stdout, stderr io.Writer, path string, may overwriting, cfg generate.Config) error {
	var (
		written generate.Written
		err     error
		about   = stdout
	)

	if path == standardOutput {
		about = stderr
		written, err = generate.Write(stdout, cfg)
	} else {
		written, err = generateFile(path, may, cfg)
	}

	if err != nil {
		return err
	}

	_, err = fmt.Fprintf(about, "%s: %d packets, %d associations, %d messages, seed %d\n",
		path, written.Packets, written.Associations, len(written.Messages), cfg.Seed)

	return err
}

// generateFile writes the capture to a file of this name.
func generateFile(path string, may overwriting, cfg generate.Config) (written generate.Written, err error) {
	file, err := createFile("--output", path, may)
	if err != nil {
		return written, err
	}

	defer func() { err = errors.Join(err, file.Close()) }()

	into := io.Writer(file)
	if strings.HasSuffix(path, ".gz") {
		packed := gzip.NewWriter(file)
		defer func() { err = errors.Join(err, packed.Close()) }() // before the file

		into = packed
	}

	if written, err = generate.Write(into, cfg); err != nil {
		return written, fmt.Errorf("write the capture %s: %w", path, err)
	}

	return written, nil
}
