package overhead

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/engine/bootstrap"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// window has two ranks and two steps of the given wall times, [step][rank]; nil
// gives it two stages and no wall time.
func window(run string, wall ...int64) *trace.Window {
	w := &trace.Window{Run: run, WorldSize: 2, Ranks: []trace.Rank{{ID: 0}, {ID: 1}},
		Schema:    trace.Schema{Stages: []string{"a", "b"}},
		Durations: []int64{1, 2, 10, 20, 3, 4, 30, 40}, Wall: wall}
	return w
}

func runs(t *testing.T, windows ...*trace.Window) *Runs {
	t.Helper()
	var r Runs
	for _, w := range windows {
		if err := r.Add(w); err != nil {
			t.Fatal(err)
		}
	}
	return &r
}

// The time of a window is its slowest rank's, by steps.
func TestStepTime(t *testing.T) {
	// Rank 0: 100 + 300, rank 1: 200 + 100.
	if got := stepTime(window("x", 100, 200, 300, 100)); got != 200 {
		t.Errorf("with wall time %v, want 200", got)
	}
	// Without: rank 0 is 1+10+3+30, rank 1 is 2+20+4+40.
	if got := stepTime(window("x")); got != 33 {
		t.Errorf("without wall time %v, want 33", got)
	}
	var r Runs
	if err := r.Add(window("x", 0, 0, 0, 0)); !errors.Is(err, ErrNoTime) {
		t.Errorf("no time at all: %v", err)
	}
	if err := r.Add(&trace.Window{}); !errors.Is(err, ErrNoTime) {
		t.Errorf("an empty window: %v", err)
	}
}

func flat(run string, ns int64) *trace.Window { return window(run, ns, ns, ns, ns) }

func TestMatch(t *testing.T) {
	base := runs(t, flat("off-s1", 100), flat("off-s1", 101), flat("off-s02", 200))
	with := runs(t, flat("on-s2", 220), flat("on-s1", 110), flat("on-s1", 111))
	got, err := Match(base, with, BySeed)
	want := []Measurement{
		{Pair: "1", Run: "off-s1", Other: "on-s1", Window: 0, Base: 100, With: 110}, {Pair: "1", Run: "off-s1", Other: "on-s1", Window: 1, Base: 101, With: 111}, {Pair: "2", Run: "off-s02", Other: "on-s2", Window: 0, Base: 200, With: 220},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("by seed: %v (-want +got)\n%s", err, diff)
	}
	same := runs(t, flat("off-s02", 204), flat("off-s1", 102), flat("off-s1", 103))
	got, err = Match(base, same, ByName)
	want = []Measurement{
		{Pair: "off-s1", Run: "off-s1", Other: "off-s1", Window: 0, Base: 100, With: 102}, {Pair: "off-s1", Run: "off-s1", Other: "off-s1", Window: 1, Base: 101, With: 103}, {Pair: "off-s02", Run: "off-s02", Other: "off-s02", Window: 0, Base: 200, With: 204},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("by name: %v (-want +got)\n%s", err, diff)
	}
	got, err = Match(runs(t, flat("x", 1), flat("y", 2)), runs(t, flat("z", 3), flat("a", 4)), ByOrder)
	want = []Measurement{{Pair: "1", Run: "x", Other: "z", Window: 0, Base: 1, With: 3}, {Pair: "2", Run: "y", Other: "a", Window: 0, Base: 2, With: 4}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("by order: %v (-want +got)\n%s", err, diff)
	}
}

func TestMatchRefuses(t *testing.T) {
	larger := flat("b", 1)
	larger.WorldSize = 3
	for _, c := range []struct {
		name       string
		base, with *Runs
		by         By
		kind       error
		text       string
	}{
		{"counts", runs(t, flat("a", 1)), runs(t, flat("b", 1), flat("c", 1)), ByOrder, ErrUnpaired, "1 runs in the base and 2 against it"},
		{"names", runs(t, flat("a", 1)), runs(t, flat("b", 1)), ByName, ErrUnpaired, `run "a" of the base`},
		{"names of the others", runs(t, flat("a", 1)), runs(t, flat("a", 1), flat("b", 1)), ByName, ErrUnpaired, `run "b" against the base`},
		{"no seed", runs(t, flat("a1", 1)), runs(t, flat("b", 1)), BySeed, ErrNoSeed, `run "b"`},
		{"no seed in the base", runs(t, flat("a", 1)), runs(t, flat("b1", 1)), BySeed, ErrNoSeed, `run "a"`},
		{"seed twice", runs(t, flat("a1", 1), flat("b01", 1)), runs(t, flat("a1", 1), flat("b2", 1)), BySeed, ErrTwice, `runs "a1" and "b01"`},
		{"windows", runs(t, flat("a", 1), flat("a", 1)), runs(t, flat("b", 1)), ByOrder, ErrUnpaired, `run "a" has 2 windows, its partner "b" 1`},
		{"ranks", runs(t, flat("a", 1)), runs(t, larger), ByOrder, nil, `run "a" has 2 ranks, its partner "b" 3`},
	} {
		_, err := Match(c.base, c.with, c.by)
		if err == nil || c.kind != nil && !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want %q", c.name, err, c.text)
		}
	}
}

