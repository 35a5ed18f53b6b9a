// Package stations plays earth stations against an installation: up to tens of thousands in
// one process, over a few sockets. They log on, call each other, hang up as planned, while
// a processor may be killed and another added; in the end an audit compares what each
// station saw with what the state store holds.
//
//	Start          NATS, Redis, dispatcher here; processors as processes of their own
//	   |
//	 Site          targets, state store, how to kill and add a processor
//	   |
//	 Run           provision -> log on, paced -> calls, killing and adding -> audit -> log off
//	   |              fleet: a protocol/client for each station, an agenda for all that is due
//	 Result        one line of JSON, or a verdict for people
package stations
