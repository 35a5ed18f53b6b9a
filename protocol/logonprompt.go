package protocol

// LogonPrompt is LOGON-PROMPT (section 5.7, gateway to station): it asks a station that the
// gateway does not know as logged on to log on: after a restart of the gateway, or when it heard
// from a station that is not. A notice: it has no answer of its own.
//
// It has no elements.
type LogonPrompt struct{}

// Type returns TypeLogonPrompt.
func (LogonPrompt) Type() Type { return TypeLogonPrompt }

func (LogonPrompt) encode(*encoder) {}
