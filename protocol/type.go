package protocol

import "strconv"

// Type is the type of a message (section 5).
type Type uint8

// The messages, section 5.
const (
	TypeLogonRequest     Type = 0x01
	TypeLogonChallenge   Type = 0x02
	TypeLogonAuth        Type = 0x03
	TypeLogonConfirm     Type = 0x04
	TypeLogonAck         Type = 0x05
	TypeLogonReject      Type = 0x06
	TypeLogonPrompt      Type = 0x07
	TypeLogonInterrogate Type = 0x08
	TypeLogoffRequest    Type = 0x09
	TypeLogoffAck        Type = 0x0A
	TypeHeartbeat        Type = 0x0B
	TypeHeartbeatAck     Type = 0x0C
	TypeCapacityRequest  Type = 0x10
	TypeCapacityGrant    Type = 0x11
	TypeCallSetup        Type = 0x20
	TypeCallProceeding   Type = 0x21
	TypeCallAnnounce     Type = 0x22
	TypeCallQueued       Type = 0x23
	TypeCallAlert        Type = 0x24
	TypeCallConnect      Type = 0x25
	TypeCallConnectAck   Type = 0x26
	TypeChannelAssign    Type = 0x28
	TypeChannelStatus    Type = 0x29
	TypeDisconnect       Type = 0x30
	TypeRelease          Type = 0x31
	TypeReleaseComplete  Type = 0x32
	TypePreempt          Type = 0x33
	TypeHandover         Type = 0x34
	TypeOverload         Type = 0x40
	TypeReset            Type = 0x41
	TypeResetAck         Type = 0x42
	TypeStatusEnquiry    Type = 0x43
	TypeStatus           Type = 0x44
	TypeError            Type = 0x45
)

// String returns the name of the message as the specification has it, or the type in hexadecimal.
func (t Type) String() string {
	names := [...]string{
		TypeLogonRequest:     "LOGON-REQUEST",
		TypeLogonChallenge:   "LOGON-CHALLENGE",
		TypeLogonAuth:        "LOGON-AUTH",
		TypeLogonConfirm:     "LOGON-CONFIRM",
		TypeLogonAck:         "LOGON-ACK",
		TypeLogonReject:      "LOGON-REJECT",
		TypeLogonPrompt:      "LOGON-PROMPT",
		TypeLogonInterrogate: "LOGON-INTERROGATE",
		TypeLogoffRequest:    "LOGOFF-REQUEST",
		TypeLogoffAck:        "LOGOFF-ACK",
		TypeHeartbeat:        "HEARTBEAT",
		TypeHeartbeatAck:     "HEARTBEAT-ACK",
		TypeCapacityRequest:  "CAPACITY-REQUEST",
		TypeCapacityGrant:    "CAPACITY-GRANT",
		TypeCallSetup:        "CALL-SETUP",
		TypeCallProceeding:   "CALL-PROCEEDING",
		TypeCallAnnounce:     "CALL-ANNOUNCE",
		TypeCallQueued:       "CALL-QUEUED",
		TypeCallAlert:        "CALL-ALERT",
		TypeCallConnect:      "CALL-CONNECT",
		TypeCallConnectAck:   "CALL-CONNECT-ACK",
		TypeChannelAssign:    "CHANNEL-ASSIGN",
		TypeChannelStatus:    "CHANNEL-STATUS",
		TypeDisconnect:       "DISCONNECT",
		TypeRelease:          "RELEASE",
		TypeReleaseComplete:  "RELEASE-COMPLETE",
		TypePreempt:          "PREEMPT",
		TypeHandover:         "HANDOVER",
		TypeOverload:         "OVERLOAD",
		TypeReset:            "RESET",
		TypeResetAck:         "RESET-ACK",
		TypeStatusEnquiry:    "STATUS-ENQUIRY",
		TypeStatus:           "STATUS",
		TypeError:            "ERROR",
	}
	if int(t) >= len(names) || names[t] == "" {
		return "message 0x" + strconv.FormatUint(uint64(t), 16)
	}

	return names[t]
}
