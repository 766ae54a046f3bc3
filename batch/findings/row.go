// Package findings is the table that an analysis of many recordings ends in: a
// row for every finding and window, and one for every window without a finding;
// and what the rows come to. Values only.
package findings

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/frontier"
)

// Row is one finding in one window, or one window without a finding. The tags are
// the columns, in CSV, JSON Lines and Parquet alike; a nil pointer is null. Times
// are nanoseconds, gains fractions of 1.
type Row struct {
	Folder string `json:"folder" parquet:"folder,dict"` // of the recording
	File   string `json:"file" parquet:"file,dict"`     // of the recording in it; "" where several were joined
	Run    string `json:"run" parquet:"run,dict"`

	Window    int64  `json:"window" parquet:"window"`
	FirstStep int64  `json:"first_step" parquet:"first_step"`
	Steps     int64  `json:"steps" parquet:"steps"` // that are accounted for
	Start     *int64 `json:"start_ns" parquet:"start_ns,optional"`
	Ranks     int64  `json:"ranks" parquet:"ranks"`
	Hosts     int64  `json:"hosts" parquet:"hosts"`
	Step      int64  `json:"step_ns" parquet:"step_ns"` // mean exposed time
	Cut       string `json:"cut" parquet:"cut,dict"`
	Sync      string `json:"synchronise_in" parquet:"synchronise_in,dict"` // "" where that is not known
	Stages    Stages `json:"stages" parquet:"stages"`

	Status     string  `json:"status" parquet:"status,dict"`         // of the run
	Confidence *string `json:"confidence" parquet:"confidence,dict"` // of the finding, as all below
	Place      *int64  `json:"finding" parquet:"finding"`            // among those of the run, 1 is the first
	Kind       *string `json:"kind" parquet:"kind,dict"`
	Cause      *string `json:"cause" parquet:"cause,dict"`
	Flagged    bool    `json:"flagged" parquet:"flagged"` // certain and large enough to act on
	Rank       *int64  `json:"rank" parquet:"rank"`
	LocalRank  *int64  `json:"local_rank" parquet:"local_rank"`
	Host       *string `json:"host" parquet:"host,dict"`
	Role       *string `json:"role" parquet:"role,dict"`
	Stage      *string `json:"stage" parquet:"stage,dict"`
	Group      *string `json:"group" parquet:"group,dict"`

	Gain      *float64 `json:"gain" parquet:"gain"`
	RunGain   *float64 `json:"run_gain" parquet:"run_gain"`
	Excess    *int64   `json:"excess_ns" parquet:"excess_ns"`
	Explained *int64   `json:"explained_ns" parquet:"explained_ns"`
	Struck    *int64   `json:"steps_struck" parquet:"steps_struck"`
	Of        *int64   `json:"steps_of" parquet:"steps_of"`
	Pattern   *string  `json:"pattern" parquet:"pattern,dict"`
	P         *float64 `json:"p" parquet:"p"`
}

// Stages are the mean exposed time of every stage in a step of the window, as a
// JSON object in the order of the account.
type Stages string

// MarshalJSON writes the object.
func (s Stages) MarshalJSON() ([]byte, error) {
	if s == "" {
		return []byte("{}"), nil
	}
	return []byte(s), nil
}

// UnmarshalJSON reads the object as it is.
func (s *Stages) UnmarshalJSON(text []byte) error {
	*s = Stages(text)
	return nil
}

// Where is the recording that rows are of.
type Where struct{ Folder, File string }

// Of lists the rows of a run. starts are when its windows began, 0 where that is
// not known.
func Of(at Where, v *diagnose.RunVerdict, starts []int64) []Row {
	var out []Row
	if len(v.Windows) == 0 {
		row := runRow(at, v)
		for k := range v.Findings {
			out = append(out, row.with(&v.Findings[k], k))
		}
		if len(out) == 0 {
			out = append(out, row)
		}
	}
	for i := range v.Windows {
		m := v.Windows[i].Main
		row := windowRow(at, v, m)
		if i < len(starts) && starts[i] != 0 {
			row.Start = &starts[i]
		}
		shown := false
		for k := range v.Findings {
			f := &v.Findings[k]
			if slices.Contains(f.Windows, m.Window) || len(f.Windows) == 0 && f.Detail == i {
				shown = true
				out = append(out, row.with(f, k))
			}
		}
		if !shown {
			out = append(out, row)
		}
	}
	return out
}

