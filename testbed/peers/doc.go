// Command peers measures our ring next to eight public modules that place keys on nodes, in one process and on the same
// keys: `make bench-ring`. It is a Go module of its own, so that the product's go.mod stays clean.
//
//	go run . [-nodes 16,64,1000] [-rounds 25] [-raw]
//
// Standard output has a JSON object for each row, as `skyring bench ring --json`; standard error has the table, with
// look-ups as multiples of ours.
//
// # What is compared
//
// Each module is used as its own documentation shows, with its own defaults (virtual nodes, hash) where it has any; where the hash is the
// caller's, it is the one that we use. All are given the key's bytes: go-jump, which takes a number, its hash. Locks that a
// module takes at a look-up are part of it. Capacities are honoured by serialx/hashring (weights), by go-zero (percent) and by ours.
package main
