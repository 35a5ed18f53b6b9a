package statestore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Weight is the capacity that an operator gave a node, in messages a second, and how far the node has followed. It outlives the node's process.
type Weight struct {
	Target     uint32 `json:"target"`
	Announced  uint32 `json:"announced"`  // to dispatchers
	Configured uint32 `json:"configured"` // what the node's configuration said when the operator decided
	Changed    int64  `json:"changed"`    // when Announced was changed last; us, Redis time
}

// Weight reads what was decided about a node's capacity; nothing is the zero value.
func (s *Store) Weight(ctx context.Context, id string) (Weight, error) {
	var w Weight
	text, err := s.client.HGet(ctx, s.weights(), id).Bytes()
	if errors.Is(err, redis.Nil) {
		return w, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &w)
	}
	if err != nil {
		return Weight{}, fmt.Errorf("read the capacity of node %s: %w", id, err)
	}
	return w, nil
}

// SetWeight keeps what was decided about a node's capacity, or how far the node has followed.
func (s *Store) SetWeight(ctx context.Context, id string, w Weight) error {
	text, err := json.Marshal(w)
	if err == nil {
		err = s.client.HSet(ctx, s.weights(), id, text).Err()
	}
	if err != nil {
		return fmt.Errorf("write the capacity of node %s: %w", id, err)
	}
	return nil
}

// weights is a hash of its own, since older processors read all of that of the drained nodes.
func (s *Store) weights() string { return s.cfg.Namespace + ":weights" }