func windowRow(at Where, v *diagnose.RunVerdict, m *frontier.Result) Row {
	row := Row{Folder: at.Folder, File: at.File, Run: v.Run, Window: m.Window, FirstStep: m.FirstStep, Steps: int64(m.Steps),
		Ranks: int64(len(m.Ranks)), Cut: m.Cut.String(), Sync: m.SyncPoint.Name, Status: v.Status.String(), Stages: stagesOf(m)}
	if m.Steps > 0 {
		row.Step = m.Makespan / int64(m.Steps)
	}
	last := ""
	var hosts []string
	for _, r := range m.Members {
		if r.Host != last && !slices.Contains(hosts, r.Host) {
			hosts = append(hosts, r.Host)
		}
		last = r.Host
	}
	row.Hosts = int64(len(hosts))
	return row
}

// NoWindow is the window of a run that has none: one judged by operators, dumps or
// communication alone.
const NoWindow = -1

func runRow(at Where, v *diagnose.RunVerdict) Row {
	row := Row{Folder: at.Folder, File: at.File, Run: v.Run, Window: NoWindow, Status: v.Status.String()}
	for _, o := range v.Observed {
		if all, ok := o.(evidence.NobodyLate); ok {
			row.Ranks, row.Steps, row.Step = int64(all.Ranks), int64(all.Steps), all.Step
		}
	}
	if o := v.Operators; o != nil {
		row.Ranks, row.Steps = int64(len(o.Workers)), int64(len(o.Steps))
		if len(o.Steps) > 0 {
			row.FirstStep = o.Steps[0]
		}
		var hosts []string
		for _, w := range o.Workers {
			if !slices.Contains(hosts, w.Host) {
				hosts = append(hosts, w.Host)
			}
		}
		row.Hosts = int64(len(hosts))
	}
	if c := v.Communications; c != nil {
		row.Ranks = int64(c.Ranks)
	}
	return row
}

func stagesOf(m *frontier.Result) Stages {
	var b strings.Builder
	b.WriteByte('{')
	for i, s := range m.Stages {
		if i > 0 {
			b.WriteByte(',')
		}
		name, _ := json.Marshal(s.Name) // of a string
		fmt.Fprintf(&b, "%s:%d", name, s.Advance/int64(max(1, m.Steps)))
	}
	b.WriteByte('}')
	return Stages(b.String())
}

// with is the row of a finding in the window of the row.
func (r Row) with(f *diagnose.Finding, place int) Row {
	text := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	whole := func(n int) *int64 { x := int64(n); return &x }
	r.Confidence, r.Kind, r.Cause = text(f.Confidence.String()), text(f.Kind.String()), text(f.Cause.String())
	r.Place, r.Flagged = whole(place+1), f.Flagged()
	if f.Rank != nil {
		r.Rank = whole(*f.Rank)
	}
	if f.LocalRank != nil {
		r.LocalRank = whole(*f.LocalRank)
	}
	r.Host, r.Role, r.Stage, r.Group = text(f.Host), text(f.Role), text(f.Stage), text(f.Group)
	gain, run := f.Gain, f.RunGain
	excess, explained := f.Excess, f.Explained
	r.Gain, r.RunGain, r.Excess, r.Explained = &gain, &run, &excess, &explained
	r.Struck, r.Of, r.Pattern = whole(f.Struck.Count), whole(f.Struck.Of), text(f.Struck.Pattern.String())
	if last, ok := evidence.Find[evidence.LastToArrive](f.Evidence); ok {
		r.P = &last.P
	}
	return r
}
