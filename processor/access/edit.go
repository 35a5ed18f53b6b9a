package access

import (
	"fmt"
)

// NewStation is the body of a new entry of the station table: a station that is off, or barred. Errors are Profile.Validate's. The entry must be
// written as a record that is kept; a record without body, which a call to an unknown station leaves behind for a while, counts as none.
func NewStation(p Profile) ([]byte, error) {
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("station: %w", err)
	}
	s := Station{Profile: p}
	s.settle()
	return s.Append(nil), nil
}

// SetProfile is body with another profile. A station that is on stays on: what it may do and whom it may call is told by the new profile from now
// on, and the new key is asked for at its next log-on. When it is barred and on, it is told so at its next message, or at once when whoever writes
// the record arms TimerProfile. Errors are Profile.Validate's, or that the body is no station.
func SetProfile(body []byte, p Profile) ([]byte, error) {
	if err := p.Validate(); err != nil {
		return nil, fmt.Errorf("station: %w", err)
	}
	s, err := Decode(body)
	if err != nil {
		return nil, err
	}
	p.unknown = s.Profile.unknown
	s.Profile = p
	s.settle()
	return s.Append(nil), nil
}

// Bar is body with the station barred, as SetProfile would.
func Bar(body []byte) ([]byte, error) { return edit(body, func(p *Profile) { p.Barred = true }) }

// Unbar is body with the station not barred any more.
func Unbar(body []byte) ([]byte, error) { return edit(body, func(p *Profile) { p.Barred = false }) }

func edit(body []byte, change func(*Profile)) ([]byte, error) {
	s, err := Decode(body)
	if err != nil {
		return nil, err
	}
	p := s.Profile
	change(&p)
	return SetProfile(body, p)
}

// settle makes the state of a station that is not on fit its profile.
func (s *Station) settle() {
	switch {
	case s.State == Off && s.Profile.Barred:
		s.State = Barred
	case s.State == Barred && !s.Profile.Barred:
		s.State = Off
	}
}
