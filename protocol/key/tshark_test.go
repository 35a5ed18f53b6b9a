package key_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"skyring/protocol/key"
	"skyring/testbed/shared"
)

// dissected is one message as tshark reads it.
type dissected struct {
	payload   []byte
	tree      any            // its own part of the packet's tree
	layers    map[string]any // the whole packet's
	index     int            // 0 for the first message of its protocol in the packet
	malformed bool           // tshark says so of something in the packet
}

// captures are the files with S1AP, NGAP, Diameter, M3UA or H.248, how many messages of each
// tshark 4.0 finds in them, fragments put together, and how many of those it can read.
var captures = []struct {
	file     string
	protocol string
	ppid     uint32
	messages int
	readable int
	draft    bool // read M3UA as draft 6 has it: a reader of RFC 4666 cannot
}{
	{"magma+magma/gx_gy_combined_04_sctp-only.pcapng", "s1ap", 18, 544, 544, false},
	{"magma+magma/gx_gy_combined_04_sctp-only.pcapng", "diameter", 46, 1288, 1288, false},
	{"magma+magma/gx_gy_combined_03_210505_132953-1.pcapng", "s1ap", 18, 17, 17, false},
	{"magma+magma/gx_gy_combined_03_210505_132953-1.pcapng", "diameter", 46, 124, 124, false},
	{"magma+magma/gx_gy_combined_06_210505_133132-1.pcapng", "s1ap", 18, 17, 17, false},
	{"magma+magma/gx_gy_combined_06_210505_133132-1.pcapng", "diameter", 46, 64, 64, false},
	{"magma+magma/inbound_roaming_05_210504_215514-1.pcapng", "s1ap", 18, 23, 23, false},
	{"magma+magma/inbound_roaming_05_210504_215514-1.pcapng", "diameter", 46, 102, 102, false},
	{"handymenny+uecapabilityparser/sctpS1apNgap.pcap", "s1ap", 18, 76, 76, false},
	{"handymenny+uecapabilityparser/sctpS1apNgap.pcap", "ngap", 60, 17, 17, false},
	{"telekom+5g-trace-visualizer/free5gc.pcap", "ngap", 60, 13, 13, false},
	{"arkime+arkime/diameter_synthetic.pcap", "diameter", 46, 4, 4, false},
	{"arkime+arkime/m3ua_synthetic.pcap", "m3ua", 3, 21, 20, false},
	{"arkime+arkime/m3ua_synthetic.pcap", "m3ua", 3, 21, 3, true},
	{"the-tcpdump-group+tcpdump/isup.pcap", "m3ua", 3, 6, 6, true},
	{"sage-s11+sigcorr/full_multi_protocol_attack.pcap", "m3ua", 3, 2, 2, false},
	{"aboutsip+pkts/sctp.cap", "megaco", 7, 1, 1, false},
	{"AlexeyVasilev+PcapFlowLab/01_sctp_ipv4_data_s1ap.pcap", "s1ap", 18, 1, 1, false},
	{"AlexeyVasilev+PcapFlowLab/03_sctp_ipv4_data_m3ua.pcap", "m3ua", 3, 1, 0, false},
}

const associationOfTest = 0xABCD

// TestKeysAgreeWithTshark compares the key of every message with what an independent
// dissector finds in it.
func TestKeysAgreeWithTshark(t *testing.T) {
	traces := shared.Traces(t)
	tshark := findTshark(t)

	for _, c := range captures {
		name := c.protocol + "/" + filepath.Base(c.file)

		args := []string{"-r", filepath.Join(traces, c.file), "-Y", "sctp && " + c.protocol}
		if c.draft {
			name += "/draft"
			args = append(args, "-o", "m3ua.version:Internet Draft version 6")
		}

		t.Run(name, func(t *testing.T) {
			messages := dissect(t, tshark, c.protocol, args)
			if len(messages) != c.messages {
				t.Errorf("tshark finds %d messages, want %d", len(messages), c.messages)
			}

			readable := 0

			for i, m := range messages {
				k, err := key.Append(nil, associationOfTest, c.ppid, m.payload)

				if _, isTree := m.tree.(map[string]any); !isTree || m.malformed {
					continue
				}

				want, ok := expected(t, c.protocol, m)
				if !ok {
					continue
				}

				readable++

				if got := key.Format(k); got != want || err != nil && key.KindOf(k) != key.KindAssociation {
					t.Errorf("message %d: got %s, %v; tshark says %s\n% x", i, got, err, want, m.payload)
				}
			}

			if readable != c.readable {
				t.Errorf("tshark can read %d messages, want %d", readable, c.readable)
			}
		})
	}
}

func findTshark(t *testing.T) string {
	t.Helper()

	path, err := exec.LookPath("tshark")
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatal("tshark is missing: it checks the keys independently (apt-get install tshark)")
	}

	if err != nil {
		t.Skip("tshark is missing: the independent check of keys is skipped")
	}

	return path
}

