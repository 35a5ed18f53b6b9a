package gauge

import (
	"math"
	"time"
)

// responseShare is an answer's weight in the smoothed response: 1 in so many (RFC 6298).
const responseShare = 8

// Response is how long a node takes to answer, smoothed exponentially. The zero value knows nothing yet.
type Response struct {
	mean     time.Duration
	variance float64 // in seconds squared, smoothed likewise
}

// Took takes in how long an answer took, from when it was sent to the node until it was there.
func (r *Response) Took(d time.Duration) {
	if r.mean == 0 {
		r.mean = d

		return
	}

	off := (d - r.mean).Seconds()
	r.variance += (off*off - r.variance) / responseShare
	r.mean += (d - r.mean) / responseShare
}

// Mean is the smoothed response, 0: nothing was answered yet.
func (r *Response) Mean() time.Duration { return r.mean }

// Deviation is its standard deviation.
func (r *Response) Deviation() time.Duration {
	return time.Duration(math.Sqrt(r.variance) * float64(time.Second))
}
