package trace_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"skyring/testbed/shared"
	"skyring/testbed/trace"
)

// replayed are the captures that a replay must bring through whole.
func replayed() []string {
	return []string{
		"magma+magma/gx_gy_combined_04_sctp-only.pcapng",
		"magma+magma/inbound_roaming_05_210504_215514-1.pcapng",
		"the-tcpdump-group+tcpdump/isup.pcap",
		"arkime+arkime/m3ua_synthetic.pcap",
		"telekom+5g-trace-visualizer/free5gc.pcap",
		"handymenny+uecapabilityparser/sctpS1apNgap.pcap",
		"debian-wireshark/netperfmeter.pcapng.gz",
		"aboutsip+pkts/sctp-test.cap",
		"aboutsip+pkts/sctp-www.cap",
		"magma+magma/gx_gy_combined_03_210505_132953-1.pcapng",
		"magma+magma/gx_gy_combined_06_210505_133132-1.pcapng",
		"the-tcpdump-group+tcpdump/forces3.pcap",
		"aboutsip+pkts/sctp_init_collision.cap",
		"sage-s11+sigcorr/japan_tcap.pcap",
	}
}

// count is what two readers must agree on for a PPID.
type count struct{ chunks, unique, messages int }

// tshark, which shares no code with this reader, sees the same chunks, unique TSNs and messages for each PPID.
func TestCountsAgreeWithTshark(t *testing.T) {
	t.Parallel()
	binary, err := exec.LookPath("tshark")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("tshark is not installed: apt-get install tshark")
		}
		t.Skip("tshark is not installed")
	}
	for _, name := range replayed() {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(shared.Traces(t), name)
			want := tsharkCounts(t, binary, path)
			got, err := open(t, path)
			if err != nil {
				t.Fatal(err)
			}
			have := make(map[string]count)
			for _, p := range trace.Inspect(got).PPIDs {
				have[strconv.FormatUint(uint64(p.PPID), 10)] = count{int(p.Chunks), int(p.Unique), int(p.Messages)}
			}
			if !maps.Equal(have, want) {
				t.Errorf("chunks, unique TSNs and messages by PPID are %v, tshark says %v", have, want)
			}
		})
	}
}

// tsharkCounts asks for one line a packet with the fields of each of its DATA chunks. A message is an E bit under a TSN not
// seen before in its direction, that is under its addresses, ports and tag.
func tsharkCounts(t *testing.T, binary, path string) map[string]count {
	t.Helper()
	command := exec.CommandContext(t.Context(), binary, "-r", path, "-n", "-Y", "sctp.chunk_type == 0",
		"-o", "sctp.reassembly:FALSE", "-T", "fields", "-E", "separator=|", "-E", "aggregator=,", "-e", "ip.src", "-e", "ip.dst", "-e", "sctp.srcport", "-e", "sctp.dstport",
		"-e", "sctp.verification_tag", "-e", "sctp.data_tsn_raw", "-e", "sctp.data_e_bit", "-e", "sctp.data_payload_proto_id")
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %v", command, err)
	}
	counts := make(map[string]count)
	seen := make(map[string]bool)
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "|")
		if len(fields) != 8 {
			t.Fatalf("tshark: %d fields in %q", len(fields), line)
		}
		tsns, endings, ppids := strings.Split(fields[5], ","), strings.Split(fields[6], ","), strings.Split(fields[7], ",")
		if len(tsns) != len(endings) || len(tsns) != len(ppids) {
			t.Fatalf("tshark: %d TSNs, %d E bits, %d PPIDs in %q", len(tsns), len(endings), len(ppids), line)
		}
		for i, tsn := range tsns {
			c := counts[ppids[i]]
			c.chunks++
			if id := strings.Join(fields[:5], "|") + "|" + tsn; !seen[id] {
				seen[id] = true
				c.unique++
				if endings[i] == "1" || endings[i] == "True" {
					c.messages++
				}
			}
			counts[ppids[i]] = c
		}
	}
	if len(counts) == 0 {
		t.Fatal("tshark sees no DATA chunk")
	}
	return counts
}
