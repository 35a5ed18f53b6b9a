package kernel

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"skyring/testbed/interop"
)

// Machine is a virtual machine that runs one peer.
type Machine struct {
	// Dir is the folder of the machine's files: its part of the first file system, and what its kernel prints (see Console).
	Dir string
	// Namespace is the network namespace that qemu, with its taps, is started in; empty: that of the caller.
	Namespace string
	// Cables are the machine's network devices eth0, eth1, and so on.
	Cables []Cable
	// Setup are shell commands that run before the peer.
	Setup []string
}

// Cable is a network device of a machine.
type Cable struct {
	// Tap is the device at this end, which is there before. None: qemu's own NAT, at whose 10.0.2.2 the machine finds this one.
	Tap string
	// Forward is the UDP port of the NAT at 127.0.0.1 that leads to the machine's port To; 0 none.
	Forward, To uint16
	// Addresses are the machine's. The NAT wants 10.0.2.15/24.
	Addresses []netip.Prefix
	// Gateway is for all other addresses; none when it is not valid.
	Gateway netip.Addr
}

// NAT is a cable to qemu's own NAT.
func NAT() Cable {
	return Cable{
		Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.2.15/24")}, Gateway: netip.MustParseAddr("10.0.2.2"),
	}
}

// Console is the file that the machine's kernel prints to.
func (m Machine) Console() string { return filepath.Join(m.Dir, "console") }

// bootTime is the longest that a machine may take until its first process runs: 5 s with the processor to itself, and more
// than two minutes where ten others want it.
const bootTime = 10 * time.Minute

// Start boots a machine, waits until it has, and has it start the peer; Options.Prefix is not looked at. The machine ends with
// the peer, and is killed when ctx ends or by Kill, as if its power failed.
func (i *Image) Start(ctx context.Context, m Machine, o interop.Options) (*interop.Peer, error) {
	base, err := os.ReadFile(i.base)
	if err != nil {
		return nil, fmt.Errorf("start a machine: %w", err)
	}
	var own archive
	own.add("start", modeFile, m.script(o))
	first := filepath.Join(m.Dir, "first.cpio")
	if err := os.WriteFile(first, bytes.Join([][]byte{base, own.end()}, nil), 0o600); err != nil {
		return nil, fmt.Errorf("start a machine: %w", err)
	}
	var line []string
	if m.Namespace != "" {
		line = append(line, "ip", "netns", "exec", m.Namespace)
	}
	p, err := interop.Launch(ctx, append(line, i.qemu(m, first)...))
	if err != nil {
		return nil, fmt.Errorf("start a machine: %w", err)
	}
	limit := time.NewTimer(bootTime)
	defer limit.Stop()
	select {
	case e := <-p.Events():
		if e.Kind == "booted" {
			return p, nil
		}
		err = fmt.Errorf("the machine says %q", e)
	case <-limit.C:
		err = fmt.Errorf("the machine did not boot in %s", bootTime)
	}
	p.Kill()
	console, _ := os.ReadFile(m.Console()) // there is none when qemu did not start
	return nil, fmt.Errorf("start a machine: %w\n%s%s", err, console, p.Complaints())
}

// script is what the machine runs once its kernel has all modules.
func (m Machine) script(o interop.Options) []byte {
	var b bytes.Buffer
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	say("set -e")
	for n, cable := range m.Cables {
		say("sysctl -q -w net.ipv6.conf.eth%d.accept_dad=0", n) // an address is good at once
		say("ip link set eth%d up", n)
		for _, address := range cable.Addresses {
			say("ip address add %s dev eth%d", address, n)
		}
		if cable.Gateway.IsValid() {
			say("ip route add default via %s", cable.Gateway)
		}
	}
	for _, command := range m.Setup {
		say("%s", command)
	}
	say("peer %s", strings.Join(o.Arguments(), " "))
	return b.Bytes()
}

func (i *Image) qemu(m Machine, first string) []string {
	line := []string{
		"qemu-system-x86_64", "-machine", "pc", "-accel", "tcg", // KVM within a virtual machine may hang
		"-m", "192", "-smp", "1", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-kernel", i.kernel, "-initrd", first,
		// no_timer_check: a busy emulator would fail the check that the timer's interrupt comes in time
		"-append", "console=ttyS0 quiet loglevel=5 panic=-1 mitigations=off no_timer_check",
		"-serial", "file:" + m.Console(),
		"-chardev", "stdio,id=peer,signal=off", "-device", "virtio-serial-pci", "-device", "virtserialport,chardev=peer",
	}
	for n, cable := range m.Cables {
		id := "cable" + strconv.Itoa(n)
		// Linux 6.1 loses bursts of encapsulated packets when it leaves their checksums to the device
		line = append(line, "-netdev", cable.netdev(id), "-device", "virtio-net-pci,romfile=,csum=off,netdev="+id)
	}
	return line
}

func (c Cable) netdev(id string) string {
	switch {
	case c.Tap != "":
		return fmt.Sprintf("tap,id=%s,ifname=%s,script=no,downscript=no", id, c.Tap)
	case c.Forward != 0:
		return fmt.Sprintf("user,id=%s,hostfwd=udp:127.0.0.1:%d-:%d", id, c.Forward, c.To)
	default:
		return "user,id=" + id
	}
}
