package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/internal/robust"
)

// judge turns the accounts of a run's windows into its verdict.
func (r *run) judge(g frontier.Gates) RunVerdict {
	j := &judge{run: r, gates: g}
	for _, w := range r.windows {
		if w.Main.Meeting.WithinPeers {
			for _, g := range w.Groups {
				j.late(g)
			}
		} else {
			j.late(w.Main)
		}
		j.device(w.Main)
		j.groups(w)
	}
	j.pool()
	j.growth()
	j.stages()
	j.operations()
	v := RunVerdict{Run: r.name, Windows: r.windows, Suspects: j.ranked()}
	if len(v.Suspects) > 0 {
		v.Confidence = v.Suspects[0].Confidence
	}
	v.Undecidable = j.undecidable(v.Suspects)
	v.Headline = j.headline(v.Suspects)
	v.CapturePlan = j.plan(v.Suspects)
	if j.traffic != nil {
		j.heard(&v)
	}
	return v
}

// judge collects suspects over the windows of a run. The same suspect in
// several windows is one.
type judge struct {
	*run
	gates frontier.Gates
	found []*finding
}

// cause is the line of evidence that makes a suspect.
type cause uint8

const (
	causeLate     cause = iota // others waited for it at meetings
	causeDevice                // slow on the device
	causeLeads                 // latest, without a meeting to measure it at
	causeGroup                 // a role group with more work
	causeGrowth                // longer in this window than in another
	causeTurns                 // ranks late by turns
	causeAlike                 // long on all ranks alike
	causeOperator              // an operator behind the stage of another suspect
)

// finding is a suspect with what is known about it beyond what it shows.
type finding struct {
	Finding
	cause    cause
	best     *frontier.Result // the window that explains most
	bestNs   int64
	makespan int64 // of the windows that show it
	steps    int   // of the windows that show it
	gainNs   float64
	culprit  *frontier.Culprit // of the best window
	together []int             // ranks that are late with it for the same reason, itself among them
	mend     float64           // part of the makespan that goes when all of them are on time
	inside   *inside           // what the rank launched in the stage; nil where that was not recorded
}

// key is what makes two suspects the same.
type key struct {
	cause cause
	kind  Kind
	rank  int
	stage string
	group string
}

func (f *finding) key() key {
	k := key{cause: f.cause, kind: f.Kind, rank: -1, stage: f.Stage, group: f.Group}
	if f.Rank != nil {
		k.rank = *f.Rank
	}
	return k
}

// add merges a suspect seen in window w. The evidence is that of the window in
// which it is surest, and among those explains most.
func (j *judge) add(why cause, s Finding, w *frontier.Result, culprit *frontier.Culprit) *finding {
	f := &finding{Finding: s, cause: why}
	i := slices.IndexFunc(j.found, func(have *finding) bool { return have.key() == f.key() })
	if i >= 0 {
		f = j.found[i]
		f.Explained += s.Explained
	} else {
		j.found = append(j.found, f)
	}
	f.Windows = append(f.Windows, w.Window)
	f.makespan += w.Makespan
	f.steps += w.Steps
	f.gainNs += s.Gain * float64(w.Makespan)
	if f.best == nil || s.Confidence > f.Confidence || s.Confidence == f.Confidence && s.Explained > f.bestNs {
		f.best, f.bestNs, f.culprit = w, s.Explained, culprit
		f.Confidence, f.Evidence = s.Confidence, s.Evidence
	}
	if f.makespan > 0 {
		f.Gain = f.gainNs / float64(f.makespan)
		f.Score = float64(f.Explained) / float64(f.makespan)
	}
	return f
}

