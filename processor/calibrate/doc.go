// Package calibrate measures the capacity of a processor: how many messages a second it sustains with 99 of 100 answers in time.
//
//	generator: an association for each session, messages at a given rate whether answers come or not
//	   | frames (NATS)             ^ answers: time from when the message was to be sent
//	processor: the real one, with the real handlers ---> Redis, in a namespace of its own
//
//	search: 500/s, 1000/s, 2000/s ... until a round fails; then between the last two; then the best one for longer
//
// Messages are a half ledger's (200 bytes each, of S1AP's payload protocol), a quarter CAPACITY-REQUEST and a quarter HEARTBEAT of stations that logged
// on before; the first two commit a record, a heartbeat commits next to never. Time is that of the sender: a message that is sent late because the
// generator lags counts from when it was due, so that a stall does not hide what waited for it.
//
// What it says is a lower bound: generator and NATS run on the machine too.
package calibrate
