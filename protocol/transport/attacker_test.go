package transport_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"golang.org/x/net/ipv4"
)

// attack is what an attacker is told: which packets to send, at what rate.
type attack struct {
	Target  netip.AddrPort
	Source  netip.Addr // ignored where the socket is inherited
	Inherit bool       // the socket is file 3
	Packets int        // in all
	Rate    int        // a second; 0 for as fast as it can
	List    [][]byte   // sent in turns
}

const attackBatch = 64

// runAttack is the attacker's process: it reads an attack, says that it is ready, waits for a line, and tells how long it
// took in nanoseconds.
func runAttack(in io.Reader, out io.Writer) error {
	var a attack
	lines := bufio.NewReader(in)
	line, err := lines.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read the attack: %w", err)
	}
	if err := json.Unmarshal(line, &a); err != nil {
		return fmt.Errorf("read the attack: %w", err)
	}
	conn, err := a.socket()
	if err != nil {
		return err
	}
	for {
		if _, err := fmt.Fprintln(out, "ready"); err != nil {
			return fmt.Errorf("say ready: %w", err)
		}
		if _, err := lines.ReadBytes('\n'); errors.Is(err, io.EOF) {
			return nil // the one who asked is gone
		} else if err != nil {
			return fmt.Errorf("await the word: %w", err)
		}
		begun := time.Now()
		if err := a.send(ipv4.NewPacketConn(conn)); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out, time.Since(begun).Nanoseconds()); err != nil {
			return fmt.Errorf("say how long it took: %w", err)
		}
	}
}

func (a attack) socket() (net.PacketConn, error) {
	if a.Inherit {
		return net.FilePacketConn(os.NewFile(3, "socket"))
	}
	return net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(a.Source, 0)))
}

func (a attack) send(conn *ipv4.PacketConn) error {
	to := net.UDPAddrFromAddrPort(a.Target)
	batch := make([]ipv4.Message, attackBatch)
	for i := range batch {
		batch[i].Buffers, batch[i].Addr = make([][]byte, 1), to
	}
	pace := time.NewTicker(time.Millisecond)
	defer pace.Stop()
	begun := time.Now()
	for sent := 0; sent < a.Packets; {
		n := min(attackBatch, a.Packets-sent)
		for i := range n {
			batch[i].Buffers[0] = a.List[(sent+i)%len(a.List)]
		}
		for done := 0; done < n; {
			m, err := conn.WriteBatch(batch[done:n], 0)
			if err != nil {
				return fmt.Errorf("send: %w", err)
			}
			done += m
		}
		sent += n
		for a.Rate > 0 && float64(sent) > float64(a.Rate)*time.Since(begun).Seconds() {
			<-pace.C
		}
	}
	return nil
}

// startAttacker starts an attacker; inherited is its socket, nil for one of its own.
func startAttacker(tb testing.TB, a attack, inherited *os.File) *child {
	tb.Helper()
	c := startChild(tb, childAttacks, inherited)
	if err := json.NewEncoder(c.in).Encode(a); err != nil {
		tb.Fatal(err)
	}
	c.line(tb)
	return c
}

// attack lets the attacker send all its packets, and tells how long that took.
func (c *child) attack(tb testing.TB) time.Duration {
	tb.Helper()
	c.say(tb, "go")
	var took time.Duration
	if _, err := fmt.Sscan(c.line(tb), (*int64)(&took)); err != nil {
		tb.Fatal(err)
	}
	c.line(tb)
	return took
}
