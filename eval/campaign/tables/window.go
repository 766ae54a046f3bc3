package tables

import (
	"slices"

	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/frontier/labels"
)

// scoredWindow is how one window was answered. Fields about the seeded stage mean
// nothing where Fault is false.
type scoredWindow struct {
	Window    int64
	Fault     bool // the fault holds in this window
	Steps     int
	Routing   routing   // of the frontier by the paper's cut
	Methods   []routing // of the five comparison methods, in the order of frontier.Method
	Share     *float64
	Latest    latest // at the end of the seeded stage
	Labels    []string
	Strong    bool // a strong label was given
	Automatic automatic
	// Telescoping is how far the stages' advances are from the makespan.
	Telescoping int64

	pace      pace
	telemetry telemetry
	divided   []division // of Methods
	names     []string   // [stage] of the paper's account
	seeded    []bool     // [stage] likewise
	shares    []float64  // [stage] likewise; nil below the floor or where routing is withheld
}

// routing is where a ranking puts the seeded stage.
type routing struct {
	Place      int  // of the first seeded stage, from 1; 0: not ranked
	Hit        bool // it is a candidate
	Candidates int
}

// Top reports whether the seeded stage is among the first k.
func (r routing) Top(k int) bool { return 1 <= r.Place && r.Place <= k }

// division is how the scores of a method divide, as parts of their sum: its two
// largest together, and by how much the seeded stage is behind the first.
type division struct{ two, behind float64 }

func divide(scores []float64, seeded []bool) division {
	own := 0.0
	for i, x := range scores {
		if seeded[i] {
			own = max(own, x)
		}
	}
	return division{twoOf(scores), slices.Max(scores) - own}
}

// latest is whether the hidden rank is the latest at a boundary, within the
// leader tolerance.
type latest string

const (
	latestNo    latest = "no"
	latestAmong latest = "among" // with others
	latestOnly  latest = "only"
)

// automatic is what the automatic cut makes of the window.
type automatic struct {
	Cut         string
	Lead        string // stage with the largest share
	Leader      *int   // rank that is latest at its end in most steps
	LeaderRight bool
	Place       int // of the first seeded stage among the shares, from 1; 0: not ranked
	Share       *float64
	Strong      bool
	Telescoping int64
}

// scorePaper scores the account by the paper's cut.
func scorePaper(c *runCase, r *frontier.Result, fault bool) scoredWindow {
	w := scoredWindow{Window: r.Window, Fault: fault, Steps: r.Steps, Latest: latestNo, Labels: []string{}, Strong: r.Strong(),
		Telescoping: telescopingError(r)}
	for _, l := range r.Labels {
		w.Labels = append(w.Labels, l.String())
	}
	w.seeded = seededStages(c, r)
	for _, s := range r.Stages {
		w.names = append(w.names, s.Name)
	}
	if len(r.Routing) > 0 {
		w.shares = sharesOf(r)
	}
	w.Routing = routing{Place: place(w.seeded, labels.Rank(w.shares)), Hit: hasAny(w.seeded, r.Routing), Candidates: len(r.Routing)}
	for _, o := range r.Baselines {
		var d division
		m := routing{Hit: hasAny(w.seeded, o.Candidates), Candidates: len(o.Candidates)}
		if o.Scores != nil {
			m.Place = place(w.seeded, o.Ranking)
			d = divide(o.Scores, w.seeded)
		}
		w.Methods, w.divided = append(w.Methods, m), append(w.divided, d)
	}
	for i, s := range r.Stages {
		if !w.seeded[i] {
			continue
		}
		w.Share = larger(w.Share, s.Share)
		if slices.ContainsFunc(s.Latest, func(rank int) bool { return slices.Contains(c.Hidden, hiddenRank{rank, s.Name}) }) {
			if w.Latest = latestAmong; len(s.Latest) == 1 {
				w.Latest = latestOnly
			}
		}
	}
	return w
}

// scoreAutomatic scores the account by the automatic cut.
func scoreAutomatic(c *runCase, r *frontier.Result) automatic {
	a := automatic{Cut: r.Cut.String(), Strong: r.Strong(), Telescoping: telescopingError(r)}
	seeded := seededStages(c, r)
	if r.Leader.Stage >= 0 {
		a.Lead, a.Leader = r.Stages[r.Leader.Stage].Name, r.Leader.Rank
		a.LeaderRight = a.Leader != nil && slices.Contains(c.Hidden, hiddenRank{*a.Leader, a.Lead})
		a.Place = place(seeded, labels.Rank(sharesOf(r)))
	}
	for i, s := range r.Stages {
		if seeded[i] {
			a.Share = larger(a.Share, s.Share)
		}
	}
	return a
}

func seededStages(c *runCase, r *frontier.Result) []bool {
	out := make([]bool, len(r.Stages))
	for i, s := range r.Stages {
		out[i] = c.isSeeded(s.Name)
	}
	return out
}

// sharesOf returns the shares of a window, nil below the floor.
func sharesOf(r *frontier.Result) []float64 {
	var out []float64
	for _, s := range r.Stages {
		if s.Share == nil {
			return nil
		}
		out = append(out, *s.Share)
	}
	return out
}

// place returns the position of the first seeded stage in a ranking, from 1.
func place(seeded []bool, ranking []int) int {
	return 1 + slices.IndexFunc(ranking, func(s int) bool { return seeded[s] })
}

func hasAny(seeded []bool, stages []int) bool { return place(seeded, stages) > 0 }

func larger(a, b *float64) *float64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

// telescopingError returns by how much the advances of the stages miss the makespan.
func telescopingError(r *frontier.Result) int64 {
	sum := -r.Makespan
	for _, s := range r.Stages {
		sum += s.Advance
	}
	return max(sum, -sum)
}
