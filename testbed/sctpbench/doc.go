// Package sctpbench measures what our SCTP costs beside other ways to carry the same messages on the same machine: TCP, UDP,
// pion's SCTP as it comes, and usrsctp.
//
//	open -> keep windows full: a warm-up, then the time that counts -> wait for the rest -> close      a round of one contestant
//	contestants take turns, the order rotating, rounds times; a figure is the median of its rounds
//
// An echo is a message of 128 bytes to a server on loopback and back, at most window of them under way on an association. One
// goroutine an association sends and times, another reads, as the two threads of usrsctp's peer do (testbed/interop). Each
// message bears its number; one that is lost, doubled, cut or out of its turn is an error, not a figure.
//
// What counts is what comes back within a time while all windows are full. A fixed number of messages would measure
// the stragglers: an association that has lost its last packet waits a second and more for the retransmission.
//
// Only one contestant exists at a time, so that none pays for the memory or the timers of another. Ratios are medians of
// the rounds' own ratios, so that what disturbs the machine for longer than a round disturbs both sides of it alike. The heap
// never is smaller than 32 MB, so that the collector takes the same from all of Go.
package sctpbench
