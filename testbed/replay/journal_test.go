package replay_test

import (
	"testing"

	"skyring/protocol/receipt"
	"skyring/testbed/replay"
	"skyring/testbed/trace"
)

// A receipt for a message that the association then refused is a lie, and stays one.
func TestReceiptForARefusedMessage(t *testing.T) {
	for _, unordered := range []bool{false, true} {
		m := &trace.Message{PPID: 3, Unordered: unordered, Payload: []byte("never handed over")}
		sent, unsent, acknowledged, unexpected := replay.RefusedAfterReceipt(m, receipt.Receipt{
			Unordered: unordered, Status: receipt.Committed, Ordinal: 1, Hash: receipt.Hash(m.Payload),
		})

		if sent != 0 || unsent != 1 || acknowledged != 0 || unexpected != 1 {
			t.Errorf("unordered %v: sent %d, unsent %d, acknowledged %d, unexpected %d", unordered, sent, unsent, acknowledged, unexpected)
		}
	}
}
