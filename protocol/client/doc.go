// Package client is a station's side of ESSP, the earth-station signalling protocol
// (docs/essp.md), for makers of terminals and for the testbed. A Client logs a station on
// with one of several dispatchers, keeps it logged on, and sets up and takes calls.
//
//	 caller          Listener
//	   |  Call, Answer   ^  LoggedOn, Announced, Connected, Cleared
//	   v                 |
//	+-------------------------+       +-----------------------------------+
//	| Client   Run            | step  | machine: pure                     |
//	|   timer, effects ------------->|   log-on      off ... logged on    |
//	|                         |<------------  transactions, repeated      |
//	+-----------|-------------+ effects   calls    requested ... active   |
//	            | link                +-----------------------------------+
//	            v one association at a time
//	   protocol/transport: SCTP
//
// The machine decides: it takes a message, an act of the caller or the passing of time,
// with the time and a random number as arguments, and says what to send, to dial and to
// tell. The Client does that. Two goroutines run for a station, whatever it does.
//
// When an association ends, or the gateway is silent, the client associates with the next
// target, after a random back-off, and logs on with the same boot nonce: calls stay up, and
// requests that have no answer are sent again with their sequence.
package client
