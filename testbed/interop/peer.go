package interop

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Options say how a peer is started.
type Options struct {
	// UDP is the local port of the encapsulation, RemoteUDP the peer's; both 0: native, IP protocol 132.
	UDP, RemoteUDP uint16
	// Bind are the addresses that INIT or INIT-ACK tells; none: all of the host.
	Bind []netip.Addr
	// Port is the local SCTP port; 0 any.
	Port uint16
	// Streams are asked for each way.
	Streams int
	// Heartbeat is the time between two; 0 takes usrsctp's.
	Heartbeat time.Duration
	// Echo sends each message back. Quiet tells nothing of messages, for who measures.
	Echo, Quiet bool
	// Connect is dialled, at the SCTP port To. The zero value listens.
	Connect netip.Addr
	To      uint16
	// Early sends message 0 of 100 bytes with the COOKIE-ECHO; only the kernel's peer can.
	Early bool
	// Associations is how many are dialled; 0 one.
	Associations int
	// Prefix is put before the program, such as ip netns exec NAME.
	Prefix []string
}

// Arguments are the options as the program takes them.
func (o Options) Arguments() []string {
	var args []string
	add := func(name string, value int) {
		if value > 0 {
			args = append(args, name, strconv.Itoa(value))
		}
	}
	add("--udp", int(o.UDP))
	add("--remote-udp", int(o.RemoteUDP))
	add("--port", int(o.Port))
	add("--streams", o.Streams)
	add("--heartbeat", int(o.Heartbeat.Milliseconds()))
	for _, bind := range o.Bind {
		args = append(args, "--bind", bind.String())
	}
	if o.Connect.Is6() || len(o.Bind) > 0 && o.Bind[0].Is6() {
		args = append(args, "--ipv6")
	}
	if o.Echo {
		args = append(args, "--echo")
	}
	if o.Quiet {
		args = append(args, "--quiet")
	}
	if o.Early {
		args = append(args, "--early")
	}
	if !o.Connect.IsValid() {
		return append(args, "--listen")
	}
	args = append(args, "--connect", o.Connect.String())
	add("--to", int(o.To))
	add("--associations", o.Associations)
	return args
}

// Event is a line that a peer prints: its first word, and the rest.
type Event struct {
	Kind  string
	Words []string
}

// String is the line.
func (e Event) String() string { return strings.Join(append([]string{e.Kind}, e.Words...), " ") }

// Word gives the word at a position, empty when there is none.
func (e Event) Word(i int) string {
	if i >= len(e.Words) {
		return ""
	}
	return e.Words[i]
}

// maxEvents is how many events wait for the test; then the peer's output waits, and the peer.
const maxEvents = 8192

// Peer is a running peer.
type Peer struct {
	// static after Start
	process  *exec.Cmd
	commands io.WriteCloser
	events   chan Event
	ended    chan struct{}

	// readable when ended is closed
	err    error // of the process
	stderr tail
}

// Start starts a peer, which is killed when ctx ends. End it with Kill or Quit.
func Start(ctx context.Context, program string, o Options) (*Peer, error) {
	return Launch(ctx, slices.Concat(o.Prefix, []string{program}, o.Arguments()))
}

// Launch starts a command whose standard input and output are a peer's, wherever that runs.
func Launch(ctx context.Context, line []string) (*Peer, error) {
	p := &Peer{
		process: exec.CommandContext(ctx, line[0], line[1:]...), //nolint:gosec // what Build made
		events:  make(chan Event, maxEvents), ended: make(chan struct{}),
	}
	p.process.Stderr = &p.stderr
	p.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // see live
	commands, err := p.process.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the peer: %w", err)
	}
	out, err := p.process.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start the peer: %w", err)
	}
	p.commands = commands
	started := make(chan error, 1)
	go p.live(ctx, out, started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start the peer: %w", err)
	}
	return p, nil
}

// live starts the process, and hands events on until it has ended. It keeps its thread all that time, because the kernel takes
// the end of the thread that started the process for the end of ours, and the process then has to end as well.
func (p *Peer) live(ctx context.Context, out io.Reader, started chan<- error) {
	defer close(p.ended)
	defer close(p.events)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.process.Start()
	started <- err
	if err != nil {
		return
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) == 0 {
			continue
		}
		select {
		case p.events <- Event{Kind: words[0], Words: words[1:]}:
		case <-ctx.Done(): // the process is killed
		}
	}
	p.err = p.process.Wait()
}

// Events are what the peer tells; the channel is closed at its end.
func (p *Peer) Events() <-chan Event { return p.events }

// Command tells the peer to do something: see peer/peer.c.
func (p *Peer) Command(format string, args ...any) error {
	if _, err := fmt.Fprintf(p.commands, format+"\n", args...); err != nil {
		return fmt.Errorf("tell the peer %q: %w", format, err)
	}
	return nil
}

// Kill ends the process at once, so that its associations get no farewell, and waits for its end.
func (p *Peer) Kill() {
	_ = p.process.Process.Signal(syscall.SIGKILL) // it has ended, otherwise
	p.drain()
}

// Quit has the peer end by itself and waits for it. The error is how it ended, when that was not well.
func (p *Peer) Quit() error {
	told := p.Command("quit")
	p.drain()
	return errors.Join(told, p.err)
}

// CPU is the processor time that the peer took in all; call it after Kill or Quit.
func (p *Peer) CPU() time.Duration {
	<-p.ended
	return p.process.ProcessState.UserTime() + p.process.ProcessState.SystemTime()
}

// Complaints are the last bytes of what it wrote to its standard error; call it after Kill or Quit.
func (p *Peer) Complaints() string {
	<-p.ended
	return string(p.stderr)
}

// tail keeps the last bytes that are written to it.
type tail []byte

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	const most = 4096
	*t = append(*t, b...)
	*t = (*t)[max(0, len(*t)-most):]
	return len(b), nil
}

func (p *Peer) drain() {
	for range p.events { // nobody wants them any more
	}
	<-p.ended
}

// Fill makes message number n of the peer's command send, as long as b: its number in the first four bytes, then bytes that
// depend on it.
func Fill(b []byte, n uint32) {
	for i := range b {
		b[i] = byte(n) + byte(i)
		if i < 4 {
			b[i] = byte(n >> (24 - 8*i))
		}
	}
}
