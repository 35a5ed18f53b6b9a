package replay

// Judgement is a verdict in a word.
type Judgement string

// The judgements.
const (
	Good       Judgement = "good"       // every message took effect once and in order
	Bad        Judgement = "bad"        // a message was lost, doubled or out of order, or the store holds other than that
	Incomplete Judgement = "incomplete" // the replay did not come to its end
	Unknown    Judgement = "unknown"    // neither receipts nor a ledger tell: nothing can be judged
)

// Verdict says what became of the messages that were sent. Its JSON form is what other
// programs read; null is what was not measured.
type Verdict struct {
	// Judgement sums it up.
	Judgement Judgement `json:"judgement"`
	// Reason says why the judgement is Incomplete or Unknown.
	Reason string `json:"reason,omitempty"`

	// Sent counts the messages handed to associations.
	Sent uint64 `json:"sent"`
	// Acknowledged counts those that are committed: by receipt, or by the ledger where the target sends none.
	Acknowledged uint64 `json:"acknowledged"`
	// Lost counts the others, Sent less Acknowledged, where all was waited for that could come.
	Lost uint64 `json:"lost"`
	// Unanswered counts those of which nothing is known, since the judgement is Incomplete or Unknown.
	Unanswered uint64 `json:"unanswered"`
	// Doubled counts receipts for a message that had one; without receipts, messages that the ledger holds beyond what was
	// sent.
	Doubled uint64 `json:"doubled"`
	// OutOfOrder counts receipts that came after that of a later message of the same session and stream.
	OutOfOrder uint64 `json:"outOfOrder"`
	// LedgerDiffers counts the sessions that the store holds other than they were sent, or not, or too many.
	LedgerDiffers uint64 `json:"ledgerDiffers"`
	// Sessions counts the sessions that the messages belong to.
	Sessions uint64 `json:"sessions"`

	// PPID counts the sent messages by payload protocol.
	PPID map[uint32]uint64 `json:"ppid"`
	// Nodes counts the messages that each processor committed, by the ledger; nil without.
	Nodes map[string]uint64 `json:"nodes"`
	// Latency is the time from sending to receipt; nil without receipts.
	Latency *Latency `json:"latency"`
	// Seconds is the time from the start to the last message sent or answered.
	Seconds float64 `json:"seconds"`
	// MessagesPerSecond is Acknowledged over Seconds; nil without receipts, which alone tell when.
	MessagesPerSecond *float64 `json:"messagesPerSecond"`

	// Associations counts the associations that were to be opened.
	Associations uint64 `json:"associations"`
	// Receipts tells whether receipts judged; else the ledger did alone.
	Receipts bool `json:"receipts"`
	// Ledger tells whether the ledger was compared.
	Ledger bool `json:"ledger"`
	// Unsent counts messages that no association took.
	Unsent uint64 `json:"unsent"`
	// Quarantined counts messages that the target set aside since it fails on them; they are among Lost.
	Quarantined uint64 `json:"quarantined"`
	// Unexpected counts receipts that match no message.
	Unexpected uint64 `json:"unexpected"`
	// Replies counts other messages from the target.
	Replies uint64 `json:"replies"`

	// Errors are associations that failed and what could not be judged, a sentence each.
	Errors []string `json:"errors,omitempty"`
	// Differences tell of the first sessions that differ.
	Differences []string `json:"differences,omitempty"`
	// Warnings are what the reader should know and is no fault.
	Warnings []string `json:"warnings,omitempty"`

	lostByPPID map[uint32]uint64
}

// Latency is a distribution in seconds.
type Latency struct {
	P50  float64 `json:"p50"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
}

// OK tells whether every message took effect exactly once and in order, and the store
// holds just that.
func (v *Verdict) OK() bool { return v.Judgement == Good }

// incomplete says that the replay, or the comparison with the store, did not come to its end. What was found
// until then stays.
func (v *Verdict) incomplete(reason string) { v.Judgement, v.Reason = Incomplete, reason }

// conclude finds the judgement, if none was found on the way. Messages whose fate is not known are not lost.
func (v *Verdict) conclude() {
	if v.Judgement == "" {
		v.Judgement = Good
		if v.faulty() {
			v.Judgement = Bad
		}
	}
}

func (v *Verdict) faulty() bool {
	return v.Lost > 0 || v.Doubled > 0 || v.OutOfOrder > 0 || v.LedgerDiffers > 0 || v.Unsent > 0 || v.Unexpected > 0 || len(v.Errors) > 0
}
