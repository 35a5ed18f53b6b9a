package protocol_test

import (
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"skyring/protocol"
)

// unhex reads bytes from hexadecimal with white space.
func unhex(tb testing.TB, s string) []byte {
	tb.Helper()

	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		tb.Fatal(err)
	}

	return b
}

// sample is a message and its elements on the wire, written by hand from the specification.
type sample struct {
	m        protocol.Message
	elements string
}

const (
	nonceHex = "000102030405060708090a0b0c0d0e0f1011121314151617"
	proofHex = "202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f"
)

func nonce() (n [protocol.NonceSize]byte) {
	for i := range n {
		n[i] = byte(i)
	}

	return n
}

func proof() (p [protocol.ProofSize]byte) {
	for i := range p {
		p[i] = byte(0x20 + i)
	}

	return p
}

// samples are all messages, each with all its elements and with as few as there may be.
func samples() []sample {
	return append(accessSamples(), callSamples()...)
}

func accessSamples() []sample {
	return []sample{
		{protocol.LogonRequest{Class: 3, BootNonce: 0x0102030405060708, Beam: 12}, "010103 81080102030405060708 8202000c"},
		{protocol.LogonRequest{BootNonce: 1}, "81080000000000000001 82020000"},
		{protocol.LogonChallenge{Nonce: nonce()}, "8318" + nonceHex},
		{protocol.LogonAuth{BootNonce: 2, Beam: 65535, Nonce: nonce(), Proof: proof()}, "81080000000000000002 8202ffff 8318" + nonceHex + "8420" + proofHex},
		{protocol.LogonConfirm{Heartbeat: 30 * time.Second, Inactivity: 90 * time.Second, Time: 1}, "020400007530 030400015f90 04080000000000000001"},
		{protocol.LogonConfirm{Heartbeat: 1, Inactivity: time.Millisecond + 1}, "020400000001 030400000002"},
		{protocol.LogonAck{}, ""},
		{protocol.LogonReject{RetryAfter: time.Minute, Cause: protocol.CauseTableFull}, "05040000ea60 850180"},
		{protocol.LogonReject{Cause: protocol.CauseStationNotAuthorised}, "85018f"},
		{protocol.LogonPrompt{}, ""},
		{protocol.LogonInterrogate{Nonce: nonce()}, "8318" + nonceHex},
		{protocol.LogoffRequest{StayAway: time.Hour, Cause: protocol.CauseOperator}, "06040036ee80 8501cd"},
		{protocol.LogoffRequest{Cause: protocol.CauseNormalClearing}, "850110"},
		{protocol.LogoffAck{}, ""},
		{protocol.Heartbeat{}, ""},
		{protocol.HeartbeatAck{}, ""},
		{protocol.CapacityRequest{Kind: protocol.CapacityRate, Amount: 64000}, "8d0102 8e040000fa00"},
		{protocol.CapacityGrant{Validity: time.Second, Kind: protocol.CapacityVolume, Amount: 1500}, "0904000003e8 8d0103 8e04000005dc"},
		{protocol.CapacityGrant{Kind: protocol.CapacityConstant}, "8d0101 8e0400000000"},
	}
}

