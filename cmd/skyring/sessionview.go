package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"skyring/processor/ledger"
	"skyring/protocol/key"
	"skyring/statestore"
	"skyring/testbed/trace"
)

// sessionSummary is what a line of a listing tells of a session.
type sessionSummary struct {
	Key     string `json:"key"`
	PPID    uint32 `json:"ppid"`
	Count   uint64 `json:"count"`
	Bytes   uint64 `json:"bytes"`
	Chain   string `json:"chain"` // digest of the chains' values, sorted
	Version uint64 `json:"version"`
	First   string `json:"first"`
	Last    string `json:"last"`
	Node    string `json:"node"` // committed the last message
	Error   string `json:"error,omitempty"`
}

// chainView is one chain of a ledger, for people and programs.
type chainView struct {
	Epoch     uint64 `json:"epoch"`
	Stream    uint16 `json:"stream"`
	Unordered bool   `json:"unordered"`
	Count     uint64 `json:"count"`
	Bytes     uint64 `json:"bytes"`
	Value     string `json:"value"`
}

// sourceView is the mark that a session keeps of one association.
type sourceView struct {
	Epoch   uint64 `json:"epoch"`
	Mark    uint64 `json:"mark"`
	Replies int    `json:"replies"` // transactions whose answer is kept
	Touched string `json:"touched"`
}

// nodeView is a processor and how many of the session's messages it committed.
type nodeView struct {
	ID    string `json:"id"`
	Count uint64 `json:"count"`
}

// sessionDetail is everything about one session.
type sessionDetail struct {
	sessionSummary

	LastType string       `json:"lastType"`
	Nodes    []nodeView   `json:"nodes"`
	Sources  []sourceView `json:"sources"`
	Chains   []chainView  `json:"chains"`
}

// sessionLine sums a session up. One that cannot be read says why in Error.
func sessionLine(s statestore.Session) sessionSummary {
	summary := sessionSummary{Key: key.Format(s.Key), First: "-", Last: "-", Node: "-", Chain: "-"}
	if s.Err != nil {
		summary.Error = s.Err.Error()

		return summary
	}

	summary.Version = s.Record.Version

	l, err := ledger.Decode(s.Record.Body)
	if err != nil {
		summary.Error = err.Error()

		return summary
	}

	summary.PPID, summary.Count, summary.Bytes = l.PPID, l.Count, l.Bytes
	summary.First, summary.Last = timestamp(l.First), timestamp(l.Last)
	summary.Chain = digest(l.Chains)

	if n := len(l.Nodes); n > 0 {
		summary.Node = l.Nodes[n-1].ID
	}

	return summary
}

// digest is 16 hexadecimal digits that stand for the set of chain values.
func digest(chains []ledger.Chain) string {
	values := make([][]byte, len(chains))
	for i := range chains {
		values[i] = chains[i].Value[:]
	}

	slices.SortFunc(values, bytes.Compare)
	sum := sha256.Sum256(bytes.Join(values, nil))

	return hex.EncodeToString(sum[:8])
}

func (s sessionSummary) write(w io.Writer) error {
	if s.Error != "" {
		return writeUnreadable(w, s.Key, s.Error)
	}

	_, err := fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%s\t%d\t%s\t%s\t%s\n",
		s.Key, s.PPID, s.Count, s.Bytes, s.Chain, s.Version, s.First, s.Last, s.Node)

	return err
}

// writeUnreadable prints the line of a session that can not be read.
func writeUnreadable(w io.Writer, key, fault string) error {
	_, err := fmt.Fprintf(w, "%s\tcannot be read: %s\n", key, fault)

	return err
}

// writeJSONLine writes v as one line.
func writeJSONLine(w io.Writer, v any) error { return json.NewEncoder(w).Encode(v) }

func sessionDetails(s statestore.Session) sessionDetail {
	detail := sessionDetail{sessionSummary: sessionLine(s)}
	if detail.Error != "" {
		return detail
	}

	l, err := ledger.Decode(s.Record.Body)
	if err != nil {
		return detail
	}

	detail.LastType = l.LastType
	for _, n := range l.Nodes {
		detail.Nodes = append(detail.Nodes, nodeView{ID: n.ID, Count: n.Count})
	}

	detail.Sources = sourceViews(s.Record.Sources)

	for i := range l.Chains {
		c := &l.Chains[i]
		detail.Chains = append(detail.Chains, chainView{
			Epoch: c.Epoch, Stream: c.Stream, Unordered: c.Unordered, Count: c.Count, Bytes: c.Bytes, Value: hex.EncodeToString(c.Value[:]),
		})
	}

	return detail
}

func sourceViews(sources []statestore.Source) []sourceView {
	var views []sourceView
	for _, s := range sources {
		views = append(views, sourceView{Epoch: s.Epoch, Mark: s.Mark, Replies: len(s.Ring), Touched: timestamp(s.Touched)})
	}

	return views
}

func (s sourceView) String() string {
	return fmt.Sprintf("epoch %016x mark %d, %d replies kept, last %s", s.Epoch, s.Mark, s.Replies, s.Touched)
}

func (d sessionDetail) write(w io.Writer) error {
	if d.Error != "" {
		_, err := fmt.Fprintf(w, "%s cannot be read: %s\n", d.Key, d.Error)

		return err
	}

	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, row := range d.rows() {
		if _, err := io.WriteString(table, row+"\n"); err != nil {
			return err
		}
	}

	return table.Flush()
}

// rows are the lines for a person, a tab between name and value.
func (d sessionDetail) rows() []string {
	nodes := make([]string, len(d.Nodes))
	for i, n := range d.Nodes {
		nodes[i] = fmt.Sprintf("%s: %d", n.ID, n.Count)
	}

	rows := []string{
		"key\t" + d.Key,
		fmt.Sprintf("ppid\t%d %s", d.PPID, trace.PPIDName(d.PPID)),
		fmt.Sprintf("messages\t%d (%d bytes)", d.Count, d.Bytes),
		"last type\t" + d.LastType,
		fmt.Sprintf("version\t%d", d.Version),
		"first\t" + d.First,
		"last\t" + d.Last,
		"nodes\t" + strings.Join(nodes, ", "),
	}

	for _, s := range d.Sources {
		rows = append(rows, "source\t"+s.String())
	}

	for _, c := range d.Chains {
		order := "ordered"
		if c.Unordered {
			order = "unordered"
		}

		rows = append(rows, fmt.Sprintf("chain\tepoch %016x stream %d %s: %d messages, %d bytes, %s", c.Epoch, c.Stream, order, c.Count, c.Bytes, c.Value))
	}

	return rows
}
