package main

import (
	"fmt"
	"time"

	"skyring/protocol/transport"
	"skyring/testbed/stations"
)

// targetUsage is the usage of --target.
const targetUsage = "running dispatcher: numeric HOST:PORT (SCTP in UDP), dtls://HOST:PORT or ip://HOST (IP protocol 132)"

// targetHelp tells, in the --help of commands that take --target, how they speak DTLS.
const targetHelp = `A --target dtls://HOST:PORT is reached over DTLS (RFC 8261). This end is a client then, and proves itself by the certificate, key
and ca that the settings sctp.dtls.certificate, .key and .ca name, or by the line .identity of the file of pre-shared keys .psk: by --set,
--config or SKYRING_SCTP_DTLS_CERTIFICATE and so on. The dispatcher's certificate has to bear the address dialled, or the name in
sctp.dtls.serverName. 'skyring cert' makes all of that.
`

// stationsIdentityHelp tells who the played stations have to prove to be.
func stationsIdentityHelp() string {
	return fmt.Sprintf(`All stations are one client there, as behind a hub. What it proves must speak for all of them: their ids go from %x
on, so 'skyring cert --client hub=%x-%x', or --client hub='*', is right.
`, uint64(stations.FirstStation), uint64(stations.FirstStation), uint64(stations.LastStation))
}

// target is what a flag of this name says, and how this end proves itself there; the zero value where it need not.
func (c *SCTPConfig) target(flag, text string) (transport.Target, transport.SecureConfig, error) {
	t, err := transport.ParseTarget(text)
	if err != nil {
		return t, transport.SecureConfig{}, usagef("%s is %q: %w", flag, text, err)
	}

	if t.Mode != transport.ModeDTLS {
		return t, transport.SecureConfig{}, nil
	}

	if err := c.DTLS.CheckClient(time.Now()); err != nil {
		return t, transport.SecureConfig{}, usagef("%s %s wants DTLS, and its settings are wrong:\n%w", flag, text, within("sctp.dtls", err))
	}

	return t, c.DTLS, nil
}
