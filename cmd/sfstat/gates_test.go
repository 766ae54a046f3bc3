package main

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/internal/strictyaml"
)

func TestGatesReadBack(t *testing.T) {
	g := gates.Default()
	g.Tau, g.Leader.GapAbs, g.MissingRanks = 0.7, 2_500_000, 3
	var text bytes.Buffer
	if err := strictyaml.Encode(&text, g); err != nil {
		t.Fatal(err)
	}
	back, err := parseGates("gates.yaml", text.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if back != g {
		t.Errorf("read back %+v, wrote %+v", back, g)
	}
}

func TestGatesKeepDefaultsForWhatIsLeftOut(t *testing.T) {
	g, err := parseGates("gates.yaml", []byte("leader: {gap_abs: 3ms}\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := gates.Default()
	want.Leader.GapAbs = 3_000_000
	if g != want {
		t.Errorf("got %+v, expected %+v", g, want)
	}
}

func TestGatesRefuse(t *testing.T) {
	cases := []struct{ name, text, want string }{
		{"unknown", "tau: 0.8\ntaw: 0.7\n", "gates.yaml:2: there is no taw here; did you mean tau?"},
		{"unknown, nested", "leader:\n  gap_ab: 1ms\n", "gates.yaml:2: there is no gap_ab here; did you mean gap_abs?"},
		{"twice", "tau: 0.8\ntau: 0.7\n", "gates.yaml:2: mapping key \"tau\" already defined at line 1"},
		{"type", "tau: high\n", "gates.yaml:1: \"high\" is text, expected a number"},
		{"length of time", "denominator_floor: 3 parsecs\n", "is not a length of time such as 1ms"},
		{"range", "tau: 1.5\n", "gates.yaml: gate tau is 1.5, expected above 0 and at most 1"},
		{"not a number", "tau: .nan\n", "gate tau is NaN"},
		{"empty", "", "gates.yaml: nothing is set in it"},
		{"two documents", "tau: 0.8\n---\ntau: 0.7\n", "more than one YAML document"},
		{"list", "- 1\n", "gates.yaml:1: found a list, expected keys with values"},
		{"syntax", "tau: [\n", "gates.yaml:"},
		{"bytes", "\x00\x01", "gates.yaml: control characters are not allowed"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g, err := parseGates("gates.yaml", []byte(c.text))
			if err == nil {
				t.Fatalf("accepted as %+v", g)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, expected %q", err, c.want)
			}
			if !reflect.ValueOf(g).IsZero() {
				t.Errorf("gates beside an error: %+v", g)
			}
		})
	}
}

func FuzzParseGates(f *testing.F) {
	f.Add([]byte("tau: 0.8\n"))
	f.Add([]byte("leader:\n  gap_abs: 1ms\n"))
	f.Add([]byte("a: &a [*a]\n"))
	f.Add([]byte("? {}\n: - |\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		g, err := parseGates("gates.yaml", text)
		if err == nil && g.Validate() != nil {
			t.Fatalf("accepted invalid gates %+v", g)
		}
		if err != nil && strings.Contains(oneLine(err), "\n") {
			t.Fatalf("error of more than a line: %q", err)
		}
	})
}
