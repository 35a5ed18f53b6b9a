package key

// Identifier octets of BER (X.690 section 8.1.2) on the way to a context id. H.248's
// module has automatic tags: implicit, but explicit around a CHOICE.
const (
	berSequence     = 0x30
	berPrimitive0   = 0x80
	berConstructed0 = 0xA0
	berConstructed1 = 0xA1
	berConstructed2 = 0xA2
	berConstructed  = 0x20 // bit of all constructed values
	berLongTag      = 0x1F // these bits all set: the tag goes on
	berIndefinite   = 0x80 // length octet of a value that two zero octets end
	berMaxDepth     = 32   // indefinite values within each other; H.248 needs fewer
)

// berContext returns the first specific context id of a message in BER (H.248.1 annex A):
//
//	MegacoMessage  SEQUENCE { authHeader [0] OPTIONAL, mess [1] }
//	Message        SEQUENCE { version [0], mId [1], messageBody [2] CHOICE { messageError [0], transactions [1] SEQUENCE OF } }
//	Transaction    CHOICE { request [0], pending [1], reply [2], responseAck [3], ... }
//	request        SEQUENCE { transactionId [0], actions [1] SEQUENCE OF SEQUENCE { contextId [0] INTEGER, ... } }
//	reply          SEQUENCE { transactionId [0], immAck [1] OPTIONAL, result [2] CHOICE { error [0], actionReplies [1] as actions } }
func berContext(payload []byte) (context uint32, found bool, fault Fault) {
	message, fault := berMessage(payload)
	if fault != errNone {
		return 0, false, fault
	}

	transactions, fault := berPath(message, berConstructed1, berConstructed2, berConstructed1)
	for len(transactions) > 0 && fault == errNone {
		var transaction element

		transaction, transactions, fault = berNext(transactions, 0)
		if fault != errNone {
			break
		}

		context, found, fault = transactionContext(transaction)
		if found || fault != errNone {
			return context, found, fault
		}
	}

	return 0, false, fault
}

// berMessage returns the contents of the one value that a message is.
func berMessage(payload []byte) ([]byte, Fault) {
	e, rest, fault := berNext(payload, 0)
	if fault == errNone && len(rest) > 0 {
		fault = errH248Rest
	}

	return e.contents, fault
}

// transactionContext returns the first specific context id of a transaction.
func transactionContext(transaction element) (context uint32, found bool, fault Fault) {
	var actions []byte

	switch transaction.tag {
	case berConstructed0:
		actions, fault = berPath(transaction.contents, berConstructed1)
	case berConstructed2:
		actions, fault = berPath(transaction.contents, berConstructed2, berConstructed1)
	}

	for len(actions) > 0 && fault == errNone {
		var action, id element

		action, actions, fault = berNext(actions, 0)
		if fault != errNone {
			break
		}

		id, _, fault = berNext(action.contents, 0)
		if fault != errNone {
			break
		}

		context, fault = contextInteger(id)
		if fault == errNone && specific(context) {
			return context, true, errNone
		}
	}

	return 0, false, fault
}

// contextInteger reads a context id: the contents of an INTEGER of 0..2^32-1.
func contextInteger(id element) (uint32, Fault) {
	b := id.contents
	if id.tag != berPrimitive0 {
		return 0, errH248Tag
	}

	if len(b) == 0 || b[0] >= 0x80 || len(b) > 5 || len(b) == 5 && b[0] != 0 {
		return 0, errH248Number
	}

	var v uint64
	for _, c := range b {
		v = v<<8 | uint64(c)
	}

	return uint32(v), errNone
}

// berPath goes down through contents by tags and returns the contents of the last, nil
// where a value on the way is missing.
func berPath(contents []byte, tags ...byte) ([]byte, Fault) {
	for _, tag := range tags {
		var e element

		for e.tag != tag {
			if len(contents) == 0 {
				return nil, errNone
			}

			var fault Fault
			if e, contents, fault = berNext(contents, 0); fault != errNone {
				return nil, fault
			}
		}

		contents = e.contents
	}

	return contents, errNone
}

// element is one value in BER.
type element struct {
	tag      byte // first identifier octet
	contents []byte
}

// berNext reads the value at the start of b and returns what follows it. depth counts
// the indefinite values around it.
func berNext(b []byte, depth int) (e element, rest []byte, fault Fault) {
	head, fault := berIdentifier(b)
	if fault != errNone {
		return element{}, nil, fault
	}

	e.tag = b[0]
	b = b[head:]

	if len(b) == 0 {
		return element{}, nil, errH248Length
	}

	if b[0] == berIndefinite {
		if e.tag&berConstructed == 0 || depth >= berMaxDepth {
			return element{}, nil, errH248Length
		}

		e.contents, rest, fault = berUntilEnd(b[1:], depth+1)

		return e, rest, fault
	}

	size, head, fault := berLength(b)
	if fault != errNone {
		return element{}, nil, fault
	}

	b = b[head:]

	return element{tag: e.tag, contents: b[:size]}, b[size:], errNone
}

// berIdentifier returns how many octets the identifier at the start of b has.
func berIdentifier(b []byte) (int, Fault) {
	if len(b) == 0 {
		return 0, errH248Tag
	}

	if b[0]&berLongTag != berLongTag {
		return 1, errNone
	}

	for i := 1; i < len(b) && i <= 5; i++ {
		if b[i] < 0x80 {
			return i + 1, errNone
		}
	}

	return 0, errH248Tag
}

// berLength returns the length at the start of b, which is definite, and how many
// octets it has itself. The length is within b.
func berLength(b []byte) (size, head int, fault Fault) {
	size, head = int(b[0]), 1

	if size >= 0x80 {
		head += size & 0x7F
		size = 0

		if head > 5 || head > len(b) {
			return 0, 0, errH248Length
		}

		for _, c := range b[1:head] {
			size = size<<8 | int(c)
		}
	}

	if size > len(b)-head {
		return 0, 0, errH248Length
	}

	return size, head, errNone
}

// berUntilEnd returns what is before the end-of-contents octets of an indefinite value,
// and what is behind them.
func berUntilEnd(b []byte, depth int) (contents, rest []byte, fault Fault) {
	for at := b; ; {
		if len(at) >= 2 && at[0] == 0 && at[1] == 0 {
			return b[:len(b)-len(at)], at[2:], errNone
		}

		if len(at) == 0 {
			return nil, nil, errH248Length
		}

		if _, at, fault = berNext(at, depth); fault != errNone {
			return nil, nil, fault
		}
	}
}
