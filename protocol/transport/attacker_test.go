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
	"os/exec"
	"testing"
	"time"

	"golang.org/x/net/ipv4"
)

// attackerEnv makes the test binary an attacker instead: a process of its own, as its work is not the server's.
const attackerEnv = "SKYRING_TEST_ATTACKER"

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

// attackerProcess is a running attacker.
type attackerProcess struct {
	in  io.WriteCloser
	out *bufio.Reader
}

// startAttacker starts the process; inherited is its socket, nil for one of its own.
func startAttacker(tb testing.TB, a attack, inherited *os.File) *attackerProcess {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), attackerEnv+"=1")
	cmd.Stderr = os.Stderr
	if inherited != nil {
		cmd.ExtraFiles = []*os.File{inherited}
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	if err := json.NewEncoder(in).Encode(a); err != nil {
		tb.Fatal(err)
	}
	p := &attackerProcess{in: in, out: bufio.NewReader(out)}
	p.line(tb)
	return p
}

// attack lets the attacker send all its packets, and tells how long that took.
func (p *attackerProcess) attack(tb testing.TB) time.Duration {
	tb.Helper()
	if _, err := fmt.Fprintln(p.in, "go"); err != nil {
		tb.Fatal(err)
	}
	var took time.Duration
	if _, err := fmt.Sscan(p.line(tb), (*int64)(&took)); err != nil {
		tb.Fatal(err)
	}
	p.line(tb)
	return took
}

func (p *attackerProcess) line(tb testing.TB) string {
	tb.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		tb.Fatalf("the attacker says nothing: %v", err)
	}
	return line
}
