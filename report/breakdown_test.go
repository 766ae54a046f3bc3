package report

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/engine/breakdown"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/profile"
)

// divided is a step by hand, in µs: compute, communication, exposed of it, and
// the rest of 1000 idle.
func divided(n int64, compute, communication, exposed int64) profile.DeviceStep {
	const us = 1000
	start := n * 1000 * us
	return profile.DeviceStep{Step: n, Categories: profile.Categories{Start: start, End: start + 1000*us, First: start, Last: start + 1000*us, Compute: compute * us,
		Communication: communication * us, Memory: 4 * us, ExposedComm: exposed * us, Idle: (1000 - compute - exposed - 4) * us}}
}

// breakdowns are a run in which rank 3 communicates less than its peers, and
// odd ones.
func breakdowns() map[string]Breakdowns {
	slow := &profile.DeviceTimes{Run: "slow"}
	for id := range 6 {
		compute, communication := int64(500+id), int64(300-2*id)
		if id == 3 {
			compute, communication = 620, 90
		}
		slow.Ranks = append(slow.Ranks, profile.DeviceRank{Rank: trace.Rank{ID: id, Host: "node0", Role: trace.Role{{Axis: "dp", Index: id}}},
			Steps: []profile.DeviceStep{divided(7, compute, communication, communication/2), divided(8, compute, communication, communication/2)}})
	}
	odd := &profile.DeviceTimes{Run: "=odd|\x1b[31m`<b>", Ranks: []profile.DeviceRank{{Rank: trace.Rank{ID: 1_000_000, Host: "@host\n<i>"}, Steps: []profile.DeviceStep{
		{Step: math.MaxInt64, Categories: profile.Categories{Start: 0, End: 1 << 60, First: 1, Last: 1 << 59, Compute: 1 << 58, Memory: 5, Idle: 3 << 58}}}}},
		Notes: []input.Note{{Kind: input.NoteRecorder, Text: "rank 1000000: cut\x1b[1m off"}}}
	nothing := &profile.DeviceTimes{Ranks: []profile.DeviceRank{{Steps: []profile.DeviceStep{{Step: -3, Categories: profile.Categories{Start: 5, End: 5}}}}, {Steps: []profile.DeviceStep{{Step: -3, Categories: profile.Categories{Start: 5, End: 9, Idle: 4}}}}}}
	out := make(map[string]Breakdowns)
	for name, runs := range map[string][]*profile.DeviceTimes{"slow": {slow}, "odd": {odd, nothing}, "empty": nil} {
		var b Breakdowns
		for _, d := range runs {
			r, err := breakdown.Analyze(d, breakdown.DefaultOptions())
			if err != nil {
				panic(err)
			}
			b.Runs = append(b.Runs, r)
		}
		out[name] = b
	}
	steps := out["slow"]
	steps.PerStep = true
	out["steps"] = steps
	return out
}

func renderedBreakdowns(t *testing.T, format Format, s Style, f func(name string, out []byte)) {
	t.Helper()
	for name, b := range breakdowns() {
		var in []Problem
		if name == "odd" {
			in = testProblems()
		}
		var out bytes.Buffer
		if err := to(&out, format, s, in...).Breakdown(b); err != nil {
			t.Fatalf("breakdown %s: %v", name, err)
		}
		f("breakdown-"+name, out.Bytes())
	}
}

func TestBreakdownHeadline(t *testing.T) {
	all := breakdowns()
	for name, want := range map[string]string{
		"slow": "Rank 3 stands out: communication is 9.0 % of its time, 29.5 % of its peers'.",
		"odd":  "idled for 50.0 %; there was no communication.",
	} {
		if got := breakdownHeadline(all[name].Runs[0]); !strings.HasSuffix(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got, want := breakdownHeadline(all["odd"].Runs[1]), "Nothing ran on the device in the steps that were recorded."; got != want {
		t.Errorf("%q", got)
	}
}

func TestBreakdownSchema(t *testing.T) {
	schema, _ := readSchema(t, "breakdown")
	renderedBreakdowns(t, JSON, Style{}, func(name string, out []byte) { valid(t, schema, name, out) })
}

func TestBreakdownWriteError(t *testing.T) {
	for f := Text; f <= Markdown+1; f++ {
		if err := to(full{}, f, Style{}).Breakdown(breakdowns()["slow"]); err == nil {
			t.Errorf("as %v: the failed write is not reported", f)
		}
	}
}
