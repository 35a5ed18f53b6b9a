package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"skyring/protocol/transport"
)

// secureUp is a running 'skyring up' with a listener for DTLS and a plain one.
type secureUp struct {
	dir, secure, plain, nats, redis string
}

// upSecurely starts it, with certificates of 'skyring cert' in pki, and pre-shared keys in psk.txt.
func upSecurely(t *testing.T) secureUp {
	t.Helper()

	u := secureUp{dir: shortDir(t), secure: freeUDP(t), plain: freeUDP(t)}
	pki := filepath.Join(u.dir, "pki")
	cert(t, "--dir", pki, "--server", "127.0.0.1", "--client", "hub=ff53494d00000001-ff53494d0000c350", "--client", "other=17")
	u.redis = "unix://" + filepath.Join(u.dir, "redis.sock")

	if err := os.WriteFile(u.file("psk.txt"), []byte(cert(t, "--psk", "hub=*", "--psk", "other=17")), 0o600); err != nil {
		t.Fatal(err)
	}

	p := startProcess(t, "up", "--listen", "dtls://"+u.secure+","+u.plain, "--nats-port", "0", "--dir", u.dir, "--receipts",
		"--set", "sctp.dtls.certificate="+u.file("pki/server.pem"), "--set", "sctp.dtls.key="+u.file("pki/server-key.pem"),
		"--set", "sctp.dtls.ca="+u.file("pki/ca.pem"), "--set", "sctp.dtls.psk="+u.file("psk.txt"))
	p.await(t, "  Redis")

	text, err := os.ReadFile(u.file(natsFile))
	if err != nil {
		t.Fatal(err)
	}

	u.nats = strings.TrimSpace(string(text))

	return u
}

func (u secureUp) file(name string) string { return filepath.Join(u.dir, name) }

// as are the flags of a client with a certificate.
func (u secureUp) as(name string) []string {
	return []string{
		"--set", "sctp.dtls.ca=" + u.file("pki/ca.pem"), "--set", "sctp.dtls.certificate=" + u.file("pki/client-"+name+".pem"),
		"--set", "sctp.dtls.key=" + u.file("pki/client-"+name+"-key.pem"), "--set", "sctp.dtls.handshakeTimeout=2s",
	}
}

// known are the flags of a client with a pre-shared key.
func (u secureUp) known(identity string) []string {
	return []string{"--set", "sctp.dtls.psk=" + u.file("psk.txt"), "--set", "sctp.dtls.identity=" + identity}
}

// TestStationsAndReplayOverDTLS tries a secure listener with the product's own commands: who may speak for the stations has a good
// verdict, and whoever may not, or comes in another mode, is told what is wrong, and soon.
func TestStationsAndReplayOverDTLS(t *testing.T) { //nolint:tparallel // two runs that are let in would play the same stations
	t.Parallel()

	u := upSecurely(t)
	capture := u.file("capture.pcapng")

	if text, err := output(t, "trace", "generate", "--associations", "3", "--messages", "100", "-o", capture); err != nil {
		t.Fatalf("%v: %s", err, text)
	}

	stations := []string{
		"stations", "--quiet", "--count", "12", "--calls", "3", "--seconds", "1", "--hold", "300ms", "--ring", "50ms", "--redis", u.redis, "--target",
	}
	soon := []string{"--settle", "3s"}
	replay := []string{"replay", "--quiet", "--receipts", "on", "--redis", u.redis, capture, "--target"}

	for name, c := range map[string]struct {
		command, target string
		flags           []string
		want            []string
		bad             bool
	}{
		"a certificate for all": {command: "stations", target: "dtls://" + u.secure, flags: u.as("hub"), want: []string{"verdict      good"}},
		"a key for all":         {command: "stations", target: "dtls://" + u.secure, flags: u.known("hub"), want: []string{"verdict      good"}},
		"a certificate for others": {
			command: "stations", target: "dtls://" + u.secure, flags: append(u.as("other"), soon...), bad: true,
			want: []string{"12 stations did not log on", "x log-on: ", "station ff53494d... is none that this peer has proven to be"},
		},
		"a key for others": {
			command: "stations", target: "dtls://" + u.secure, flags: append(u.known("other"), soon...), bad: true,
			want: []string{"station ff53494d... is none that this peer has proven to be"},
		},
		"plain to DTLS": {
			command: "stations", target: u.secure, flags: soon, bad: true,
			want: []string{"12 x log-on: no answer yet from " + u.secure + " (nobody listens there, or one that wants DTLS"},
		},
		"DTLS to plain": {
			command: "stations", target: "dtls://" + u.plain, flags: append(u.as("hub"), "--settle", "6s"), bad: true,
			want: []string{"set up DTLS: no answer in 2s (nobody listens there, or one without DTLS)"},
		},
		"a replay":               {command: "replay", target: "dtls://" + u.secure, flags: u.as("other"), want: []string{"verdict          good"}},
		"a replay, plain":        {command: "replay", target: u.plain, want: []string{"verdict          good"}},
		"a replay DTLS to plain": {command: "replay", target: "dtls://" + u.plain, flags: u.as("hub"), bad: true, want: []string{"or one without DTLS"}},
		"a replay plain to DTLS": {command: "replay", target: u.secure, bad: true, want: []string{"or one that wants DTLS"}},
	} {
		t.Run(name, func(t *testing.T) {
			args := stations
			if c.command == "replay" {
				args = replay
			}

			if c.bad || c.command == "replay" {
				t.Parallel()
			}

			args = append(append(append([]string{}, args...), c.target), c.flags...)

			text, err := output(t, args...)
			if code := exitCode(err); (code != 0) != c.bad || c.bad && code != exitFailed {
				t.Errorf("exit code %d: %v\n%s", code, err, text)
			}

			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("without %q:\n%s", want, text)
				}
			}
		})
	}
}

