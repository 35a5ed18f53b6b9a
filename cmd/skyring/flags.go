package main

import (
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"skyring/testbed/replay"
)

// exactArgs wants n arguments, called name in the usage.
func exactArgs(n int, name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) > n:
			return usagef("%q is one argument too many\nsee %s --help", args[n], cmd.CommandPath())
		case len(args) < n:
			return usagef("%s is missing\nsee %s --help", name, cmd.CommandPath())
		}

		return nil
	}
}

// minArgs wants at least n arguments, called name in the usage.
func minArgs(n int, name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return usagef("%s is missing\nsee %s --help", name, cmd.CommandPath())
		}

		return nil
	}
}

// portList is a flag that holds UDP ports, separated by commas.
type portList struct{ ports *[]uint16 }

// String lists the ports.
func (p *portList) String() string {
	if p.ports == nil {
		return ""
	}

	text := make([]string, len(*p.ports))
	for i, port := range *p.ports {
		text[i] = strconv.Itoa(int(port))
	}

	return strings.Join(text, ",")
}

// Set replaces the ports.
func (p *portList) Set(text string) error {
	var ports []uint16

	for one := range strings.SplitSeq(text, ",") {
		port, err := strconv.ParseUint(strings.TrimSpace(one), 10, 16)
		if err != nil || port == 0 {
			return fmt.Errorf("%q is no port: 1 to 65535, several separated by commas", one)
		}

		ports = append(ports, uint16(port))
	}

	*p.ports = ports

	return nil
}

// Type is the word for the value in --help.
func (p *portList) Type() string { return "ports" }

// speed is a flag for how much faster than captured a replay goes: a number, or max.
type speed float64

// String is the number, or max for +Inf.
func (s *speed) String() string {
	if math.IsInf(float64(*s), 1) {
		return "max"
	}

	return strconv.FormatFloat(float64(*s), 'g', -1, 64)
}

// Set reads the number, or max.
func (s *speed) Set(text string) error {
	if text == "max" {
		*s = speed(math.Inf(1))

		return nil
	}

	factor, err := strconv.ParseFloat(text, 64)
	if err != nil || factor < replay.Slowest || math.IsInf(factor, 0) || math.IsNaN(factor) {
		return fmt.Errorf("want a number of at least %v (1 as captured, 10 ten times as fast) or max", replay.Slowest)
	}

	*s = speed(factor)

	return nil
}

// Type is the word for the value in --help.
func (s *speed) Type() string { return "N|max" }

// parseAddress reads the numeric address host:port of the setting called name.
func parseAddress(name, text string) (netip.AddrPort, error) {
	address, err := netip.ParseAddrPort(text)
	if err != nil {
		return netip.AddrPort{}, usagef("%s is %q: it must be a numeric address and a port, such as 127.0.0.1:9899 or [::1]:9899", name, text)
	}

	return address, nil
}
