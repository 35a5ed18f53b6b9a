package access

import (
	"crypto/hmac"
	"slices"
	"time"

	"skyring/processor"
	"skyring/protocol"
)

// challenge answers LOGON-REQUEST in any state and on any association. It writes nothing: who has proven nothing costs no memory.
func (t *turn) challenge(h protocol.Header, m protocol.LogonRequest) {
	cause := t.admit(m.Beam)
	if cause == 0 && !t.station.Profile.isOf(m.Class) {
		cause = protocol.CauseStationNotAuthorised
	}
	if cause != 0 {
		t.reject(h, cause)
		return
	}
	t.answer(h, protocol.LogonChallenge{Nonce: t.config.nonce(t.id, t.in.Source.Epoch, t.now)})
}

// admit tells why a station may not log on in a beam, whoever it is, 0 if it may.
func (t *turn) admit(beam protocol.Beam) protocol.Cause {
	switch {
	case t.station == nil:
		return protocol.CauseStationNotAuthorised
	case t.station.Profile.Barred:
		return protocol.CauseStationBarred
	case !t.station.Profile.serves(beam):
		return protocol.CauseBeamNotServed
	default:
		return 0
	}
}

func (t *turn) reject(h protocol.Header, cause protocol.Cause) {
	m := protocol.LogonReject{Cause: cause}
	if cause.Class() == protocol.Temporary {
		m.RetryAfter = t.spread(t.config.RetryAfter)
	}
	t.answer(h, m)
}

// spread lengthens a time by up to half, by chance, so that stations that were refused together do not come back together.
func (t *turn) spread(d time.Duration) time.Duration {
	nonce := t.config.nonce(t.id, t.in.Source.Epoch, t.now)
	return d + d*time.Duration(nonce[len(nonce)-1])/512
}

// authenticate makes the association of a LOGON-AUTH the station's leg when the proof holds, in any state (R3). A refused one writes nothing.
func (t *turn) authenticate(h protocol.Header, m protocol.LogonAuth) {
	cause := t.admit(m.Beam)
	if cause != 0 {
		t.reject(h, cause)
		return
	}
	epoch := t.in.Source.Epoch
	at, made := t.config.made(m.Nonce, t.id, epoch)
	proof := protocol.LogonProof(t.station.Profile.Key[:], t.id, m.Nonce, m.BootNonce, m.Beam)
	repeated := at == t.station.Proven && epoch == t.station.Epoch && m.BootNonce == t.station.Boot
	switch {
	case !made && t.without != bindRule, !repeated && !t.fresh(at):
		t.reject(h, protocol.CauseNonceExpired) // also of another association: a new challenge helps
	case !hmac.Equal(proof[:], m.Proof[:]):
		t.reject(h, protocol.CauseProofInvalid)
	case repeated && t.station.State.On() && t.without != replayRule:
		t.reply(t.station.Confirm)
	case t.now-at > (t.config.Challenge + t.config.Skew).Microseconds(), at-t.now > t.config.Skew.Microseconds():
		t.reject(h, protocol.CauseNonceExpired)
	case at <= t.station.Proven && t.without != replayRule:
		t.reject(h, protocol.CauseNonceReplayed)
	default:
		t.logon(h, m, at)
	}
}

// fresh tells whether a challenge of a time (us) may still be answered.
func (t *turn) fresh(at int64) bool {
	return t.now-at <= (t.config.Challenge+t.config.Skew).Microseconds() && at-t.now <= t.config.Skew.Microseconds()
}

// logon commits a log-on that is proven: at the time of its challenge, us.
func (t *turn) logon(h protocol.Header, m protocol.LogonAuth, at int64) {
	s := t.station
	if m.BootNonce != s.Boot && t.without != bootRule {
		t.endCalls(protocol.CauseStationRestart)
		s.Memory, s.Sequence, s.Reference = Memory{}, 0, 0
	}
	s.Requests = slices.DeleteFunc(s.Requests, func(r Request) bool { return r.Call == protocol.NoCall })
	s.State, s.Epoch, s.Boot, s.Beam, s.Proven = AwaitAck, t.in.Source.Epoch, m.BootNonce, m.Beam, at
	s.Heard, s.Sends = t.now, 1
	s.Confirm = t.answer(h, protocol.LogonConfirm{Heartbeat: t.config.Heartbeat, Inactivity: t.config.Inactivity, Time: t.now})
	t.out.SetLeg = &processor.Leg{
		Dispatcher: t.in.Source.Dispatcher, Incarnation: t.in.Source.Incarnation, Epoch: t.in.Source.Epoch,
		Stream: t.in.Message.Stream, PPID: protocol.PPID,
	}
	t.out.DropLegBox = true // what was about the old log-on is void, and what was about calls is repeated from here
	t.cancel(TimerInactivity, TimerInterrogation, TimerFade)
	t.arm(TimerConfirm, t.after(t.config.Confirm))
	t.armRepeat()
	t.changed = true
}
