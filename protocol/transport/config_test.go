package transport_test

import (
	"strings"
	"testing"

	"skyring/protocol/transport"
)

func TestConfig(t *testing.T) {
	if err := transport.DefaultConfig().Validate(); err != nil {
		t.Errorf("default: %v", err)
	}
	err := transport.Config{AcceptBacklog: -1, MaxInitRetransmits: -1}.Validate()
	if err == nil {
		t.Fatal("nothing is wrong with a zero configuration")
	}
	for _, key := range []string{
		"streams", "acceptBacklog", "maxAssociations", "maxMessage", "receiveWindow", "sendBuffer", "maxPacket",
		"packetQueue", "heartbeatInterval", "maxMissedHeartbeats", "initTimeout", "maxInitRetransmits", "rtoMax",
		"cookieLife", "maxAssociationsPerSource", "initsPerSecond", "initsPerSourcePerSecond", "blueRepliesPerSecond", "dataTimeout",
	} {
		if !strings.Contains(err.Error(), key+": ") {
			t.Errorf("%s is not named in %v", key, err)
		}
	}
	cfg := transport.DefaultConfig()
	cfg.MaxMessage = 1 << 20
	if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), "receiveWindow") {
		t.Errorf("a message larger than the window: %v", err)
	}
	if _, err := transport.New(nil, transport.Config{}, logger(t)); err == nil {
		t.Error("New takes any configuration")
	}
}
