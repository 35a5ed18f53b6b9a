package ledger_test

import (
	"testing"

	"skyring/processor/ledger"
)

// data is an M3UA DATA message with a network appearance before the protocol data.
func data(user byte, payload string) string {
	b := "\x01\x00\x01\x01\x00\x00\x00\x00" + "\x02\x00\x00\x08\x00\x00\x00\x01" +
		"\x02\x10\x00" + string(rune(16+len(payload))) + "\x00\x00\x00\x01\x00\x00\x00\x02" + string([]byte{user}) + "\x02\x00\x05"
	return b + payload
}

func TestTypeOf(t *testing.T) {
	t.Parallel()
	const s1ap, ngap, m3ua, dia = 18, 60, 3, 46
	header := "\x01\x00\x00\x14\xc0\x00\x01\x10aaaabbbbcccc"
	for _, c := range []struct {
		ppid    uint32
		payload string
		want    string
	}{
		{s1ap, "\x00\x0c\x40\x00", "S1AP initiatingMessage 12"},
		{s1ap, "\x20\x09", "S1AP successfulOutcome 9"},
		{ngap, "\x40\x15", "NGAP unsuccessfulOutcome 21"},
		{ngap, "\x60\x15", ""},
		{ngap, "\x00", ""},
		{dia, header, "Diameter 272 request"},
		{47, "\x01\x00\x00\x14\x00\x00\x01\x01aaaabbbbcccc", "Diameter 257 answer"},
		{dia, header[:19], ""},
		{dia, "\x02" + header[1:], ""},
		{m3ua, data(5, "\x01\x00\x01rest"), "ISUP IAM"},
		{m3ua, data(5, "\x01\x00\xf0"), "ISUP 240"},
		{m3ua, data(5, "\x01\x00"), "M3UA DATA"},
		{m3ua, data(3, "\x09"), "SCCP UDT"},
		{m3ua, data(3, "\x63"), "SCCP 99"},
		{m3ua, data(1, "x"), "M3UA DATA"},
		{m3ua, data(5, "\x01\x00\x01rest")[:20], "M3UA DATA"},
		{m3ua, "\x01\x00\x01\x01\x00\x00\x00\x00\x02\x10\x00\x03", "M3UA DATA"},
		{m3ua, "\x01\x00\x03\x01\x00\x00\x00\x08", "M3UA ASPUP"},
		{m3ua, "\x01\x00\x00\x01\x00\x00\x00\x08", "M3UA NTFY"},
		{m3ua, "\x01\x00\x07\x05\x00\x00\x00\x08", "M3UA 7.5"},
		{m3ua, "\x01\x00\x63\x05\x00\x00\x00\x08", "M3UA 99.5"},
		{m3ua, "\x01\x00\x03", ""},
		{7, "!/1 [1]", ""},
		{0, "", ""},
	} {
		if got := ledger.TypeOf(c.ppid, []byte(c.payload)); got != c.want {
			t.Errorf("%d %x: got %q, want %q", c.ppid, c.payload, got, c.want)
		}
	}
}

func FuzzTypeOf(f *testing.F) {
	f.Add(uint32(3), []byte(data(5, "\x01\x00\x01rest")))
	f.Add(uint32(18), []byte("\x00\x0c"))
	f.Add(uint32(46), []byte("\x01\x00\x00\x14\xc0\x00\x01\x10aaaabbbbcccc"))
	f.Fuzz(func(_ *testing.T, ppid uint32, payload []byte) { ledger.TypeOf(ppid, payload) })
}
