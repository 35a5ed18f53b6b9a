package ledger_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"

	"skyring/processor"
	"skyring/processor/ledger"
)

func message(epoch uint64, stream uint16, payload string) processor.Message {
	return processor.Message{Epoch: epoch, Stream: stream, PPID: 18, Payload: []byte(payload), Now: 1_700_000_000_000_000, Node: "node-1"}
}

func unordered(m processor.Message) processor.Message {
	m.Unordered = true
	return m
}

func sample() *ledger.Ledger {
	l := &ledger.Ledger{}
	l.Add(message(5, 0, "\x00\x0cone"))
	l.Add(message(5, 0, "\x20\x09two"))
	l.Add(unordered(message(5, 3, "three")))
	m := message(6, 1, "")
	m.Now++
	m.Node = "node-2"
	l.Add(m)
	return l
}

// chain is an independent computation of an ordered chain.
func chain(payloads ...string) (v [32]byte) {
	for _, p := range payloads {
		v = sha256.Sum256(append(v[:], p...))
	}
	return v
}

func TestAddAccounts(t *testing.T) {
	t.Parallel()
	l := sample()
	if l.PPID != 18 || l.Count != 4 || l.Bytes != 15 || l.First != 1_700_000_000_000_000 || l.Last != l.First+1 {
		t.Errorf("%+v", l)
	}
	if l.LastType != "S1AP successfulOutcome 9" {
		t.Errorf("last type %q", l.LastType)
	}
	if len(l.Nodes) != 2 || l.Nodes[0].ID != "node-1" || l.Nodes[0].Count != 3 || l.Nodes[1].Count != 1 {
		t.Errorf("nodes %+v", l.Nodes)
	}
	want := []ledger.Chain{
		{Epoch: 5, Stream: 0, Count: 2, Bytes: 10, Value: chain("\x00\x0cone", "\x20\x09two")},
		{Epoch: 5, Stream: 3, Unordered: true, Count: 1, Bytes: 5, Value: sha256.Sum256([]byte("three"))},
		{Epoch: 6, Stream: 1, Count: 1, Value: chain("")},
	}
	if !reflect.DeepEqual(l.Chains, want) {
		t.Errorf("chains %+v\nwant %+v", l.Chains, want)
	}
}

// golden is sample() on the wire, as a released version wrote it.
const golden = "08121004180f208080f9c0c1c48203288180f9c0c1c48203" + // ppid, count, bytes, first, last
	"321853314150207375636365737366756c4f7574636f6d652039" + // S1AP successfulOutcome 9
	"3a0a0a066e6f64652d311003" + "3a0a0a066e6f64652d321001" + // nodes
	"4a2808052002280a3220dd45443cafbb22dad70cbc3f7472a79c069a15b6a9f3bb94a8fc0bad57ebc611" +
	"4a2c0805100318012001280532208b5b9db0c13db24256c829aa364aa90c6d2eba318b9232a4ab9313b954d3555f" +
	"4a28080610012001322066687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925"

func TestLayoutDoesNotChange(t *testing.T) {
	t.Parallel()
	if got := hex.EncodeToString(sample().Append(nil)); got != golden {
		t.Errorf("got  %s\nwant %s", got, golden)
	}
}

func TestBodySurvives(t *testing.T) {
	t.Parallel()
	l := sample()
	b := l.Append([]byte("before"))
	got, err := ledger.Decode(b[len("before"):])
	if err != nil || !reflect.DeepEqual(got, l) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, l)
	}
	if empty, err := ledger.Decode(nil); err != nil || !reflect.DeepEqual(empty, &ledger.Ledger{}) {
		t.Errorf("an empty body gave %+v, %v", empty, err)
	}
}

