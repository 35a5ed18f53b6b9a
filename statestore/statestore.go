package statestore

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/rs/zerolog"
	"github.com/zeebo/xxh3"
)

// poolSize is no number of connections: one exists per operation that runs at a time. It is how many failed dials the client's pool stands
// before it refuses everything for a second, so it is far above what an outage brings.
const poolSize = 4096

// Store keeps sessions in Redis. It may be used by many goroutines.
type Store struct {
	// static after Open
	cfg     Config
	client  redis.UniversalClient
	scripts scripts
	log     zerolog.Logger
}

// Open connects, waiting up to ConnectTimeout for the server, and checks that the server fits: its version, and that the namespace is
// partitioned as configured. Errors are sentences for the operator. What is legal but may lose sessions is logged, see Check.
func Open(ctx context.Context, cfg Config, log zerolog.Logger) (*Store, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("state store: %w", err)
	}
	t, err := parseURL(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("state store: url: %w", err)
	}
	redis.SetLogger(clientLog{log})
	s := &Store{cfg: cfg, client: redis.NewUniversalClient(options(cfg, t)), scripts: newScripts(), log: log}
	if err := s.prepare(ctx, t); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	for _, w := range s.Check(ctx) {
		log.Warn().Str("server", t.String()).Msg(string(w))
	}
	return s, nil
}

func (s *Store) prepare(ctx context.Context, t target) error {
	if err := s.connect(ctx, t); err != nil {
		return err
	}
	if err := s.checkVersion(ctx, t); err != nil {
		return err
	}
	return s.checkPartitions(ctx)
}

// Close ends the connections. Operations that run fail.
func (s *Store) Close() error {
	if err := s.client.Close(); err != nil {
		return fmt.Errorf("close state store: %w", err)
	}
	return nil
}

func options(cfg Config, t target) *redis.UniversalOptions {
	return &redis.UniversalOptions{
		Addrs:                 t.addrs,
		MasterName:            cfg.SentinelMaster,
		DB:                    t.options.DB,
		Username:              t.options.Username,
		Password:              t.options.Password,
		TLSConfig:             t.options.TLSConfig,
		Dialer:                dialer{tls: t.options.TLSConfig}.dial,
		Protocol:              2,
		MaxRetries:            -1, // a retry inside the client could run a commit twice
		DialTimeout:           cfg.DialTimeout,
		DialerRetries:         1, // ours
		ReadTimeout:           cfg.Timeout,
		WriteTimeout:          cfg.Timeout,
		ContextTimeoutEnabled: true,
		PoolSize:              poolSize,
		DisableIdentity:       true,
		MaintNotificationsConfig: &maintnotifications.Config{
			Mode: maintnotifications.ModeDisabled,
		},
	}
}

// Partition is that of a session, 0 <= p < Config.Partitions.
func (s *Store) Partition(key []byte) int { return int(xxh3.Hash(key) % uint64(s.cfg.Partitions)) }

// Partitions is how many there are.
func (s *Store) Partitions() int { return s.cfg.Partitions }

// Suffixes of keys that a partition has beside its sessions.
const (
	dueIndex     = ":due"   // sorted set of session keys by their earliest timer
	pendingIndex = ":out"   // sorted set of session keys by when to look after their outbox
	leaseName    = ":lease" // who runs timers and outboxes
	cdrStream    = ":cdr"
	cdrCount     = ":cdr:n"
)

// partitionKey is "<namespace>:{<partition>}<suffix>".
func (s *Store) partitionKey(partition int, suffix string) string {
	return s.cfg.Namespace + ":{" + strconv.Itoa(partition) + "}" + suffix
}

// redisKey is "<namespace>:{<partition>}:s:<session key>".
func (s *Store) redisKey(key []byte) string {
	b := make([]byte, 0, len(s.cfg.Namespace)+len(key)+16)
	b = append(b, s.cfg.Namespace...)
	b = append(b, ":{"...)
	b = strconv.AppendInt(b, int64(s.Partition(key)), 10)
	b = append(b, "}:s:"...)
	return string(append(b, key...))
}

// clientLog passes what the client library has to say; it is about connections and of interest when something is debugged.
type clientLog struct{ log zerolog.Logger }

func (l clientLog) Printf(_ context.Context, format string, v ...any) {
	l.log.Debug().Msgf(format, v...)
}
