package protocol

import "time"

// Overload is OVERLOAD (section 5.29, gateway to station): it tells stations to send fewer new
// requests (section 12). As a response: the request was not served and may be sent again later.
//
//	05 04 RETRY-AFTER        optional, ms
//	09 04 VALIDITY           optional, ms
//	8c 01 LEVEL              mandatory
type Overload struct {
	RetryAfter time.Duration // not before, 0: the back-off of section 6.3
	Validity   time.Duration // how long the level holds, 0: only for the request answered
	Level      uint8         // percentage of new requests not to send, 0 to MaxLevel; 0 ends it
}

// Type returns TypeOverload.
func (Overload) Type() Type { return TypeOverload }

func (m Overload) encode(e *encoder) {
	e.duration(ElementRetryAfter, optional, m.RetryAfter)
	e.duration(ElementValidity, optional, m.Validity)
	e.number(ElementLevel, mandatory, uint64(m.Level))
}

func decodeOverload(d *decoder) (m Overload) {
	m.RetryAfter = d.duration(ElementRetryAfter, optional)
	m.Validity = d.duration(ElementValidity, optional)
	m.Level = uint8(d.number(ElementLevel, mandatory))

	return m
}

// MaxLevel is the level of OVERLOAD at which no new request is to be sent.
const MaxLevel = 100
