package transport

import (
	"github.com/pion/logging"
	"github.com/rs/zerolog"
)

// pionLogger is pion's way into our log. What pion calls an error is a peer's packet that it dropped or an association
// that ended, which the endpoint tells itself; so all of it is for debugging.
type pionLogger struct{ log zerolog.Logger }

// NewLogger implements logging.LoggerFactory.
func (l *pionLogger) NewLogger(string) logging.LeveledLogger { return l } //nolint:ireturn // pion's interface

func (*pionLogger) Trace(string)          {}
func (*pionLogger) Tracef(string, ...any) {}
func (*pionLogger) Debug(string)          {}
func (*pionLogger) Debugf(string, ...any) {}
func (l *pionLogger) Info(msg string)     { l.log.Debug().Msg(msg) }
func (l *pionLogger) Warn(msg string)     { l.log.Debug().Msg(msg) }
func (l *pionLogger) Error(msg string)    { l.log.Debug().Msg(msg) }

func (l *pionLogger) Infof(format string, args ...any)  { l.log.Debug().Msgf(format, args...) }
func (l *pionLogger) Warnf(format string, args ...any)  { l.log.Debug().Msgf(format, args...) }
func (l *pionLogger) Errorf(format string, args ...any) { l.log.Debug().Msgf(format, args...) }
