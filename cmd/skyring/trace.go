package main

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"skyring/testbed/generate"
	"skyring/testbed/trace"
)

func traceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trace",
		Short: "look into captures, and write one",
	}
	cmd.AddCommand(traceInspectCommand(), traceGenerateCommand())

	return cmd
}

func traceInspectCommand() *cobra.Command {
	cfg := trace.DefaultConfig()
	asJSON := false
	cmd := &cobra.Command{
		Use:   "inspect FILE",
		Short: "show associations, endpoints, PPIDs, messages and sessions of a capture",
		Long: `Shows what a capture (pcap or pcapng, also within gzip) holds of SCTP: its associations and who
opened them, the payload protocols, the messages after reassembly, and the sessions they
belong to by the keys that the dispatcher uses.

Captures that start in the middle, were taken before checksum offload, hold each packet
twice or are cut short are read as far as they can be; warnings say what is missing.`,
		Example: `  skyring trace inspect capture.pcapng
  skyring trace inspect --json capture.pcap.gz | jq '.sessions[].key'`,
		Args: exactArgs(1, "FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			opened, err := openTrace(cmd, args[0], cfg)
			if err != nil {
				return err
			}

			report := trace.Inspect(opened)
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), report)
			}

			return report.WriteText(cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	traceFlags(cmd, &cfg)

	return cmd
}

// traceFlags are the flags of every command that reads captures.
func traceFlags(cmd *cobra.Command, cfg *trace.Config) {
	cmd.Flags().Var(&portList{ports: &cfg.UDPPorts}, "udp-ports", "UDP ports whose datagrams are SCTP packets (RFC 6951)")
}

// openTrace reads a capture; what is wrong with the file is the caller's doing.
func openTrace(cmd *cobra.Command, path string, cfg trace.Config) (*trace.Trace, error) {
	opened, err := trace.Open(cmd.Context(), path, cfg)

	if _, faulty := errors.AsType[*trace.FileError](err); faulty {
		return nil, &usageError{err: err}
	}

	return opened, err
}

func traceGenerateCommand() *cobra.Command {
	cfg := generate.DefaultConfig()
	output := ""
	may := overwriting(false)
	cmd := &cobra.Command{
		Use:   "generate --output FILE",
		Short: "write a capture of signalling that never took place, the same bytes for the same seed",
		Long: `Writes a capture with whole associations of S1AP, NGAP, M3UA/ISUP, Diameter, H.248 and a private
protocol, for demonstrations and tests. Sessions begin as a Poisson process; ring and hold
times are exponential (ETSI TS 186 008, shortened). It is no model of an operator's load.`,
		Example: `  skyring trace generate --seed 7 --output demo.pcapng
  skyring trace generate --associations 100 --messages 50000 --output big.pcapng.gz
  skyring trace generate --output - | tshark -r -`,
		Args: exactArgs(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output == "" {
				return usagef("--output FILE is missing: it says where the capture is written")
			}

			if err := cfg.Validate(); err != nil {
				return &usageError{err: err}
			}

			return generateTrace(cmd.OutOrStdout(), cmd.ErrOrStderr(), output, may, cfg)
		},
	}
	forceFlag(cmd, &may)
	flags := cmd.Flags()
	flags.StringVarP(&output, "output", "o", "", "the file to write, within gzip when its name ends in .gz; -: standard output")
	flags.Uint64Var(&cfg.Seed, "seed", cfg.Seed, "of all that is random")
	flags.IntVar(&cfg.Associations, "associations", cfg.Associations, "associations, 1 to 10000")
	flags.IntVar(&cfg.Messages, "messages", cfg.Messages, "user messages over all associations, about")
	flags.DurationVar(&cfg.Duration, "duration", cfg.Duration, "time in which sessions begin")
	flags.StringVar((*string)(&cfg.Format), "format", string(cfg.Format), "pcapng or pcap")

	return cmd
}

// writeJSON writes v as one indented object.
func writeJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")

	return encoder.Encode(v)
}
