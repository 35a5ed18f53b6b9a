package generate

import (
	"fmt"
	"io"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
)

const snapLength = 262_144 // as tcpdump's default

// frame is an Ethernet frame of the capture.
type frame struct {
	at   time.Duration // since Config.Start
	data []byte
}

// packetWriter is what both formats' writers do.
type packetWriter interface {
	WritePacket(ci gopacket.CaptureInfo, data []byte) error
}

func writeCapture(w io.Writer, cfg Config, frames []frame) error {
	if cfg.Format == PCAP {
		writer := pcapgo.NewWriter(w)
		if err := writer.WriteFileHeader(snapLength, layers.LinkTypeEthernet); err != nil {
			return fmt.Errorf("write the file header: %w", err)
		}
		return writeFrames(writer, cfg.Start, frames)
	}
	writer, err := pcapgo.NewNgWriterInterface(w, pcapgo.NgInterface{
		Name: "skyring", Comment: "generated, no real traffic", LinkType: layers.LinkTypeEthernet, SnapLength: snapLength, TimestampResolution: 9,
	}, pcapgo.NgWriterOptions{SectionInfo: pcapgo.NgSectionInfo{
		Application: "skyring", Comment: fmt.Sprintf("seed %d", cfg.Seed),
	}})
	if err != nil {
		return fmt.Errorf("write the file header: %w", err)
	}
	if err := writeFrames(writer, cfg.Start, frames); err != nil {
		return err
	}
	if err := writer.Flush(); err != nil {
		return fmt.Errorf("write the capture: %w", err)
	}
	return nil
}

func writeFrames(w packetWriter, start time.Time, frames []frame) error {
	for i, f := range frames {
		info := gopacket.CaptureInfo{Timestamp: start.Add(f.at), CaptureLength: len(f.data), Length: len(f.data)}
		if err := w.WritePacket(info, f.data); err != nil {
			return fmt.Errorf("write packet %d: %w", i+1, err)
		}
	}
	return nil
}
