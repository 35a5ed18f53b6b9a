package main

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rs/zerolog"

	"skyring/protocol/transport"
)

// TestWrongSCTPSettings holds what an operator can get wrong of sctp.* to a sentence that says what would be right, by the key
// it is about; the same one at the start as from --print-config.
func TestWrongSCTPSettings(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	cert(t, "--dir", dir, "--server", "127.0.0.1", "--client", "hub=*")

	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}

		return path
	}

	secure := func(certificate, key, ca string) string {
		return "listen=dtls://127.0.0.1:9899 dtls.certificate=" + filepath.Join(dir, certificate) + " dtls.key=" + filepath.Join(dir, key) +
			" dtls.ca=" + filepath.Join(dir, ca)
	}
	good := secure("server.pem", "server-key.pem", "ca.pem")
	keys := "listen=dtls://127.0.0.1:9899 dtls.psk="
	hex := strings.Repeat("ab", 32)

	for settings, want := range map[string]string{
		"listen=":                                                `sctp.listen "": is empty: want a numeric address and a port`,
		"listen=127.0.0.1:9899,":                                 "there is a comma too many",
		"listen=127.0.0.1":                                       "the port is missing: want 127.0.0.1:9899",
		"listen=9899":                                            "must be a numeric address and a port",
		"listen=:9899":                                           "the address is missing",
		"listen=localhost:9899":                                  `"localhost" is no numeric address, and names are not looked up`,
		"listen=127.0.0.1:99999":                                 `"99999" is no port`,
		"listen=2001:db8::1":                                     "want [2001:db8::1]:9899",
		"listen=tls://127.0.0.1:1":                               "want udp, dtls or ip before ://",
		"listen=DTLS://127.0.0.1:1":                              "want udp, dtls or ip before ://",
		"listen=dtls:127.0.0.1:1":                                "want dtls://127.0.0.1:1",
		"listen=ip://127.0.0.1:9899":                             "want ip://127.0.0.1",
		"listen=ip://0.0.0.0 allow=0.0.0.0/0":                    "binds one address",
		"listen=0.0.0.0:9899":                                    "list the networks of yours",
		"listen=192.0.2.1:9899":                                  "list the networks of yours",
		"listen=224.0.0.1:9899 allow=0.0.0.0/0":                  "is no address of one machine",
		"listen=127.0.0.1:1,127.0.0.1:2,127.0.0.1:1":             "this address is there twice",
		"listen=ip://127.0.0.1,ip://127.0.0.1":                   "this address is there twice",
		"listen=127.0.0.1:1,0.0.0.0:1 allow=127.0.0.0/8":         "127.0.0.1:1 and 0.0.0.0:1 have the same port",
		"allow=10.0.0.1":                                         "is no network",
		"allow=10.0.0.1/8":                                       "want 10.0.0.0/8",
		"allow=10.0.0.0/8":                                       "none of its networks can reach 127.0.0.1:9899",
		"allow=::1/128":                                          "add one that can, such as 127.0.0.0/8",
		"allow=10.0.0.0/33":                                      "is no network",
		"allow=10.0.0.0/8;10.1.0.0/16":                           "is no network",
		"listen=dtls://127.0.0.1:2":                              "sctp.dtls.certificate and psk: both missing; DTLS wants certificate, key and ca, or psk",
		"listen=127.0.0.1:1,dtls://127.0.0.1:2":                  "sctp.dtls.certificate and psk: both missing",
		"listen=dtls://127.0.0.1:2 dtls.ca=/x":                   "sctp.dtls.key: missing",
		good + " allow=10.0.0.0/8":                               "sctp.allow: every address of sctp.listen begins with dtls://",
		"dtls.certificate=/x dtls.psk=/y":                        "sctp.dtls.certificate, sctp.dtls.psk: no address of sctp.listen begins with dtls://",
		"dtls.identity=x":                                        "sctp.dtls.identity: no address",
		good + " dtls.identity=x":                                "sctp.dtls.identity: only for clients",
		good + " dtls.serverName=x":                              "sctp.dtls.serverName: only for clients",
		secure("nobody.pem", "server-key.pem", "ca.pem"):         "sctp.dtls.certificate: the file cannot be read: open ",
		secure("server.pem", "nobody.pem", "ca.pem"):             "sctp.dtls.key: the file cannot be read",
		secure("server.pem", "server-key.pem", "nobody.pem"):     "sctp.dtls.ca: the file cannot be read",
		secure("", "server-key.pem", "ca.pem"):                   "is a directory",
		secure("server.pem", "client-hub-key.pem", "ca.pem"):     "do not go together",
		secure("client-hub.pem", "client-hub-key.pem", "ca.pem"): "a listener's own must be for serverAuth, as that of \"skyring cert --server\" is",
		secure("server-key.pem", "server.pem", "ca.pem"):         "are certificate and key exchanged?",
		secure("server.pem", "server-key.pem", "server.pem"):     "is none of an authority (CA)",
		secure("server.pem", "server-key.pem", "ca-key.pem"):     "sctp.dtls.ca: ",
		keys + "/nowhere":                                        "sctp.dtls.psk: the file cannot be read",
		keys + write("empty", "# none\n"):                        "holds no key: want lines such as",
		keys + write("one", "hub\n"):                             "line 1: 1 columns: want an identity, a key",
		keys + write("short", "hub abcd 17\n"):                   "has 2 bytes: want 16 to 64",
		keys + write("text", "hub secret 17\n"):                  "is not hexadecimal",
		keys + write("twice", "hub "+hex+"\nhub "+hex+"\n"):      `line 2: identity "hub" is on line 1 already`,
		keys + write("who", "hub "+hex+" 17,x\n"):                `stations of "hub": station "x"`,
		"dtls.maxHalfOpen=0":                                     "sctp.dtls.maxHalfOpen: 0 is not between 1 and",
		good + " dtls.handshakeTimeout=1h":                       "sctp.dtls.handshakeTimeout: 1h0m0s is not between",
		"dtls.pks=x":                                             "names no setting",
		"streams=0":                                              "sctp.streams: 0 is not between 1 and 8192",
		"receiveWindow=10":                                       "sctp.receiveWindow: 10 is not between",
		"maxMessage=9999999":                                     "sctp.maxMessage: 9999999 is not between",
		"maxPacket=100":                                          "sctp.maxPacket: 100 is not between",
		"heartbeatInterval=0s":                                   "sctp.heartbeatInterval: 0s is not between",
		"acceptBacklog=0":                                        "sctp.acceptBacklog: 0 serves no station at all",
		"maxAssociations=0":                                      "sctp.maxAssociations: 0 is not between",
		"initsPerSecond=0":                                       "sctp.initsPerSecond: 0 is not between",
		"port=70000":                                             "a whole number from 0 to 65535 is right",
		"cookieLife=5":                                           "a duration with its unit is right",
	} {
		var set []string
		for one := range strings.SplitSeq(settings, " ") {
			set = append(set, "--set", "sctp."+one)
		}

		for _, command := range [][]string{{"dispatcher", "--print-config"}, {"up", "--print-config"}, {"dispatcher"}} {
			text, err := output(t, append(command, set...)...)
			if exitCode(err) != exitUsage || !strings.Contains(text, want) || strings.Contains(text, "secret") || strings.Contains(text, "abcd") {
				t.Errorf("%v %s: %v\n%s\nwithout %q", command, settings, err, text, want)
			}
		}
	}

	// What listens elsewhere may be in the file of all processes, and its files on another machine.
	if text, err := output(t, "processor", "--print-config", "--set", "sctp.dtls.certificate=/nowhere", "--set", "sctp.listen=dtls://127.0.0.1:1"); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}

