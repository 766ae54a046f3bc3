// Package metrics has the numbers of verdicts that monitoring keeps. One table names them; Text
// writes them for Prometheus, and Export for a collector of OpenTelemetry.
package metrics

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/internal/glyph"
)

// Family is one row of the table.
type Family uint8

// All of them, in the order in which they are written.
const (
	RunStatus Family = iota
	GainRatio
	StepSeconds
	StageSeconds
	UnseenSeconds
	FindingInfo
	WaitSeconds
	Runs
	Windows
	Problems
	Unread
	Stale
)

var families = [...]struct {
	name, unit, help string // the unit as UCUM has it
	counter          bool
}{
	RunStatus:     {"sfstat_run_status", "1", "The answer to a run; 1 at the status that it has.", false},
	GainRatio:     {"sfstat_gain_ratio", "1", "Part of the run's time that fixing its first finding would save.", false},
	StepSeconds:   {"sfstat_step_seconds", "s", "Length of a step that the first finding struck.", false},
	StageSeconds:  {"sfstat_stage_seconds", "s", "Exposed time of a stage in a step; the stages of a run add up to its mean step.", false},
	UnseenSeconds: {"sfstat_unseen_seconds", "s", "Largest delay of one rank in a step that the recording of a stage does not show.", false},
	FindingInfo:   {"sfstat_finding_info", "1", "What a run may be acted on for: certain and large enough; number 0 costs most.", false},
	WaitSeconds:   {"sfstat_wait_seconds_total", "s", "Exposed time that findings explain, over all steps that they struck.", true},
	Runs:          {"sfstat_runs", "{run}", "Runs, those without series of their own included.", false},
	Windows:       {"sfstat_windows", "{window}", "Windows of all runs.", false},
	Problems:      {"sfstat_problems", "{input}", "Inputs that were refused.", false},
	Unread:        {"sfstat_unread", "{input}", "Inputs that are still to be read for the first time.", false},
	Stale:         {"sfstat_stale", "1", "1 while a path that was named cannot be read.", false},
}

// Sample is one number.
type Sample struct {
	Family Family
	Labels []Label
	Value  float64
}

// Label is a name and a value, "" included.
type Label struct{ Name, Value string }

// Run is what is measured of one.
type Run struct {
	Name     string
	Status   answer.Status
	Findings []diagnose.Finding // the first, and the others to act on
	Stages   []Stage
	Coverage []answer.Coverage // what the recording shows
}

// Stage is one stage of a run.
type Stage struct {
	Name    string
	Exposed int64 // in a step, mean, ns
}

// Of returns the measures of the run of a verdict.
func Of(v *diagnose.RunVerdict) Run {
	return Run{Name: v.Run, Status: v.Status, Findings: v.Findings, Stages: Stages(v), Coverage: v.Coverage}
}

// Stages returns the stages of the windows of a run, with a mean each.
func Stages(v *diagnose.RunVerdict) []Stage {
	var out []Stage
	at, steps := map[string]int{}, int64(0)
	for i := range v.Windows {
		m := v.Windows[i].Main
		steps += int64(m.Steps)
		for k := range m.Stages {
			s := &m.Stages[k]
			if _, known := at[s.Name]; !known {
				at[s.Name] = len(out)
				out = append(out, Stage{Name: s.Name})
			}
			out[at[s.Name]].Exposed += s.Advance
		}
	}
	for i := range out {
		out[i].Exposed /= max(1, steps)
	}
	return out
}

// mostFindings and mostStages are how many of a run have series.
const (
	mostFindings = 4
	mostStages   = 32
)

// Samples returns the numbers of a run.
func (r *Run) Samples() []Sample {
	run := Label{"run", Key(r.Name)}
	gain := 0.0
	if len(r.Findings) > 0 {
		gain = r.Findings[0].RunGain
	}
	out := []Sample{{RunStatus, []Label{run, {"status", r.Status.String()}}, 1}, {GainRatio, []Label{run}, gain}}
	for _, s := range r.Stages[:min(len(r.Stages), mostStages)] {
		out = append(out, Sample{StageSeconds, []Label{run, {"stage", limitLabel(s.Name)}}, float64(s.Exposed) / 1e9})
	}
	for _, c := range r.Coverage[:min(len(r.Coverage), mostStages)] {
		if !c.Seen && c.Hides > 0 {
			out = append(out, Sample{UnseenSeconds, []Label{run, {"stage", limitLabel(c.Stage)}}, float64(c.Hides) / 1e9})
		}
	}
	waits := make(map[[2]string]int64)
	for n := range r.Findings[:min(len(r.Findings), mostFindings)] {
		f := &r.Findings[n]
		if !f.IsFlagged() {
			continue
		}
		if n == 0 && f.Step > 0 {
			out = append(out, Sample{StepSeconds, []Label{run}, float64(f.Step) / 1e9})
		}
		rank, stage := rankOf(f), limitLabel(f.Stage)
		out = append(out, Sample{FindingInfo, []Label{run, {"rank", rank}, {"stage", stage}, {"number", strconv.Itoa(n)}, {"host", limitLabel(f.Host)},
			{"cause", f.Cause.String()}, {"certainty", f.Confidence.String()}}, 1})
		waits[[2]string{rank, stage}] += f.Explained
	}
	for _, at := range slices.SortedFunc(maps.Keys(waits), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) }) {
		out = append(out, Sample{WaitSeconds, []Label{run, {"rank", at[0]}, {"stage", at[1]}}, float64(waits[at]) / 1e9})
	}
	return out
}

func rankOf(f *diagnose.Finding) string {
	if f.Rank == nil {
		return ""
	}
	return strconv.Itoa(*f.Rank)
}

// mostName is how long a name may be, bytes, before a hash stands for it.
const mostName = 200

// Key returns the name of a run for a URL or a label. A hash replaces a name that a browser takes for a place in a path, that
// is too long or no text.
func Key(run string) string {
	if run != "" && run != "." && run != ".." && len(run) <= mostName && glyph.Visible(run) == run {
		return run
	}
	sum := sha256.Sum256([]byte(run))
	return "~" + hex.EncodeToString(sum[:8])
}

// limitLabel returns the value of a label that names something of the input.
func limitLabel(name string) string {
	if name == "" {
		return ""
	}
	if len(name) > mostName {
		return Key(name)
	}
	return glyph.Visible(name)
}
