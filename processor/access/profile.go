package access

import (
	"errors"
	"fmt"
	"slices"

	"skyring/processor/body"
	"skyring/protocol"
)

// KeySize is the length of a station's key in bytes.
const KeySize = 32

// Profile is a station's entry in the station table.
type Profile struct {
	Key         [KeySize]byte // shared with the station; proves who it is
	Class       uint8         // 0: any
	Beams       []protocol.Beam
	MaxCalls    uint8 // calls at once; 0: none at all
	MaxPriority protocol.Priority
	Barred      bool

	unknown string
}

// errKey refuses a key that anybody can guess.
var errKey = errors.New("key: 32 bytes that are not all 0 are right")

// Validate reports every fault at once.
func (p Profile) Validate() error {
	var faults []error
	if p.Key == ([KeySize]byte{}) {
		faults = append(faults, errKey)
	}
	if p.MaxPriority > protocol.MaxPriority {
		faults = append(faults, fmt.Errorf("highest priority: %d must be from 0 to %d", uint8(p.MaxPriority), uint8(protocol.MaxPriority)))
	}
	if len(p.Beams) == 0 {
		faults = append(faults, errors.New("beams: at least one is right"))
	}
	return errors.Join(faults...)
}

func (p *Profile) serves(beam protocol.Beam) bool { return slices.Contains(p.Beams, beam) }

func (p *Profile) isOf(class uint8) bool { return p.Class == 0 || p.Class == class }

//	message Profile {
//	  bytes key = 1;  uint32 class = 2;  repeated uint32 beams = 3 [packed = false];  uint32 max_calls = 4;  uint32 max_priority = 5;  bool barred = 6;
//	}
func (p *Profile) append(dst []byte) []byte {
	dst = body.AppendMessage(dst, 1, p.Key[:])
	dst = body.AppendVarint(dst, 2, uint64(p.Class))
	for _, beam := range p.Beams {
		dst = appendElement(dst, 3, uint64(beam))
	}
	dst = body.AppendVarint(dst, 4, uint64(p.MaxCalls))
	dst = body.AppendVarint(dst, 5, uint64(p.MaxPriority))
	dst = body.AppendBool(dst, 6, p.Barred)
	return append(dst, p.unknown...)
}

func (p *Profile) field(f body.Field) (known bool, err error) {
	switch f.Number {
	case 1:
		var b []byte
		b, err = f.Bytes()
		if err == nil && len(b) != KeySize {
			err = fmt.Errorf("%w: station key of %d bytes", body.ErrMalformed, len(b))
		}
		copy(p.Key[:], b)
	case 2:
		p.Class, err = f.Uint8()
	case 3:
		var beam uint16
		beam, err = f.Uint16()
		p.Beams = append(p.Beams, protocol.Beam(beam))
	case 4:
		p.MaxCalls, err = f.Uint8()
	case 5:
		var v uint8
		v, err = f.Uint8()
		p.MaxPriority = protocol.Priority(v)
	case 6:
		p.Barred, err = f.Bool()
	default:
		return false, nil
	}
	return true, err
}
