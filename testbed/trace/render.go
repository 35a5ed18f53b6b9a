package trace

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Lines of WriteText are at most this many columns wide, file names apart.
const textWidth = 118

// Most lists are longer than a person reads.
const (
	shownAssociations = 40
	shownSessions     = 20
	shownWarnings     = 20
)

// WriteText writes the inspection for a person: tables of at most 120 columns, the longest lists shortened with a line that
// says how many are left out.
func (in *Inspection) WriteText(w io.Writer) error {
	out := &printer{w: bufio.NewWriter(w)}
	in.head(out)
	in.ppids(out)
	in.associations(out)
	in.sessions(out)
	if len(in.Warnings) > 0 {
		out.line("\nwarnings")
		for i, warning := range in.Warnings {
			if i == shownWarnings {
				out.more(len(in.Warnings)-i, "warning")
				break
			}
			out.wrapped("  ", warning.String())
		}
	}
	if err := out.w.Flush(); err != nil {
		return fmt.Errorf("write the inspection: %w", err)
	}
	return nil
}

// printer writes lines; bufio keeps the first error for Flush.
type printer struct{ w *bufio.Writer }

func (p *printer) line(format string, args ...any) {
	fmt.Fprintln(p.w, strings.TrimRight(fmt.Sprintf(format, args...), " ")) //nolint:errcheck // Flush reports it
}

func (p *printer) more(n int, noun string) {
	if n != 1 {
		noun += "s"
	}
	p.line("  ... and %d more %s", n, noun)
}

// wrapped breaks a text at spaces; later lines are indented further.
func (p *printer) wrapped(indent, text string) {
	for utf8.RuneCountInString(indent+text) > textWidth {
		cut := strings.LastIndexByte(text[:min(len(text), textWidth-len(indent))], ' ')
		if cut <= 0 {
			break
		}
		p.line("%s%s", indent, text[:cut])
		indent, text = "    ", text[cut+1:]
	}
	p.line("%s%s", indent, text)
}

func (in *Inspection) head(out *printer) {
	format := in.Format
	if in.Compressed {
		format += ", gzip"
	}
	out.line("%s", in.File)
	out.line("  format        %s, %s", format, strings.Join(in.LinkTypes, ", "))
	out.line("  packets       %d, of them SCTP %d%s", in.Packets, in.SCTPPackets, in.details())
	if in.Start != nil {
		out.line("  time          %s, %.6f s", in.Start.UTC().Format("2006-01-02 15:04:05.000000 UTC"), in.Seconds)
	}
	out.line("  associations  %d", len(in.Associations))
	out.line("  messages      %d, %d bytes; %d incomplete, %d TSNs missing", in.Messages, in.Bytes, in.Incomplete, in.Missing)
	var chunks []string
	for _, c := range in.Chunks {
		chunks = append(chunks, fmt.Sprintf("%s %d", c.Name, c.Count))
	}
	if len(chunks) > 12 {
		chunks = append(chunks[:12], fmt.Sprintf("and %d other types", len(in.Chunks)-12))
	}
	out.wrapped("  chunks        ", strings.Join(chunks, ", "))
}

func (in *Inspection) details() string {
	var details []string
	for _, d := range []struct {
		count uint64
		text  string
	}{
		{in.OverUDP, "over UDP"},
		{in.BadCRC, "wrong CRC32c"},
		{in.Malformed, "malformed"},
		{in.Cut, "cut"},
	} {
		if d.count > 0 {
			details = append(details, fmt.Sprintf("%d %s", d.count, d.text))
		}
	}
	if details == nil {
		return ""
	}
	return " (" + strings.Join(details, ", ") + ")"
}

func (in *Inspection) ppids(out *printer) {
	if len(in.PPIDs) == 0 {
		return
	}
	out.line("\n  %10s  %-24s %10s %10s %10s %14s", "PPID", "protocol", "chunks", "unique", "messages", "bytes")
	for i, p := range in.PPIDs {
		if i == shownSessions {
			out.more(len(in.PPIDs)-i, "PPID")
			break
		}
		name := p.Name
		if name == "" {
			name = fmt.Sprintf("0x%08x", p.PPID)
		}
		out.line("  %10d  %-24s %10d %10d %10d %14d", p.PPID, name, p.Chunks, p.Unique, p.Messages, p.Bytes)
	}
}

func (in *Inspection) associations(out *printer) {
	if len(in.Associations) == 0 {
		return
	}
	out.line("\n  %5s  %-27s  %-27s %-10s %9s %9s  %-8s %s", "assoc", "client", "server", "roles by", "to server", "to client", "ending", "seconds")
	for i, a := range in.Associations {
		if i == shownAssociations {
			out.more(len(in.Associations)-i, "association")
			break
		}
		ending := string(a.Ending)
		if ending == "" {
			ending = "-"
		}
		out.line("  %5d  %-27s  %-27s %-10s %9d %9d  %-8s %.3f",
			a.ID, fit(a.Client.String(), 27), fit(a.Server.String(), 27), a.Role, a.ToServer.Messages, a.ToClient.Messages, ending, a.Seconds)
	}
}

func (in *Inspection) sessions(out *printer) {
	if len(in.Sessions) == 0 {
		return
	}
	kinds := make(map[string]int)
	var order []string
	for _, s := range in.Sessions {
		if kinds[s.Kind] == 0 {
			order = append(order, s.Kind)
		}
		kinds[s.Kind]++
	}
	var summary []string
	for _, kind := range order {
		summary = append(summary, fmt.Sprintf("%s %d", kind, kinds[kind]))
	}
	out.line("\n  %d sessions by key: %s", len(in.Sessions), strings.Join(summary, ", "))
	if in.KeyFaults > 0 {
		out.line("  %s without a readable key, counted to the association", plural(in.KeyFaults, "message"))
	}
	out.line("  %-72s %9s %12s %10s %6s", "session", "messages", "bytes", "seconds", "assocs")
	for i, s := range in.Sessions {
		if i == shownSessions {
			out.more(len(in.Sessions)-i, "session")
			break
		}
		out.line("  %-72s %9d %12d %10.3f %6d", fit(s.Key, 72), s.Messages, s.Bytes, s.Seconds, s.Associations)
	}
}

// fit shortens a text in the middle, where addresses and keys say least.
func fit(s string, width int) string {
	runes := []rune(s)
	if len(runes) <= width {
		return s
	}
	head := (width - 3) / 2
	return string(runes[:head]) + "..." + string(runes[len(runes)-(width-3-head):])
}
