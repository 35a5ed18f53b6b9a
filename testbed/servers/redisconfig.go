package servers

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// maxSocketPath is the longest path of a unix socket in bytes: sun_path holds 108
// with the closing zero (unix(7)).
const maxSocketPath = 107

// ErrNoRedisServer means that no redis-server is installed: none on PATH.
var ErrNoRedisServer = errors.New("redis-server is not installed (not found on PATH)")

// RedisConfig says where a private redis-server keeps its data and listens.
type RedisConfig struct {
	// Dir holds data, log, lock and socket; it is made (mode 0700) when missing.
	// Relative paths are taken from the working directory.
	Dir string
	// Socket is the path of the unix socket to listen on, at most 107 bytes. Empty:
	// redis.sock in Dir, or a free loopback port where that path would be too long.
	Socket string
	// Port listens on 127.0.0.1 at this TCP port, 1..65535, in place of a socket. 0: Socket.
	Port int
	// AppendFsync is when writes reach the disk: "always", "everysec" (the last second
	// may be lost with the machine) or "no" (when the system likes).
	AppendFsync string
	// Binary is the program to run. Empty: redis-server from PATH.
	Binary string
	// ReadyTimeout bounds the wait for the first answer, loading of the data not counted.
	ReadyTimeout time.Duration
	// StopTimeout is how long it may take to end by itself before it is killed.
	StopTimeout time.Duration
}

// DefaultRedisConfig is a server on a unix socket in dir that writes its data every
// second.
func DefaultRedisConfig(dir string) RedisConfig {
	return RedisConfig{
		Dir:          dir,
		AppendFsync:  "everysec",
		ReadyTimeout: 10 * time.Second,
		StopTimeout:  10 * time.Second,
	}
}

// Validate names every setting that cannot work.
func (c RedisConfig) Validate() error {
	var faults []error

	if c.Dir == "" {
		faults = append(faults, errors.New("dir: is empty, want the directory that keeps the data"))
	}

	if len(c.Socket) > maxSocketPath {
		faults = append(faults, fmt.Errorf("socket: %q has %d bytes, a unix socket's path holds at most %d: use a shorter path or a port",
			c.Socket, len(c.Socket), maxSocketPath))
	}

	if c.Port < 0 || c.Port > 65535 {
		faults = append(faults, fmt.Errorf("port: %d, want 0 (unix socket) to 65535", c.Port))
	}

	if c.Socket != "" && c.Port != 0 {
		faults = append(faults, errors.New("socket and port: both are set, want one"))
	}

	switch c.AppendFsync {
	case "always", "everysec", "no":
	default:
		faults = append(faults, fmt.Errorf("appendFsync: %q, want always, everysec or no", c.AppendFsync))
	}

	if c.ReadyTimeout <= 0 || c.StopTimeout <= 0 {
		faults = append(faults, errors.New("readyTimeout and stopTimeout: want more than 0"))
	}

	return errors.Join(faults...)
}

// redisAddress is where a server listens.
type redisAddress struct {
	network string // "unix" or "tcp"
	address string
}

// listenAddress decides where to listen: what cfg asks for, else redis.sock in dir,
// else a free port because dir's path is too long for a socket.
func (c RedisConfig) listenAddress(dir string) (redisAddress, error) {
	if c.Port != 0 {
		return redisAddress{"tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(c.Port))}, nil
	}

	socket := c.Socket
	if socket == "" {
		socket = filepath.Join(dir, "redis.sock")
	}

	if len(socket) <= maxSocketPath {
		return redisAddress{"unix", socket}, nil
	}

	port, err := freePort()
	if err != nil {
		return redisAddress{}, err
	}

	return redisAddress{"tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}, nil
}

func (a redisAddress) url() string {
	if a.network == "unix" {
		return (&url.URL{Scheme: "unix", Path: a.address}).String()
	}

	return "redis://" + a.address
}

// arguments are the command line for these settings: no file is read, so nothing
// of the machine's own redis.conf applies.
func (c RedisConfig) arguments(dir string, at redisAddress) []string {
	args := []string{
		"--dir", dir,
		"--daemonize", "no",
		"--pidfile", filepath.Join(dir, redisPidFile),
		"--logfile", "",
		"--appendonly", "yes",
		"--appendfsync", c.AppendFsync,
		"--save", "",
	}
	if at.network == "unix" {
		return append(args, "--port", "0", "--unixsocket", at.address, "--unixsocketperm", "700")
	}

	_, port, _ := net.SplitHostPort(at.address)

	return append(args, "--bind", "127.0.0.1", "--port", port)
}

// makeDir makes the directory and returns its absolute path.
func (c RedisConfig) makeDir() (string, error) {
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return "", fmt.Errorf("find the directory %s: %w", c.Dir, err)
	}

	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make the directory of redis-server: %w", err)
	}

	return dir, ownDir(dir)
}

// ownDir refuses a directory that belongs to another user, who could change what the server reads in it.
func ownDir(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("look at the directory of redis-server: %w", err)
	}

	if status, ok := info.Sys().(*syscall.Stat_t); ok && int(status.Uid) != os.Geteuid() {
		return fmt.Errorf("the directory %s belongs to another user (%d): choose another directory", dir, status.Uid)
	}

	return nil
}

// freePort asks the system for a TCP port that is free on loopback now.
func freePort() (int, error) {
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return 0, fmt.Errorf("find a free TCP port: %w", err)
	}

	addr, ok := listener.Addr().(*net.TCPAddr)
	if err := listener.Close(); err != nil {
		return 0, fmt.Errorf("find a free TCP port: %w", err)
	}

	if !ok {
		return 0, fmt.Errorf("find a free TCP port: %v is no TCP address", listener.Addr())
	}

	return addr.Port, nil
}
