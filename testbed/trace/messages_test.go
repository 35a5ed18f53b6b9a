package trace_test

import (
	"slices"
	"testing"
	"time"

	"github.com/gopacket/gopacket/layers"

	"skyring/protocol/transport/packet"
	"skyring/testbed/trace"
)

const (
	b = packet.FlagBeginning
	e = packet.FlagEnding
	u = packet.FlagUnordered
)

func TestMessagesOfADirection(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		packets [][][]byte // to the server, a millisecond apart
		want    []string
		flow    trace.Flow
	}{
		"fragments in order": {
			packets: [][][]byte{{data(7, 1, 0, b, "one,")}, {data(8, 1, 0, 0, "two,")}, {data(9, 1, 0, e, "three")}},
			want:    []string{"one,two,three"}, flow: trace.Flow{Chunks: 3, Unique: 3, Messages: 1, Bytes: 13, Streams: 1},
		},
		"fragments reordered by the capture": {
			packets: [][][]byte{{data(9, 1, 0, e, "c")}, {data(7, 1, 0, b, "a")}, {data(8, 1, 0, 0, "b")}},
			want:    []string{"abc"}, flow: trace.Flow{Chunks: 3, Unique: 3, Messages: 1, Bytes: 3, Streams: 1},
		},
		"each packet captured twice": {
			packets: [][][]byte{{data(7, 1, 0, whole, "a")}, {data(7, 1, 0, whole, "a")}, {data(8, 1, 1, whole, "b")}, {data(8, 1, 1, whole, "b")}},
			want:    []string{"a", "b"}, flow: trace.Flow{Chunks: 4, Unique: 2, Repeated: 2, Messages: 2, Bytes: 2, Streams: 1},
		},
		"other content under one TSN": {
			packets: [][][]byte{{data(7, 1, 0, whole, "a")}, {data(7, 1, 0, whole, "b")}},
			want:    []string{"a"}, flow: trace.Flow{Chunks: 2, Unique: 1, Repeated: 1, Conflicting: 1, Messages: 1, Bytes: 1, Streams: 1},
		},
		"a retransmission comes late: the stream waits, others do not": {
			packets: [][][]byte{{data(8, 1, 1, whole, "b")}, {data(9, 2, 0, whole, "x")}, {data(7, 1, 0, whole, "a")}, {data(10, 1, 2, whole, "c")}},
			want:    []string{"x", "a", "b", "c"}, flow: trace.Flow{Chunks: 4, Unique: 4, Messages: 4, Bytes: 4, Streams: 2},
		},
		"unordered ones do not wait": {
			packets: [][][]byte{{data(8, 1, 0, whole|u, "b")}, {data(7, 1, 0, whole|u, "a")}},
			want:    []string{"b", "a"}, flow: trace.Flow{Chunks: 2, Unique: 2, Messages: 2, Bytes: 2, Streams: 1},
		},
		"TSN and SSN wrap": {
			packets: [][][]byte{{data(0xfffffffe, 1, 0xffff, whole, "a")}, {data(0xffffffff, 1, 0, b, "b")}, {data(1, 1, 1, whole, "d")}, {data(0, 1, 0, e, "c")}},
			want:    []string{"a", "bc", "d"}, flow: trace.Flow{Chunks: 4, Unique: 4, Messages: 3, Bytes: 4, Streams: 1},
		},
		"a fragment in the middle is missing": {
			packets: [][][]byte{{data(7, 1, 0, b, "a")}, {data(9, 1, 0, e, "c")}, {data(10, 1, 1, whole, "d")}},
			want:    []string{"d"}, flow: trace.Flow{Chunks: 3, Unique: 3, Missing: 1, Incomplete: 1, Messages: 1, Bytes: 1, Streams: 1},
		},
		"the capture begins and ends within a message": {
			packets: [][][]byte{{data(7, 1, 0, 0, "a"), data(8, 1, 0, e, "b")}, {data(9, 1, 1, b, "c")}},
			flow:    trace.Flow{Chunks: 3, Unique: 3, Incomplete: 2, Streams: 1},
		},
		"without user data": {
			packets: [][][]byte{{data(7, 1, 0, whole, "")}, {data(8, 1, 1, whole, "b")}},
			want:    []string{"b"}, flow: trace.Flow{Chunks: 2, Unique: 2, Empty: 1, Messages: 1, Bytes: 1, Streams: 1},
		},
		"bundled": {
			packets: [][][]byte{{data(7, 1, 0, whole, "a"), data(8, 2, 0, whole, "b"), data(9, 1, 1, whole, "c")}},
			want:    []string{"a", "b", "c"}, flow: trace.Flow{Chunks: 3, Unique: 3, Messages: 3, Bytes: 3, Streams: 2},
		},
		"I-DATA interleaved": {
			packets: [][][]byte{
				{idata(7, 1, 0, 18, b, "a")},
				{idata(8, 2, 0, 18, b, "x")},
				{idata(9, 1, 0, 1, 0, "b")},
				{idata(10, 2, 0, 1, e, "y")},
				{idata(11, 1, 0, 2, e, "c")},
				{idata(12, 1, 1, 18, b|e, "d")},
			},
			want: []string{"xy", "abc", "d"}, flow: trace.Flow{Chunks: 6, Unique: 6, Messages: 3, Bytes: 6, Streams: 2},
		},
		"I-DATA with a fragment missing": {
			packets: [][][]byte{{idata(7, 1, 0, 18, b, "a")}, {idata(9, 1, 0, 2, e, "c")}, {idata(10, 1, 1, 0, e, "e")}, {idata(11, 1, 2, 18, b, "f")}},
			flow:    trace.Flow{Chunks: 4, Unique: 4, Missing: 1, Incomplete: 3, Streams: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var records []crafted
			for i, chunks := range test.packets {
				records = append(records, toServer(t, time.Duration(i)*time.Millisecond, chunks...))
			}
			got := read(t, capture(t, layers.LinkTypeRaw, records...))
			if len(got.Associations) != 1 {
				t.Fatalf("%d associations, want 1", len(got.Associations))
			}
			if have := payloads(got.Messages); !slices.Equal(have, test.want) {
				t.Errorf("messages %q, want %q", have, test.want)
			}
			flow := got.Associations[0].ToServer
			for _, p := range flow.PPIDs {
				if p.PPID != 18 && p.PPID != 0 {
					t.Errorf("PPID %d", p.PPID)
				}
			}
			flow.Packets, flow.PPIDs = 0, nil
			if !equalFlow(flow, test.flow) {
				t.Errorf("counted %+v, want %+v", flow, test.flow)
			}
		})
	}
}

