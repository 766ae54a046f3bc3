package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
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
			if c := &w.Culprits[k]; !idle(w, c) && part(w, c.Explained) >= trivial {
				j.overall(w, c)
			}
		}
	}
}

// overall takes what all windows together say of a rank and its stage.
func (j *judge) overall(w *frontier.Result, c *frontier.Culprit) {
	one := cohort{stage: w.Stages[c.Stage].Name, members: []*frontier.Culprit{c}, share: part(w, c.Explained), saves: c.Gain}
	i := slices.IndexFunc(j.found, func(f *finding) bool {
		return f.Cause == CauseLate && f.Kind == KindRank && f.Stage == one.stage && *f.Rank == c.Rank
	})
	switch {
	case i < 0 && c.P > weakLevel:
		return
	case i < 0:
		j.suspect(w, one, c)
		return
	}
	f := j.found[i]
	// Where no window makes it more certain, the evidence is that of all of them.
	if confidence, list := j.trust(w, one, c); confidence > f.Confidence || confidence == f.Confidence && confidence == evidence.Ambiguous {
		f.Confidence, f.Evidence, f.culprit = confidence, list, c
	}
}
