// Package transport carries messages over SCTP, encapsulated in UDP (RFC 9260, RFC 6951). It stands between the stations'
// network and the dispatcher, and is the only package that knows pion/sctp.
//
// pion implements the data transfer of one association: TSNs, SACKs, retransmission, congestion. Everything that a server
// on the open network needs around it is here: the handshake with a stateless cookie, many associations on one port, the
// check of tags, ports and checksums, heartbeats and the dead peer, restarts, port changes, and an answer to what belongs
// to nobody. After the handshake pion is started as if it had done it (its SNAP option).
//
//	            Link (UDP socket)
//	                 |  one goroutine reads
//	     header, CRC32c, first chunk ...................... demux.go
//	      /          |             \
//	   INIT     tag is ours      nobody's
//	COOKIE-ECHO      |               \
//	    |            |           ABORT or silence ......... outoftheblue.go
//	cookie.go    filter.go
//	restart.go   own chunks answered: HEARTBEAT, ABORT .... heartbeat.go, close.go
//	    |        chunks that pion cannot take are stripped
//	    |        lanes: stream id and U bit -> pion stream .. lane.go
//	    |            |
//	    |          inbox .................................. inbox.go, conn.go
//	    |            |
//	    +--------> pion/sctp
//	                 |  a goroutine for each stream in use
//	             Receive(deliver)        Send ............. receive.go, window.go, send.go
//	                 \                   /
//	                     the dispatcher
//
// A deliver that blocks lets pion's buffer fill, so the window closes and the peer's Send blocks in turn: nothing in this
// package grows without a bound, and every packet or chunk that is dropped counts under its reason (Stats).
//
// Who ends planned has what was acknowledged delivered first: Refuse, Pause, and Resume where the peer's unsent rest is
// wanted too, then Close (pause.go). The gate for that lies before the inbox.
//
// Every association ends with a *CloseError that says why.
//
// # Several addresses, and restarts
//
// A peer may name further addresses in INIT or INIT-ACK. Packets from there are taken if they bear the tag; ours go there
// when the address has answered a heartbeat, and the one before is late in answering (paths.go). Its UDP port may change
// too. We name no address of our own.
//
// A restart is known by address, SCTP ports and UDP port, so that two stations behind one NAT are told apart. One that
// comes back behind another port is a new association, and the old one is asked at once whether it is there still
// (registry.go).
package transport
