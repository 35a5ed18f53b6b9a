package trace

// portRank says how much a port looks like a server's: the SCTP ports that IANA's Service Name and Transport Protocol Port
// Number Registry gives to signalling, then the system ports, then those below Linux' ephemeral range.
func portRank(port uint16) int {
	switch port {
	case 2904, 2905, 3565, 5675, 9900, 14001, // M2UA, M3UA, M2PA, V5UA, IUA, SUA
		2944, 2945, // H.248 in text and binary
		3863, 3864, 9901, 9902, // ASAP and ENRP
		3868, 5868, // Diameter
		4739, 4740, // IPFIX
		5060, 5061, // SIP
		6704, 6705, 6706, // ForCES
		9082,                // LCS-AP
		9899,                // SCTP tunnelling, the port that we serve by default
		25471, 29168, 29169, // RNA, SBc-AP, RUA and HNBAP
		29118,                      // SGsAP
		36412, 36422, 36443, 36444, // S1AP, X2AP, M2AP, M3AP
		37464,                      // E2AP
		38412, 38422, 38462, 38472: // NGAP, XnAP, E1AP, F1AP
		return 3
	}
	switch {
	case port < 1024:
		return 2
	case port < 32768:
		return 1
	}
	return 0
}