func TestParseBy(t *testing.T) {
	for by := range byCount {
		if got, err := ParseBy(by.String()); err != nil || got != by {
			t.Errorf("ParseBy(%q) = %v, %v", by, got, err)
		}
	}
	if _, err := ParseBy("luck"); err == nil {
		t.Error("matched by luck")
	}
}

func TestReadPairs(t *testing.T) {
	got, err := ReadPairs("p.csv", strings.NewReader("\ufeffpair,note,with_ns,base_ns\ns1,x,110,100\ns2, y,2.5e8 , 2e8\ns1,z,112,101\n"))
	want := []Measurement{{Pair: "s1", Base: 100, With: 110}, {Pair: "s2", Base: 2e8, With: 2.5e8}, {Pair: "s1", Window: 1, Base: 101, With: 112}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	for _, c := range []struct{ text, want string }{
		{"", "p.csv: no header, expected pair,base_ns,with_ns"},
		{"pair,base_ns\n", `p.csv:1: the header has no column "with_ns"`},
		{"pair,base_ns,with_ns\n", "p.csv: the file has no pairs"},
		{"pair,base_ns,with_ns\na,1,2\nb,1,\n", `p.csv:3: pair "b": column with_ns is empty: both halves`},
		{"pair,base_ns,with_ns\n ,1,2\n", "p.csv:2: column pair is empty"},
		{"pair,base_ns,with_ns\na,NaN,2\n", `p.csv:2: pair "a": column base_ns is "NaN"`},
		{"pair,base_ns,with_ns\na,Inf,2\n", `column base_ns is "Inf"`},
		{"pair,base_ns,with_ns\na,-1,2\n", `column base_ns is "-1", expected more than 0`},
		{"pair,base_ns,with_ns\na,0,2\n", `column base_ns is "0", expected more than 0`},
		{"pair,base_ns,with_ns\na,2 ms,2\n", `column base_ns is "2 ms", expected nanoseconds`},
		{"pair,base_ns,with_ns\na,2\n", "p.csv: "},
	} {
		_, err := ReadPairs("p.csv", strings.NewReader(c.text))
		var record *input.Error
		if !errors.As(err, &record) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
}

func FuzzReadPairs(f *testing.F) {
	for _, s := range []string{"pair,base_ns,with_ns\na,1,2\n", "pair,base_ns,with_ns\n\"a\nb\",1e300,2\n", "\ufeff", "pair,base_ns,with_ns\na,0x1p-3,1_0\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		rows, err := ReadPairs("p.csv", strings.NewReader(s))
		if (err == nil) != (len(rows) > 0) {
			t.Errorf("%d rows and %v", len(rows), err)
		}
		for _, m := range rows {
			if m.Pair == "" || !(m.Base > 0) || !(m.With > 0) || math.IsInf(m.Base, 0) || math.IsInf(m.With, 0) {
				t.Errorf("%+v was let through", m)
			}
		}
	})
}

// Rows of one pair are one block, wherever they stand.
func TestExamine(t *testing.T) {
	measurements := []Measurement{
		{Pair: "a", Base: 100, With: 101}, {Pair: "b", Base: 100, With: 103}, {Pair: "a", Window: 1, Base: 100, With: 102},
		{Pair: "c", Base: 100, With: 102}, {Pair: "c", Window: 1, Base: 100, With: 102},
	}
	gate := 0.02
	o := Options{Bootstrap: bootstrap.Options{Confidence: 0.9, Replicates: 500, Seed: 1}, Gate: &gate}
	a, err := Examine(measurements, ByFile, o)
	if err != nil {
		t.Fatal(err)
	}
	if a.Blocks != 3 || a.Pairs != 5 || math.Abs(a.Estimate.Value-0.02) > 1e-15 || a.Interval.Method != bootstrap.Studentised {
		t.Errorf("%d blocks, %d pairs, %+v by %+v", a.Blocks, a.Pairs, a.Estimate, a.Interval)
	}
	if a.Standing != a.Estimate.StandingAt(gate, a.Estimate.IntervalOf(bootstrap.Studentised)) {
		t.Errorf("stands %v", a.Standing)
	}
	order := bootstrap.Order
	o.Method, o.Statistic = &order, bootstrap.Median
	if _, err := Examine(measurements, ByFile, o); err == nil || !strings.Contains(err.Error(), "no order interval of the median") {
		t.Errorf("an order interval of windows that belong together: %v", err)
	}
	one, err := Examine(measurements[:1], ByFile, Options{Bootstrap: o.Bootstrap, Gate: &gate, Method: &order})
	if err != nil || one.Interval != nil || one.Standing != bootstrap.PerhapsWithin {
		t.Errorf("one pair: %+v, %v", one, err)
	}
	if _, err := Examine(nil, ByFile, o); !errors.Is(err, bootstrap.ErrNoPairs) {
		t.Errorf("no pairs: %v", err)
	}
}
