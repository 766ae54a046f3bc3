package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/trace"
)

// weighing is a window that K-S, pooled outliers and blame are to look at.
type weighing struct {
	w *trace.Window
	a *frontier.Analysis
	// confidence alone is asked for, and no evidence.
	confidence bool
	outliers   *operators.Signs // these alone, once they were looked for
}

// toWeigh reports whether the other engines are to look at a window: the frontier charges
// a rank with a reportable delay, the window is not too large, and not enough
// windows of the run have been analysed.
func (r *run) toWeigh(w *trace.Window, a *frontier.Analysis) bool {
	weighed := 0
	for _, have := range r.windows {
		if have.Signs != nil || have.later != nil {
			weighed++
		}
	}
	return weighed < mostWindowsWeighed && len(w.Ranks) <= manyWorkers && len(w.Durations) <= mostWeighed &&
		slices.ContainsFunc(slices.Concat([]*frontier.Result{a.Main}, a.Groups), charges)
}

// later keeps the window, whose times the caller may change.
func (x weighing) later() *weighing {
	w := *x.w
	w.Durations, w.Wall, w.Side = slices.Clone(w.Durations), slices.Clone(w.Wall), nil
	x.w = &w
	return &x
}

// signs are what the engines see; nil where times cannot be put in order: the frontier
// stands alone then.
func (x weighing) signs() *operators.Signs {
	s, err := operators.SignsOf(x.w, x.a)
	if err != nil {
		return nil
	}
	return s
}

// weighed reports whether there are signs of a window, which it has looked for now if
// that was left to the verdict.
func (j *judge) weighed(i int) bool {
	if i < 0 || i >= len(j.windows) {
		return false
	}
	w := &j.windows[i]
	if w.later != nil {
		w.Signs, w.later = w.later.signs(), nil
	}
	return w.Signs != nil
}

// charges reports whether an account charges a rank with enough to require a second
// kind of evidence.
func charges(r *frontier.Result) bool {
	for _, list := range [][]frontier.Culprit{r.Culprits, r.Late} {
		if len(list) > 0 && part(r, list[0].Explained) >= leastConfirmed {
			return true
		}
	}
	return false
}

// weigh adds the results of the other engines to the findings on late ranks. If they
// agree that another rank costs as much and find nothing for this one, that lowers
// the confidence. If they agree with the frontier, they do not raise it, because all
// use the same times.
func (j *judge) weigh() {
	for _, f := range j.found {
		if f.Cause != CauseLate || f.Kind != KindRank {
			continue
		}
		// The window that the evidence is from, else the first that was looked at.
		from := append([]int{f.Detail}, f.seen...)
		if j.unopposed(f, from) {
			continue
		}
		at := slices.IndexFunc(from, j.weighed)
		if at < 0 {
			continue
		}
		s := j.windows[from[at]].Signs
		f.Evidence = slices.Insert(slices.Clone(f.Evidence), min(2, len(f.Evidence)), signEvidence(s, *f.Rank)...)
		if at > 0 || s.Agree(*f.Rank, f.bestNs) > 0 {
			continue
		}
		for _, other := range s.Ranks {
			if !slices.Contains(append(f.together, *f.Rank), other.Rank) && s.Agree(other.Rank, f.bestNs) >= 2 {
				f.Confidence = min(f.Confidence, evidence.Supported)
				f.Evidence = append(f.Evidence, evidence.Lack{Reason: evidence.SourcesDisagree, AtMost: evidence.Supported, Rank: &other.Rank})
				break
			}
		}
	}
}

// unopposed reports whether a finding keeps its confidence whatever the engines find in
// the windows from which it may have evidence, and evidence is not asked for: outliers
// show that at a third of the cost of all.
func (j *judge) unopposed(f *finding, from []int) bool {
	at := slices.IndexFunc(from, func(i int) bool { return i >= 0 && i < len(j.windows) && j.windows[i].later != nil })
	if at < 0 || !j.windows[from[at]].later.confidence {
		return false
	}
	if at > 0 {
		return true // only the first lowers it
	}
	x := j.windows[from[0]].later
	if x.outliers == nil {
		s, err := operators.OutliersOf(x.w, x.a)
		if err != nil {
			return false
		}
		x.outliers = s
	}
	return !x.outliers.MayOppose(*f.Rank, f.together, f.bestNs)
}

// signEvidence is what the engines find of a rank.
func signEvidence(s *operators.Signs, rank int) (out []evidence.Observation) {
	of := s.Of(rank)
	if e, departs := departure(s, of); departs {
		out = append(out, e)
	}
	if of.Whole+of.Steps > 0 {
		out = append(out, evidence.Outliers{Whole: of.Whole, Steps: of.Steps, Alpha: s.Alpha})
	}
	if s.Blamed(rank) {
		out = append(out, evidence.BlameWalks{End: of.Walks, Symptoms: s.Symptoms, Op: of.Op})
	}
	return out
}

// departure is what K-S finds of a rank's completion-time distribution, and whether it
// departs from its peers'.
func departure(s *operators.Signs, of operators.RankSigns) (e evidence.CompletionTimes, departs bool) {
	for _, other := range s.Ranks {
		if other.Departs && other.Rank != of.Rank {
			e.Others = append(e.Others, other.Rank)
		}
	}
	slices.Sort(e.Others)
	e.S, e.Q, e.Later = of.S, of.Q, of.Later
	return e, of.Departs
}
