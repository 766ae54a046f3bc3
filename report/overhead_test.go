package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/engine/bootstrap"
	"github.com/sfstat/sfstat/engine/overhead"
	"github.com/sfstat/sfstat/internal/table"
)

// measured are n pairs of runs of some windows, whose overheads scatter about
// 1 % without chance.
func measured(n, windows int) []overhead.Measurement {
	var out []overhead.Measurement
	for i := range n {
		for k := range windows {
			x := 0.01 + 0.002*float64((i*7+k*3)%11-5)
			out = append(out, overhead.Measurement{Pair: fmt.Sprint(i + 1), Run: fmt.Sprintf("off-s%d", i), Other: fmt.Sprintf("on-s%d", i),
				Window: k, Base: 2e8 + 1e6*float64(i), With: (2e8 + 1e6*float64(i)) * (1 + x)})
		}
	}
	return out
}

// overheadCases are what an overhead may look like.
var overheadCases = []struct {
	name string
	make func() ([]overhead.Measurement, overhead.By, overhead.Options)
}{
	{"plain", func() ([]overhead.Measurement, overhead.By, overhead.Options) {
		return measured(24, 1), overhead.BySeed, overhead.Options{}
	}},
	{"above", func() ([]overhead.Measurement, overhead.By, overhead.Options) {
		m, gate := measured(12, 3), 0.001
		m[4].Run, m[4].Other, m[4].Pair = "=cmd|' /C calc'!A0", "\x1b[31m<img src=x>@everyone`", "](javascript:x)"
		return m, overhead.ByName, overhead.Options{Gate: &gate, Statistic: bootstrap.Total}
	}},
	{"unbounded", func() ([]overhead.Measurement, overhead.By, overhead.Options) {
		m, gate := measured(2, 1), 0.005
		for i := range m {
			m[i].Run, m[i].Other = "", ""
		}
		return m, overhead.ByFile, overhead.Options{Gate: &gate}
	}},
	{"single", func() ([]overhead.Measurement, overhead.By, overhead.Options) {
		gate := 0.02
		return measured(1, 2), overhead.ByOrder, overhead.Options{Gate: &gate}
	}},
	{"many", func() ([]overhead.Measurement, overhead.By, overhead.Options) {
		order := bootstrap.Order
		return measured(50, 1), overhead.ByOrder, overhead.Options{Statistic: bootstrap.Median, Method: &order}
	}},
}

func accountOf(t *testing.T, name string) *overhead.Account {
	t.Helper()
	for _, c := range overheadCases {
		if c.name != name {
			continue
		}
		m, by, o := c.make()
		o.Bootstrap = bootstrap.Options{Confidence: 0.95, Replicates: 500, Seed: 3}
		a, err := overhead.Examine(m, by, o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return a
	}
	t.Fatalf("no case %s", name)
	return nil
}

func renderedOverheads(t *testing.T, format Format, s Style, f func(name string, out []byte)) {
	t.Helper()
	for _, c := range overheadCases {
		var out bytes.Buffer
		if err := to(&out, format, s).Overhead(accountOf(t, c.name)); err != nil {
			t.Fatalf("overhead %s: %v", c.name, err)
		}
		f("overhead-"+c.name, out.Bytes())
	}
}

// The headline says what stands, and against which gate.
func TestOverheadHeadline(t *testing.T) {
	for name, want := range map[string]string{
		"plain":     " at 95 % confidence.",
		"above":     ": above the gate of 0.1 %.",
		"unbounded": ", with no upper bound at 95 % confidence: above the gate of 0.5 %, but not surely.",
		"single":    " in the one pair of runs, with no bound: not shown to be within the gate of 2 %.",
		"many":      ", at most ",
	} {
		if got := sayOverhead(accountOf(t, name)); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q in it", name, got, want)
		}
	}
	within := accountOf(t, "plain")
	gate := 0.5
	within.Gate, within.Standing = &gate, within.Estimate.StandingAt(gate, within.Interval)
	if got := sayOverhead(within); !strings.HasSuffix(got, ": within the gate of 50 %.") {
		t.Errorf("%q", got)
	}
}

func TestOverheadWriteError(t *testing.T) {
	for f := Text; f <= Markdown+1; f++ {
		if err := to(full{}, f, Style{}).Overhead(accountOf(t, "plain")); err == nil {
			t.Errorf("as %v: the failed write is not reported", f)
		}
	}
}

func TestFinePercent(t *testing.T) {
	for _, c := range []struct {
		in   float64
		want string
	}{{0.00131, "0.131 %"}, {-1e-9, "0.000 %"}, {1.5, "150.000 %"}} {
		if got := table.FinePercent(c.in); got != c.want {
			t.Errorf("%v: %q, want %q", c.in, got, c.want)
		}
	}
}