// One dispatcher listens for stations with certificates and, on another port, on plain loopback; SIGHUP has it read its files again.
func TestDispatcherListensInSeveralWays(t *testing.T) {
	nats, redis := backbone(t)
	p := startProcess(t, "processor", "--id", "p1", "--nats", nats, "--redis", redis)
	p.await(t, "processor is ready")

	dir := filepath.Join(t.TempDir(), "pki")
	if text, err := output(t, "cert", "--dir", dir, "--server", "127.0.0.1", "--client", "17"); err != nil {
		t.Fatalf("%v: %s", err, text)
	}

	secure, plain := freeUDP(t), freeUDP(t)
	d := startProcess(t, "dispatcher", "--nats", nats, "--listen", "dtls://"+secure+","+plain, "--log-format", "json",
		"--set", "sctp.dtls.certificate="+filepath.Join(dir, "server.pem"), "--set", "sctp.dtls.key="+filepath.Join(dir, "server-key.pem"),
		"--set", "sctp.dtls.ca="+filepath.Join(dir, "ca.pem"))
	d.await(t, `"message":"dispatcher serves"`)

	link, err := transport.OpenDTLS(netip.MustParseAddrPort("127.0.0.1:0"), certified(dir, "client-stations-17"), zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}

	reaches(t, link, secure)

	udp, err := transport.ListenUDP(netip.MustParseAddrPort("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}

	reaches(t, udp, plain)

	for _, args := range [][]string{{"status", "--nats", nats}, {"status", "--json", "--nats", nats}} {
		text, err := output(t, args...)
		want := []string{"dtls://" + secure + "," + plain}

		if len(args) == 4 {
			want = []string{`{"mode":"dtls","address":"` + secure + `"}`, `{"mode":"udp","address":"` + plain + `"}`, `"address":"` + secure + `",`}
		}

		for _, one := range want {
			if err != nil || !strings.Contains(text, one) {
				t.Errorf("%v: %v\n%s\nwithout %s", args, err, text, one)
			}
		}
	}

	if err := d.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}

	d.await(t, "certificates and keys read again")

	if err := d.signal(t, syscall.SIGTERM); err != nil {
		t.Error(err)
	}
}

// reaches sets an association up and closes it.
func reaches(t *testing.T, link transport.Link, target string) {
	t.Helper()

	var log bytes.Buffer

	endpoint, err := transport.New(link, transport.DefaultConfig(), zerolog.New(&log))
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), limit)
	ended := make(chan error, 1)

	go func() { ended <- endpoint.Run(ctx) }()

	a, err := endpoint.Dial(ctx, netip.MustParseAddrPort(target), transport.Dial{LocalPort: 1000, RemotePort: 2905, Streams: 2})
	if err == nil {
		err = a.Close(ctx)
	}

	cancel()
	err = errors.Join(err, <-ended)
	if err != nil {
		t.Fatalf("%s: %v\n%s", target, err, log.String())
	}
}
