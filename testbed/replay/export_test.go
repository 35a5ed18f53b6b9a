package replay

import (
	"time"

	"skyring/protocol/receipt"
	"skyring/testbed/trace"
)

// RefusedAfterReceipt has a receipt come for a message that the association then refuses.
func RefusedAfterReceipt(m *trace.Message, r receipt.Receipt) (sent, unsent, acknowledged, unexpected uint64) {
	j := newJournal([]*trace.Message{m})
	j.sending(0, m.Stream, time.Now())
	j.receipt(r)
	j.refused(0, m.Stream)
	j.finish()
	t := j.counts()

	return t.sent, t.unsent, t.acknowledged, t.unexpected
}
