package access

// Rule names a rule that tests switch off, to show what it protects from.
type Rule = rule

// The rules.
const (
	LegRule    = legRule
	ReplayRule = replayRule
	BindRule   = bindRule
	MarkRule   = markRule
	BootRule   = bootRule
	GlareRule  = glareRule
)

// Without is the handler with a rule switched off.
func (h Handler) Without(r Rule) Handler {
	h.without = r
	return h
}

// MaxRing is how many transactions a memory keeps.
const MaxRing = maxRing
