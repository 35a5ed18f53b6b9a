package transport_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/pion/logging"
	"github.com/pion/sctp"
	"github.com/rs/zerolog"

	"skyring/protocol/transport"
)

const benchSize = 128 // bytes a message

// BenchmarkEcho measures echoed messages a second over this front end and over stock pion, each association on a
// connected UDP socket of its own, in turns of the same run, and prints their ratio. A third of the turns is the front end
// again, without reading packets in batches.
func BenchmarkEcho(b *testing.B) {
	for _, load := range []struct{ associations, window int }{{1, 64}, {100, 8}} {
		b.Run(fmt.Sprintf("associations=%d/window=%d", load.associations, load.window), func(b *testing.B) {
			ours, stop := frontEchoes(b, load.associations, listenUDP(b), listenUDP(b))
			defer stop()
			singly, stopSingly := frontEchoes(b, load.associations, one{listenUDP(b)}, one{listenUDP(b)})
			defer stopSingly()
			stock := stockEchoes(b, load.associations)
			var front, single, pion time.Duration
			rounds := 0
			for b.Loop() {
				front += echoAll(b, ours, load.window, 400)
				single += echoAll(b, singly, load.window, 400)
				pion += echoAll(b, stock, load.window, 400)
				rounds++
			}
			messages := float64(400 * load.associations * rounds)
			b.ReportMetric(messages/front.Seconds(), "front-msg/s")
			b.ReportMetric(messages/pion.Seconds(), "pion-msg/s")
			b.ReportMetric(pion.Seconds()/front.Seconds(), "front/pion")
			b.ReportMetric(single.Seconds()/front.Seconds(), "batches/single")
		})
	}
}

// echoer sends a message, and tells of each that came back.
type echoer struct {
	send func([]byte) error
	back chan struct{}
}

// echoAll has every echoer pass n messages there and back, with at most window of them under way.
func echoAll(b *testing.B, echoers []echoer, window, n int) time.Duration {
	b.Helper()
	payload := make([]byte, benchSize)
	begun := time.Now()
	var group sync.WaitGroup
	for _, e := range echoers {
		group.Go(func() {
			for i := range n + window {
				if i >= window {
					<-e.back
				}
				if i < n {
					if err := e.send(payload); err != nil {
						b.Error(err)
						return
					}
				}
			}
		})
	}
	group.Wait()
	return time.Since(begun)
}

// one is a link that is read a packet at a time.
type one struct{ transport.Link }

func frontEchoes(b *testing.B, associations int, serving, dialling transport.Link) (echoers []echoer, stop func()) {
	b.Helper()
	server, stopServer := startOn(b, serving, steady())
	client, stopClient := startOn(b, dialling, steady())
	var group sync.WaitGroup
	for range associations {
		dialled, accepted := connect(b, client, server)
		group.Go(func() {
			_ = accepted.Receive(context.Background(), func(m transport.Message) {
				_ = accepted.Send(context.Background(), m)
			})
		})
		back := make(chan struct{}, 1024)
		group.Go(func() {
			_ = dialled.Receive(context.Background(), func(transport.Message) { back <- struct{}{} })
		})
		echoers = append(echoers, echoer{back: back, send: func(p []byte) error {
			return dialled.Send(context.Background(), transport.Message{PPID: 60, Payload: p})
		}})
	}
	return echoers, func() { stopClient(); stopServer(); group.Wait() }
}

// stockEchoes connects pairs of pion associations as its documentation does.
func stockEchoes(b *testing.B, associations int) (echoers []echoer) {
	b.Helper()
	for range associations {
		client, server, _ := stockPair(b)
		go func() {
			stream, err := server.AcceptStream()
			if err != nil {
				return
			}
			stockRead(stream, func(p []byte) { _, _ = stream.WriteSCTP(p, 60) })
		}()
		stream, err := client.OpenStream(0, 60)
		if err != nil {
			b.Fatal(err)
		}
		back := make(chan struct{}, 1024)
		go stockRead(stream, func([]byte) { back <- struct{}{} })
		echoers = append(echoers, echoer{back: back, send: func(p []byte) error {
			_, err := stream.WriteSCTP(p, 60)
			return err
		}})
	}
	return echoers
}

func stockRead(stream *sctp.Stream, take func([]byte)) {
	buffer := make([]byte, 2048)
	for {
		n, _, err := stream.ReadSCTP(buffer)
		if err != nil {
			return
		}
		take(buffer[:n])
	}
}

// stockPair is an association of stock pion with itself; toServer is the client's socket.
func stockPair(tb testing.TB) (client, server *sctp.Association, toServer net.Conn) {
	tb.Helper()
	ends := socketPair(tb)
	quiet := &logging.DefaultLoggerFactory{Writer: zerolog.Nop(), DefaultLogLevel: logging.LogLevelDisabled}
	accepted := make(chan *sctp.Association, 1)
	go func() {
		a, _ := sctp.ServerWithOptions(sctp.WithNetConn(ends[0]), sctp.WithLoggerFactory(quiet), sctp.WithEnableInterleaving(false))
		accepted <- a
	}()
	client, err := sctp.ClientWithOptions(sctp.WithNetConn(ends[1]), sctp.WithLoggerFactory(quiet), sctp.WithEnableInterleaving(false))
	if err != nil {
		tb.Fatal(err)
	}
	server = <-accepted
	if server == nil {
		tb.Fatal("stock pion did not accept")
	}
	tb.Cleanup(func() { _ = client.Close(); _ = server.Close() })
	return client, server, ends[1]
}

// socketPair is two connected UDP sockets.
func socketPair(tb testing.TB) (ends [2]net.Conn) {
	tb.Helper()
	var addrs [2]*net.UDPAddr
	for i := range addrs {
		socket, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(loopback()))
		if err != nil {
			tb.Fatal(err)
		}
		addrs[i], _ = socket.LocalAddr().(*net.UDPAddr)
		_ = socket.Close()
	}
	for i := range ends {
		socket, err := net.DialUDP("udp", addrs[i], addrs[1-i])
		if err != nil {
			tb.Fatal(err)
		}
		ends[i] = socket
	}
	return ends
}
