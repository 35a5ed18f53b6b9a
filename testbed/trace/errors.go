package trace

import "errors"

// Why nothing of a file can be used; errors.Is finds them in a *FileError.
var (
	ErrDirectory  = errors.New("a directory")
	ErrEmpty      = errors.New("empty")
	ErrNotCapture = errors.New("not a capture")
	ErrCutShort   = errors.New("cut short")
	ErrDamaged    = errors.New("damaged")
	ErrLinkType   = errors.New("unknown link type")
	ErrNoSCTP     = errors.New("no SCTP")
)

// FileError says in a sentence what is wrong with a file, where, and what would be right.
type FileError struct {
	File   string // as the caller named it
	Detail string // what was found and where
	Want   string // what would be right
	Err    error  // one of the errors above, or the system's
}

func (e *FileError) Error() string { return e.File + " " + e.Detail + ": " + e.Want }

// Unwrap gives the reason.
func (e *FileError) Unwrap() error { return e.Err }
