package protocol

// CapacityRequest is CAPACITY-REQUEST (section 5.13, station to gateway): it asks for capacity
// outside of calls. Answered by CAPACITY-GRANT, ERROR or OVERLOAD. Specified, not used by this
// version of the gateway.
//
//	8d 01 CAPACITY-KIND      mandatory, not 0
//	8e 04 AMOUNT             mandatory
type CapacityRequest struct {
	Kind   CapacityKind // what is asked for
	Amount uint32       // bit/s, or bytes for CapacityVolume; 0 gives back what is held of the kind
}

// Type returns TypeCapacityRequest.
func (CapacityRequest) Type() Type { return TypeCapacityRequest }

func (m CapacityRequest) encode(e *encoder) {
	e.number(ElementCapacityKind, nonzero, uint64(m.Kind))
	e.number(ElementAmount, mandatory, uint64(m.Amount))
}

func decodeCapacityRequest(d *decoder) (m CapacityRequest) {
	m.Kind = CapacityKind(d.number(ElementCapacityKind, nonzero))
	m.Amount = uint32(d.number(ElementAmount, mandatory))

	return m
}

// CapacityKind is what capacity is asked for, after DVB-RCS2 (EN 301 545-2).
type CapacityKind uint8

// The kinds of capacity.
const (
	CapacityConstant CapacityKind = 1 // constant rate (CRA)
	CapacityRate     CapacityKind = 2 // rate as long as it is used (RBDC)
	CapacityVolume   CapacityKind = 3 // a volume, once (VBDC)
	maxCapacityKind               = CapacityVolume
)
