package stations

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"skyring/processor/access"
	"skyring/processor/table"
	"skyring/protocol"
)

// callsAtOnce is how many calls the table allows a station: one, and one that is still ending.
const callsAtOnce = 2

// stationID is the id of the ith station.
func stationID(i int) protocol.StationID { return FirstStation + protocol.StationID(i) } //nolint:gosec // i is not negative

// stationBeam is the beam that the ith station is in.
func (c Config) stationBeam(i int) protocol.Beam {
	return firstBeam + protocol.Beam(i%c.Beams) //nolint:gosec // less than 1000
}

// stationKey is the key of the ith station: known to whoever knows the seed, for these are played.
func (c Config) stationKey(i int) [access.KeySize]byte {
	text := binary.BigEndian.AppendUint64([]byte("skyring played station"), c.Seed)

	return sha256.Sum256(binary.BigEndian.AppendUint64(text, uint64(stationID(i))))
}

// provision puts the stations into the table and gives each beam as many channels as calls
// can ever need there.
func (c Config) provision(ctx context.Context, site Site) error {
	if site.Store == nil {
		return nil
	}

	stations := table.New(site.Store)
	entries := make([]table.Entry, c.Count)

	for i := range entries {
		entries[i] = table.Entry{ID: stationID(i), Profile: access.Profile{
			Key: c.stationKey(i), Beams: []protocol.Beam{c.stationBeam(i)}, MaxCalls: callsAtOnce, MaxPriority: protocol.MaxPriority,
		}}
	}

	if _, err := stations.Put(ctx, entries, table.Replace); err != nil {
		return fmt.Errorf("provision stations: %w", err)
	}

	channels := uint16(min(4*c.Calls+64, 60_000)) //nolint:gosec // at most 60000

	for i := range c.Beams {
		if _, err := stations.SetPool(ctx, c.stationBeam(i), 1, channels); err != nil {
			return fmt.Errorf("provision channels: %w", err)
		}
	}

	return nil
}
