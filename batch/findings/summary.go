package findings

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/sfstat/sfstat/diagnose"
)

// Summary is what rows come to. Its memory grows with runs and hosts, not with
// windows.
type Summary struct {
	Windows int
	Refused []Refused // inputs that are not in it, or not all of them
	runs    map[runKey]*Run
	order   []*Run
}

// Refused is an input that is not among the rows, or not all of it, and why.
type Refused struct {
	Path  string `json:"path"`
	Error string `json:"error"`
	Bug   string `json:"bug"` // the stack of a panic, which is a bug of ours; "": it is none
}

type runKey struct{ folder, file, run string }

// Run is one run: what delays it most.
type Run struct {
	Folder  string // of the recording
	Name    string // name of the run
	Begin   int64  // when its first window began, since 1970; 0: not known
	Windows int    // windows that were judged
	Steps   int64  // steps that are accounted for
	Ranks   int64  // ranks
	Status  string // of its worst stretch

	Hosts  int64
	Time   int64              // exposed, of all windows, ns
	Worst  *Row               // the finding that is worst; nil: none
	stages map[string]float64 // exposed time in all windows, ns
	latent latentOf
	weight float64
}

// Step returns the mean exposed time of a step, ns; 0 without any.
func (r *Run) Step() int64 { return r.Time / max(1, r.Steps) }

// LostTime returns the time of all ranks that fixing the worst finding would save, or every late rank with it, ns.
func (r *Run) LostTime() int64 {
	if r.Worst == nil {
		return 0
	}
	saved := 0.0
	for _, part := range []*float64{r.Worst.RunGain, r.Worst.Together} {
		if part != nil {
			saved = max(saved, *part)
		}
	}
	return int64(saved * float64(r.Time) * float64(r.Ranks))
}

// Flagged reports whether the worst finding is certain and large enough to act on.
func (r *Run) Flagged() bool { return r.Worst != nil && r.Worst.Flagged }

// Week is what runs that began in a week show.
type Week struct {
	Start   Day            // its first day, UTC
	Runs    int            // runs that began in it
	Flagged int            // those with a finding to act on
	Stages  map[string]int // runs whose worst finding is flagged, by its stage
}

// NewSummary starts a summary.
func NewSummary() *Summary {
	return &Summary{runs: make(map[runKey]*Run)}
}

// Refuse notes an input that is not among the rows.
func (s *Summary) Refuse(r Refused) { s.Refused = append(s.Refused, r) }

// Add adds a row. Those of a run, or of a part of a long one, follow each other.
func (s *Summary) Add(row *Row) {
	key := runKey{row.Folder, row.File, row.Run}
	r := s.runs[key]
	if r == nil {
		r = &Run{Folder: row.Folder, Name: row.Run}
		s.runs[key], s.order = r, append(s.order, r)
	}
	if row.Place == nil || *row.Place == 1 {
		s.Windows += int(row.Windows)
		r.Windows += int(row.Windows)
		r.Time += row.Step * row.Steps
		r.Steps += row.Steps
		r.addStages(row)
		r.latent.add(row)
		if row.Start != nil && (r.Begin == 0 || *row.Start < r.Begin) {
			r.Begin = *row.Start
		}
		r.Ranks, r.Hosts = max(r.Ranks, row.Ranks), max(r.Hosts, row.Hosts)
	}
	if row.Place == nil && r.Status == "" {
		r.Status = row.Status
	}
	if w := weight(row); row.Place != nil && (r.Worst == nil || w > r.weight) {
		worst := *row
		r.Worst, r.weight, r.Status = &worst, w, row.Status
	}
}

// addStages adds the stages of a row.
func (r *Run) addStages(row *Row) {
	var stages map[string]float64
	if json.Unmarshal([]byte(row.Stages), &stages) != nil { // a row that somebody made has its own
		return
	}
	if r.stages == nil {
		r.stages = make(map[string]float64, len(stages))
	}
	for name, mean := range stages {
		r.stages[name] += mean * float64(row.Steps)
	}
}

