package key_test

import (
	"bytes"
	"errors"
	"testing"

	"skyring/protocol/key"
)

func TestFormatIsReversible(t *testing.T) {
	for _, v := range vectors(t) {
		k, _ := key.Append(nil, 1, v.ppid, v.payload)

		back, err := key.Parse(v.key)
		if err != nil || !bytes.Equal(back, k) {
			t.Errorf("%s: Parse(%q) is % x, %v; want % x", v.name, v.key, back, err, k)
		}
	}
}

func TestFormatOfOtherBytes(t *testing.T) {
	for want, k := range map[string][]byte{
		"raw:":                       nil,
		"raw:00":                     {0},
		"raw:01":                     {1},
		"raw:02000000":               {2, 0, 0, 0},
		"raw:0700":                   {7, 0},
		"raw:0702":                   {7, 2},
		"raw:ff":                     {255},
		"diameter:%01":               {7, 0, 1},
		"isup:pc=3-2/cic=65535":      {4, 0, 0, 0, 3, 0, 0, 0, 2, 255, 255},
		"m3ua:pc=0-0/si=255/sls=255": {6, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255},
	} {
		back, err := key.Parse(want)
		if got := key.Format(k); got != want || err != nil || !bytes.Equal(back, k) {
			t.Errorf("% x formats to %q, want %q, which parses to % x, %v", k, got, want, back, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, s := range []string{
		"", "x", ":", "s1ap", "s1ap:", "s2ap:assoc=0000000000000001/ue=1", "raw:0", "raw:zz", "raw:AB", "association:1",
		"association:000000000000000G", "association:00000000000000011", "raw:010000000000000001",
		"s1ap:assoc=0000000000000001/ue=", "s1ap:assoc=0000000000000001/ue=01", "s1ap:assoc=0000000000000001/ue=4294967296",
		"s1ap:assoc=1/ue=1", "s1ap:assoc=0000000000000001/ue=1 ", "s1ap:assoc=00000000000000AB/ue=1", "s1ap:ue=1",
		"isup:pc=1/cic=2", "isup:pc=1-2", "isup:pc=1-2/sls=2", "isup:pc=1-2/cic=65536", "sccp:pc=1-2/sls=256", "m3ua:pc=1-2/si=3",
		"diameter:", "diameter:%", "diameter:%4", "diameter:%zz", "diameter:%41", "diameter:%c3", "diameter:a b", "diameter:é",
		"diameter-xxh3:00", "h248:assoc=0000000000000001/context=x",
	} {
		if k, err := key.Parse(s); !errors.Is(err, key.ErrFormat) || k != nil {
			t.Errorf("Parse(%q) is % x, %v", s, k, err)
		}
	}
}

func TestKindNames(t *testing.T) {
	for k, want := range map[key.Kind]string{
		key.KindAssociation: "association", key.KindS1AP: "s1ap", key.KindNGAP: "ngap", key.KindISUP: "isup", key.KindSCCP: "sccp",
		key.KindM3UA: "m3ua", key.KindDiameter: "diameter", key.KindH248: "h248",
		key.KindStation: "station", key.KindCall: "call", key.KindPool: "pool", 0: "kind 0", 77: "kind 77",
	} {
		if got := k.String(); got != want {
			t.Errorf("kind %d is %q, want %q", uint8(k), got, want)
		}
	}

	if got := key.KindOf(nil); got != 0 {
		t.Errorf("an empty key has kind %v", got)
	}
}

func FuzzFormat(f *testing.F) {
	for _, v := range vectors(f) {
		k, _ := key.Append(nil, 1, v.ppid, v.payload)
		f.Add(k)
	}

	f.Fuzz(func(t *testing.T, k []byte) {
		s := key.Format(k)
		for _, c := range []byte(s) {
			if c <= ' ' || c > '~' {
				t.Fatalf("%q is not printable", s)
			}
		}

		back, err := key.Parse(s)
		if err != nil || !bytes.Equal(back, k) {
			t.Fatalf("% x formats to %s, which parses to % x, %v", k, s, back, err)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add(v.key)
	}

	f.Fuzz(func(t *testing.T, s string) {
		k, err := key.Parse(s)
		if err == nil && key.Format(k) != s {
			t.Fatalf("%q parses to % x, which formats to %q", s, k, key.Format(k))
		}
	})
}
