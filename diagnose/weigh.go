package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/trace"
)

// signsOf runs K-S, pooled outliers and blame on a window in which the frontier
// charges a rank with a reportable delay. It returns nil if no rank is charged that
// much, if the window is too large, or if enough windows of the run have been
// analysed.
func (r *run) signsOf(w *trace.Window, a *frontier.Analysis) *operators.Signs {
	weighed := 0
	for _, have := range r.windows {
		if have.Signs != nil {
			weighed++
		}
	}
	if weighed >= mostWindowsWeighed || len(w.Ranks) > manyWorkers || len(w.Durations) > mostWeighed || !slices.ContainsFunc(slices.Concat([]*frontier.Result{a.Main}, a.Groups), charges) {
		return nil
	}
	s, err := operators.SignsOf(w, a)
	if err != nil {
		return nil // times that cannot be put in order: the frontier stands alone
	}
	return s
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
		at := slices.IndexFunc(from, func(i int) bool { return i >= 0 && i < len(j.windows) && j.windows[i].Signs != nil })
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
				f.Evidence = append(f.Evidence, evidence.Lack{Reason: evidence.EnginesDisagree, AtMost: evidence.Supported, N: other.Rank})
				break
			}
		}
	}
}

// signEvidence is what the engines find of a rank.
func signEvidence(s *operators.Signs, rank int) (out []evidence.Observation) {
	of := s.Of(rank)
	if of.Departs {
		e := evidence.CompletionTimes{S: of.S, Q: of.Q, Later: of.Later}
		for _, other := range s.Ranks {
			if other.Departs && other.Rank != rank {
				e.Others = append(e.Others, other.Rank)
			}
		}
		out = append(out, e)
	}
	if of.Whole+of.Steps > 0 {
		out = append(out, evidence.PooledOutliers{Whole: of.Whole, Steps: of.Steps, Alpha: s.Alpha})
	}
	if s.Blamed(rank) {
		out = append(out, evidence.BlameWalks{End: of.Walks, Symptoms: s.Symptoms, Op: of.Op})
	}
	return out
}
