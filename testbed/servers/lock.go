package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lockPatience is how long a directory may stay locked by a server that is just
// ending, such as the child of a process that was killed a moment ago.
const lockPatience = 2 * time.Second

// lockDir takes the directory for one server. The lock belongs to the open file, so
// that the child, which inherits it, holds it too, and is free when both are gone
// (flock(2)); a stale file never blocks.
func lockDir(ctx context.Context, dir string) (*os.File, error) {
	path := filepath.Join(dir, redisLockFile)

	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the directory of redis-server: %w", err)
	}

	if err := waitLock(ctx, file); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
	}

	return file, nil
}

func waitLock(ctx context.Context, file *os.File) error {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()

	deadline := time.Now().Add(lockPatience)

	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil || !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}

		if time.Now().After(deadline) {
			return fmt.Errorf("a redis-server already runs in this directory%s: stop it, or choose another directory", pidIn(filepath.Dir(file.Name())))
		}

		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// pidIn is the process that the directory's pid file names, as an addition to an
// error: empty where there is none.
func pidIn(dir string) string {
	pid, err := os.ReadFile(filepath.Join(dir, redisPidFile))
	if err != nil {
		return ""
	}

	return fmt.Sprintf(" (process %s, says %s)", trimLine(pid), redisPidFile)
}
