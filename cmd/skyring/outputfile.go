package main

import (
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/cobra"
)

// overwriting says whether a file that is there may be written over.
type overwriting bool

// forceFlag adds --force to a command that writes the file of a flag.
func forceFlag(cmd *cobra.Command, into *overwriting) {
	cmd.Flags().BoolVar((*bool)(into), "force", false, "write over a file that is there")
}

// createFile makes the file that a flag names, and refuses one that is there unless it may be written over. What is no regular
// file, such as a pipe or /dev/stdout, can lose nothing.
func createFile(flag, path string, may overwriting) (*os.File, error) {
	mode := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if info, err := os.Stat(path); bool(may) || err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		mode = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}

	file, err := os.OpenFile(path, mode, 0o644) //nolint:gosec // a result for everybody
	if errors.Is(err, fs.ErrExist) {
		return nil, usagef("%s: %s is there already, and is not written over without --force", flag, path)
	}

	if err != nil {
		return nil, usagef("%s: %w", flag, err)
	}

	return file, nil
}