// TestTargetsRefusedInSentences are slips of who tries a listener.
func TestTargetsRefusedInSentences(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	cert(t, "--dir", dir, "--server", "127.0.0.1", "--client", "hub=*")

	set := func(name string) string {
		return " --set sctp.dtls.certificate=" + dir + "/" + name + ".pem --set sctp.dtls.key=" + dir + "/" + name + "-key.pem --set sctp.dtls.ca=" + dir + "/ca.pem"
	}

	for args, want := range map[string]string{
		"gw.example:9899":     `--target is "gw.example:9899": "gw.example" is no numeric address`,
		"127.0.0.1":           "the port is missing: want 127.0.0.1:9899",
		"0.0.0.0:9899":        "is no address of one machine",
		"tls://127.0.0.1:1":   "want udp, dtls or ip",
		"dtls://127.0.0.1:1":  "sctp.dtls.certificate and psk: both missing",
		"ip://127.0.0.1:9899": "SCTP over IP has no UDP port: want ip://127.0.0.1",
		"dtls://127.0.0.1:1 --set sctp.dtls.psk=/nowhere":                            "sctp.dtls.identity: missing",
		"dtls://127.0.0.1:1 --set sctp.dtls.psk=/nowhere --set sctp.dtls.identity=x": "sctp.dtls.psk: the file cannot be read: open /nowhere",
		"dtls://127.0.0.1:1" + set("server"):                                         "a client's own must be for clientAuth",
		"dtls://127.0.0.1:1" + set("nobody"):                                         "nobody.pem: no such file",
		"dtls://127.0.0.1:1" + set("client-hub") + " --set sctp.dtls.psk=/nowhere":   "a client proves itself by one of both",
	} {
		for _, command := range []string{"stations --target ", "replay none.pcap --target "} {
			text, err := output(t, strings.Fields(command+args)...)
			if exitCode(err) != exitUsage || !strings.Contains(text, want) {
				t.Errorf("%s: %v\n%s\nwithout %q", command+args, err, text, want)
			}
		}
	}
}

// TestOwnStackHeedsNoListener: what a configuration says of a dispatcher's listeners is not for the stack that a replay starts.
func TestOwnStackHeedsNoListener(t *testing.T) {
	capture := filepath.Join(t.TempDir(), "capture.pcapng")

	if text, err := output(t, "trace", "generate", "--associations", "1", "--messages", "10", "-o", capture); err != nil {
		t.Fatalf("%v: %s", err, text)
	}

	text, err := output(t, "replay", "--quiet", "--set", "sctp.allow=10.0.0.0/8", "--set", "sctp.listen=dtls://10.0.0.5:9899",
		"--set", "sctp.dtls.certificate=/nowhere", capture)
	if err != nil || !strings.Contains(text, "verdict          good") {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestTargetHandsItsSettingsOn: a plain target gets no DTLS, and no time for its handshake.
func TestTargetHandsItsSettingsOn(t *testing.T) {
	t.Parallel()

	c := DefaultConfig()
	c.SCTP.DTLS.HandshakeTimeout = time.Minute

	target, secure, err := c.SCTP.target("--target", "127.0.0.1:9899")
	if err != nil || target.Mode != transport.ModeUDP || secure != (transport.SecureConfig{}) {
		t.Errorf("%v, %+v, %v", target, secure, err)
	}
}
