// Package key tells which session a signalling message belongs to: the key under which
// it is dispatched, kept in order and stored.
//
//	PPID  protocol   message                       key
//	  3   M3UA       DATA of ISUP                  sorted point codes, circuit
//	                 DATA of SCCP                  sorted point codes, link selection
//	                 DATA of another user          sorted point codes, service indicator, link selection
//	  7   H.248      names a context               association, context id
//	 18   S1AP       names a UE of the eNB         association, eNB UE S1AP ID
//	 46   Diameter   has a Session-Id              Session-Id
//	 60   NGAP       names a UE of the NG-RAN      association, RAN UE NGAP ID
//	ESSP  ESSP       any, of one station           station
//	any   all else                                 association
//
// Ids that a peer chose itself hold on its association alone, so those keys contain the
// association's number; point codes and Session-Ids are the network's. Both directions
// of a session have the same key.
//
// Calls and channel pools are sessions too, whose keys no message has: they hear from
// stations' sessions and from each other.
//
// A key is a byte of Kind and fields of fixed size, big-endian (a Session-Id as it is),
// at most MaxLen bytes. Messages are read no further than to the key, in place, without
// an allocation, and every length is checked against what is there: what does not fit
// is a Fault that names the field, and the message belongs to its association.
//
//	+------+------------------+----------+
//	| Kind | association (8)  |  id (4)  |   S1AP, NGAP, H.248
//	+------+---------+--------++---------+
//	| Kind | low (4) | high (4) | ...     |   ISUP: circuit (2); SCCP: selection (1); others: indicator, selection (1, 1)
//	+------+------+--+----------+---------+
//	| Kind | form | Session-Id or its hash |   Diameter
//	+------+------+----+-------------------+
//	| Kind | station (8) |                       station
//	+------+-------------+----------+---------+--------+
//	| Kind | station (8) | boot (8) | ref (2) | seq (4)|   call
//	+------+----------+--+----------+---------+--------+
//	| Kind | beam (2) |                          pool
//	+------+----------+
//
// Sources are named beside each protocol: RFC 4666, Q.704, Q.763 (m3ua.go), H.248.1 and
// X.690 (h248*.go), X.691 (per.go), TS 36.413, TS 38.413, RFC 6733, docs/essp.md section 3.
package key
