package transport

import (
	"errors"
	"fmt"
	"time"
)

// Limits of the configuration.
const (
	// MaxStreams is the highest number of streams each way; beyond it the lanes would not fit pion's stream ids.
	MaxStreams = 8192

	minWindow     = 4 << 10
	minPacket     = 512
	maxPacket     = 8192 // pion reads no more at once
	maxMessageCap = 1 << 20
)

// Config is what an operator may set for an Endpoint. DefaultConfig holds for signalling over links up to GEO.
type Config struct {
	// Port is the SCTP port served, not the UDP port; 0 serves every port.
	Port uint16 `yaml:"port" env:"PORT"`
	// Streams is the highest number of streams each way, 1 to MaxStreams.
	Streams uint16 `yaml:"streams" env:"STREAMS"`
	// AcceptBacklog is how many associations may wait for Accept; more are refused with ABORT. 0 serves none: dial only.
	AcceptBacklog int `yaml:"acceptBacklog" env:"ACCEPT_BACKLOG"`
	// MaxAssociations is how many associations may exist; more are refused with ABORT "out of resource".
	MaxAssociations int `yaml:"maxAssociations" env:"MAX_ASSOCIATIONS"`
	// MaxAssociationsPerSource is how many of those may be set up from one IPv4 address or IPv6 /64 network, which may be a
	// NAT with many stations behind it; more are refused with ABORT "out of resource". Associations dialled do not count.
	MaxAssociationsPerSource int `yaml:"maxAssociationsPerSource" env:"MAX_ASSOCIATIONS_PER_SOURCE"`
	// InitsPerSecond is how many INITs a second are answered; more are dropped, and the peers ask again.
	InitsPerSecond int `yaml:"initsPerSecond" env:"INITS_PER_SECOND"`
	// InitsPerSourcePerSecond is how many INITs a second are answered to one IPv4 address or IPv6 /64 network.
	InitsPerSourcePerSecond int `yaml:"initsPerSourcePerSecond" env:"INITS_PER_SOURCE_PER_SECOND"`
	// BlueRepliesPerSecond is how many packets a second that belong to no association ("out of the blue") are answered
	// with ABORT or SHUTDOWN-COMPLETE; more are dropped.
	BlueRepliesPerSecond int `yaml:"blueRepliesPerSecond" env:"BLUE_REPLIES_PER_SECOND"`
	// ReceiveWindow is how many bytes of user data an association holds for its receiver. A peer that fills it with messages
	// of fewer than 8 bytes, as no signalling protocol has them, while the receiver stands still is sent an ABORT: a
	// stream holds no more than an eighth of the window in messages (at least 1,024).
	ReceiveWindow uint32 `yaml:"receiveWindow" env:"RECEIVE_WINDOW"`
	// SendBuffer is how many bytes may be unacknowledged before Send blocks.
	SendBuffer int `yaml:"sendBuffer" env:"SEND_BUFFER"`
	// MaxMessage is the longest message in bytes, each way; a peer that sends a longer one is sent an ABORT.
	MaxMessage uint32 `yaml:"maxMessage" env:"MAX_MESSAGE"`
	// MaxPacket is the longest SCTP packet sent, in bytes, without UDP and IP headers; over DTLS the records' own bytes
	// count too.
	MaxPacket uint32 `yaml:"maxPacket" env:"MAX_PACKET"`
	// PacketQueue is how many received packets of an association may wait for its processing; more are dropped, and so is
	// what would make them longer than two receive windows and 64 KiB.
	PacketQueue int `yaml:"packetQueue" env:"PACKET_QUEUE"`
	// HeartbeatInterval is the time between two heartbeats of an association, give or take a tenth.
	HeartbeatInterval time.Duration `yaml:"heartbeatInterval" env:"HEARTBEAT_INTERVAL"`
	// MaxMissedHeartbeats is how many in a row may stay unanswered before the path counts as failed. A peer that has named
	// several addresses is gone when all have; between them, packets go on elsewhere as soon as an answer is late.
	MaxMissedHeartbeats int `yaml:"maxMissedHeartbeats" env:"MAX_MISSED_HEARTBEATS"`
	// DataTimeout is how long data may stay unacknowledged, although the peer has room for it, before the path counts as
	// failed.
	DataTimeout time.Duration `yaml:"dataTimeout" env:"DATA_TIMEOUT"`
	// InitTimeout is how long the first INIT or COOKIE-ECHO waits for its answer; the time doubles up to RTOMax.
	InitTimeout time.Duration `yaml:"initTimeout" env:"INIT_TIMEOUT"`
	// MaxInitRetransmits is how often INIT and COOKIE-ECHO are repeated, each.
	MaxInitRetransmits int `yaml:"maxInitRetransmits" env:"MAX_INIT_RETRANSMITS"`
	// RTOMax is the longest time before a retransmission; the shortest is pion's, 1 s.
	RTOMax time.Duration `yaml:"rtoMax" env:"RTO_MAX"`
	// CookieLife is how long a peer may take to send its cookie back.
	CookieLife time.Duration `yaml:"cookieLife" env:"COOKIE_LIFE"`
}

