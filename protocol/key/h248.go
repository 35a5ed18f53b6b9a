package key

// Context ids that name no context (H.248.1 annex A, ContextID): the null context,
// CHOOSE ("$" in text) and ALL ("*").
const (
	contextNull   = 0
	contextChoose = 0xFFFFFFFE
	contextAll    = 0xFFFFFFFF
)

// appendH248 appends the key of an H.248 message (ITU-T H.248.1, RFC 3525; PPID 7): its
// association and the first context it names by number. A message that names none (all
// contexts, the null context, one yet to be chosen, no transaction at all) belongs to
// the association. Both encodings are read: text begins with MEGACO, its short form "!"
// or an authentication header, BER with the tag of a SEQUENCE.
func appendH248(dst []byte, association uint64, payload []byte) ([]byte, Fault) {
	var (
		context uint32
		found   bool
		fault   Fault
	)

	if len(payload) > 0 && payload[0] == berSequence {
		context, found, fault = berContext(payload)
	} else {
		context, found, fault = textContext(payload)
	}

	if fault != errNone {
		return nil, fault
	}

	if !found {
		return Association(dst, association), errNone
	}

	return appendNumbered(dst, KindH248, association, context), errNone
}

// specific tells whether a context id names one context.
func specific(context uint32) bool {
	return context != contextNull && context != contextChoose && context != contextAll
}
