package main

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/internal/robust"
)

// verdict has the scored fields of the JSON of sfstat diagnose, sfstat.verdict/4.
type verdict struct {
	Schema   string    `json:"schema"`
	Status   string    `json:"status"`
	Findings []finding `json:"findings"`
	Limits   []limit   `json:"limits"`
	MinGain  float64   `json:"min_gain"`
	Windows  []struct {
		Makespan float64 `json:"makespan_ns"`
		Steps    float64 `json:"steps"`
	} `json:"windows"`

	Undecided []struct {
		Stage string  `json:"stage"`
		Hides float64 `json:"hides_ns"`
	} `json:"undecided"`

	unseen float64 // nanoseconds of each step that may be one rank's delay, by the limits of all stages
}

// limit is how long a delay may hide in a stage.
type limit struct {
	Stage string  `json:"stage"`
	Hides float64 `json:"may_hide_ns"`
}

// finding is one cause, as the verdict gives it.
type finding struct {
	Kind         string  `json:"kind"`
	Cause        string  `json:"cause"`
	Rank         *int    `json:"rank"`
	Ranks        []int   `json:"ranks"`
	Stage        string  `json:"stage"`
	Op           string  `json:"op"`
	Seq          *int    `json:"seq"`
	Confidence   string  `json:"confidence"`
	BelowMinGain bool    `json:"below_min_gain"`
	Gain         float64 `json:"gain"`
	RunGain      float64 `json:"run_gain"`
	AtMost       float64 `json:"run_gain_at_most"`
	Struck       struct {
		Count   int    `json:"count"`
		Of      int    `json:"of"`
		First   *int64 `json:"first"`
		Last    *int64 `json:"last"`
		Pattern string `json:"pattern"`
	} `json:"steps_struck"`
	Evidence []struct {
		P *float64 `json:"p"`
	} `json:"evidence"`
}

// decode reads the verdict on the first run of a document.
func decode(text []byte) (*verdict, error) {
	v := &verdict{}
	if err := json.Unmarshal(text, v); err != nil {
		return nil, err
	}
	if v.Status == "" {
		return nil, fmt.Errorf("%q has no status, expected sfstat.verdict/4", v.Schema)
	}
	for _, l := range v.Limits {
		v.unseen += l.Hides
	}
	for _, u := range v.Undecided {
		v.Limits = append(v.Limits, limit(u))
	}
	return v, nil
}

// first returns the first finding, nil without one.
func (v *verdict) first() *finding {
	if len(v.Findings) == 0 {
		return nil
	}
	return &v.Findings[0]
}

// sure reports whether a finding is certain enough to act on.
func (f *finding) sure() bool { return f.Confidence == "strong" || f.Confidence == "supported" }

// isFlagged reports whether it is certain and large enough to act on.
func (f *finding) isFlagged() bool { return f.sure() && !f.BelowMinGain }

// ranks returns the ranks that a finding is about.
func (f *finding) ranks() []int {
	if f.Rank != nil {
		return []int{*f.Rank}
	}
	return f.Ranks
}

// gains returns the share of the run that the fix saves, and its upper bound.
func (f *finding) gains() (gain, most float64) {
	gain = f.RunGain
	if gain == 0 {
		gain = f.Gain
	}
	if most = f.AtMost; most == 0 {
		most = gain
	}
	return gain, most
}

// p returns the p-value of the first evidence with one, nil without any.
func (f *finding) p() *float64 {
	for _, e := range f.Evidence {
		if e.P != nil {
			return e.P
		}
	}
	return nil
}

// hides returns the nanoseconds of each step that may hide in a stage, according to the verdict.
func (v *verdict) hides(stage string) float64 {
	most := 0.0
	for _, l := range v.Limits {
		if l.Stage == stage {
			most = max(most, l.Hides)
		}
	}
	return most
}

// blind reports whether the limits of a verdict leave room for one rank's delay that is worth acting on.
func (v *verdict) blind() bool {
	var step []float64 // of each window: one may have a value that is recorded wrong
	for _, w := range v.Windows {
		step = append(step, w.Makespan/max(1, w.Steps))
	}
	return v.unseen > 0 && len(step) > 0 && v.unseen >= v.MinGain*robust.Median(step)
}

// accused is a rank that a verdict names: the stages, and what fixing it saves of the
// run, and at most.
type accused struct {
	stages     []string
	gain, most float64
}

// suspectRanks returns the ranks of findings to act on.
func (v *verdict) suspectRanks() map[int]accused {
	out := map[int]accused{}
	for i := range v.Findings {
		f := &v.Findings[i]
		if !f.isFlagged() || !slices.Contains([]string{"rank", "host", "group", "worker"}, f.Kind) {
			continue
		}
		gain, most := f.gains()
		for _, r := range f.ranks() {
			a := out[r]
			if !slices.Contains(a.stages, f.Stage) {
				a.stages = append(a.stages, f.Stage)
			}
			a.gain, a.most = max(a.gain, gain), max(a.most, most)
			out[r] = a
		}
	}
	return out
}
