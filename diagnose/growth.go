package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/frontier/cut"
)

// growth compares the windows of a run: a stage that takes far longer in one window
// than in another is slow by the standard of the run, even if all ranks look alike.
// Only windows with the same cut are compared, because another cut moves wait to
// another stage. A window with a late rank is already explained. O(windows · stages
// · ways to cut).
func (j *judge) growth() {
	least := j.cheapest()
	for _, w := range j.windows {
		m := w.Main
		if len(m.Ranks) < 2 || incomplete(m) {
			continue
		}
		for _, s := range m.Stages {
			base := least.below(m, s)
			more := (usual(m, s) - base.ns) * float64(m.Steps)
			share := more / float64(max(1, m.Makespan))
			if s.Share == nil || share < j.minGain || j.explained(m, s.Name) || j.explained(base.window, s.Name) {
				continue
			}
			b := base.window
			j.add(m, sight{Finding: Finding{Kind: KindStage, Cause: CauseGrowth, Place: Place{Stage: s.Name},
				Cost: Cost{Explained: int64(more), Gain: share}, Confidence: evidence.Supported, Evidence: []evidence.Observation{
					evidence.Slower{Stage: s.Name, Steps: extentOf(m), Time: int64(usual(m, s)), BaseSteps: extentOf(b), BaseTime: int64(base.ns)},
					evidence.Lack{Reason: evidence.RankHidden, AtMost: evidence.Supported}}}})
		}
	}
}

// extentOf is the first and the last step of an account.
func extentOf(m *frontier.Result) [2]int64 {
	return [2]int64{m.FirstStep, m.FirstStep + int64(max(1, m.Steps)) - 1}
}

// usual is what a stage is charged per step on all ranks, ns. It excludes the excess
// of slow steps over the median, because a few slow steps are not growth of all
// steps, and what single ranks take longer than their peers, whether that is charged to
// them or not.
func usual(w *frontier.Result, s frontier.Stage) float64 {
	charged := float64(s.Advance)
	if s.Gain != nil {
		charged -= *s.Gain * float64(w.Makespan)
	}
	late := int64(0)
	for i := range w.Culprits {
		if c := &w.Culprits[i]; w.Stages[c.Stage].Name == s.Name {
			late += c.Explained
		}
	}
	charged -= float64(max(late, w.Behind(s)))
	return max(0, charged) / float64(max(1, w.Steps))
}

// windowsCutAlike are the windows of a run that begin their steps at the same
// place and have the same synchronisation points, and what each stage took at the least.
type windowsCutAlike struct {
	first *frontier.Result // any of them
	syncs []string         // stages in which their ranks synchronise
	least map[string]leastCharge
}

// leastCharge is the least that a stage is charged in a step, in nanoseconds,
// and in which window.
type leastCharge struct {
	ns     float64
	window *frontier.Result
}

type cutClasses []windowsCutAlike

// cheapest sorts the windows by how they are cut.
func (j *judge) cheapest() cutClasses {
	var classes cutClasses
	for _, w := range j.windows {
		m, syncs := w.Main, syncStages(w.Main)
		i := slices.IndexFunc(classes, func(c windowsCutAlike) bool {
			return c.first.Cut == m.Cut && c.first.SyncPoint.Name == m.SyncPoint.Name && slices.Equal(c.syncs, syncs)
		})
		if i < 0 {
			i = len(classes)
			classes = append(classes, windowsCutAlike{first: m, syncs: syncs, least: map[string]leastCharge{}})
		}
		for _, s := range m.Stages {
			if have, ok := classes[i].least[s.Name]; !ok || usual(m, s) < have.ns {
				classes[i].least[s.Name] = leastCharge{usual(m, s), m}
			}
		}
	}
	return classes
}

// below is the least charge of a stage over the windows that are comparable with
// window m, including m.
func (c cutClasses) below(m *frontier.Result, s frontier.Stage) leastCharge {
	base, syncs := leastCharge{usual(m, s), m}, syncStages(m)
	for _, class := range c {
		if !alikeCut(m, class.first, syncs, class.syncs) {
			continue
		}
		if least, ok := class.least[s.Name]; ok && least.ns < base.ns {
			base = least
		}
	}
	return base
}

// alikeCut reports whether the stages of two windows compare: steps begin at
// the same place, or each at a synchronisation point that the other has too. Where all ranks
// synchronise, all leave together, so it does not matter at which of several synchronisation points
// a step is cut, and which one is the clearest is up to noise.
func alikeCut(a, b *frontier.Result, syncsInA, syncsInB []string) bool {
	if a.Cut != b.Cut {
		return false
	}
	if a.SyncPoint.Name == b.SyncPoint.Name {
		return true
	}
	return a.Cut == cut.Sync && slices.Contains(syncsInB, a.SyncPoint.Name) && slices.Contains(syncsInA, b.SyncPoint.Name)
}

// syncStages are the stages of a window in which all ranks synchronise.
func syncStages(w *frontier.Result) []string {
	var names []string
	for _, b := range w.SyncPoint.Boundaries {
		if b.Syncs {
			names = append(names, b.Name)
		}
	}
	return names
}

// explained reports whether some rank already answers for this window: then
// the stage's growth, or the wait in it, is that rank's doing.
func (j *judge) explained(w *frontier.Result, stage string) bool {
	at := j.indicesOf(w)[0]
	return slices.ContainsFunc(j.found, func(f *finding) bool {
		return slices.Contains(f.seen, at) && f.Confidence >= evidence.Supported && f.share >= j.minGain && (f.Rank != nil || f.Kind == KindHost || f.Stage == stage)
	})
}
