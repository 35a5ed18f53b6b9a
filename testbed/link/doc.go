// Package link emulates a bad link: a UDP relay between clients and a target that delays packets, loses, doubles and
// reorders them, goes dark for a while, has little bandwidth, and changes the port that the target sees, as a NAT does.
//
//	clients            one socket                    a socket for each client        target
//	  A ----\                                              /---- port a ----\
//	  B ----- Listen -- decide -- agenda -- one timer -- <                   ---- Target
//	  C ----/            (both ways)                       \---- port c ----/
//
// What becomes of a packet is decided by a pure core (decide.go): by the seed, the direction, which client it is of (in
// the order in which they first spoke), and which packet of that client it is. So the same seed loses the same packets of
// a client again, whatever the other clients do. The shell (emulator.go) reads sockets and keeps one agenda with one
// timer; there is a goroutine for each client, and none for a packet.
//
// All is bounded: the clients, and the bytes under way. What is dropped counts under its Reason.
package link
