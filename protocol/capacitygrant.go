package protocol

import "time"

// CapacityGrant is CAPACITY-GRANT (section 5.14, gateway to station): it grants capacity, as an
// answer or, when the gateway changes what it granted, as a request that is answered by STATUS.
// Specified, not used by this version of the gateway.
//
//	09 04 VALIDITY           optional, ms
//	8d 01 CAPACITY-KIND      mandatory, not 0
//	8e 04 AMOUNT             mandatory
type CapacityGrant struct {
	Validity time.Duration // how long, 0: until changed
	Kind     CapacityKind  // what is granted
	Amount   uint32        // as in CAPACITY-REQUEST; 0: nothing
}

// Type returns TypeCapacityGrant.
func (CapacityGrant) Type() Type { return TypeCapacityGrant }

func (m CapacityGrant) encode(e *encoder) {
	e.duration(ElementValidity, optional, m.Validity)
	e.number(ElementCapacityKind, nonzero, uint64(m.Kind))
	e.number(ElementAmount, mandatory, uint64(m.Amount))
}

func decodeCapacityGrant(d *decoder) (m CapacityGrant) {
	m.Validity = d.duration(ElementValidity, optional)
	m.Kind = CapacityKind(d.number(ElementCapacityKind, nonzero))
	m.Amount = uint32(d.number(ElementAmount, mandatory))

	return m
}
