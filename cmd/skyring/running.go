package main

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// runningHelp tells, in the --help of commands that take --redis, what they do without.
const runningHelp = `

Without --redis it takes the Redis of the configuration, or that of a running 'skyring up' on this machine.`

// runningLook is how long a look for a running 'skyring up' may take.
const runningLook = 250 * time.Millisecond

// redisFlag adds --redis to a command that works on the state store.
func redisFlag(cmd *cobra.Command, into *string) {
	cmd.Flags().StringVar(into, "redis", "",
		"URL of the Redis server: redis://host:port, unix:///path (default: the configuration's, or that of a running 'skyring up')")
}

// runningStore is the URL of the private redis-server of a 'skyring up' that keeps its
// data in dir, if somebody listens on its socket, else otherwise.
func runningStore(dir, otherwise string) string {
	socket := filepath.Join(dir, "redis.sock")
	if !listens("unix", socket) {
		return otherwise
	}

	return (&url.URL{Scheme: "unix", Path: socket}).String()
}

// runningNATS is the URL of the NATS server of a 'skyring up' that keeps its data in dir,
// if that server is there, else otherwise.
func runningNATS(dir, otherwise string) string {
	text, err := os.ReadFile(filepath.Join(dir, natsFile))
	if err != nil {
		return otherwise
	}

	address := strings.TrimSpace(string(text))
	if u, err := url.Parse(address); err != nil || !listens("tcp", u.Host) {
		return otherwise
	}

	return address
}

// listens tells that somebody does at an address; a file that a killed process left does not.
func listens(network, address string) bool {
	conn, err := net.DialTimeout(network, address, runningLook) //nolint:noctx // it is short, and there is no context yet
	if err != nil {
		return false
	}

	_ = conn.Close() // nothing was said

	return true
}

// natsFile holds the URL of NATS in the directory of 'skyring up'.
const natsFile = "nats.url"

// announceNATS writes down where NATS is, for commands on this machine, and returns what removes
// that again.
func announceNATS(dir, address string) (forget func() error, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("write down where NATS is: %w", err)
	}

	path := filepath.Join(dir, natsFile)
	if err := os.WriteFile(path, []byte(address+"\n"), 0o600); err != nil {
		return nil, fmt.Errorf("write down where NATS is: %w", err)
	}

	return func() error {
		if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
			return err
		}

		return nil
	}, nil
}
