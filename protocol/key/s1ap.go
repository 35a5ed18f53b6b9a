package key

// appendS1AP appends the key of an S1AP message (3GPP TS 36.413, PPID 18): association
// and eNB UE S1AP ID. Messages without one (setup, paging, reset, overload, HANDOVER
// REQUEST, which the eNB has yet to number) belong to the association.
//
//	ENB-UE-S1AP-ID ::= INTEGER (0..16777215)   element 8     MME-UE-S1AP-ID ::= INTEGER (0..4294967295)
//	UE-S1AP-IDs: extension bit, 1 bit of choice, the pair's extension and optional bit, 2 bits of length   element 99
func appendS1AP(dst []byte, association uint64, payload []byte) ([]byte, Fault) {
	a := application{
		kind: KindS1AP, faults: 0,
		ranID: 8, ranSize: 3,
		ids: 99, pairMask: 0xC0, pairBits: 0,
		coreAt: 4, coreBits: 2, coreSize: 4,
	}

	return a.append(dst, association, payload)
}