func equalFlow(a, b trace.Flow) bool {
	return a.Chunks == b.Chunks && a.Unique == b.Unique && a.Repeated == b.Repeated && a.Conflicting == b.Conflicting &&
		a.Missing == b.Missing && a.Empty == b.Empty && a.Messages == b.Messages && a.Incomplete == b.Incomplete &&
		a.Bytes == b.Bytes && a.Streams == b.Streams
}

// A message that comes late takes its stream's later ones with it: their times do not run backwards.
func TestTimeIsWhenTheStreamCouldGoOn(t *testing.T) {
	got := read(t, capture(t, layers.LinkTypeRaw,
		toServer(t, 1*time.Millisecond, data(8, 1, 1, whole, "b")),
		toServer(t, 5*time.Millisecond, data(7, 1, 0, whole, "a")),
	))
	for _, m := range got.Messages {
		if want := epoch.Add(5 * time.Millisecond); !m.Time.Equal(want) {
			t.Errorf("%s is at %v, want %v", m.Payload, m.Time, want)
		}
	}
}

// The initial TSN of INIT tells of chunks missing before the first.
func TestMissingFromTheInitialTSN(t *testing.T) {
	got := read(t, capture(t, layers.LinkTypeRaw,
		initPacket(t, 0, clientTag, 100), toServer(t, time.Millisecond, data(103, 0, 3, whole, "d")),
	))
	if missing := got.Associations[0].ToServer.Missing; missing != 3 {
		t.Errorf("%d TSNs missing, want 3", missing)
	}
}

// A packet cut to the snap length keeps its whole chunks; a later whole copy makes up for the cut one.
func TestSnapLength(t *testing.T) {
	full := toServer(t, 0, data(7, 1, 0, whole, "first"), data(8, 1, 1, whole, "second, which is long enough to be cut"))
	cut := crafted{data: full.data[:len(full.data)-20], wire: len(full.data)}
	got := read(t, capture(t, layers.LinkTypeRaw, cut))
	if have := payloads(got.Messages); !slices.Equal(have, []string{"first"}) || got.Cut != 1 || got.Malformed != 0 {
		t.Errorf("messages %q, %d cut, %d malformed", have, got.Cut, got.Malformed)
	}
	if flow := got.Associations[0].ToServer; flow.Incomplete != 1 || flow.Missing != 0 || flow.Chunks != 2 {
		t.Errorf("counted %+v", flow)
	}
	got = read(t, capture(t, layers.LinkTypeRaw, cut, full))
	if len(got.Messages) != 2 || got.Associations[0].ToServer.Conflicting != 0 {
		t.Errorf("messages %q after a whole copy, %+v", payloads(got.Messages), got.Associations[0].ToServer)
	}
}