// dissect returns the messages of one protocol in a capture, in order.
func dissect(t *testing.T, tshark, protocol string, args []string) []dissected {
	t.Helper()

	// Bytes with trees cut off, then trees without bytes: together they are ten times as much.
	bytesOf := layersOf(t, tshark, append(slices.Clone(args), "-x", "-j", protocol))
	treesOf := layersOf(t, tshark, append(slices.Clone(args), "-J", protocol+" mtp3 isup _ws.malformed"))

	if len(bytesOf) != len(treesOf) {
		t.Fatalf("tshark prints %d packets with bytes and %d with trees", len(bytesOf), len(treesOf))
	}

	var out []dissected

	for i, layers := range treesOf {
		raw := many(bytesOf[i][protocol+"_raw"])
		if _, one := raw[0].(string); one { // a single message is not wrapped in a list
			raw = []any{raw}
		}

		trees := many(layers[protocol])
		_, malformed := layers["_ws.malformed"]

		if len(raw) != len(trees) {
			t.Fatalf("packet %d: %d times bytes, %d trees", i, len(raw), len(trees))
		}

		for j := range raw {
			payload, err := hex.DecodeString(raw[j].([]any)[0].(string))
			if err != nil {
				t.Fatal(err)
			}

			out = append(out, dissected{payload: payload, tree: trees[j], layers: layers, index: j, malformed: malformed})
		}
	}

	return out
}

// layersOf runs tshark and returns the layers of each packet it prints.
func layersOf(t *testing.T, tshark string, args []string) []map[string]any {
	t.Helper()

	command := exec.CommandContext(t.Context(), tshark, append(args, "-T", "json", "--no-duplicate-keys")...)

	printed, err := command.Output()
	if err != nil && len(printed) == 0 { // it also fails on captures that are cut short, after printing
		t.Fatalf("%s: %v", command, err)
	}

	var packets []struct {
		Source struct {
			Layers map[string]any `json:"layers"`
		} `json:"_source"`
	}

	if err := json.Unmarshal(printed, &packets); err != nil {
		t.Fatalf("%s: %v", command, err)
	}

	var out []map[string]any
	for _, p := range packets {
		out = append(out, p.Source.Layers)
	}

	return out
}

// many returns the elements of a list, or the one thing that is there without a list.
func many(v any) []any {
	if l, is := v.([]any); is {
		return l
	}

	return []any{v}
}

// all returns every value under a name in a tree.
func all(tree any, name string) []string {
	var out []string

	switch v := tree.(type) {
	case map[string]any:
		for k, child := range v {
			if s, is := child.(string); is && k == name {
				out = append(out, s)
			}

			if k == name {
				if l, is := child.([]any); is {
					for _, s := range l {
						out = append(out, fmt.Sprint(s))
					}
				}
			}

			out = append(out, all(child, name)...)
		}
	case []any:
		for _, child := range v {
			out = append(out, all(child, name)...)
		}
	}

	return out
}

// expected formats the key that a message has by what tshark found in it, false where
// tshark could not read far enough.
func expected(t *testing.T, protocol string, m dissected) (string, bool) {
	t.Helper()

	association := fmt.Sprintf("association:%016x", associationOfTest)

	switch protocol {
	case "s1ap", "ngap":
		field := map[string]string{"s1ap": "_UE_S1AP_ID", "ngap": "_UE_NGAP_ID"}[protocol]
		ran := map[string][]string{"s1ap": {"ENB", "eNB"}, "ngap": {"RAN", "rAN"}}[protocol]
		reset := map[string]string{"s1ap": "14", "ngap": "20"}[protocol]

		ids := append(all(m.tree, protocol+"."+ran[0]+field), all(m.tree, protocol+"."+ran[1]+field)...)
		if len(ids) == 0 || slices.Contains(all(m.tree, protocol+".procedureCode"), reset) {
			return association, true
		}

		return fmt.Sprintf("%s:assoc=%016x/ue=%s", protocol, associationOfTest, ids[0]), true
	case "diameter":
		ids := all(m.tree, "diameter.Session-Id")
		if len(ids) == 0 {
			return association, true
		}

		return "diameter:" + strings.ReplaceAll(ids[0], " ", "%20"), true
	case "megaco":
		return fmt.Sprintf("h248:assoc=%016x/context=%d", associationOfTest, number(t, m.tree, "megaco.context")), true
	default:
		return expectedM3UA(t, association, m)
	}
}

func expectedM3UA(t *testing.T, association string, m dissected) (string, bool) {
	t.Helper()

	if number(t, m.tree, "m3ua.message_class") != 1 || number(t, m.tree, "m3ua.message_type") != 1 {
		return association, true
	}

	label := m.tree

	switch { // RFC 4666 repeats the label, the drafts leave it in MTP3's layer
	case len(all(label, "m3ua.protocol_data_opc")) > 0:
	case m.layers["mtp3"] != nil:
		label = many(m.layers["mtp3"])[m.index]
	default:
		return "", false
	}

	opc := number(t, label, "m3ua.protocol_data_opc", "mtp3.opc")
	dpc := number(t, label, "m3ua.protocol_data_dpc", "mtp3.dpc")
	service := number(t, label, "m3ua.protocol_data_si", "mtp3.service_indicator")
	selection := number(t, label, "m3ua.protocol_data_sls", "mtp3.sls")
	pc := fmt.Sprintf("pc=%d-%d", min(opc, dpc), max(opc, dpc))

	switch service {
	case 3:
		return fmt.Sprintf("sccp:%s/sls=%d", pc, selection), true
	case 5:
		return fmt.Sprintf("isup:%s/cic=%d", pc, number(t, m.layers["isup"], "isup.cic")), true
	default:
		return fmt.Sprintf("m3ua:%s/si=%d/sls=%d", pc, service, selection), true
	}
}

// number returns the first of several fields that is there.
func number(t *testing.T, tree any, names ...string) uint64 {
	t.Helper()

	for _, name := range names {
		if found := all(tree, name); len(found) > 0 {
			v, err := strconv.ParseUint(found[0], 0, 64)
			if err != nil {
				t.Fatal(err)
			}

			return v
		}
	}

	t.Fatalf("none of %v in %v", names, tree)

	return 0
}
