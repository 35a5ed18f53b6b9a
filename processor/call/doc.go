// Package call has the records of calls and of channel pools: what happens to a call from CALL-SETUP until nothing is left of it. Everything here
// is pure: a record, an input and a time give a new record and effects, which the processor commits together.
//
//	         Setup            OfferResult        both Allocated      one locked        both locked, CALL-ALERT
//	idle ----------> requested ---------(asks pools)---------> assigned ------> locking ----------------------> alerting
//	                     |                                        |                |                               |
//	                     |  refused, no channel, time is over,    |                |  CALL-CONNECT, both locked    | CALL-CONNECT
//	                     |  a station releases or is gone         |                v                               v
//	                     +--------------------------+-------------+------------ active <---------------------------+
//	                                                v                              |
//	                          disconnecting <------------- DISCONNECT, ... --------+
//	                                v
//	                            releasing         RELEASE, RELEASE-COMPLETE with each station, Free and Freed with each pool
//	                                v
//	                              ended           a tombstone
//
// Each side of a call goes through the release for itself, as ITU-T Q.931 section 5.3 has it; the call's state tells how far the slower one is. A
// station that is gone needs none. The first who releases gives the call its cause; what comes later changes nothing.
//
// A channel is asked of the pool of a side's beam once the called station's record took the offer, and nothing is assigned before both are there. It is
// given back when its station can not use it any more: at once when it was never assigned, else when its side's release is done or given up. An
// allocation that is answered after the release began is given back like any other: timers end waiting, they never free (R7).
//
// When both sides are released, one CDR is written, and with the last Freed the record becomes a tombstone.
package call
