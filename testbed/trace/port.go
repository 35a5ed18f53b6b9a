package trace

// portRank says how much a port looks like a server's: the SCTP ports that IANA's Service Name and Transport Protocol Port
// Number Registry gives to signalling, then the system ports, then those below Linux' ephemeral range.
func portRank(port uint16) int {
	switch port {
	case 2904, 2905, 2906, 2907, // M2UA, M3UA and those next to them, which MEGACO and tests use
		2944, 2945, // H.248
		3565,       // M2PA
		3863, 3864, // ASAP
		3868, 5868, // Diameter, and over DTLS
		4739, 4740, // IPFIX
		5060, 5061, // SIP
		6704, 6705, 6706, // ForCES
		9899,                               // SCTP tunnelling, and our own default
		9900, 9901, 9902, 9903, 9904, 9905, // IUA, ENRP
		14001,               // SUA
		25471,               // RNA
		29118, 29168, 29169, // SGsAP, SBcAP, Iuh
		36412, 36422, 36423, 36424, 36443, 36444, // S1AP, X2AP, XwAP..., M2AP, M3AP
		36462, 37464, // Xw, LCS-AP
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
