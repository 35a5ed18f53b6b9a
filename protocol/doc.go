// Package protocol is the codec of ESSP, the earth-station signalling protocol: how
// stations log on to a gateway and call each other. docs/essp.md is its specification;
// section numbers in this package are that document's.
//
//	+---------+------+----------+-------+--------+------+------------+----------+
//	| version | type | priority | flags | length | call |  station   | sequence |   header, 20 bytes
//	|   (1)   | (1)  |   (1)    |  (1)  |  (2)   | (2)  |    (8)     |   (4)    |
//	+---------+------+----------+-------+--------+------+------------+----------+
//	| element | length | value    ...   |   elements, in ascending order of their type
//	|  (1)    |  (1)   |                |
//	+---------+--------+----------------+
//
// The codec is strict and canonical: each message has one encoding, Decode takes no
// other, and Append writes no message that Decode refuses. Decode keeps nothing of the
// bytes it reads, does not panic whatever they are, and names element and offset of what
// is wrong. Only elements that this version does not know are passed over, and only when
// their type allows it.
//
// There is one struct a message, in a file of its own. Messages are plain values: they
// can be compared, copied and sent to other goroutines.
//
// Nothing here has state, a clock or a socket: what a message does is told by the state
// machines in processor/access and processor/call, and by protocol/client for stations.
package protocol
