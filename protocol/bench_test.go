package protocol_test

import (
	"testing"

	"skyring/protocol"
)

func BenchmarkPeekStation(b *testing.B) {
	message := wire(header(protocol.TypeHeartbeat), nil)

	b.ReportAllocs()

	for b.Loop() {
		if _, err := protocol.PeekStation(message); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPeekHeader(b *testing.B) {
	message := wire(header(protocol.TypeHeartbeat), nil)

	b.ReportAllocs()

	for b.Loop() {
		if _, err := protocol.PeekHeader(message); err != nil {
			b.Fatal(err)
		}
	}
}

// benchmarked are a message without elements, a usual one and the longest.
func benchmarked() []protocol.Message {
	return []protocol.Message{
		protocol.Heartbeat{},
		protocol.CallSetup{Called: 0x18, Service: protocol.ServiceVoice},
		protocol.LogonAuth{BootNonce: 2, Beam: 12, Nonce: nonce(), Proof: proof()},
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, m := range benchmarked() {
		b.Run(m.Type().String(), func(b *testing.B) {
			h := header(m.Type())
			buffer := make([]byte, 0, 256)

			b.ReportAllocs()

			for b.Loop() {
				if _, err := protocol.Append(buffer, h, m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, m := range benchmarked() {
		b.Run(m.Type().String(), func(b *testing.B) {
			message, err := protocol.Append(nil, header(m.Type()), m)
			if err != nil {
				b.Fatal(err)
			}

			b.ReportAllocs()

			for b.Loop() {
				if _, _, err := protocol.Decode(message); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkLogonProof(b *testing.B) {
	key := make([]byte, 32)

	for b.Loop() {
		protocol.LogonProof(key, 1, nonce(), 2, 3)
	}
}
