package statestore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// connectRetry is the pause between two tries of Open.
const connectRetry = 20 * time.Millisecond

// connect waits until the server answers. What waiting can not heal ends it at once.
func (s *Store) connect(ctx context.Context, t target) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.ConnectTimeout)
	defer cancel()
	var sentence error
	for {
		err := s.client.Ping(ctx).Err()
		if err == nil {
			return nil
		}
		if sentence == nil || !errors.Is(err, context.DeadlineExceeded) { // an attempt cut short says less than the one before
			var final bool
			if sentence, final = explain(err, t); final {
				return sentence
			}
		}
		pause := time.NewTimer(connectRetry)
		select {
		case <-ctx.Done():
			pause.Stop()
			return fmt.Errorf("waited %v: %w", s.cfg.ConnectTimeout, sentence)
		case <-pause.C:
		}
	}
}

// explain makes a sentence of a failed first contact, and tells whether another try is useless.
func explain(err error, t target) (sentence error, final bool) {
	var header tls.RecordHeaderError
	var certificate *tls.CertificateVerificationError
	var dns *net.DNSError
	switch {
	case errors.As(err, &header):
		return fmt.Errorf("the server at %s does not speak TLS: use redis:// instead of rediss://, or its TLS port", t), true
	case errors.As(err, &certificate):
		return fmt.Errorf("the certificate of the Redis server at %s is not trusted: %w", t, err), true
	case redis.IsAuthError(err):
		return fmt.Errorf("the Redis server at %s does not accept the user or password in the url, or wants one: %w", t, err), true
	case redis.HasErrorPrefix(err, "LOADING"):
		return fmt.Errorf("the Redis server at %s is still loading its data", t), false
	case strings.Contains(err.Error(), "DB index"):
		return fmt.Errorf("the Redis server at %s has no database %d, which the url names: %w", t, t.options.DB, err), true
	case isRefusal(err):
		return fmt.Errorf("the Redis server at %s refuses the connection: %w", t, err), true
	case errors.As(err, &dns):
		return fmt.Errorf("the name of the Redis server %s can not be resolved: %w", t, err), false
	case errors.Is(err, errHandshake):
		return fmt.Errorf("the server at %s does not finish a TLS handshake; if it does not speak TLS, use redis:// instead of rediss://: %w", t, err), false
	case isDial(err):
		return fmt.Errorf("no Redis server answers at %s: %w; start one (redis-server), or set the url", t, err), false
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("the Redis server at %s does not answer: %w", t, err), false
	default:
		return fmt.Errorf("what listens at %s does not answer as Redis does (a TLS port needs rediss://): %w", t, err), false
	}
}

// isRefusal tells whether a server answered with an error that does not pass by itself.
func isRefusal(err error) bool {
	if _, reply := errors.AsType[redis.Error](err); !reply {
		return false
	}
	for _, passing := range []string{"BUSY", "CLUSTERDOWN", "MASTERDOWN", "READONLY", "TRYAGAIN", "max number of clients", "ERR max number of clients"} {
		if redis.HasErrorPrefix(err, passing) {
			return false
		}
	}
	return true
}

func isDial(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// checkVersion refuses servers too old for what the scripts rely on. The in-memory stand-in tells no version.
func (s *Store) checkVersion(ctx context.Context, t target) error {
	info, err := s.client.Info(ctx, "server").Result()
	if err != nil {
		s.log.Debug().Err(err).Msg("server tells no version")
		return nil
	}
	for line := range strings.Lines(info) {
		v, found := strings.CutPrefix(strings.TrimSpace(line), "redis_version:")
		if !found {
			continue
		}
		var major, minor int
		if _, err := fmt.Sscanf(v, "%d.%d", &major, &minor); err == nil && (major < 6 || major == 6 && minor < 2) {
			return fmt.Errorf("the Redis server at %s is version %s, 6.2 or newer is needed", t, v)
		}
	}
	return nil
}

// checkPartitions makes the first user of a namespace fix its number of partitions: two programs that differ would look for one session under
// two keys and apply its messages twice.
func (s *Store) checkPartitions(ctx context.Context) error {
	key := s.cfg.Namespace + ":partitions"
	if err := s.client.SetNX(ctx, key, s.cfg.Partitions, 0).Err(); err != nil {
		return fmt.Errorf("write to the state store: %w", err)
	}
	n, err := s.client.Get(ctx, key).Int()
	if err != nil {
		return fmt.Errorf("read %s: %w", key, err)
	}
	if n != s.cfg.Partitions {
		return fmt.Errorf("partitions: namespace %s was made with %d, the configuration says %d; use %d, or another namespace",
			s.cfg.Namespace, n, s.cfg.Partitions, n)
	}
	return nil
}
