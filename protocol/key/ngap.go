package key

// appendNGAP appends the key of an NGAP message (3GPP TS 38.413, PPID 60): association
// and RAN UE NGAP ID. Messages without one (setup, paging, reset, overload, HANDOVER
// REQUEST, which the node has yet to number) belong to the association.
//
//	RAN-UE-NGAP-ID ::= INTEGER (0..4294967295)   element 85     AMF-UE-NGAP-ID ::= INTEGER (0..1099511627775)
//	UE-NGAP-IDs: 2 bits of choice, the pair's extension and optional bit, 3 bits of length   element 114
func appendNGAP(dst []byte, association uint64, payload []byte) ([]byte, Fault) {
	a := application{
		kind: KindNGAP, faults: perFaults,
		ranID: 85, ranSize: 4,
		ids: 114, pairMask: 0xC0, pairBits: 0,
		coreAt: 4, coreBits: 3, coreSize: 5,
	}

	return a.append(dst, association, payload)
}
