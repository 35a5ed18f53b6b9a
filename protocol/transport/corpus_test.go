package transport_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"skyring/protocol/transport/packet"
	"skyring/testbed/shared"
)

// corpus reads all files whose path under ../shared/traces matches one of the patterns; none is a failure.
func corpus(tb testing.TB, patterns ...string) map[string][]byte {
	tb.Helper()
	files := map[string][]byte{}
	for _, pattern := range patterns {
		names, err := filepath.Glob(filepath.Join(shared.Dir(tb), "traces", pattern))
		if err != nil || len(names) == 0 {
			tb.Fatalf("no file matches %s: %v", pattern, err)
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				tb.Fatal(err)
			}
			files[name] = b
		}
	}
	return files
}

// The corpora that found faults in another SCTP, and captures of malformed packets, are thrown at the reader and at an
// endpoint with an association, which must go on.
func TestCorpora(t *testing.T) {
	const usrsctp = "sctplab+usrsctp"
	files := corpus(t, usrsctp+"/CORPUS_CONNECT/*", usrsctp+"/CORPUS_FRAGMENT/*", usrsctp+"/CORPUS_LISTEN/*",
		"pevma+mrp/*sctp*", "OISF+suricata-verify/*", "AlexeyVasilev+PcapFlowLab/*truncated*")
	s, server, _, messages := pair(t, steady())
	port := uint16(20000)
	for name, b := range files {
		readAll(b)
		port++
		victim := newStation(t, server) // gets the chunks under its own tag, and may be aborted for it
		victim.port = port
		victim.connect()
		collect(t, accept(t, server))
		for _, chunks := range asChunks(name, b) {
			victim.send(victim.serverTag, chunks)
		}
		s.throw(b)
		for _, chunks := range asChunks(name, b) {
			other := newStation(t, server)
			other.port = 7777
			other.send(0, chunks)
			other.send(1, chunks)
			_ = other.socket.Close()
		}
		s.stillServed(messages)
	}
	t.Logf("%d files", len(files))
}

// readAll reads bytes from every offset of the first 64 as a packet.
func readAll(b []byte) {
	for i := range min(len(b), 64) {
		for c, err := range packet.Chunks(b[i:]) {
			if err != nil {
				break
			}
			_, _ = packet.ParseData(c)
			_, _ = packet.ParseInit(c)
			for p, err := range packet.Parameters(c.Value) {
				if err != nil || len(p.Raw) < 4 {
					break
				}
			}
		}
	}
}

// throw sends bytes as datagrams, as they are and with a right checksum.
func (s *station) throw(b []byte) {
	for ; len(b) > 0; b = b[min(len(b), 8000):] {
		piece := append([]byte(nil), b[:min(len(b), 8000)]...)
		s.raw(piece)
		if len(piece) >= packet.HeaderLen {
			packet.PutChecksum(piece)
			s.raw(piece)
		}
	}
}

// asChunks cuts a file of the fuzzers: CORPUS_CONNECT has a byte of flags before the chunks, CORPUS_FRAGMENT only chunks,
// CORPUS_LISTEN whole packets.
func asChunks(name string, b []byte) (packets [][]byte) {
	switch {
	case strings.Contains(name, "CORPUS_CONNECT") && len(b) > 1:
		b = b[1:]
	case strings.Contains(name, "CORPUS_LISTEN") && len(b) > packet.HeaderLen:
		b = b[packet.HeaderLen:]
	}
	for ; len(b) > 0; b = b[min(len(b), 8000):] {
		packets = append(packets, b[:min(len(b), 8000)])
	}
	return packets
}
