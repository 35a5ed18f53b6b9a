package statestore

import (
	"errors"
	"fmt"
	"regexp"
	"time"
)

// Config tells where sessions are kept and how long an operation may take.
type Config struct {
	// URL names the server: redis://[user:password@]host:port[/db], rediss:// for TLS, unix:///path/to/socket. Several hosts separated by commas
	// are the nodes of a Redis Cluster, or sentinels when SentinelMaster is set.
	URL string `env:"URL" yaml:"url"`
	// SentinelMaster is the name of the master that the sentinels in URL watch; empty: URL names the servers themselves.
	SentinelMaster string `env:"SENTINEL_MASTER" yaml:"sentinelMaster"`
	// Namespace is the first part of every key: installations that share a server differ here, so the owner of the configuration sets it for all sections. 1..32 of [A-Za-z0-9_-].
	Namespace string `yaml:"-"`
	// Partitions is the number of hash tags sessions spread over, 1..16384; fixed once a namespace was used.
	Partitions int `env:"PARTITIONS" yaml:"partitions"`
	// Timeout bounds one operation, a pipeline of them included.
	Timeout time.Duration `env:"TIMEOUT" yaml:"timeout"`
	// DialTimeout is how long an operation waits for a server that is away (tried every 5 ms) before it fails. It should be shorter than the
	// dispatcher's first deadline, so that a failing processor says so before it is taken for a stalled one.
	DialTimeout time.Duration `env:"DIAL_TIMEOUT" yaml:"dialTimeout"`
	// ConnectTimeout is how long Open waits for the server.
	ConnectTimeout time.Duration `env:"CONNECT_TIMEOUT" yaml:"connectTimeout"`
}

// DefaultConfig is a server on this machine.
func DefaultConfig() Config {
	return Config{
		URL:            "redis://127.0.0.1:6379",
		Namespace:      "skyring",
		Partitions:     256,
		Timeout:        time.Second,
		DialTimeout:    250 * time.Millisecond,
		ConnectTimeout: 5 * time.Second,
	}
}

// patience is how long an operation may take for who only looks.
const patience = 15 * time.Second

// Patient is the configuration for who only looks, as a verdict does: no station waits for it, and a busy machine is no reason to end
// without one.
func (c Config) Patient() Config {
	c.Timeout = max(c.Timeout, patience)
	return c
}

// Validate reports every fault at once, each by its yaml key.
func (c Config) Validate() error {
	var faults []error
	if _, err := parseURL(c.URL); err != nil {
		faults = append(faults, fmt.Errorf("url: %q %w", redactURL(c.URL), err))
	}
	if !regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`).MatchString(c.Namespace) {
		faults = append(faults, fmt.Errorf("namespace: %q must be 1 to 32 letters, digits, _ or -", c.Namespace))
	}
	if c.Partitions < 1 || c.Partitions > maxPartitions {
		faults = append(faults, fmt.Errorf("partitions: %d must be 1 to %d", c.Partitions, maxPartitions))
	}
	for _, d := range []struct {
		key   string
		value time.Duration
	}{{"timeout", c.Timeout}, {"dialTimeout", c.DialTimeout}, {"connectTimeout", c.ConnectTimeout}} {
		if d.value < time.Millisecond {
			faults = append(faults, fmt.Errorf("%s: %v must be at least 1ms", d.key, d.value))
		}
	}
	return errors.Join(faults...)
}

// maxPartitions is the number of hash slots of a Redis Cluster: more partitions would not spread any further.
const maxPartitions = 16384
