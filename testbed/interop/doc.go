// Package interop drives an SCTP peer that shares no code with protocol/transport: peer/peer.c on usrsctp, in a process
// of its own. Its tests hold protocol/transport to interoperate with it, both ways; a benchmark may set the two side by
// side.
//
//	test --Start--> peer (C, usrsctp)
//	  | \__ commands: send, echo, shutdown, abort; events: up, message, closed ... __/ |
//	protocol/transport ------------- UDP on loopback, through testbed/link or not -----
package interop
