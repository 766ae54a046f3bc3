package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/engine/frontier"
)

// pool judges ranks over the windows of a run together. One that is late too
// seldom in each window to rule out chance, but is always the same, is surer
// over all of them; one that is late by too little in each is found there.
func (j *judge) pool() {
	if j.series == nil {
		return
	}
	for _, w := range j.series.Results() {
		if w.Windows < 2 || len(w.Ranks) < 2 {
			continue
		}
		for k := range w.Culprits {
			c := &w.Culprits[k]
			if idle(w, c) || c.P > weakLevel || part(w, c.Explained) < trivial {
				continue
			}
			one := cohort{stage: w.Stages[c.Stage].Name, members: []*frontier.Culprit{c}, share: part(w, c.Explained), mend: c.Gain}
			i := slices.IndexFunc(j.found, func(f *finding) bool {
				return f.cause == causeLate && f.Kind == KindRank && f.Stage == one.stage && *f.Rank == c.Rank
			})
			if i < 0 {
				j.suspect(w, one, c)
				continue
			}
			f := j.found[i]
			one.share = max(one.share, f.Score)
			if confidence, evidence := j.trust(w, one, c); confidence > f.Confidence {
				f.Confidence, f.Evidence = confidence, evidence
			}
		}
	}
}
