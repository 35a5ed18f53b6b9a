package transport_test

import (
	"errors"
	"io"
	"testing"

	"github.com/pion/sctp"

	"skyring/protocol/transport/packet"
)

// The canaries pin what this package works around or relies on in pion: when one fails after an update, look whether its
// workaround is still needed.

// An empty write is taken as sent, and costs its stream a sequence number: Send refuses it.
func TestCanaryEmptyWrite(t *testing.T) {
	client, _, _ := stockPair(t)
	stream, err := client.OpenStream(0, 60)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := stream.WriteSCTP(nil, 60); n != 0 || err != nil {
		t.Errorf("pion says %d, %v to an empty write", n, err)
	}
}

// Tags and ports are not checked: the demultiplexer does.
func TestCanaryTagUnchecked(t *testing.T) {
	_, server, toServer := stockPair(t)
	b := packet.Header{SourcePort: 7777, DestinationPort: 8888, VerificationTag: 0xDEADBEEF}.Append(nil)
	b = packet.AppendChunk(b, packet.TypeAbort, 0, nil)
	packet.PutChecksum(b)
	if _, err := toServer.Write(b); err != nil {
		t.Fatal(err)
	}
	if _, err := server.AcceptStream(); err == nil {
		t.Error("a stream came")
	}
}

// A read with no room tells the size and keeps the message: readLane relies on it.
func TestCanarySizeBeforeRead(t *testing.T) {
	client, server, _ := stockPair(t)
	out, err := client.OpenStream(0, 60)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.WriteSCTP(make([]byte, 3000), 61); err != nil {
		t.Fatal(err)
	}
	in, err := server.AcceptStream()
	if err != nil {
		t.Fatal(err)
	}
	if n, _, err := in.ReadSCTP(nil); n != 3000 || !errors.Is(err, io.ErrShortBuffer) {
		t.Errorf("%d, %v", n, err)
	}
	if n, ppid, err := in.ReadSCTP(make([]byte, 3000)); n != 3000 || ppid != sctp.PayloadProtocolIdentifier(61) || err != nil {
		t.Errorf("%d, %d, %v", n, ppid, err)
	}
}