// weight orders the findings of a run: those to act on first, then by what they
// cost.
func weight(row *Row) float64 {
	w := 0.0
	for _, part := range []*float64{row.RunGain, row.Together} {
		if part != nil {
			w = max(w, *part)
		}
	}
	if row.Flagged {
		w += 2
	}
	return w
}

func textOrEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Empty reports whether there is no row.
func (s *Summary) Empty() bool { return len(s.order) == 0 }

// Runs returns all runs: first those with a finding to act on, by its cost to all ranks, then the others.
func (s *Summary) Runs() []*Run {
	out := slices.Clone(s.order)
	slices.SortStableFunc(out, func(a, b *Run) int {
		return cmp.Or(cmp.Compare(rankOf(b), rankOf(a)), cmp.Compare(b.LostTime(), a.LostTime()),
			cmp.Compare(a.Folder, b.Folder), cmp.Compare(a.Name, b.Name))
	})
	return out
}

func rankOf(r *Run) int {
	switch {
	case r.Flagged():
		return 2
	case r.Worst != nil:
		return 1
	}
	return 0
}

// Statuses counts the runs by status, the most frequent first.
func (s *Summary) Statuses() []Count {
	return counts(s.order, func(r *Run) string { return r.Status })
}

// Count is how many runs have something, and the time of all ranks that it costs.
type Count struct {
	Name string
	Runs int
	Lost int64 // ns
}

// Stages counts the runs with a finding to act on by its stage.
func (s *Summary) Stages() []Count {
	return counts(s.flaggedRuns(), func(r *Run) string { return textOrEmpty(r.Worst.Stage) })
}

func (s *Summary) flaggedRuns() []*Run {
	return slices.DeleteFunc(slices.Clone(s.order), func(r *Run) bool { return !r.Flagged() })
}

func counts(runs []*Run, name func(*Run) string) []Count {
	var out []Count
	for _, r := range runs {
		i := slices.IndexFunc(out, func(c Count) bool { return c.Name == name(r) })
		if i < 0 {
			i = len(out)
			out = append(out, Count{Name: name(r)})
		}
		out[i].Runs++
		out[i].Lost += r.LostTime()
	}
	slices.SortFunc(out, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Lost, a.Lost), cmp.Compare(b.Runs, a.Runs), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// Weeks returns the weeks in which runs with a known begin began, in order.
func (s *Summary) Weeks() []*Week {
	var out []*Week
	weeks := make(map[int64]*Week)
	for _, r := range s.order {
		if r.Begin == 0 {
			continue
		}
		at := monday(r.Begin)
		w := weeks[at.Unix()]
		if w == nil {
			w = &Week{Start: at, Stages: make(map[string]int)}
			weeks[at.Unix()], out = w, append(out, w)
		}
		w.Runs++
		if r.Flagged() {
			w.Flagged++
			w.Stages[textOrEmpty(r.Worst.Stage)]++
		}
	}
	slices.SortFunc(out, func(a, b *Week) int { return a.Start.Compare(b.Start.Time) })
	return out
}

// Hosts returns the hosts that delay several runs.
func (s *Summary) Hosts() []diagnose.Recurrence {
	return s.recurrences(func(r *Run) (localRank, among int64) { return -1, r.Hosts })
}

// GPUs returns the GPUs that delay several runs, by host and local rank.
func (s *Summary) GPUs() []diagnose.Recurrence {
	return s.recurrences(func(r *Run) (localRank, among int64) {
		if r.Worst.LocalRank == nil {
			return -1, 0
		}
		return *r.Worst.LocalRank, r.Ranks
	})
}

// recurrences returns the hosts or GPUs that delay several runs; place returns which GPU of a host it is, and among how many.
func (s *Summary) recurrences(place func(*Run) (localRank, among int64)) []diagnose.Recurrence {
	var runs []diagnose.Delayer
	for _, r := range s.flaggedRuns() {
		localRank, among := place(r)
		runs = append(runs, diagnose.Delayer{Host: textOrEmpty(r.Worst.Host), LocalRank: int(localRank), Among: int(among), Lost: r.LostTime()})
	}
	return diagnose.Recurrences(runs)
}
