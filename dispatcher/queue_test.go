package dispatcher_test

import (
	"testing"

	"skyring/dispatcher"
)

func TestQueueKeepsOrderBoundsAndEnd(t *testing.T) {
	const limit = 100

	q := dispatcher.NewQueue(limit)

	next, expect := uint64(0), uint64(0)
	take := func() {
		t.Helper()

		if n, more := q.Take(); !more || n != expect {
			t.Fatalf("%d, %t: not %d", n, more, expect)
		}

		expect++
	}

	for round := range 20 {
		for next < expect+limit {
			if !q.Put(next) {
				t.Fatalf("%d does not fit in round %d", next, round)
			}

			next++
		}

		if q.Put(next) {
			t.Fatalf("%d fits in round %d", next, round)
		}

		for range 1 + round*5%limit {
			take()
		}
	}

	q.Close()

	if q.Put(next) {
		t.Error("a closed queue takes more")
	}

	for expect < next {
		take()
	}

	if _, more := q.Take(); more {
		t.Error("there is more than was put in")
	}
}
