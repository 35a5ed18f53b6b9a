package trace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Open reads the capture at a path: pcap or pcapng, also within gzip, whatever it is called. Errors are *FileError, but
// for those of cfg.Validate and of ctx, which ends the reading. A capture of which something can be used is no error:
// Trace.Warnings say what could not be.
func Open(ctx context.Context, path string, cfg Config) (*Trace, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, openError(path, err)
	}
	defer file.Close() //nolint:errcheck // it is only read
	info, err := file.Stat()
	if err != nil {
		return nil, openError(path, err)
	}
	if info.IsDir() {
		return nil, &FileError{
			File: path, Detail: "is a directory", Want: "name a capture file (pcap or pcapng, gzip allowed) in it", Err: ErrDirectory,
		}
	}
	return Read(ctx, file, path, cfg)
}

func openError(path string, err error) error {
	detail, want := "cannot be read", err.Error()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		detail, want = "does not exist", "name a capture file (pcap or pcapng, gzip allowed)"
	case errors.Is(err, fs.ErrPermission):
		detail, want = "may not be read", "give this user the right to read it"
	}
	return &FileError{File: path, Detail: detail, Want: want, Err: err}
}

// Read is Open for a capture that comes from r; name stands for it in errors and in Trace.File. It reads to the end or to
// a limit, keeping the user data in memory and nothing else of the packets.
func Read(ctx context.Context, r io.Reader, name string, cfg Config) (*Trace, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("trace settings: %w", err)
	}
	src, fault := openSource(r)
	if fault != nil {
		fault.File = name
		return nil, fault
	}
	reading := newReading(name, src, cfg)
	if err := reading.run(ctx); err != nil {
		return nil, err
	}
	return reading.finish()
}
