package bus

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Config is how a process reaches NATS.
type Config struct {
	URL             string        `env:"URL"              yaml:"url"`             // nats://[user:password@]host:port, tls://...; several with commas
	ConnectTimeout  time.Duration `env:"CONNECT_TIMEOUT"  yaml:"connectTimeout"`  // how long Connect tries
	ReconnectWait   time.Duration `env:"RECONNECT_WAIT"   yaml:"reconnectWait"`   // between tries of a lost connection; as much again at random
	PingInterval    time.Duration `env:"PING_INTERVAL"    yaml:"pingInterval"`    // a silent server is given up after three
	PendingMessages int           `env:"PENDING_MESSAGES" yaml:"pendingMessages"` // received and not yet handled, a subscription; more are dropped
	PendingBytes    int           `env:"PENDING_BYTES"    yaml:"pendingBytes"`    // the same in bytes
}

// DefaultConfig is a server on this machine and the study's times.
func DefaultConfig() Config {
	return Config{
		URL:             "nats://127.0.0.1:4222",
		ConnectTimeout:  10 * time.Second,
		ReconnectWait:   50 * time.Millisecond,
		PingInterval:    2 * time.Second,
		PendingMessages: 1 << 18,
		PendingBytes:    128 << 20,
	}
}

// Validate names every key that is wrong and what would be right.
func (c Config) Validate() error {
	return errors.Join(
		validateURLs(c.URL),
		positive("connectTimeout", c.ConnectTimeout),
		positive("reconnectWait", c.ReconnectWait),
		positive("pingInterval", c.PingInterval),
		atLeast("pendingMessages", c.PendingMessages, 1024),
		atLeast("pendingBytes", c.PendingBytes, 1<<20),
	)
}

func validateURLs(list string) error {
	for one := range strings.SplitSeq(list, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil || u.Host == "" {
			return fmt.Errorf("url: %q is no address of a NATS server: nats://host:port is right", redact(one))
		}

		switch u.Scheme {
		case "nats", "tls", "ws", "wss":
		default:
			return fmt.Errorf("url: scheme %q: nats, tls, ws or wss is right", u.Scheme)
		}
	}

	return nil
}

// redact hides the passwords of a list of URLs: it goes into errors and logs.
func redact(list string) string {
	parts := strings.Split(list, ",")
	for i, one := range parts {
		if u, err := url.Parse(strings.TrimSpace(one)); err == nil {
			parts[i] = u.Redacted()

			continue
		}

		if _, host, ok := strings.Cut(one, "@"); ok {
			parts[i] = "...@" + host
		}
	}

	return strings.Join(parts, ",")
}

func positive(name string, d time.Duration) error {
	if d <= 0 {
		return fmt.Errorf("%s: %s: more than 0s is right", name, d)
	}

	return nil
}

func atLeast(name string, n, least int) error {
	if n < least {
		return fmt.Errorf("%s: %d: at least %d is right", name, n, least)
	}

	return nil
}
