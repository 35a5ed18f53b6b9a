//go:build race

package transport_test

// raced tells that the race detector slows all down.
const raced = true