// device names a rank whose stage is long on the device, where the host does
// not show it.
func (j *judge) device(w *frontier.Result) {
	d := w.Device
	if d == nil || len(d.Stages) == 0 || w.Steps == 0 || w.Makespan == 0 ||
		slices.Contains(w.Labels, frontier.ForwardEventScopeLimited) || slices.Contains(w.Labels, frontier.RoleAwareNeeded) {
		return
	}
	stage := w.Stages[d.Stages[0]].Name
	excess := d.Excess * float64(w.Steps)
	share := excess / float64(w.Makespan)
	// Longer than the step itself is not a time but a mistake of units.
	if share < j.gates.StaticGain || share >= 1 || slices.ContainsFunc(j.found, func(f *finding) bool {
		return f.Kind == KindRank && *f.Rank == d.Rank && f.Stage == stage
	}) {
		return
	}
	rank := d.Rank
	s := Finding{Kind: KindRank, Place: Place{Rank: &rank, Stage: stage}, Cost: Cost{Explained: int64(excess), Gain: share}, Confidence: Supported, Evidence: Saying(
		fmt.Sprintf("device events (%s): %s a step on rank %d, %s on its peers (median), over %d ready samples",
			d.Channel, ms(int64(d.Time)), d.Rank, ms(int64(d.Peers)), d.Ready),
		fmt.Sprintf("host wall of %s on that rank is %s: the host does not wait there, so the time surfaces in a later stage on every rank", stage, ms(int64(d.Wall))),
		"not strong: sampled device times are one kind of evidence; stage times cannot confirm the rank")}
	if slices.Contains(w.Labels, frontier.TelemetryLimited) {
		s.Confidence = Ambiguous
		s.Evidence = append(s.Evidence, Said("the telemetry of the window is incomplete or does not close"))
	}
	j.add(causeDevice, s, w, nil)
}

// groups names a role group that does more work than the others.
func (j *judge) groups(w Window) {
	if len(w.Groups) < 2 || w.Main.Meeting.WithinPeers {
		return
	}
	work := make([]int64, len(w.Groups))
	heavy := 0
	for i, g := range w.Groups {
		if work[i] = medianWork(w.Main, g.Ranks); work[i] > work[heavy] {
			heavy = i
		}
	}
	others := slices.Delete(slices.Clone(work), heavy, heavy+1)
	usual := robust.Upper(others)
	more := work[heavy] - usual
	main := w.Main
	more = min(more, main.Makespan)
	share := float64(more) / float64(max(1, main.Makespan))
	if share < trivial {
		return
	}
	s := Finding{Kind: KindGroup, Place: Place{Group: w.Groups[heavy].Group}, Cost: Cost{Explained: more, Gain: share}, Confidence: Insufficient, Evidence: Saying(fmt.Sprintf("frontier by role: ranks of %s work %s a step, the other groups %s; the others wait for them where all meet",
		w.Groups[heavy].Group, ms(work[heavy]/int64(max(1, main.Steps))), ms(usual/int64(max(1, main.Steps)))))}
	if share >= j.gates.StaticGain {
		s.Confidence = Ambiguous
		s.Evidence = append(s.Evidence, Said("roles may differ by design: whether this is a fault or the model's balance cannot be told from times"))
	}
	j.add(causeGroup, s, main, nil)
}

// medianWork is the median over some ranks of the time that they did not wait.
func medianWork(w *frontier.Result, ranks []int) int64 {
	var work []int64
	for i, id := range w.Ranks {
		if slices.Contains(ranks, id) {
			work = append(work, w.Work[i])
		}
	}
	return robust.Upper(work)
}

// answered reports whether a window has a suspect that says more than that a
// stage is long: one that may be called, or a rank that is late, however
// little.
func (j *judge) answered(w *frontier.Result) bool {
	return slices.ContainsFunc(j.found, func(f *finding) bool {
		return slices.Contains(f.Windows, w.Window) && (f.Confidence > Insufficient || f.Kind == KindRank)
	})
}

// ranked orders the suspects: those that may be named (strong and supported),
// then those with several readings, then those too small to call; within each,
// by the exposed time that they explain.
func (j *judge) ranked() []Finding {
	slices.SortStableFunc(j.found, func(a, b *finding) int {
		classA, classB := min(a.Confidence, Supported), min(b.Confidence, Supported)
		if classA != classB {
			return cmp.Compare(classB, classA)
		}
		return cmp.Compare(b.Explained, a.Explained)
	})
	out := make([]Finding, 0, len(j.found))
	for _, f := range j.found {
		out = append(out, f.Finding)
	}
	return out
}
