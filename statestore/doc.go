// Package statestore keeps sessions in Redis, so that processors need no state of their own. It is the only package that speaks to Redis.
//
// A session is one string value: a [Record] with a stamp in front. Every change is one run of one script on the server, which looks at the
// clock and at the stamp before it writes:
//
//	processor                                     Redis
//	  Load(key) ------------------- GET ------------> record, stamp 41
//	  ... applies messages, record -> record' ...
//	  Commit(key, expect 41, record', expiry) ------> script:
//	                                                    TIME >= expiry             Expired      nothing written
//	                                                    stamp of the value != 41   Conflict     what is there comes back
//	                                                    no value at all            Absent
//	                                                    else SET value PX ttl      Written      stamp 42
//	  no answer (connection lost, time-out) <-------  Unknown: it may have been written or not
//
// Nothing is locked: of racing writers exactly one is Written, the others get the winner's record with their refusal and apply again.
//
// Time is always the server's (TIME in the script), in microseconds since the Unix epoch: clocks of processors decide nothing.
//
// A session with timers, an outbox or call data records is committed by a longer script that also writes the sorted sets of its partition by which
// such sessions are found ([Store.Due], [Store.Pending]), and the partition's stream of call data records ([Store.CDRs]), all at once. Whoever
// runs what they list leases the partition ([Store.Lease]) to spare others the work.
//
// Names of keys: "<namespace>:{<partition>}:s:<session key>". The partition is a hash of the session key; its braces make it a Redis Cluster
// hash tag, so that everything of a partition lives in one slot. The number of partitions is fixed when the namespace is first used.
package statestore
