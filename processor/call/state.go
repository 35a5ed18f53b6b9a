package call

import "fmt"

// State is how far a call is. Numbers are kept in the state store and never change their meaning; those that ESSP's STATUS tells are the same there.
type State uint8

// States of a call.
const (
	Idle          State = 0 // there is no call yet
	Requested     State = 1 // offered to the called station; then channels are asked for
	Queued        State = 2 // waits for a channel; not used by this version
	Assigned      State = 3 // channels were assigned to both stations, none has locked
	Locking       State = 4 // one station has locked, or both have and the called one is not alerting yet
	Alerting      State = 5 // the called user is being alerted
	Active        State = 6 // answered
	Disconnecting State = 7 // a station was told DISCONNECT, or the offer is not answered yet
	Releasing     State = 8 // RELEASE-COMPLETE of a station, or a pool's Freed, is awaited
	Ended         State = 9 // a tombstone

	maxState = Ended
)

// String is the state as docs/essp.md names it, "state(10)" for an unknown one.
func (s State) String() string {
	names := [...]string{
		Idle: "idle", Requested: "requested", Queued: "queued", Assigned: "assigned", Locking: "locking", Alerting: "alerting", Active: "active",
		Disconnecting: "disconnecting", Releasing: "releasing", Ended: "ended",
	}
	if s > maxState {
		return fmt.Sprintf("state(%d)", uint8(s))
	}
	return names[s]
}

// Dialogue is how far the exchange with one side's station is. Numbers are kept in the state store.
type Dialogue uint8

// States of a dialogue.
const (
	DialogueNone          Dialogue = 0 // the station knows nothing of the call
	DialogueOffered       Dialogue = 1 // its record was asked, and has not answered
	DialogueUp            Dialogue = 2 // the station knows the call
	DialogueDisconnecting Dialogue = 3 // told DISCONNECT; its RELEASE is awaited
	DialogueReleasing     Dialogue = 4 // told RELEASE; its RELEASE-COMPLETE is awaited
	DialogueDone          Dialogue = 5 // nothing more is said

	maxDialogue = DialogueDone
)

// String is the state of the dialogue in a word, "dialogue(6)" for an unknown one.
func (d Dialogue) String() string {
	names := [...]string{
		DialogueNone: "none", DialogueOffered: "offered", DialogueUp: "up", DialogueDisconnecting: "disconnecting",
		DialogueReleasing: "releasing", DialogueDone: "done",
	}
	if d > maxDialogue {
		return fmt.Sprintf("dialogue(%d)", uint8(d))
	}
	return names[d]
}

// Hold is what a side has of its beam's pool. Numbers are kept in the state store.
type Hold uint8

// States of a hold.
const (
	HoldNone    Hold = 0 // nothing, not asked or refused
	HoldAsked   Hold = 1 // asked, not answered
	HoldGranted Hold = 2 // a channel
	HoldFreeing Hold = 3 // the channel was given back, which is not acknowledged
	HoldFreed   Hold = 4 // the pool has the channel again

	maxHold = HoldFreed
)

// String is the state of the hold in a word, "hold(5)" for an unknown one.
func (h Hold) String() string {
	names := [...]string{HoldNone: "none", HoldAsked: "asked", HoldGranted: "granted", HoldFreeing: "freeing", HoldFreed: "freed"}
	if h > maxHold {
		return fmt.Sprintf("hold(%d)", uint8(h))
	}
	return names[h]
}

// Timer names a timer of a call's record. Numbers are kept in the state store.
type Timer uint8

// Timers of a call; see Config.
const (
	T303        Timer = 1
	TLock       Timer = 2
	T310        Timer = 3
	T301        Timer = 4
	T313        Timer = 5
	T305Calling Timer = 6
	T305Called  Timer = 7
	T308Calling Timer = 8
	T308Called  Timer = 9

	maxTimer = T308Called
)

// String is the timer's name, "timer(10)" for an unknown one.
func (t Timer) String() string {
	names := [...]string{
		T303: "T303", TLock: "lock", T310: "T310", T301: "T301", T313: "T313",
		T305Calling: "T305-calling", T305Called: "T305-called", T308Calling: "T308-calling", T308Called: "T308-called",
	}
	if t == 0 || t > maxTimer {
		return fmt.Sprintf("timer(%d)", uint8(t))
	}
	return names[t]
}
