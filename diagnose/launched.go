package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/sfstat/sfstat/diagnose/opnames"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace"
)

// AddLaunched takes the operators behind the stages of a run's windows, which
// were recorded with them. Of the rank and stage that the windows speak
// against, the verdict then says which operators are slow beside its peers'.
// Nothing is suspected because of an operator alone. O(n·R) for n rows of R
// ranks.
func (s *Session) AddLaunched(t *trace.OpTotals) error {
	r, err := opnames.Compare(t, opnames.DefaultOptions())
	if err != nil {
		return err
	}
	run := s.runOf(t.Run)
	run.launched = append(run.launched, r)
	groups, err := opnames.Across(t, opnames.DefaultOptions())
	if groups != nil {
		run.across = append(run.across, groups)
	}
	return err
}

// operations says of the ranks that are suspected in one stage what they
// launched there, and adds the operator that explains most of it.
//
// Where only a stage stands out that is long on all ranks alike, it tells which
// ranks' operators surely take longer, though that made none of them late.
func (j *judge) operations() {
	for _, f := range slices.Clone(j.found) {
		if f.Cause == CauseSlowSteps {
			f.Evidence = append(slices.Clone(f.Evidence), Saying(j.harmless(trivial/2*float64(f.step()))...)...)
		}
		j.compareGroups(f)
		if f.Kind != KindRank || f.Rank == nil {
			continue
		}
		for _, r := range j.launched {
			in := insideOf(r, *f.Rank, f.Stage)
			if in == nil {
				continue
			}
			in.describe(f)
			if f.Stage != "" {
				j.explain(f, in)
			}
			j.doubt(f, in)
			break
		}
	}
}

// harmless are the ranks whose operators in a stage surely take longer, by a
// least time in ns a step, the longest first, where nobody is late for it.
func (j *judge) harmless(least float64) []string {
	type place struct {
		rank  int
		stage string
	}
	var out []string
	var seen []place
	for _, r := range j.launched {
		for _, d := range r.Found() {
			at := place{d.Rank, d.Stage}
			if slices.Contains(seen, at) || len(out) == listedOps {
				continue
			}
			seen = append(seen, at)
			if in := insideOf(r, d.Rank, d.Stage); in.sureExcess >= least {
				out = append(out, fmt.Sprintf("%s, without its being late by more than chance allows; first %s", in.longer(cmp.Or(d.Stage, "no stage")), in.compared(d)))
			}
		}
	}
	return out
}

// inside is what a rank launched in the stage that it is suspected in.
type inside struct {
	*opnames.Result
	rank       int
	all        []opnames.Difference // by excess
	sure       []opnames.Difference // those that surely take longer
	own, peers float64              // of all, ns a step
	sureExcess float64              // ns a step
}

func insideOf(r *opnames.Result, rank int, stage string) *inside {
	if len(r.Of(rank, "")) == 0 {
		return nil // no peers, or it is not among those that were recorded
	}
	in := &inside{Result: r, rank: rank, all: r.Of(rank, stage)}
	for _, d := range in.all {
		in.own += d.Whole.Own
		in.peers += d.Whole.Peers
		if d.Sure && d.Excess() > 0 {
			in.sure = append(in.sure, d)
			in.sureExcess += d.Excess()
		}
	}
	return in
}

// excess is by how much all operators take longer together, ns a step.
func (in *inside) excess() float64 { return in.own - in.peers }

// describe adds to a suspect what its operators say.
func (in *inside) describe(f *finding) {
	f.inside = in
	lines := in.sentences(f)
	if wait := in.waiting(f); wait != "" {
		lines = append(lines, wait)
	}
	f.Evidence = slices.Insert(slices.Clone(f.Evidence), min(2, len(f.Evidence)), Saying(lines...)...)
}

