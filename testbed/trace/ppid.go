package trace

// PPIDName is the name of a payload protocol identifier in IANA's registry "SCTP Payload Protocol Identifiers", "" where
// it lists none. 0 is what senders that name no protocol use.
func PPIDName(ppid uint32) string {
	names := [...]string{
		0: "unspecified", 1: "IUA", 2: "M2UA", 3: "M3UA", 4: "SUA", 5: "M2PA", 6: "V5UA", 7: "H.248", 8: "BICC/Q.2150.3",
		9: "TALI", 10: "DUA", 11: "ASAP", 12: "ENRP", 13: "H.323", 14: "Q.IPC/Q.2150.3", 15: "SIMCO", 16: "DDP segment",
		17: "DDP stream", 18: "S1AP", 19: "RUA", 20: "HNBAP", 21: "ForCES-HP", 22: "ForCES-MP", 23: "ForCES-LP", 24: "SBc-AP",
		25: "NBAP", 26: "unassigned", 27: "X2AP", 28: "IRCP", 29: "LCS-AP", 30: "MPICH2", 31: "SABP", 32: "FGP", 33: "PPP",
		34: "CALCAPP", 35: "SSP", 36: "NPMP control", 37: "NPMP data", 38: "ECHO", 39: "DISCARD", 40: "DAYTIME", 41: "CHARGEN",
		42: "3GPP RNA", 43: "M2AP", 44: "M3AP", 45: "SSH", 46: "Diameter", 47: "Diameter/DTLS", 48: "R14P", 49: "GDT",
		50: "WebRTC DCEP", 51: "WebRTC string", 52: "WebRTC binary partial", 53: "WebRTC binary", 54: "WebRTC string partial",
		55: "3GPP PUA", 56: "WebRTC string empty", 57: "WebRTC binary empty", 58: "XwAP", 59: "Xw-Control plane", 60: "NGAP",
		61: "XnAP", 62: "F1AP", 63: "HTTP/SCTP", 64: "E1AP", 65: "ELE2", 66: "NGAP/DTLS", 67: "XnAP/DTLS", 68: "F1AP/DTLS",
		69: "E1AP/DTLS", 70: "E2-CP", 71: "E2-UP", 72: "E2-DU", 73: "W1AP",
	}
	if ppid < uint32(len(names)) {
		return names[ppid]
	}
	return ""
}
