package report

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/diagnose/runs"
	"github.com/sfstat/sfstat/internal/table"
)

// comparedRuns are runs of the given step times, ms, with a stage that takes what
// is beyond 100 ms.
func comparedRuns(names string, steps ...float64) []*runs.Run {
	var out []*runs.Run
	for i, ms := range steps {
		out = append(out, &runs.Run{Name: names + string(rune('a'+i)), World: 8, Windows: 1, Steps: 100, Values: map[runs.Measure]float64{
			{Kind: runs.StepTime}: ms * 1e6, {Kind: runs.StageTime, Stage: "data.next_wait"}: (ms - 100) * 1e6,
			{Kind: runs.StageTime, Stage: "model.backward_cpu_wall"}: 100e6 + float64(i)*1e5}})
	}
	return out
}

func found(list []*runs.Run, rank int, stage string, gain float64) []*runs.Run {
	for _, r := range list {
		r.Found = []diagnose.Finding{{Place: diagnose.Place{Rank: &rank, Host: "gpu-node-1", Stage: stage}, Cost: diagnose.Cost{RunGain: gain}, Confidence: evidence.Strong}}
		r.Values[runs.Measure{Kind: runs.FoundDelay, Stage: stage}] = gain * 220e6
	}
	return list
}

// comparisonCases are what a comparison may look like, and its headline.
var comparisonCases = []struct {
	name     string
	base     []*runs.Run
	now      []*runs.Run
	gate     float64
	problems []Problem
	headline string
}{
	{"regression", comparedRuns("job-", 220, 221, 219, 220, 222), found(comparedRuns("job-", 231, 232, 230, 231.5, 232.5), 2, "data.next_wait", 0.12), 0.02, nil,
		"A step takes 231 ms instead of 220 ms: 5.0 % longer (4.7 % to 5.2 %), above the gate of 2 %."},
	{"unshown", comparedRuns("a", 220, 230, 225), comparedRuns("b", 221, 229, 227, 224), 0.01, []Problem{{Path: "x.jsonl", Err: errors.New("x.jsonl:3: no packet")}},
		"No difference in step time is shown (225 ms and 225 ms); one of 7.2 % would probably have been; it is not shown to be within the gate of 1 %."},
	{"improvement", found(comparedRuns("a", 240, 241, 242), 1, "model.backward_cpu_wall", 0.2), comparedRuns("b", 220, 221, 222), -1, nil,
		"A step takes 221 ms instead of 241 ms: 8.3 % shorter (7.1 % to 9.5 %)."},
	{"untested", comparedRuns("=cmd|' /C calc'!A0\x1b[31m", 220), comparedRuns("b", 230), 0.02, nil,
		"A step takes 230 ms instead of 220 ms: 4.5 % longer, which so little data cannot test; it is not shown to be within the gate of 2 %."},
	{"nothing", []*runs.Run{{Name: "dumps"}}, comparedRuns("b", 230, 231), -1, nil, "Step times cannot be compared: one side has none."},
}

// comparisonOfCase makes a comparison once: rendering does not change it.
func comparisonOfCase(t *testing.T, i int) *runs.Comparison {
	t.Helper()
	c := comparisonCases[i]
	if made := comparisonsMade[c.name]; made != nil {
		return made
	}
	o := runs.Options{Seed: 1}
	if c.gate >= 0 {
		o.Gate = &c.gate
	}
	out, err := runs.Compare(c.base, c.now, o)
	if err != nil {
		t.Fatal(err)
	}
	comparisonsMade[c.name] = out
	return out
}

var comparisonsMade = map[string]*runs.Comparison{}

func renderedComparisons(t *testing.T, format Format, s Style, f func(name string, out []byte)) {
	t.Helper()
	for i, c := range comparisonCases {
		var out bytes.Buffer
		if err := to(&out, format, s, c.problems...).Comparison(comparisonOfCase(t, i)); err != nil {
			t.Fatalf("compare %s: %v", c.name, err)
		}
		f("compare-"+c.name, out.Bytes())
	}
}

func TestComparisonHeadlines(t *testing.T) {
	for i, c := range comparisonCases {
		if got := comparisonHeadline(comparisonOfCase(t, i)); got != c.headline {
			t.Errorf("%s:\n%s, want\n%s", c.name, got, c.headline)
		}
	}
}

func TestSignedPercent(t *testing.T) {
	for f, want := range map[float64]string{0.0502: "+5.02 %", -0.0502: "−5.02 %", 0.251: "+25.1 %", 0.000001: "0.00 %", -0.00001: "0.00 %", math.Inf(1): table.Absent} {
		if got := signedPercent(f); got != want {
			t.Errorf("signedPercent(%v) is %q, want %q", f, got, want)
		}
	}
}

// TestComparisonOfOtherRanks: that the sides have other numbers of ranks stands before
// what differs in time, and once.
func TestComparisonOfOtherRanks(t *testing.T) {
	small := comparedRuns("b", 230, 231, 232)
	for _, r := range small {
		r.World = 2
	}
	c, err := runs.Compare(comparedRuns("a", 220, 221, 222), small, runs.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := to(&out, Text, Style{Width: 200}).Comparison(c); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "Why        other numbers of ranks (8 against 2), so other work; ") || strings.Count(text, "numbers of ranks") != 1 {
		t.Errorf("printed\n%s", text)
	}
}
