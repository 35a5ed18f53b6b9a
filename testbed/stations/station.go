package stations

import (
	"strings"

	"skyring/protocol"
	"skyring/protocol/client"
)

// station is one played station. It hears what happens to it and hands it to the traffic.
type station struct {
	// static
	index   int
	client  *client.Client
	traffic *traffic

	// guarded by the traffic's mu
	on      bool     // logged on now
	tried   bool     // an attempt to log on has ended, well or not
	everOn  bool     // was logged on
	attempt *attempt // that it takes part in; nil: idle
}

// anonymous is a reason without the id of the station, so that equal reasons of many stations count together.
func (s *station) anonymous(why error) string {
	return strings.ReplaceAll(why.Error(), s.client.Station().String(), "ff53494d...")
}

// LoggedOn counts the station.
func (s *station) LoggedOn(client.LogOn) { s.traffic.loggedOn(s) }

// LoggedOff notes why.
func (s *station) LoggedOff(why error) { s.traffic.loggedOff(s, why) }

// Announced takes a call that the plan has, and refuses any other.
func (s *station) Announced(c *client.Call) {
	if !s.traffic.announced(s, c) {
		_ = c.HangUp(protocol.CauseCallRejected) // it is gone already, then
	}
}

// Proceeding needs nothing.
func (*station) Proceeding(*client.Call) {}

// Assigned locks the modem at once; the called user's phone rings from then on.
func (s *station) Assigned(c *client.Call, _ protocol.Channel) {
	if err := c.Locked(); err == nil && c.Incoming() {
		s.traffic.ring(s, c)
	}
}

// Alerting notes how long the set-up took.
func (s *station) Alerting(c *client.Call) { s.traffic.alerting(s, c) }

// Connected plans the end of the call.
func (s *station) Connected(c *client.Call) { s.traffic.connected(s, c) }

// Cleared ends the station's part of a call.
func (s *station) Cleared(c *client.Call, why error) { s.traffic.cleared(s, c, why) }
