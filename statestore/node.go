package statestore

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
)

// SecretLen is the length of the namespace's secret in bytes.
const SecretLen = 32

// Secret is one random key per namespace, made by whoever asks first and the same for all.
func (s *Store) Secret(ctx context.Context) ([SecretLen]byte, error) {
	var secret [SecretLen]byte
	rand.Read(secret[:]) // never fails
	key := s.cfg.Namespace + ":secret"
	if err := s.client.SetNX(ctx, key, secret[:], 0).Err(); err != nil {
		return secret, fmt.Errorf("make the namespace's secret: %w", err)
	}
	there, err := s.client.Get(ctx, key).Bytes()
	if err != nil {
		return secret, fmt.Errorf("read the namespace's secret: %w", err)
	}
	if copy(secret[:], there) != SecretLen || len(there) != SecretLen {
		return secret, fmt.Errorf("the namespace's secret under %s has %d bytes instead of %d", key, len(there), SecretLen)
	}
	return secret, nil
}

// Node is what operators decided about a processor; it outlives the processor.
type Node struct {
	ID      string
	Drained bool // takes no messages until an operator lets it
}

// drained is the value under which a drained node is listed.
const drained = "drained"

// Node reads what was decided about a node; nothing is the zero value with its ID.
func (s *Store) Node(ctx context.Context, id string) (Node, error) {
	nodes, err := s.Nodes(ctx)
	for _, n := range nodes {
		if n.ID == id {
			return n, nil
		}
	}
	return Node{ID: id}, err
}

// Nodes lists all nodes of which something was decided, by id.
func (s *Store) Nodes(ctx context.Context) ([]Node, error) {
	all, err := s.client.HGetAll(ctx, s.cfg.Namespace+":nodes").Result()
	if err != nil {
		return nil, fmt.Errorf("read the state of nodes: %w", err)
	}
	nodes := make([]Node, 0, len(all))
	for id, state := range all {
		nodes = append(nodes, Node{ID: id, Drained: state == drained})
	}
	slices.SortFunc(nodes, func(a, b Node) int { return strings.Compare(a.ID, b.ID) })
	return nodes, nil
}

// SetNode decides whether a node is drained.
func (s *Store) SetNode(ctx context.Context, id string, drain bool) error {
	state := "enabled"
	if drain {
		state = drained
	}
	if err := s.client.HSet(ctx, s.cfg.Namespace+":nodes", id, state).Err(); err != nil {
		return fmt.Errorf("write the state of node %s: %w", id, err)
	}
	return nil
}
