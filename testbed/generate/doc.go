// Package generate writes captures of signalling that never took place, for demonstrations and tests: a clone of the
// project holds no real ones.
//
//	signalling (S1AP, M3UA/ISUP, NGAP, Diameter, H.248, private)   sessions of steps, a Poisson process
//	      |  schedule
//	association   DATA with TSN and SSN, fragments, bundles; handshake, SACKs, repeats, shutdown; CRC32c
//	      |  encapsulate
//	Ethernet, IPv4 or IPv6  -->  pcap or pcapng
//
// # What it is
//
// A seed gives the same bytes on every machine. Associations take turns over the protocols, and each message carries what
// its protocol's session key is read from: UE ids, point codes and circuit, Session-Id, context. Handshakes, verification
// tags, sequence numbers and checksums are right. Now and then a packet comes again after the retransmission time-out,
// messages longer than a packet go in fragments, several messages share a packet, and the private protocol also sends
// unordered ones.
//
// Sessions begin as a Poisson process, independently per association; ring and hold times are exponential. Both are the
// load model of ETSI TS 186 008 (IMS/NGN performance benchmark), with its means of 5 s and 120 s shortened sixtyfold by
// default.
//
// # What it is not
//
// It is no model of an operator's load: measured control-plane traffic of a mobile core is burstier, with longer tails, than
// a Poisson process (Meng et al., IMC 2023, arXiv 2212.13248), and holding times of real calls are not exponential. Nothing
// reacts to anything: no loss, no congestion control, no delay of a satellite hop. Elements that no session key is read from
// hold random bytes, so a dissector may find fault with them.
package generate
