package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// temporaryLock is the file in a temporary directory that its process holds locked.
const temporaryLock = "skyring.lock"

// staleAge is how old a temporary directory is at least before its lock says anything: a younger one may
// belong to a process that is about to take it.
const staleAge = time.Minute

// temporary is a directory that ends with the process: remove removes it, and when the process was
// killed, the next temporaryDir does. It is locked (flock(2)) as long as the process lives.
type temporary struct {
	path string
	lock *os.File
}

// temporaryDir makes a directory in root, whose name begins with prefix, and removes those that processes
// left there that do not live any more.
func temporaryDir(root, prefix string, now time.Time) (*temporary, error) {
	removeStale(root, prefix, now.Add(-staleAge))

	path, err := os.MkdirTemp(root, prefix)
	if err != nil {
		return nil, fmt.Errorf("make a temporary directory: %w", err)
	}

	lock, err := lockFile(filepath.Join(path, temporaryLock))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), os.RemoveAll(path))
	}

	return &temporary{path: path, lock: lock}, nil
}

func (t *temporary) remove() error { return errors.Join(os.RemoveAll(t.path), t.lock.Close()) }

// lockFile makes the file and locks it; EWOULDBLOCK: another process lives.
func lockFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}

	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, file.Close())
	}

	return file, nil
}

// removeStale removes the user's directories that were last changed before a time and whose process is gone.
// It is tidying up: what cannot be removed stays.
func removeStale(root, prefix string, before time.Time) {
	found, _ := filepath.Glob(filepath.Join(root, prefix+"*")) // fails for a bad pattern only

	for _, path := range found {
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() || info.ModTime().After(before) || !ownedByUser(info) {
			continue
		}

		lock, err := lockFile(filepath.Join(path, temporaryLock))
		if err != nil {
			continue
		}

		_ = os.RemoveAll(path)
		_ = lock.Close()
	}
}

func ownedByUser(info os.FileInfo) bool {
	owner, ok := info.Sys().(*syscall.Stat_t)

	return ok && int(owner.Uid) == os.Getuid()
}
