// Package findings is the table that an analysis of many recordings ends in: a
// row for every finding of a run, and one for every run without a finding; the table of
// the windows behind it; and what the rows come to. Values only.
package findings

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/frontier"
)

// Row is one finding of a run, or a run without a finding. The tags are
// the columns, in CSV, JSON Lines and Parquet alike; a nil pointer is null. Times
// are nanoseconds, gains fractions of 1.
type Row struct {
	Folder string `json:"folder" parquet:"folder,dict"` // of the recording
	File   string `json:"file" parquet:"file,dict"`     // of the recording in it; "" where several were joined
	Run    string `json:"run" parquet:"run,dict"`

	Windows   int64  `json:"windows" parquet:"windows"` // 0 of a run that is judged by operators, dumps or communication alone
	FirstStep int64  `json:"first_step" parquet:"first_step"`
	Steps     int64  `json:"steps" parquet:"steps"`                // that are accounted for
	Start     *int64 `json:"start_ns" parquet:"start_ns,optional"` // of the first window that says when it began
	Ranks     int64  `json:"ranks" parquet:"ranks"`
	Hosts     int64  `json:"hosts" parquet:"hosts"`
	Step      int64  `json:"step_ns" parquet:"step_ns"`                    // mean exposed time
	Cut       string `json:"cut" parquet:"cut,dict"`                       // of the first window
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
	Together  *float64 `json:"run_gain_together" parquet:"run_gain_together"` // of the run, with every late rank of it fixed
	Excess    *int64   `json:"excess_ns" parquet:"excess_ns"`
	Explained *int64   `json:"explained_ns" parquet:"explained_ns"`
	Struck    *int64   `json:"steps_struck" parquet:"steps_struck"`
	Of        *int64   `json:"steps_of" parquet:"steps_of"`
	First     *int64   `json:"first_struck" parquet:"first_struck"` // step
	Last      *int64   `json:"last_struck" parquet:"last_struck"`
	Pattern   *string  `json:"pattern" parquet:"pattern,dict"`
	P         *float64 `json:"p" parquet:"p"`

	// Of the run: who differs by less than a delay is found by, the surest. Null without one, and LatentP where nothing was tested.
	LatentRank  *int64   `json:"latent_rank" parquet:"latent_rank"`
	LatentHost  *string  `json:"latent_host" parquet:"latent_host,dict"`
	LatentStage *string  `json:"latent_stage" parquet:"latent_stage,dict"` // "" is several
	Latent      *int64   `json:"latent_ns" parquet:"latent_ns"`            // own work beyond the peers', of a step
	LatentP     *float64 `json:"latent_p" parquet:"latent_p"`              // 1 without one
}

// Window is one window of a run, and which of the run's findings show in it.
type Window struct {
	Folder string `json:"folder" parquet:"folder,dict"`
	File   string `json:"file" parquet:"file,dict"`
	Run    string `json:"run" parquet:"run,dict"`

	Window    int64  `json:"window" parquet:"window"`
	FirstStep int64  `json:"first_step" parquet:"first_step"`
	Steps     int64  `json:"steps" parquet:"steps"`
	Start     *int64 `json:"start_ns" parquet:"start_ns,optional"`
	Ranks     int64  `json:"ranks" parquet:"ranks"`
	Hosts     int64  `json:"hosts" parquet:"hosts"`
	Step      int64  `json:"step_ns" parquet:"step_ns"`
	Cut       string `json:"cut" parquet:"cut,dict"`
	Sync      string `json:"synchronise_in" parquet:"synchronise_in,dict"`
	Stages    Stages `json:"stages" parquet:"stages"`
	Findings  string `json:"findings" parquet:"findings,dict"` // numbers of the findings, as in [Row.Place], between spaces
}

// Stages are the mean exposed time of every stage in a step, as a
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

// Rows lists the rows of a run. starts are when its windows began, 0 where that is
// not known.
func Rows(at Where, v *diagnose.RunVerdict, starts []int64) []Row {
	row := runRow(at, v)
	row.windows(v.Windows, starts)
	var out []Row
	for k := range v.Findings {
		out = append(out, row.finding(&v.Findings[k], k))
	}
	if len(out) == 0 {
		out = append(out, row)
	}
	return out
}

