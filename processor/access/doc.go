// Package access keeps the records of stations: who may log on, where a station is, which calls it has, and what it asked and was answered. It gives
// a station its say in calls, and their say to it. It is pure: time, secret and source of each message are arguments.
//
//	           LOGON-AUTH, proven                LOGON-ACK, or any word from the leg
//	off ------------------------> await-ack --------------------------------------> logged-on <----.
//	 ^  ^                              |  tA12, sent 4 times                            |          |  any word
//	 |  |                              v                                                v  tG6     |  from the leg
//	 |  '-------------------------- suspect <--------------------------------------------          |
//	 |      fade is over               '-----------------------------------------------------------'
//	 |
//	 |  LOGOFF-ACK, or silence                    barred while on
//	 '-------------------------- logging-off <------------------------- await-ack, logged-on, suspect
//
// A LOGON-AUTH that is proven leads to await-ack from everywhere; LOGOFF-REQUEST leads to off from where the station is on. A station that is barred
// is in barred where it would be off.
//
// Rules that are kept here, by the numbers under which tests name them:
//
// R3, legs. Messages from an association that is not the leg get ERROR "not logged on" and change nothing; when the leg is newer the association is
// aborted. LOGON-REQUEST gets a challenge that is good for this station, on this association, for a minute, and once; until it is answered by the
// station's key nothing is written. So nobody can mute a station or speak for it from another association.
//
// R4, transactions. A request is known by boot nonce, call reference and sequence. One that is remembered is answered as before; one that is not, but
// is at or under the mark of its call reference, gets STATUS. Neither is done again. HEARTBEAT and log-on need no memory; what is refused with ERROR,
// or is about a call that is not there, has no effect that could come twice.
//
// The gateway's requests to a station are repeated until the station responds, at most Config.Sends times; the call is told when it never does. A
// station that logs on anew with the same boot nonce keeps its calls, and what it had not responded to is sent to its new leg.
//
// A station that is silent for tG6 is asked whether it is there, and suspect until it speaks. Its calls stay up, since a fade looks the same; when it
// stays silent for Config.Fade it is off.
package access
