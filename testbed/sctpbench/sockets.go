package sctpbench

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
)

const (
	loopbackPort = "127.0.0.1:0"
	frameHead    = 4    // bytes of a frame's length
	room         = 2048 // bytes, for a message and to see one that is too long
)

// openTCP sends frames over a connection for each association, one write a message.
func openTCP(ctx context.Context, associations int) (*site, error) {
	w := &wiring{}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", loopbackPort)
	if err != nil {
		return nil, err
	}
	w.onClose(listener.Close)
	for range associations {
		var dialer net.Dialer
		client, err := dialer.DialContext(ctx, "tcp", listener.Addr().String())
		if err != nil {
			return w.fail(err)
		}
		w.onClose(client.Close)
		server, err := listener.Accept() // the connection is there already
		if err != nil {
			return w.fail(err)
		}
		w.onClose(server.Close)
		w.tasks.Go(func() { readFrames(server, frameWriter(server)) })
		write := frameWriter(client)
		w.add(write, func(take func([]byte)) {
			readFrames(client, func(b []byte) error { take(b); return nil })
		})
	}
	return w.site(), nil
}

// frameWriter writes messages with their length before them.
func frameWriter(to io.Writer) func([]byte) error {
	frame := make([]byte, frameHead, room)
	return func(message []byte) error {
		frame = append(frame[:frameHead], message...)
		binary.BigEndian.PutUint32(frame, uint32(len(message)))
		_, err := to.Write(frame)
		return err
	}
}

// readFrames hands messages on until the connection ends, a frame is too long, or take has an error.
func readFrames(from io.Reader, take func([]byte) error) {
	frames, buffer := bufio.NewReader(from), make([]byte, room)
	for {
		if _, err := io.ReadFull(frames, buffer[:frameHead]); err != nil {
			return
		}
		n := binary.BigEndian.Uint32(buffer)
		if n > room {
			return
		}
		if _, err := io.ReadFull(frames, buffer[:n]); err != nil || take(buffer[:n]) != nil {
			return
		}
	}
}

// openUDP sends datagrams between a pair of sockets for each association.
func openUDP(_ context.Context, associations int) (*site, error) {
	w := &wiring{}
	for range associations {
		client, server, err := socketPair()
		if err != nil {
			return w.fail(err)
		}
		w.onClose(client.Close)
		w.onClose(server.Close)
		w.tasks.Go(func() {
			readDatagrams(server, func(b []byte) error { _, err := server.Write(b); return err })
		})
		write := func(b []byte) error { _, err := client.Write(b); return err }
		w.add(write, func(take func([]byte)) {
			readDatagrams(client, func(b []byte) error { take(b); return nil })
		})
	}
	return w.site(), nil
}

func readDatagrams(from net.Conn, take func([]byte) error) {
	buffer := make([]byte, room)
	for {
		n, err := from.Read(buffer)
		if err != nil || take(buffer[:n]) != nil {
			return
		}
	}
}

// socketPair is two UDP sockets on loopback, connected to each other.
func socketPair() (client, server *net.UDPConn, err error) {
	const attempts = 10 // somebody may take the port that is free for a moment
	for range attempts {
		if client, server, err = tryPair(); err == nil {
			return client, server, nil
		}
	}
	return nil, nil, fmt.Errorf("connect two UDP sockets: %w", err)
}

func tryPair() (client, server *net.UDPConn, err error) {
	local := &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}
	reserved, err := net.ListenUDP("udp", local)
	if err != nil {
		return nil, nil, err
	}
	there, _ := reserved.LocalAddr().(*net.UDPAddr)
	client, err = net.DialUDP("udp", local, there)
	if err := errors.Join(err, reserved.Close()); err != nil {
		return nil, nil, err
	}
	here, _ := client.LocalAddr().(*net.UDPAddr)
	if server, err = net.DialUDP("udp", there, here); err != nil {
		return nil, nil, errors.Join(err, client.Close())
	}
	return client, server, nil
}
