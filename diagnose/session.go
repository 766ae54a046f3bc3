package diagnose

import (
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/diagnose/opnames"
	"github.com/sfstat/sfstat/engine/breakdown"
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/trace"
)

// Options of a diagnosis. The zero value is usable.
type Options struct {
	Frontier frontier.Options // cut, model fit and gates; zero: automatic, from the data, defaults
}

// Session takes windows one at a time, in any order of runs, and keeps their
// accounts only: memory does not grow with ranks × steps.
type Session struct {
	o    Options
	runs []*run
}

type run struct {
	name    string
	windows []Window
	series  *frontier.Series
	seen    []extent
	alone   *breakdown.Times // whole steps of the only rank, nil: not known
	judged  *RunVerdict      // of an operator trace, which is judged when it is added
	// launched are the operators behind the stages of the windows, compared.
	launched []*opnames.Result
	across   []*opnames.Result // between role groups
	traffic  *comm.Result      // nil: no calls and kernels of NCCL
}

// New starts a session.
func New(o Options) *Session { return &Session{o: o} }

// Add accounts for one validated window. O(T·S·R).
func (s *Session) Add(w *trace.Window) error {
	series := frontier.NewSeries(s.o.Frontier)
	if i := s.indexOf(w.Run); i >= 0 && s.runs[i].series != nil {
		series = s.runs[i].series
	}
	a, err := series.Add(w)
	if err != nil {
		return err
	}
	r := s.runOf(w.Run)
	r.series = series
	a.Main.Quality.Notes = append(a.Main.Quality.Notes, r.compare(w)...)
	r.windows = append(r.windows, Window{Main: a.Main, Paper: a.Paper, Groups: a.Groups})
	r.seen = append(r.seen, extent{w.Index, w.FirstStep, w.FirstStep + int64(w.Steps()), w.WorldSize, w.Accumulation, w.Schema})
	return nil
}

// runOf is the run of windows with a name, which is made where there is none.
func (s *Session) runOf(name string) *run {
	i := s.indexOf(name)
	if i < 0 {
		i = len(s.runs)
		s.runs = append(s.runs, &run{name: name})
	}
	return s.runs[i]
}

func (s *Session) indexOf(name string) int {
	return slices.IndexFunc(s.runs, func(r *run) bool { return r.name == name && r.judged == nil })
}

// Empty reports whether nothing was added.
func (s *Session) Empty() bool { return len(s.runs) == 0 }

// Has reports whether a window of a run was added.
func (s *Session) Has(run string) bool {
	i := s.indexOf(run)
	return i >= 0 && len(s.runs[i].windows) > 0
}

// extent is what is kept of a window to compare later ones with.
type extent struct {
	index, first, end int64
	world, accum      int
	schema            trace.Schema
}

// compare notes what changes from the run's window before, and steps that
// another window has too.
func (r *run) compare(w *trace.Window) []string {
	var notes []string
	if n := len(r.seen); n > 0 {
		before := r.seen[n-1]
		for _, c := range []struct {
			changed bool
			what    string
		}{
			{!before.schema.Equal(w.Schema), "stage list"},
			{before.world != w.WorldSize, "world size"},
			{max(1, before.accum) != max(1, w.Accumulation), "accumulation factor"},
		} {
			if c.changed {
				notes = append(notes, fmt.Sprintf("the %s is another than in window %d", c.what, before.index))
			}
		}
	}
	end := w.FirstStep + int64(w.Steps())
	for _, e := range r.seen {
		if from, to := max(e.first, w.FirstStep), min(e.end, end); from < to {
			notes = append(notes, fmt.Sprintf("steps %d to %d are also in window %d: they count twice", from, to-1, e.index))
			break
		}
	}
	return notes
}

// Verdict judges what was added. It may be called again after more windows.
func (s *Session) Verdict() *Verdict {
	v := &Verdict{Gates: frontier.DefaultGates()}
	if s.o.Frontier.Gates != nil {
		v.Gates = *s.o.Frontier.Gates
	}
	worst := -1
	for i, r := range s.runs {
		if r.judged != nil {
			v.Runs = append(v.Runs, *r.judged)
		} else {
			v.Runs = append(v.Runs, r.judge(v.Gates))
		}
		if worst < 0 || moreExplained(v.Runs[i], v.Runs[worst]) {
			worst = i
		}
	}
	if worst >= 0 {
		v.RunVerdict = v.Runs[worst]
	}
	return v
}

// moreExplained orders runs by how surely and how much is explained.
func moreExplained(a, b RunVerdict) bool {
	if a.Confidence != b.Confidence {
		return a.Confidence > b.Confidence
	}
	explained := func(v RunVerdict) float64 {
		if len(v.Suspects) == 0 {
			return 0
		}
		return v.Suspects[0].Score
	}
	return explained(a) > explained(b)
}