// WindowsOf lists the windows of a run.
func WindowsOf(at Where, v *diagnose.RunVerdict, starts []int64) []Window {
	var out []Window
	for i := range v.Windows {
		m := v.Windows[i].Main
		w := Window{Folder: at.Folder, File: at.File, Run: v.Run, Window: m.Window, FirstStep: m.FirstStep, Steps: int64(m.Steps), Start: startAt(starts, i),
			Ranks: int64(len(m.Ranks)), Hosts: hostsOf(m), Cut: m.Cut.String(), Sync: m.SyncPoint.Name}
		var all sums
		all.add(m)
		w.Step, w.Stages = all.step(), all.text()
		var numbers []string
		for k := range v.Findings {
			f := &v.Findings[k]
			if slices.Contains(f.Windows, m.Window) || len(f.Windows) == 0 && f.Detail == i {
				numbers = append(numbers, strconv.Itoa(k+1))
			}
		}
		w.Findings = strings.Join(numbers, " ")
		out = append(out, w)
	}
	return out
}

func startAt(starts []int64, i int) *int64 {
	if i >= len(starts) || starts[i] == 0 {
		return nil
	}
	return &starts[i]
}

// windows fills what the windows of the run say.
func (r *Row) windows(list []diagnose.Window, starts []int64) {
	var all sums
	for i := range list {
		m := list[i].Main
		if i == 0 {
			r.Cut, r.FirstStep = m.Cut.String(), m.FirstStep
		}
		r.FirstStep = min(r.FirstStep, m.FirstStep)
		if r.Sync == "" {
			r.Sync = m.SyncPoint.Name
		}
		if r.Start == nil {
			r.Start = startAt(starts, i)
		}
		r.Ranks, r.Hosts = max(r.Ranks, int64(len(m.Ranks))), max(r.Hosts, hostsOf(m))
		all.add(m)
	}
	if r.Windows = int64(len(list)); r.Windows > 0 {
		r.Steps, r.Step, r.Stages = all.steps, all.step(), all.text()
	}
}

// sums are what windows add up to.
type sums struct {
	steps, exposed int64
	names          []string
	stages         map[string]int64
}

func (s *sums) add(m *frontier.Result) {
	s.steps, s.exposed = s.steps+int64(m.Steps), s.exposed+m.Makespan
	if s.stages == nil {
		s.stages = make(map[string]int64, len(m.Stages))
	}
	for _, stage := range m.Stages {
		if _, ok := s.stages[stage.Name]; !ok {
			s.names = append(s.names, stage.Name)
		}
		s.stages[stage.Name] += stage.Advance
	}
}

func (s *sums) step() int64 { return s.exposed / max(1, s.steps) }

func (s *sums) text() Stages {
	var b strings.Builder
	b.WriteByte('{')
	for i, name := range s.names {
		if i > 0 {
			b.WriteByte(',')
		}
		quoted, _ := json.Marshal(name) // of a string
		fmt.Fprintf(&b, "%s:%d", quoted, s.stages[name]/max(1, s.steps))
	}
	b.WriteByte('}')
	return Stages(b.String())
}

// hostsOf returns how many hosts the ranks of a window are on.
func hostsOf(m *frontier.Result) int64 {
	last := ""
	var hosts []string
	for _, r := range m.Members {
		if r.Host != last && !slices.Contains(hosts, r.Host) {
			hosts = append(hosts, r.Host)
		}
		last = r.Host
	}
	return int64(len(hosts))
}

func runRow(at Where, v *diagnose.RunVerdict) Row {
	row := Row{Folder: at.Folder, File: at.File, Run: v.Run, Status: v.Status.String()}
	row.setLatent(v.Latent)
	if v.Together > 0 {
		row.Together = finite(v.Together)
	}
	if len(v.Windows) > 0 {
		return row
	}
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

// finite returns a pointer to a number; nil where it is NaN or infinite, which JSON does not have.
func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// finding returns the row of a finding of the run.
func (r Row) finding(f *diagnose.Finding, place int) Row {
	text := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	whole := func(n int) *int64 { x := int64(n); return &x }
	r.Confidence, r.Kind, r.Cause = text(f.Confidence.String()), text(f.Kind.String()), text(f.Cause.String())
	r.Place, r.Flagged = whole(place+1), f.IsFlagged()
	if f.Rank != nil {
		r.Rank = whole(*f.Rank)
	}
	if f.LocalRank != nil {
		r.LocalRank = whole(*f.LocalRank)
	}
	r.Host, r.Role, r.Stage, r.Group = text(f.Host), text(f.Role), text(f.Stage), text(f.Group)
	excess, explained := f.Excess, f.Explained
	r.Gain, r.RunGain, r.Excess, r.Explained = finite(f.Gain), finite(f.RunGain), &excess, &explained
	r.Struck, r.Of, r.Pattern = whole(f.Struck.Count), whole(f.Struck.Of), text(f.Struck.Pattern.String())
	if first, last := f.Struck.First, f.Struck.Last; first >= 0 {
		r.First, r.Last = &first, &last
	}
	if last, ok := evidence.Find[evidence.LastToArrive](f.Evidence); ok {
		r.P = finite(last.P)
	}
	return r
}