func TestUnknownFieldsSurvive(t *testing.T) {
	t.Parallel()
	extra := protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 7)
	extra = protowire.AppendFixed64(protowire.AppendTag(extra, 100, protowire.Fixed64Type), 8)
	node := append(protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), "node-1"), extra...)
	b := append([]byte(nil), extra...)
	b = protowire.AppendBytes(protowire.AppendTag(b, 7, protowire.BytesType), node)
	b = protowire.AppendBytes(protowire.AppendTag(b, 9, protowire.BytesType), extra)
	b = protowire.AppendBytes(protowire.AppendTag(b, 10, protowire.BytesType), extra)
	for range 3 {
		r, err := ledger.Handler{}.Apply(processor.Session{Body: b}, message(5, 0, "x"))
		if err != nil {
			t.Fatal(err)
		}
		b = r.Body
	}
	if n := bytes.Count(b, extra); n != 4 {
		t.Errorf("%d of 4 unknown fields are left in %x", n, b)
	}
	l, err := ledger.Decode(b)
	if err != nil || l.Count != 3 || l.Nodes[0].Count != 3 {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	tag := func(n protowire.Number, k protowire.Type) []byte { return protowire.AppendTag(nil, n, k) }
	for name, b := range map[string][]byte{
		"cut tag":        {0x80},
		"cut value":      tag(2, protowire.VarintType),
		"wrong kind":     protowire.AppendFixed32(tag(2, protowire.Fixed32Type), 1),
		"ppid too large": protowire.AppendVarint(tag(1, protowire.VarintType), 1<<32),
		"text as number": protowire.AppendVarint(tag(6, protowire.VarintType), 1),
		"short value":    protowire.AppendBytes(tag(9, protowire.BytesType), protowire.AppendBytes(tag(6, protowire.BytesType), []byte("x"))),
		"large stream":   protowire.AppendBytes(tag(9, protowire.BytesType), protowire.AppendVarint(tag(2, protowire.VarintType), 1<<16)),
	} {
		if _, err := ledger.Decode(b); !errors.Is(err, ledger.ErrBody) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestOrderShowsInChainsNotInSums(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		payloads := rapid.SliceOfNDistinct(rapid.StringN(0, 20, -1), 2, 20, rapid.ID[string]).Draw(t, "payloads")
		other := rapid.Permutation(payloads).Draw(t, "other")
		var a, b ledger.Ledger
		for i := range payloads {
			a.Add(message(1, 1, payloads[i]))
			b.Add(message(1, 1, other[i]))
			a.Add(unordered(message(1, 1, payloads[i])))
			b.Add(unordered(message(1, 1, other[i])))
		}
		same := reflect.DeepEqual(payloads, other)
		if (a.Chains[0] == b.Chains[0]) != same {
			t.Fatalf("ordered chains are equal: %v, order is: %v", !same, same)
		}
		if a.Chains[1] != b.Chains[1] {
			t.Fatal("sums differ with the order")
		}
		b.Add(unordered(message(1, 1, payloads[0])))
		if a.Chains[1].Value == b.Chains[1].Value {
			t.Fatal("a doubled message does not show in the sum")
		}
	})
}

func TestSumCarriesWithinLanes(t *testing.T) {
	t.Parallel()
	var l ledger.Ledger
	var want [4]uint64
	for i := range 50 {
		p := fmt.Append(nil, i)
		l.Add(unordered(message(1, 1, string(p))))
		h := sha256.Sum256(p)
		for lane := range want {
			want[lane] += binary.BigEndian.Uint64(h[lane*8:])
		}
	}
	for lane, w := range want {
		if got := binary.BigEndian.Uint64(l.Chains[0].Value[lane*8:]); got != w {
			t.Errorf("lane %d: got %x, want %x", lane, got, w)
		}
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	var l ledger.Ledger
	for i := range ledger.MaxChains + 10 {
		m := message(uint64(i+1), 0, "x")
		m.Node = fmt.Sprint("node-", i%(ledger.MaxNodes+4))
		l.Add(m)
		l.Add(message(1, 0, "keep")) // used all the time, so never folded
	}
	if len(l.Chains) != ledger.MaxChains || l.Retired.Chains != 10 || l.Retired.Count != 10 || l.Retired.Bytes != 10 {
		t.Errorf("%d chains, retired %+v", len(l.Chains), l.Retired)
	}
	if last := l.Chains[len(l.Chains)-1]; last.Epoch != 1 || last.Count != ledger.MaxChains+10+1 {
		t.Errorf("the chain in use is %+v", last)
	}
	total := l.OtherNodes
	for _, n := range l.Nodes {
		total += n.Count
	}
	if len(l.Nodes) != ledger.MaxNodes || total != l.Count || l.OtherNodes == 0 {
		t.Errorf("%d nodes, %d of %d messages", len(l.Nodes), total, l.Count)
	}
	got, err := ledger.Decode(l.Append(nil))
	if err != nil || !reflect.DeepEqual(*got, l) {
		t.Errorf("a full ledger does not survive: %v", err)
	}
}

func TestHandlerLeavesTheOldBodyAlone(t *testing.T) {
	t.Parallel()
	body := sample().Append(nil)
	before := bytes.Clone(body)
	if _, err := (ledger.Handler{}).Apply(processor.Session{Body: body}, message(5, 0, "x")); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(body, before) {
		t.Error("the body was changed")
	}
	if _, err := (ledger.Handler{}).Apply(processor.Session{Body: []byte{0x80}}, message(5, 0, "x")); !errors.Is(err, ledger.ErrBody) {
		t.Errorf("a damaged body gave %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(sample().Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := ledger.Decode(b)
		if err != nil {
			return
		}
		again, err := ledger.Decode(l.Append(nil))
		if err != nil || !reflect.DeepEqual(l, again) {
			t.Fatalf("%+v\nbecame %+v, %v", l, again, err)
		}
		l.Add(message(1, 1, "x"))
	})
}

func BenchmarkApply(b *testing.B) {
	body := sample().Append(nil)
	m := message(5, 0, string(make([]byte, 150)))
	b.ReportAllocs()
	for b.Loop() {
		r, err := ledger.Handler{}.Apply(processor.Session{Body: body}, m)
		if err != nil {
			b.Fatal(err)
		}
		_ = r
	}
	b.ReportMetric(float64(len(body)), "body-bytes")
}
