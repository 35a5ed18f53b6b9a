package main

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"skyring/protocol/identity"
)

// pskBytes is the length of the keys that cert makes.
const pskBytes = 32

// certOptions are the flags of cert.
type certOptions struct {
	dir     string
	server  []string
	clients []string
	psks    []string
	days    int
}

func certCommand() *cobra.Command {
	var o certOptions

	cmd := &cobra.Command{
		Use:   "cert {--dir DIR [--server NAME,...] [--client STATIONS]... | --psk IDENTITY...}",
		Short: "make certificates or pre-shared keys, by which stations and dispatchers prove themselves over DTLS",
		Long: `Makes a certificate authority for development and small networks in DIR, and certificates that it signs
(ECDSA P-256): one of a dispatcher, with the names and addresses that stations dial, and one for each --client, with
the station ids that its holder may speak for: 17, 20-42, 17,20-42, or * for all; NAME=17 gives the certificate
a name of its own. Ids are hexadecimal, as those of 'skyring station' are. An authority that is in DIR already signs
further ones. No file is ever overwritten. Certificates may be read by everybody (0644), keys by their owner alone (0600).

With --psk, prints lines of a file of pre-shared keys instead: an identity, a random key, and after = the stations
that it may speak for, which may be left out for peers that speak no ESSP.

Whoever has ca-key.pem can speak for every station: keep it off the dispatchers, and use your own authority in service.`,
		Example: `  skyring cert --dir tls --server dispatcher.example,192.0.2.1 --client 17-4f --client hub='*'
  skyring cert --dir tls --client gw-7=17
  skyring cert --psk gw-7=17,20-42 >> psk.txt`,
		Args: exactArgs(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.validate(); err != nil {
				return &usageError{err: err}
			}

			if len(o.psks) > 0 {
				return printPSKs(cmd.OutOrStdout(), o.psks)
			}

			return makeCertificates(cmd.OutOrStdout(), o, time.Now())
		},
	}
	cmd.Flags().StringVar(&o.dir, "dir", "", "directory of the files; made when it does not exist")
	cmd.Flags().StringSliceVar(&o.server, "server", nil, "names and IP addresses of the dispatcher, the first being its name")
	cmd.Flags().StringArrayVar(&o.clients, "client", nil, "station ids that a client speaks for, or NAME=STATIONS; may be repeated")
	cmd.Flags().StringArrayVar(&o.psks, "psk", nil, "print a pre-shared key for IDENTITY or IDENTITY=STATIONS; may be repeated")
	cmd.Flags().IntVar(&o.days, "days", 365, "how long the certificates are valid; the authority's is ten years")

	return cmd
}

func (o *certOptions) validate() error {
	switch {
	case len(o.psks) > 0 && (o.dir != "" || len(o.server)+len(o.clients) > 0):
		return errors.New("--psk prints keys and makes no files: it goes with none of --dir, --server and --client")
	case len(o.psks) > 0:
		return nil
	case o.dir == "":
		return errors.New("--dir is missing: it says where the files go; or --psk prints a pre-shared key")
	case len(o.server)+len(o.clients) == 0:
		return errors.New("--server and --client are missing: say at least one certificate that is wanted")
	case o.days < 1 || o.days > 3650:
		return fmt.Errorf("--days is %d: 1 to 3650 is right", o.days)
	}

	return nil
}

// speaker is what stands behind --client and --psk: a name, and the stations it may speak for.
type speaker struct {
	name     string
	stations identity.Stations
}

func parseSpeaker(flag, text string) (speaker, error) {
	name, list, named := strings.Cut(text, "=")
	if !named && flag == "--client" {
		name, list = "", text
	}

	s := speaker{name: name}

	if list != "" || named || flag == "--client" {
		stations, err := identity.ParseStations(list)
		if err != nil {
			return s, usagef("%s %s: %w", flag, text, err)
		}

		s.stations = stations
	}

	if s.name == "" {
		s.name = "stations-" + strings.NewReplacer("*", "all", ",", "-and-").Replace(s.stations.String())
	}

	if strings.ContainsFunc(s.name, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`/\#=`, r) }) ||
		strings.HasPrefix(s.name, ".") || len(s.name) > 64 {
		return s, usagef("%s %s: the name %q is right with 1 to 64 letters, digits, dots and dashes", flag, text, s.name)
	}

	return s, nil
}

func printPSKs(w io.Writer, wanted []string) error {
	var lines strings.Builder

	for _, text := range wanted {
		s, err := parseSpeaker("--psk", text)
		if err != nil {
			return err
		}

		key := make([]byte, pskBytes)
		_, _ = rand.Read(key) // never fails: crypto/rand ends the program instead

		lines.WriteString(s.name + " " + hex.EncodeToString(key))

		if !s.stations.Empty() {
			lines.WriteString(" " + s.stations.String())
		}

		lines.WriteString("\n")
	}

	_, err := io.WriteString(w, lines.String())

	return err
}

// makeCertificates makes all files or, on an error, none.
func makeCertificates(w io.Writer, o certOptions, now time.Time) error {
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return fmt.Errorf("make the directory of the certificates: %w", err)
	}

	a, err := openAuthority(o.dir, now)
	if err != nil {
		return err
	}

	until := now.AddDate(0, 0, o.days)
	if len(o.server) > 0 {
		if err := a.issueServer(o.server, until); err != nil {
			return err
		}
	}

	for _, text := range o.clients {
		s, err := parseSpeaker("--client", text)
		if err != nil {
			return err
		}

		if err := a.issueClient(s, until); err != nil {
			return err
		}
	}

	if err := a.files.write(); err != nil {
		return err
	}

	return a.explain(w)
}

// explain says what was made and how to use it.
func (a *issuer) explain(w io.Writer) error {
	var text strings.Builder
	for _, f := range a.files.list {
		fmt.Fprintf(&text, "%s\t%s\n", f.path, f.what)
	}

	if !a.made {
		fmt.Fprintf(&text, "%s\tauthority that was there, and signed them\n", a.path(authorityFile))
	}

	fmt.Fprintf(&text, "\nA dispatcher's listener of mode dtls wants its certificate and key, and as ca %s.\n", a.path(authorityFile))
	text.WriteString("A station wants its own certificate and key, and the same ca; the name it dials must be in the server's.\n")
	fmt.Fprintf(&text, "Keep %s off both: who has it can speak for every station.\n", a.path(authorityKeyFile))

	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if _, err := io.WriteString(table, text.String()); err != nil {
		return err
	}

	return table.Flush()
}

// namesAndAddresses parts names and IP addresses.
func namesAndAddresses(list []string) (names []string, ips []netip.Addr, err error) {
	for _, one := range list {
		if ip, err := netip.ParseAddr(one); err == nil {
			ips = append(ips, ip)
			continue
		}

		if one == "" || strings.ContainsFunc(one, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("/:@", r) }) {
			return nil, nil, usagef("--server: %q is neither a host name nor an IP address; without a port is right", one)
		}

		names = append(names, one)
	}

	return names, ips, nil
}
