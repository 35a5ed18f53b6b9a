package servers_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"skyring/testbed/servers"
)

// TestDirectoryOfAnotherUser is refused, and what is made is for the user alone.
func TestDirectoryOfAnotherUser(t *testing.T) {
	t.Parallel()

	dir := filepath.Join(t.TempDir(), "made")

	r, err := servers.StartRedis(t.Context(), servers.DefaultRedisConfig(dir))
	if err != nil {
		t.Fatal(err)
	}

	if err := r.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}

	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v: want the mode 0700", info, err)
	}

	if os.Getuid() != 0 {
		t.Skip("only root can give a directory away")
	}

	if err := os.Chown(dir, 1, 1); err != nil {
		t.Fatal(err)
	}

	if _, err := servers.StartRedis(t.Context(), servers.DefaultRedisConfig(dir)); err == nil || !strings.Contains(err.Error(), "belongs to another user") {
		t.Errorf("error %v in a directory of another user", err)
	}
}