// DefaultConfig serves every SCTP port.
func DefaultConfig() Config {
	return Config{
		Streams:                  16,
		AcceptBacklog:            1024,
		MaxAssociations:          20_000,
		MaxAssociationsPerSource: 10_000,
		InitsPerSecond:           5000,
		InitsPerSourcePerSecond:  2000,
		BlueRepliesPerSecond:     2000,
		ReceiveWindow:            128 << 10,
		SendBuffer:               256 << 10,
		MaxMessage:               64 << 10,
		MaxPacket:                1191,
		PacketQueue:              1024,
		HeartbeatInterval:        5 * time.Second,
		MaxMissedHeartbeats:      4,
		DataTimeout:              time.Minute,
		InitTimeout:              time.Second,
		MaxInitRetransmits:       5,
		RTOMax:                   10 * time.Second,
		CookieLife:               60 * time.Second,
	}
}

// Validate names all faults at once, each by its key.
func (c Config) Validate() error {
	return errors.Join(
		within("streams", int64(c.Streams), 1, MaxStreams),
		within("acceptBacklog", int64(c.AcceptBacklog), 0, 1<<16),
		within("maxAssociations", int64(c.MaxAssociations), 1, 1<<20),
		within("maxAssociationsPerSource", int64(c.MaxAssociationsPerSource), 1, 1<<20),
		within("initsPerSecond", int64(c.InitsPerSecond), 1, 1<<20),
		within("initsPerSourcePerSecond", int64(c.InitsPerSourcePerSecond), 1, 1<<20),
		within("blueRepliesPerSecond", int64(c.BlueRepliesPerSecond), 1, 1<<20),
		within("maxMessage", int64(c.MaxMessage), 1, maxMessageCap),
		within("receiveWindow", int64(c.ReceiveWindow), int64(max(c.MaxMessage, minWindow)), 1<<26),
		within("sendBuffer", int64(c.SendBuffer), int64(max(c.MaxMessage, 1)), 1<<28),
		within("maxPacket", int64(c.MaxPacket), minPacket, maxPacket),
		within("packetQueue", int64(c.PacketQueue), 16, 1<<16),
		lasting("heartbeatInterval", c.HeartbeatInterval, 10*time.Millisecond, time.Hour),
		within("maxMissedHeartbeats", int64(c.MaxMissedHeartbeats), 1, 100),
		lasting("dataTimeout", c.DataTimeout, time.Second, time.Hour),
		lasting("initTimeout", c.InitTimeout, 10*time.Millisecond, time.Minute),
		within("maxInitRetransmits", int64(c.MaxInitRetransmits), 0, 20),
		lasting("rtoMax", c.RTOMax, time.Second, time.Minute),
		lasting("cookieLife", c.CookieLife, 100*time.Millisecond, time.Hour),
	)
}

func within(key string, value, low, high int64) error {
	if value < low || value > high {
		return fmt.Errorf("%s: %d is not between %d and %d", key, value, low, high)
	}
	return nil
}

func lasting(key string, value, low, high time.Duration) error {
	if value < low || value > high {
		return fmt.Errorf("%s: %s is not between %s and %s", key, value, low, high)
	}
	return nil
}

// fragmentSize is the user data that one packet of pion holds: the packet without common header and DATA header,
// in whole words.
func (a *Association) fragmentSize() int { return int(a.mtu-28) &^ 3 }

// maxFragments bounds the DATA chunks that an association holds unacknowledged, since tiny messages cost far more than
// their bytes.
func (a *Association) maxFragments() uint32 {
	cfg := &a.endpoint.cfg
	return uint32(max(cfg.SendBuffer/64, int(cfg.MaxMessage)/a.fragmentSize()+2))
}

// maxQueued bounds the bytes of packets that wait for an association: the window, and control chunks.
func (c Config) maxQueued() int { return 2*int(c.ReceiveWindow) + 64<<10 }

// maxReassembly bounds the chunks that pion holds for a stream; a peer that fills the window with fewer bytes each is
// cut off.
func (c Config) maxReassembly() uint32 { return max(c.ReceiveWindow/8, 1024) }
