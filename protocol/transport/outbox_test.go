package transport_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"skyring/protocol/transport"
	"skyring/protocol/transport/packet"
)

// chunksOf names the chunks of a packet, and says whether it has the header of its association.
func chunksOf(t *testing.T, b []byte) (names []string) {
	t.Helper()
	for c, err := range packet.Chunks(b) {
		if err != nil {
			t.Fatal(err)
		}
		name := c.Type.String()
		if c.Type == packet.TypeData {
			name = string(c.Value[12:])
		}
		names = append(names, name)
	}
	return names
}

// What one association has to send goes in one packet where it may: SACK before DATA, DATA in order, and no more than fits.
func TestOutboxBundles(t *testing.T) {
	header := func(tag uint32) []byte {
		return packet.Header{SourcePort: 1, DestinationPort: 2, VerificationTag: tag}.Append(nil)
	}
	data := func(text string) []byte {
		return packet.Data{Beginning: true, Ending: true, Payload: []byte(text)}.Append(nil)
	}
	sack := packet.AppendChunk(nil, packet.TypeSack, 0, make([]byte, 12))
	heartbeat := packet.AppendChunk(nil, packet.TypeHeartbeat, 0, make([]byte, 8))
	type sent struct {
		tag   uint32
		port  uint16
		chunk []byte
	}
	for _, c := range []struct {
		name  string
		sent  []sent
		limit int
		want  [][]string
	}{
		{"SACK after DATA", []sent{{1, 1, data("a")}, {1, 1, sack}}, 100, [][]string{{"SACK", "a"}}},
		{"SACK before DATA", []sent{{1, 1, sack}, {1, 1, data("a")}, {1, 1, data("b")}}, 100, [][]string{{"SACK", "a", "b"}}},
		{"DATA", []sent{{1, 1, data("a")}, {1, 1, data("bcdef")}, {1, 1, sack}}, 100, [][]string{{"SACK", "a", "bcdef"}}},
		{"one SACK a packet", []sent{{1, 1, sack}, {1, 1, sack}, {1, 1, data("a")}, {1, 1, sack}}, 100, [][]string{{"SACK"}, {"SACK", "a"}, {"SACK"}}},
		{"as long as may be", []sent{{1, 1, data("a")}, {1, 1, sack}}, 12 + 20 + 16, [][]string{{"SACK", "a"}}},
		{"too long", []sent{{1, 1, data("a")}, {1, 1, sack}}, 12 + 20 + 15, [][]string{{"a"}, {"SACK"}}},
		{"other association", []sent{{1, 1, data("a")}, {2, 1, sack}, {2, 1, data("b")}}, 100, [][]string{{"a"}, {"SACK", "b"}}},
		{"other peer", []sent{{1, 1, data("a")}, {1, 2, sack}}, 100, [][]string{{"a"}, {"SACK"}}},
		{"other chunks", []sent{{1, 1, heartbeat}, {1, 1, data("a")}, {1, 1, heartbeat}, {1, 1, sack}}, 100, [][]string{{"HEARTBEAT"}, {"a"}, {"HEARTBEAT"}, {"SACK"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var p transport.Parcel
			for _, s := range c.sent {
				p.Add(append(header(s.tag), s.chunk...), s.port, c.limit)
			}
			var got [][]string
			for _, b := range p.Packets() {
				got = append(got, chunksOf(t, b))
			}
			if !slices.EqualFunc(got, c.want, slices.Equal) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// An outbox sends at once what comes while it is idle, together what comes while it writes, and all of it before it ends;
// senders wait while it is full.
func TestOutbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, long := transport.NewOutbox(), make([]byte, 1<<16)
		if o.Add(long, 1) {
			t.Error("took a packet before it ran")
		}
		var running sync.WaitGroup
		running.Go(o.Run)
		synctest.Wait()
		writes := func(want int) {
			t.Helper()
			if n := <-o.Writing; n != want {
				t.Errorf("writes %d packets, want %d", n, want)
			}
		}
		o.Add(long, 1)
		writes(1)
		const room = transport.OutboxRoom >> 16
		for i := range room {
			o.Add(long, uint16(i))
		}
		added := false
		running.Go(func() { added = o.Add(long, 1) })
		synctest.Wait()
		if added {
			t.Error("took a packet without room")
		}
		o.Go <- struct{}{}
		writes(room)
		synctest.Wait()
		if !added {
			t.Error("did not take a packet when there was room")
		}
		o.Close()
		o.Go <- struct{}{}
		writes(1)
		if o.Add(long, 1) {
			t.Error("took a packet after it was closed")
		}
		o.Go <- struct{}{}
		running.Wait()
		s := o.Stats()
		if s.Count(transport.PacketsSent) != room-1 || s.Count(transport.SendErrors) != 3 || s.Count(transport.BytesSent) != (room+2)<<16 {
			t.Errorf("counted %d packets, %d errors, %d bytes", s.Count(transport.PacketsSent), s.Count(transport.SendErrors), s.Count(transport.BytesSent))
		}
	})
}

// An outbox that is closed before it runs does not run, and one that is full lets its senders go when it is closed.
func TestOutboxClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		early := transport.NewOutbox()
		early.Close()
		early.Run()
		o, long := transport.NewOutbox(), make([]byte, transport.OutboxRoom)
		var running sync.WaitGroup
		running.Go(o.Run)
		synctest.Wait()
		o.Add(long, 1)
		<-o.Writing
		o.Add(long, 1)
		running.Go(func() {
			if o.Add(long, 1) {
				t.Error("took a packet that was too much")
			}
		})
		synctest.Wait()
		o.Close()
		synctest.Wait()
		o.Go <- struct{}{}
		<-o.Writing
		o.Go <- struct{}{}
		running.Wait()
	})
}

// An outbox that finds but single packets leaves them to their senders, until two of them write at once, or for a while.
func TestOutboxStandsAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, b := transport.NewOutbox(), make([]byte, 28)
		var running sync.WaitGroup
		running.Go(o.Run)
		synctest.Wait()
		single := func() {
			t.Helper()
			if !o.Add(b, 1) {
				t.Fatal("does not take a packet")
			}
			<-o.Writing
			o.Go <- struct{}{}
			synctest.Wait()
		}
		aside := func() {
			t.Helper()
			for range transport.SinglesToIdle {
				single()
			}
		}
		aside()
		for i := range transport.IdlePackets {
			if o.Add(b, 1) {
				t.Fatalf("takes packet %d", i)
			}
			o.Wrote()
		}
		aside() // it was in use again
		if o.Add(b, 1) {
			t.Fatal("takes a packet that nobody else writes")
		}
		single() // while that one is under way
		o.Wrote()
		single()
		for range transport.SinglesToIdle - 2 {
			single()
		}
		if o.Add(b, 1) {
			t.Fatal("was not of use, and takes a packet")
		}
		o.Wrote()
		o.Close()
		running.Wait()
	})
}
