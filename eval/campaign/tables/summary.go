package tables

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/trace/enum"
)

// key is a property of a case by which summaries are grouped.
type key uint8

const (
	byFamily  key = iota
	byPattern     // constant or intermittent
	byDelay
	byRanks
	byArrivals // without and with them
)

var keyNames = [...]string{"family", "pattern", "delay", "ranks", "arrivals"}

func (k key) String() string { return enum.Name(keyNames[:], k) }

// group is the cases that agree in some keys.
type group struct {
	like runCase // one of them
	runs []*scoredRun
}

// value is the group's part of a key, as shown.
func (g *group) value(k key) string {
	switch k {
	case byFamily:
		return g.like.Family.String()
	case byPattern:
		if g.like.Intermittent {
			return "intermittent"
		}
		return "constant"
	case byDelay:
		return strconv.FormatFloat(float64(g.like.Delay), 'f', -1, 64)
	case byArrivals:
		return armNames[g.like.arm()]
	}
	return strconv.Itoa(g.like.Ranks)
}

// compare orders two cases by a key.
func (k key) compare(a, b *runCase) int {
	switch k {
	case byFamily:
		return cmp.Compare(a.Family, b.Family)
	case byPattern:
		switch {
		case a.Intermittent == b.Intermittent:
			return 0
		case b.Intermittent:
			return -1
		}
		return 1
	case byDelay:
		return cmp.Compare(a.Delay, b.Delay)
	case byArrivals:
		return cmp.Compare(a.arm(), b.arm())
	}
	return cmp.Compare(a.Ranks, b.Ranks)
}

// grouped are the runs with a fault, by keys, in the order of the keys.
func (s *Score) grouped(by []key) []*group {
	order := func(a, b *runCase) int {
		for _, k := range by {
			if c := k.compare(a, b); c != 0 {
				return c
			}
		}
		return 0
	}
	var out []*group
	for _, r := range s.Runs {
		if r.healthy() {
			continue
		}
		i := slices.IndexFunc(out, func(g *group) bool { return order(&g.like, &r.runCase) == 0 })
		if i < 0 {
			i = len(out)
			out = append(out, &group{like: r.runCase})
		}
		out[i].runs = append(out[i].runs, r)
	}
	slices.SortStableFunc(out, func(a, b *group) int { return order(&a.like, &b.like) })
	return out
}

// faulty visits the windows that hold a fault.
func faulty(runs []*scoredRun, visit func(*scoredWindow)) {
	for _, r := range runs {
		for i := range r.Windows {
			if r.Windows[i].Fault {
				visit(&r.Windows[i])
			}
		}
	}
}

// tally counts how often a ranking is right.
type tally struct {
	Windows, Top1, Top2, Hits int
	MaxCandidates             int
	candidates                int
}

func (t *tally) add(r routing) {
	count(&t.Windows, true)
	count(&t.Top1, r.Top(1))
	count(&t.Top2, r.Top(2))
	count(&t.Hits, r.Hit)
	t.candidates += r.Candidates
	t.MaxCandidates = max(t.MaxCandidates, r.Candidates)
}

// tallyOf counts the frontier by the paper's cut over the windows with a fault.
func tallyOf(runs []*scoredRun) (t tally) {
	faulty(runs, func(w *scoredWindow) { t.add(w.Routing) })
	return t
}

// meanCandidates is the mean size of the candidate set; 0 without windows.
func (t *tally) meanCandidates() float64 { return float64(t.candidates) / float64(max(1, t.Windows)) }

// methods tallies the frontier by the paper's cut, then the five comparison
// methods, over all windows that hold a fault.
func (s *Score) methods() (names []string, tallies []tally) {
	names = []string{frontierMethod}
	for m := frontier.StageMax; m <= frontier.Rank0; m++ {
		names = append(names, m.String())
	}
	tallies = make([]tally, len(names))
	faulty(s.Runs, func(w *scoredWindow) {
		tallies[0].add(w.Routing)
		for i, m := range w.Methods {
			tallies[i+1].add(m)
		}
	})
	return names, tallies
}

// sweep tallies the frontier's candidate sets at another τ, in (0, 1].
func (s *Score) sweep(tau float64) tally {
	var t tally
	faulty(s.Runs, func(w *scoredWindow) {
		set := labels.RoutingSet(w.shares, tau)
		t.add(routing{Place: w.Routing.Place, Hit: anyOf(w.seeded, set), Candidates: len(set)})
	})
	return t
}

// verdictCounts counts what the diagnoses of runs say.
type verdictCounts struct {
	Runs, StageRight, Named, Innocent int
	Answers                           map[rankAnswer]int
	Confidence                        map[string]int // runs with a suspect, by the confidence in the first
}

func verdictsOf(runs []*scoredRun) verdictCounts {
	v := verdictCounts{Answers: map[rankAnswer]int{}, Confidence: map[string]int{}}
	for _, r := range runs {
		count(&v.Runs, true)
		count(&v.StageRight, r.Verdict.StageRight)
		count(&v.Named, r.Verdict.Named)
		count(&v.Innocent, r.Verdict.Innocent > 0)
		v.Answers[r.Verdict.Answer]++
		if r.Verdict.Kind != "" {
			v.Confidence[r.Verdict.Confidence]++
		}
	}
	return v
}

func count(n *int, holds bool) {
	if holds {
		*n++
	}
}
