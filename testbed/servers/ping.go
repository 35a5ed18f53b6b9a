package servers

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"os"
	"strings"
	"time"
)

// pingTimeout bounds one question to a server on this machine.
const pingTimeout = time.Second

// tailBytes is how much of a log's end is looked at for an error.
const tailBytes = 2048

// tailLines is how many of its lines the error shows.
const tailLines = 6

type pingResult uint8

const (
	pingFailed   pingResult = iota // nobody listens, or no Redis
	pingLoading                    // it reads its data from disk
	pingAnswered                   // it serves
)

// ping asks the server once.
func (a redisAddress) ping(ctx context.Context) pingResult {
	conn, err := (&net.Dialer{Timeout: pingTimeout}).DialContext(ctx, a.network, a.address)
	if err != nil {
		return pingFailed
	}
	defer conn.Close() //nolint:errcheck // a question, nothing to lose

	if err := conn.SetDeadline(time.Now().Add(pingTimeout)); err != nil {
		return pingFailed
	}

	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return pingFailed
	}

	line, err := bufio.NewReader(conn).ReadString('\n')

	switch {
	case err != nil:
		return pingFailed
	case strings.HasPrefix(line, "+PONG"):
		return pingAnswered
	case strings.HasPrefix(line, "-LOADING"):
		return pingLoading
	default:
		return pingFailed
	}
}

// tail is the end of a log from an offset on, as an addition to an error: empty
// where there is nothing to show.
func tail(path string, from int64) string {
	log, err := os.ReadFile(path)
	if err != nil || int64(len(log)) <= from {
		return ""
	}

	log = log[from:]
	if len(log) > tailBytes {
		log = log[len(log)-tailBytes:]
	}

	lines := bytes.Split(bytes.TrimSpace(log), []byte{'\n'})
	if len(lines) > tailLines {
		lines = lines[len(lines)-tailLines:]
	}

	return "; the last lines of " + path + ":\n  " + string(bytes.Join(lines, []byte("\n  ")))
}

func trimLine(b []byte) string { return strings.TrimSpace(string(b)) }