func callSamples() []sample {
	return []sample{
		{protocol.CallSetup{Called: 0x18, Service: protocol.ServiceVoice}, "86080000000000000018 880101"},
		{protocol.CallProceeding{}, ""},
		{protocol.CallAnnounce{Calling: 0x17, Service: protocol.ServiceData}, "87080000000000000017 880102"},
		{protocol.CallQueued{Position: 5}, "07020005"},
		{protocol.CallQueued{}, ""},
		{protocol.CallAlert{}, ""},
		{protocol.CallConnect{}, ""},
		{protocol.CallConnectAck{}, ""},
		{protocol.ChannelAssign{LockTimeout: 10 * time.Second, Channel: protocol.Channel{Beam: 12, Number: 7}}, "080400002710 8904000c0007"},
		{protocol.ChannelAssign{Channel: protocol.Channel{Number: 1}}, "890400000001"},
		{protocol.ChannelStatus{Locked: true}, "8a0101"},
		{protocol.ChannelStatus{Cause: protocol.CauseContinuityFailure}, "850190 8a0100"},
		{protocol.Disconnect{Cause: protocol.CauseNormalClearing}, "850110"},
		{protocol.Release{Cause: protocol.CausePreempted}, "850108"},
		{protocol.Release{}, ""},
		{protocol.ReleaseComplete{Cause: protocol.CauseUserBusy}, "850111"},
		{protocol.ReleaseComplete{}, ""},
		{protocol.Preempt{Cause: protocol.CausePreempted, Priority: protocol.PriorityDistress}, "850108 8b010f"},
		{protocol.Handover{Beam: 13, Channel: protocol.Channel{Beam: 13, Number: 2}}, "8202000d 8904000d0002"},
		{protocol.Handover{Beam: 13}, "8202000d"},
		{protocol.Overload{RetryAfter: 2 * time.Second, Validity: time.Minute, Level: 100}, "0504000007d0 09040000ea60 8c0164"},
		{protocol.Overload{}, "8c0100"},
		{protocol.Reset{Cause: protocol.CauseStateLost}, "8501cf"},
		{protocol.ResetAck{}, ""},
		{protocol.StatusEnquiry{}, ""},
		{protocol.Status{State: protocol.StateReleasing, Cause: protocol.CauseTransactionOld}, "0a0108 8501d0"},
		{protocol.Status{}, "0a0100"},
		{protocol.Error{Element: protocol.ElementBeam, Offset: 300, Cause: protocol.CauseElementMissing}, "0b0182 0c02012c 850160"},
		{protocol.Error{Cause: protocol.CauseNotLoggedOn}, "8501c0"},
	}
}

// header returns a header that a message may have.
func header(t protocol.Type) protocol.Header {
	h := protocol.Header{Type: t, Priority: 5, Station: 0x17, Sequence: 0x01020304}

	switch t { //nolint:exhaustive // all others are requests about no call
	case protocol.TypeCallAnnounce:
		h.Call = protocol.CallGateway | 3
	case protocol.TypeCallSetup, protocol.TypeCallProceeding, protocol.TypeCallQueued, protocol.TypeCallAlert, protocol.TypeCallConnect,
		protocol.TypeCallConnectAck, protocol.TypeChannelAssign, protocol.TypeChannelStatus, protocol.TypeDisconnect, protocol.TypeRelease,
		protocol.TypeReleaseComplete, protocol.TypePreempt:
		h.Call = 3
	case protocol.TypeLogonChallenge, protocol.TypeLogonConfirm, protocol.TypeLogonAck, protocol.TypeLogonReject, protocol.TypeLogoffAck,
		protocol.TypeHeartbeatAck, protocol.TypeResetAck:
		h.Flags = protocol.Response
	}

	return h
}

// wire returns a message of a header and elements, built without the codec.
func wire(h protocol.Header, elements []byte) []byte {
	n := 20 + len(elements)
	b := []byte{1, byte(h.Type), byte(h.Priority), byte(h.Flags), byte(n >> 8), byte(n), byte(h.Call >> 8), byte(h.Call)}

	for shift := 56; shift >= 0; shift -= 8 {
		b = append(b, byte(h.Station>>shift))
	}

	for shift := 24; shift >= 0; shift -= 8 {
		b = append(b, byte(h.Sequence>>shift))
	}

	return append(b, elements...)
}

// allTypes returns the types that have a name.
func allTypes() []protocol.Type {
	var all []protocol.Type

	for n := range 256 {
		if t := protocol.Type(n); !strings.HasPrefix(t.String(), "message 0x") {
			all = append(all, t)
		}
	}

	return all
}
