package protocol

// CallProceeding is CALL-PROCEEDING (section 5.16, gateway to station): it answers CALL-SETUP:
// the call is known and worked on. Nothing is promised yet.
//
// It has no elements.
type CallProceeding struct{}

// Type returns TypeCallProceeding.
func (CallProceeding) Type() Type { return TypeCallProceeding }

func (CallProceeding) encode(*encoder) {}
