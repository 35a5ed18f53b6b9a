package identity

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Range is a run of station ids, both ends included.
type Range struct{ First, Last uint64 }

// Stations is a set of station ids; the zero value is empty. It never changes and may be shared.
type Stations struct{ ranges []Range } // ascending, with gaps between

const maxRanges = 1024 // of one list; more is a mistake, or an attack

// ParseStations reads a list such as "17,20-4f", or "*" for all. Ids are up to 16 hexadecimal digits, as all of skyring
// writes them, and not 0; order, overlap and case do not matter. The error says which part is wrong.
func ParseStations(text string) (Stations, error) {
	parts := strings.Split(text, ",")
	if len(parts) > maxRanges {
		return Stations{}, fmt.Errorf("%d ranges of stations, at most %d may be", len(parts), maxRanges)
	}
	ranges := make([]Range, 0, len(parts))
	for _, part := range parts {
		r, err := parseRange(part)
		if err != nil {
			return Stations{}, err
		}
		ranges = append(ranges, r)
	}
	return Stations{ranges: merge(ranges)}, nil
}

func parseRange(text string) (Range, error) {
	if text == "*" {
		return Range{First: 1, Last: math.MaxUint64}, nil
	}
	low, high, isRange := strings.Cut(text, "-")
	first, err := parseID(low)
	if err != nil || !isRange {
		return Range{First: first, Last: first}, err
	}
	last, err := parseID(high)
	if err != nil {
		return Range{}, err
	}
	if last < first {
		return Range{}, fmt.Errorf("stations %q: %x is less than %x", text, last, first)
	}
	return Range{First: first, Last: last}, nil
}

const idDigits = 16 // of a station's id, hexadecimal

func parseID(text string) (uint64, error) {
	id, err := strconv.ParseUint(text, 16, 64)
	switch {
	case err != nil || text[0] == '+' || len(text) > idDigits:
		return 0, fmt.Errorf("station %q: want 1 to %d hexadecimal digits, a range such as 17-4f, or *", text, idDigits)
	case id == 0:
		return 0, errors.New("station 0 names all stations and none speaks for it: want 1 or above")
	}
	return id, nil
}

func merge(ranges []Range) []Range {
	slices.SortFunc(ranges, func(a, b Range) int {
		if a.First < b.First {
			return -1
		}
		return 1
	})
	merged := ranges[:1]
	for _, r := range ranges[1:] {
		last := &merged[len(merged)-1]
		if r.First-1 <= last.Last { // First is never 0
			last.Last = max(last.Last, r.Last)
		} else {
			merged = append(merged, r)
		}
	}
	return slices.Clip(merged)
}

// Allows reports whether a station is of the set. Station 0 never is: it names all, and only gateways use it.
func (s Stations) Allows(station uint64) bool {
	i, exact := slices.BinarySearchFunc(s.ranges, station, func(r Range, id uint64) int {
		switch {
		case r.Last < id:
			return -1
		case r.First > id:
			return 1
		}
		return 0
	})
	return exact && i < len(s.ranges)
}

// Empty reports whether no station is of the set.
func (s Stations) Empty() bool { return len(s.ranges) == 0 }

// Equal reports whether two sets hold the same stations.
func (s Stations) Equal(other Stations) bool { return slices.Equal(s.ranges, other.ranges) }

// String is the shortest list that ParseStations reads the set from, "none" for the empty one.
func (s Stations) String() string {
	if s.Empty() {
		return "none"
	}
	var parts []string
	for _, r := range s.ranges {
		switch {
		case r == Range{First: 1, Last: math.MaxUint64}:
			return "*"
		case r.First == r.Last:
			parts = append(parts, strconv.FormatUint(r.First, 16))
		default:
			parts = append(parts, strconv.FormatUint(r.First, 16)+"-"+strconv.FormatUint(r.Last, 16))
		}
	}
	return strings.Join(parts, ",")
}