// explain lets a suspect in one stage be called for its operators, and adds the
// one that explains most of it.
func (j *judge) explain(f *finding, in *inside) {
	if d, ok := in.chief(); ok {
		part := min(1, d.Excess()/max(d.Excess(), in.excess()))
		s := Finding{Kind: KindOp, Cause: CauseOperator, Place: Place{Rank: f.Rank, Stage: f.Stage, Op: d.Name, Group: f.Group}, Cost: f.Cost.times(part), Confidence: f.Confidence,
			BelowMinGain: f.BelowMinGain, Evidence: Saying(in.compared(d)), Windows: f.Windows, Detail: f.Detail}
		at := slices.Index(j.found, f)
		j.found = slices.Insert(j.found, at+1, &finding{Finding: s, best: f.best, makespan: f.makespan, steps: f.steps})
	}
}

// doubt takes back a call of a rank whose operators are shorter in other steps:
// it is late now and then because its work is larger then, and that no rank can
// mend.
func (j *judge) doubt(f *finding, in *inside) {
	if f.Cause != CauseLate || !in.varies(f.perStep()) {
		return
	}
	f.Confidence = min(f.Confidence, Ambiguous)
	f.Evidence = append(f.Evidence, Said(fmt.Sprintf("in other steps the same operators of rank %d are shorter than on its peers: its work varies, as with data of varying size", in.rank)))
}

// varies reports whether the operators that surely take longer make up for it
// in other steps, as work of varying size does: where they are longer, that is
// half of a delay, in ns a step, or more; in some step they are shorter, by a
// quarter of what they are longer on average; and the mean over all steps is not
// above 0 beyond chance (Student's t, one side, 1 %).
func (in *inside) varies(delay int64) bool {
	course := make([]float64, len(in.Steps))
	for _, d := range in.sure {
		for t, ns := range d.Course {
			course[t] += float64(ns)
		}
	}
	n := len(course)
	longer := 0.0
	for _, ns := range course {
		longer += max(0, ns)
	}
	if n < 3 || longer == 0 || 2*longer < float64(delay)*float64(n) {
		return false
	}
	mean, sd := stat.MeanStdDev(course, nil)
	if slices.Min(course) > -mean/4 {
		return false
	}
	t := distuv.StudentsT{Sigma: 1, Nu: float64(n - 1)}
	return mean <= t.Quantile(0.99)*sd/math.Sqrt(float64(n))
}

// chief is the operator that explains most of what the rank takes longer, where
// not all are slow alike.
func (in *inside) chief() (opnames.Difference, bool) {
	if len(in.sure) == 0 || in.deviceWide() || in.sure[0].Excess() < chief*in.excess() {
		return opnames.Difference{}, false
	}
	return in.sure[0], true
}

// sentences say which operators take longer, or that none does.
func (in *inside) sentences(f *finding) []string {
	switch {
	case len(in.all) == 0:
		return []string{fmt.Sprintf("operators: rank %d launched nothing on its device in %s: what it is late in there is its host's", in.rank, f.extent())}
	case len(in.sure) > 0:
		return in.slow(f)
	case !in.all[0].Tested:
		return []string{fmt.Sprintf("operators: what rank %d launched in %s takes %s a step on its device, %s on its peers (too few for a test); most of the difference: %s",
			in.rank, f.extent(), ms(int64(in.own)), ms(int64(in.peers)), in.compared(in.all[0]))}
	}
	return []string{fmt.Sprintf("operators: none that rank %d launched in %s surely takes longer than on its peers (%s a step together, %s there): the time goes between operators, or on the host",
		in.rank, f.extent(), ms(int64(in.own)), ms(int64(in.peers)))}
}

// slow says how much of it which operators are, the largest first.
func (in *inside) slow(f *finding) []string {
	what := in.longer(f.extent())
	if in.deviceWide() {
		low, high := in.factors()
		what += fmt.Sprintf(", all by much the same factor (%.2f to %.2f): its device is slow there, not one operator", low, high)
	}
	out := []string{what}
	for _, d := range in.sure[:min(listedOps, len(in.sure))] {
		out = append(out, in.compared(d))
	}
	return out
}

