package key

// text reads H.248's text encoding (H.248.1 annex B.2) token by token, as far as it
// takes to find the contexts: braces, quoted strings, the octet strings of Local and
// Remote descriptors, comments.
type text struct {
	rest  []byte
	depth int // braces open
}

// textContext returns the first specific context id of a message in text:
//
//	MEGACO/1 [192.0.2.1]:2944 Transaction = 9998 { Context = 17 { ... }, Context = $ { ... } }
//	!/1 <mg.example> P=9998{C=17{...}}
//
// A context stands at depth 1 and nowhere else, which tells it from the "c=" of a session
// description.
func textContext(payload []byte) (context uint32, found bool, fault Fault) {
	t := text{rest: payload}
	if !t.start() {
		return 0, false, errH248Start
	}

	for {
		token, fault := t.next()

		switch {
		case fault != errNone:
			return 0, false, fault
		case token == nil && t.depth == 0:
			return 0, false, errNone
		case token == nil:
			return 0, false, errH248Braces
		case t.depth == 1 && isToken(token, "CONTEXT", "C") && t.take('='):
			context, found, fault = t.contextID()
			if found || fault != errNone {
				return context, found, fault
			}
		case isToken(token, "LOCAL", "L"), isToken(token, "REMOTE", "R"):
			if t.take('{') && !t.octetString() {
				return 0, false, errH248Text
			}
		}
	}
}

// start passes over the header's first token and tells whether there is one.
func (t *text) start() bool {
	t.space()

	if len(t.rest) > 0 && t.rest[0] == '!' {
		t.rest = t.rest[1:]

		return t.take('/')
	}

	word := t.word()
	if len(word) > len("MEGACO/") && equalFold(word[:len("MEGACO/")], "MEGACO/") {
		return true
	}

	return isToken(word, "AUTHENTICATION", "AU") && t.take('=')
}

// next returns the next word, nil at the end, and keeps count of the braces on the way.
func (t *text) next() ([]byte, Fault) {
	for {
		t.space()

		if len(t.rest) == 0 {
			return nil, errNone
		}

		switch c := t.rest[0]; {
		case c == '{':
			t.depth++
		case c == '}':
			t.depth--
			if t.depth < 0 {
				return nil, errH248Braces
			}
		case c == '"':
			if !t.quoted() {
				return nil, errH248Text
			}

			continue
		case isWord(c):
			return t.word(), errNone
		}

		t.rest = t.rest[1:]
	}
}

// contextID reads what follows "Context =": a number, or "$", "-" or "*", which are not
// specific.
func (t *text) contextID() (context uint32, found bool, fault Fault) {
	t.space()

	if len(t.rest) > 0 && (t.rest[0] == '$' || t.rest[0] == '-' || t.rest[0] == '*') {
		return 0, false, errNone
	}

	digits := t.word()
	if len(digits) == 0 {
		return 0, false, errH248Number
	}

	var number uint64

	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false, errH248Number
		}

		number = number*10 + uint64(c-'0')
		if number > contextAll {
			return 0, false, errH248Context
		}
	}

	if len(t.rest) == 0 { // the number may have been cut
		return 0, false, errH248Braces
	}

	return uint32(number), specific(uint32(number)), errNone
}

// take passes over white space and one character, if that comes next.
func (t *text) take(c byte) bool {
	t.space()

	if len(t.rest) == 0 || t.rest[0] != c {
		return false
	}

	t.rest = t.rest[1:]

	return true
}

// space passes over LWSP: white space, line ends and comments.
func (t *text) space() {
	for len(t.rest) > 0 {
		switch t.rest[0] {
		case ' ', '\t', '\r', '\n':
			t.rest = t.rest[1:]
		case ';':
			for len(t.rest) > 0 && t.rest[0] != '\r' && t.rest[0] != '\n' {
				t.rest = t.rest[1:]
			}
		default:
			return
		}
	}
}

// word passes over the longest run of word characters and returns it.
func (t *text) word() []byte {
	n := 0
	for n < len(t.rest) && isWord(t.rest[n]) {
		n++
	}

	w := t.rest[:n]
	t.rest = t.rest[n:]

	return w
}

// quoted passes over a quoted string, whose first character is next. It has no escapes.
func (t *text) quoted() bool {
	for i, c := range t.rest[1:] {
		if c == '"' {
			t.rest = t.rest[i+2:]

			return true
		}
	}

	return false
}

// octetString passes over an octet string and the brace that ends it; "\}" within does not.
func (t *text) octetString() bool {
	for i, c := range t.rest {
		if c == '}' && (i == 0 || t.rest[i-1] != '\\') {
			t.rest = t.rest[i+1:]

			return true
		}
	}

	return false
}

// isWord tells the characters of tokens, names and numbers.
func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '/' || c == '.'
}

// isToken tells whether a word is a token in its long or short form, in any case.
func isToken(word []byte, long, short string) bool {
	return equalFold(word, long) || equalFold(word, short)
}

// equalFold compares with an upper-case token.
func equalFold(word []byte, token string) bool {
	if len(word) != len(token) {
		return false
	}

	for i, c := range word {
		if c >= 'a' && c <= 'z' {
			c -= 'a' - 'A'
		}

		if c != token[i] {
			return false
		}
	}

	return true
}
