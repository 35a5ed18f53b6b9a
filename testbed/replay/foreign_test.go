package replay_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"skyring/processor/access"
	"skyring/processor/table"
	"skyring/protocol"
	"skyring/protocol/receipt"
	"skyring/protocol/transport"
	"skyring/testbed/trace"
)

// diameter is a message of a Diameter session (RFC 6733 sections 3 and 8.8).
func diameter(session string, content byte) []byte {
	avp := binary.BigEndian.AppendUint32(nil, 263)
	avp = binary.BigEndian.AppendUint32(avp, uint32(1<<30|(8+len(session))))
	avp = append(avp, session...)
	avp = append(avp, make([]byte, -len(session)&3)...)

	message := binary.BigEndian.AppendUint32(nil, uint32(1<<24|(20+len(avp))))
	message = binary.BigEndian.AppendUint32(message, 1<<31|272)
	message = append(message, 0, 0, 0, 0, 0, 0, 0, content, 0, 0, 0, 0)

	return append(message, avp...)
}

// diameterCapture has each client send a message in each of two sessions that all share, the first one two.
func diameterCapture() *trace.Trace {
	tr := capture(3)
	for i := range tr.Messages {
		m := &tr.Messages[i]
		m.PPID, m.Stream, m.Unordered = 46, 0, false
		m.Payload = diameter(fmt.Sprintf("session-%d", i%2), byte(i))
	}

	return tr
}

// TestOtherTraffic has others use the sessions of a replay, and the same target, and finds faults nevertheless.
func TestOtherTraffic(t *testing.T) {
	under := func(ctx context.Context, s *served, epoch uint64, ppid uint32, payload []byte) error {
		return (&served{target: s.target, epoch: epoch}).commit(ctx, transport.Message{PPID: ppid, Payload: payload})
	}

	const other = 1 << 60 // an epoch that no association of the replay gets

	for name, tt := range map[string]struct {
		beside func(ctx context.Context, s *served, m transport.Message) error
		differ bool
	}{
		"in the same sessions": {func(ctx context.Context, s *served, _ transport.Message) error {
			return under(ctx, s, other, 46, diameter("session-0", 200))
		}, false},
		"in sessions of their own": {func(ctx context.Context, s *served, _ transport.Message) error {
			return under(ctx, s, other, 46, diameter("another", 200))
		}, false},
		"in sessions of associations": {func(ctx context.Context, s *served, _ transport.Message) error {
			return under(ctx, s, other, 100, []byte("other"))
		}, false},
		"a copy of what an association sent": {func(ctx context.Context, s *served, m transport.Message) error {
			return under(ctx, s, other+s.epoch, m.PPID, m.Payload)
		}, true},
		"a second effect": {func(ctx context.Context, s *served, m transport.Message) error {
			return under(ctx, s, s.epoch, m.PPID, m.Payload)
		}, true},
		"a message in a wrong session": {func(ctx context.Context, s *served, _ transport.Message) error {
			return under(ctx, s, s.epoch, 46, diameter("wrong", 1))
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := &target{t: t, store: openStore(t), behave: once, beside: tt.beside}
			v := run(t, config(g.start(16)), g.store, diameterCapture())

			if differs := v.LedgerDiffers > 0; differs != tt.differ || v.OK() == tt.differ {
				t.Errorf("verdict:\n%s", rendered(t, v))
			}

			if !tt.differ && !strings.Contains(strings.Join(v.Warnings, "\n"), "of other associations") {
				t.Errorf("the other traffic is not told of: %q", v.Warnings)
			}
		})
	}
}

// TestOperatorsRecordsAreNoLedger has stations and pools in the store that an operator put there, as 'skyring station add' does.
func TestOperatorsRecordsAreNoLedger(t *testing.T) {
	g := &target{t: t, store: openStore(t), behave: once}
	operator := table.New(g.store)
	entry := table.Entry{ID: 0x17, Profile: access.Profile{Key: [access.KeySize]byte{1}, Beams: []protocol.Beam{7}}}

	if _, err := operator.Put(t.Context(), []table.Entry{entry}, table.Add); err != nil {
		t.Fatal(err)
	}

	if _, err := operator.SetPool(t.Context(), 7, 1, 20); err != nil {
		t.Fatal(err)
	}

	if v := run(t, config(g.start(16)), g.store, diameterCapture()); !v.OK() {
		t.Errorf("verdict:\n%s", rendered(t, v))
	}
}

// TestOtherTrafficHidesNoLoss loses a message in a session that others use.
func TestOtherTrafficHidesNoLoss(t *testing.T) {
	const lost = 5

	g := &target{t: t, store: openStore(t), silent: true}
	g.behave = func(number int, r receipt.Receipt) (int, []receipt.Receipt) {
		if number == lost {
			return 0, nil
		}

		return 1, nil
	}
	g.beside = func(ctx context.Context, _ *served, _ transport.Message) error {
		return (&served{target: g, epoch: 1 << 60}).commit(ctx, transport.Message{PPID: 46, Payload: diameter("session-0", 250)})
	}

	v := run(t, config(g.start(16)), g.store, diameterCapture())
	if v.OK() || v.Lost != 1 || v.Doubled != 0 || v.LedgerDiffers != 1 {
		t.Errorf("verdict:\n%s", rendered(t, v))
	}
}