// longer is "operators: all 9 that rank 5 launched in forward surely take longer
// than on its peers, by 1.78 ms a step".
func (in *inside) longer(stage string) string {
	verb := "take"
	if len(in.sure) == 1 {
		verb = "takes"
	}
	return fmt.Sprintf("operators: %s rank %d launched in %s surely %s longer than on its peers, by %s a step",
		ofThem(len(in.sure), len(in.all)), in.rank, stage, verb, ms(int64(in.sureExcess)))
}

// factors are the least and the largest by which operators surely take longer.
func (in *inside) factors() (low, high float64) {
	low = math.Inf(1)
	for _, d := range in.sure {
		low, high = min(low, d.Factor()), max(high, d.Factor())
	}
	return low, high
}

// deviceWide reports whether factors are so many and so close to each other
// that no operator is to blame.
func (in *inside) deviceWide() bool {
	low, high := in.factors()
	return len(in.sure) >= 3 && 2*len(in.sure) >= len(in.all) && high-1 < 1.5*(low-1)
}

// ofThem is "the one operator that", "all 9 that" or "3 of the 9 that".
func ofThem(some, all int) string {
	switch {
	case all == 1:
		return "the only one that"
	case some == all:
		return fmt.Sprintf("all %d that", all)
	}
	return fmt.Sprintf("%d of the %d that", some, all)
}

// compared is one operator beside its peers: "flash_fwd_kernel: 1.40 × its
// peers (18.8 ms → 26.4 ms a step in 7 of 9 steps), 40 a step of 660 µs instead
// of 470 µs each; 5.9 ms of the 6.1 ms".
func (in *inside) compared(d opnames.Difference) string {
	text := opnames.Label(d.Name) + ": "
	if d.Peers > 0 {
		text += fmt.Sprintf("%.2f × its peers ", d.Factor())
	}
	text += fmt.Sprintf("(%s → %s a step", ms(int64(d.Peers)), ms(int64(d.Own)))
	if n := len(d.Steps); n < len(in.Steps) {
		text += fmt.Sprintf(" in %d of %d steps", n, len(in.Steps))
	}
	text += "), "
	switch {
	case math.Abs(d.Count-d.PeerCount) >= 0.5:
		text += fmt.Sprintf("launched %.3g times a step, %.3g on its peers: it has other work there", d.Count, d.PeerCount)
	case d.Count >= 1.5:
		text += fmt.Sprintf("%.3g a step of %s instead of %s each", d.Count, ms(int64(d.Own/d.Count)), ms(int64(d.Peers/d.Count)))
	default:
		text += fmt.Sprintf("%.3g a step", d.Count)
	}
	if len(in.all) == 1 {
		return text
	}
	return text + fmt.Sprintf("; %s of the %s", ms(int64(d.Excess())), ms(int64(in.excess())))
}

// waiting says that the long collectives of the others are wait for the rank.
func (in *inside) waiting(f *finding) string {
	var waited, busy []float64
	own, ownBusy := 0.0, 0.0
	for _, m := range f.best.Members {
		w, b, any := in.collectives(m.ID)
		switch {
		case !any:
		case m.ID == in.rank:
			own, ownBusy = w, b
		default:
			waited, busy = append(waited, w), append(busy, b)
		}
	}
	if len(waited) == 0 {
		return ""
	}
	w, b := robust.Upper(waited), robust.Upper(busy)
	if w < 2*own || w-own < 0.25*float64(f.perStep()) {
		return ""
	}
	return fmt.Sprintf("collectives: they take %s a step on the other ranks (median), of it %s wait for the last to come, and %s on rank %d, of it %s: the others' is long because rank %d comes late",
		ms(int64(b)), ms(int64(w)), ms(int64(ownBusy)), in.rank, ms(int64(own)), in.rank)
}

// collectives are how long a rank waited in collectives and how long they took
// with that, ns a step.
func (in *inside) collectives(rank int) (waited, took float64, any bool) {
	for _, d := range in.Of(rank, "") {
		if d.Kind == opnames.Collective {
			waited, took, any = waited+d.Whole.Waited, took+d.Whole.Own+d.Whole.Waited, true
		}
	}
	return waited, took, any
}
