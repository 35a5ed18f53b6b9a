// Package interop drives an SCTP peer that shares no code with protocol/transport: peer/peer.c on usrsctp, in a process
// of its own. Its tests hold protocol/transport to interoperate with it, both ways; a benchmark may set the two side by
// side.
//
//	test --Start--> peer (C, usrsctp)
//	  | \__ commands: send, echo, shutdown, abort; events: up, message, closed ... __/ |
//	protocol/transport ------------- UDP on loopback, through testbed/link or not -----
//
// With the tag interopkernel the same cases, and some more, run against the SCTP of a Linux kernel, which package kernel boots
// in a virtual machine: UDP through a NAT, UDP on cables, and IP protocol 132 on cables. That takes root, and 10 to 20 minutes.
package interop
