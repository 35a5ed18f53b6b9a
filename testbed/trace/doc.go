// Package trace reads captures into what a replay sends and an inspection shows: associations and user messages.
//
//	pcap, pcapng, gzip          source        records: link type, bytes, time
//	      |
//	Ethernet, SLL, raw IP,      decapsulator  SCTP packets and the addresses they went between
//	VLAN, MPLS, tunnels, UDP         |        (IP fragments: reassembler)
//	      |
//	addresses, ports, tags      tracker       conversations, each with two directions
//	      |
//	TSNs, fragments, streams    assembly      messages, in the order in which each stream's sender sent them
//	      |
//	   Trace  --Inspect-->  Inspection (JSON, text): associations, PPIDs, sessions by key
//
// It reads captures of every kind that was met in the field: started in the middle of an association, taken on an "any"
// interface (each packet twice), with checksums from before transmit offload, reordered, cut short. What can be used is
// used, and Trace.Warnings say what cannot. Memory holds the user data and no packets, within Limits.
//
// # Who is who
//
// Packets belong to an association by addresses, ports and verification tag. INIT and INIT-ACK tell the tags and the
// further addresses of multi-homed ends. Without them the two directions between the same addresses and ports pair up, the
// latest first; a new tag in the same direction is a new association, and so is an INIT after a restart. A packet between
// other addresses belongs to an association with its ports and tag if one address is known or the TSNs go on there.
//
// The client is who sent INIT, or whose COOKIE-ECHO was captured. Else it is the side whose port looks less like a
// server's: ports that IANA gives to signalling over SCTP come before those under 1024, those under 32768, and the rest.
// Else it is who sent the first packet.
//
// # What counts
//
// A TSN counts once, however often it was captured. A chunk with other content under a TSN seen before is left out, as a
// receiver would, and counted as conflicting. A message of which a fragment is missing is left out and counted as
// incomplete. TSNs that a sender gave up (FORWARD-TSN) count as missing like any that was not captured.
package trace
