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
		for g := range w.Stages {
			j.jointly(w, g)
		}
		for k := range w.Culprits {
			if c := &w.Culprits[k]; !idle(w, c) && part(w, c.Explained) >= trivial {
				j.overall(w, c)
			}
		}
	}
}

// jointly calls the ranks that all windows together charge for a stage, where they do
// in more steps, or more surely, than the windows that call them by themselves.
func (j *judge) jointly(w *frontier.Result, g int) {
	c := j.lateIn(w, g)
	if c.share < j.minGain {
		return
	}
	charged, called, confidence := 0, 0, evidence.Strong
	for _, m := range c.members {
		sure, _ := j.trust(w, c, m)
		charged, confidence = charged+m.Steps, min(confidence, sure)
	}
	instead := map[*finding]bool{}
	for _, f := range j.found {
		instead[f] = f.Cause == CauseRotating && f.Stage == c.stage
		for _, m := range c.members {
			if f.lateBecauseOf(c.stage, m.Rank) {
				if len(c.members) == 1 { // overall raises it
					return
				}
				instead[f] = true
				if f.Confidence >= confidence {
					called += f.struck
				}
			}
		}
	}
	const nearly = 0.9 // of the steps: what is only noise in a window is left out there
	if float64(called) < nearly*float64(charged) {
		j.found = slices.DeleteFunc(j.found, func(f *finding) bool { return instead[f] })
		j.call(w, c, map[int]bool{})
	}
}

// lateBecauseOf reports whether a finding is that a rank is late because of a stage, by
// itself or with others.
func (f *finding) lateBecauseOf(stage string, rank int) bool {
	return f.Cause == CauseLate && f.Stage == stage && (f.Rank != nil && *f.Rank == rank || slices.Contains(f.Ranks, rank))
}

// overall takes what all windows together say of a rank and its stage.
func (j *judge) overall(w *frontier.Result, c *frontier.Culprit) {
	one := cohort{stage: w.Stages[c.Stage].Name, members: []*frontier.Culprit{c}, share: part(w, c.Explained), saves: c.Gain}
	i := slices.IndexFunc(j.found, func(f *finding) bool {
		return f.lateBecauseOf(one.stage, c.Rank)
	})
	switch {
	case i < 0 && c.P > weakLevel:
		return
	case i < 0:
		j.suspect(w, one, c)
		return
	}
	f := j.found[i]
	if f.Kind != KindRank {
		return
	}
	// Where no window makes it more certain, the evidence is that of all of them.
	if confidence, list := j.trust(w, one, c); confidence > f.Confidence || confidence == f.Confidence && confidence == evidence.Ambiguous {
		f.Confidence, f.Evidence, f.culprit = confidence, list, c
	}
}
