package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace"
)

// Parts of a rank's delay: from which on its waits for a processor are evidence, and from
// which on they are what to look at first.
const (
	queuedReported = 0.2
	queuedCause    = 0.5
)

// queueLevels is how many quantiles are kept of the waits of a rank in a window.
const queueLevels = 16

// queued is how long the ranks of a window waited for a processor, beyond the median of
// their peers in the same step.
type queued struct {
	ranks  []int
	beyond [][queueLevels]float32 // quantiles over the steps of each rank, ns, ascending
	steps  int
}

// queuedOf sums up the waits of a window; nil where they were not recorded on two
// ranks. O(samples).
func queuedOf(w *trace.Window) *queued {
	i := slices.IndexFunc(w.Side, func(c trace.SideChannel) bool { return c.Name == trace.RunQueueChannel })
	if i < 0 {
		return nil
	}
	beyond := make([][]int64, len(w.Ranks))
	waits, scratch := make([]int64, 0, len(w.Ranks)), make([]int64, len(w.Ranks))
	for all := w.Side[i].Samples; len(all) > 0; {
		step := all[0].Step
		waits = waits[:0]
		n := 0
		for ; n < len(all) && all[n].Step == step; n++ {
			if all[n].Ready && len(waits) < len(w.Ranks) {
				waits = append(waits, int64(all[n].Value*1e6))
			}
		}
		if len(waits) > 1 {
			mid := robust.MiddleOf(waits, scratch)
			for _, s := range all[:n] {
				if x := int64(s.Value * 1e6); s.Ready {
					beyond[s.Rank] = append(beyond[s.Rank], x-mid.Without(x))
				}
			}
		}
		all = all[n:]
	}
	q := &queued{}
	for r, x := range beyond {
		if len(x) == 0 {
			continue
		}
		slices.Sort(x)
		var levels [queueLevels]float32
		for k := range levels {
			levels[k] = float32(x[(2*k+1)*len(x)/(2*queueLevels)])
		}
		q.ranks, q.beyond, q.steps = append(q.ranks, w.Ranks[r].ID), append(q.beyond, levels), max(q.steps, len(x))
	}
	if len(q.ranks) < 2 {
		return nil
	}
	return q
}

// sum is how much longer than its peers a rank waited, with no step counting more than most.
func (q *queued) sum(at int, most float64) (ns float64) {
	for _, x := range q.beyond[at] {
		ns += min(max(0, float64(x)), most)
	}
	return ns * float64(q.steps) / queueLevels
}

// waited adds to the findings on late ranks how much of their delay is their training thread
// waiting for a processor, which the kernel counts. It names nobody, and changes no
// confidence: a rank that is kept off its processor is late, and this is why.
func (j *judge) waited(v *RunVerdict) {
	for i := range v.Suspects {
		f := &v.Suspects[i]
		if f.Rank == nil || f.Cause != CauseLate && f.Cause != CauseLeads {
			continue
		}
		e, ok := j.processorWait(f)
		if !ok {
			continue
		}
		f.Evidence = withBeside(f.Evidence, []evidence.Observation{e}, nil)
		if i == 0 && v.Status != answer.NoStraggler && e.Share >= queuedCause {
			v.Next = append([]answer.Action{{Action: answer.FreeProcessor, Host: f.Host, Ranks: []int{*f.Rank}}},
				slices.DeleteFunc(slices.Clone(v.Next), func(a answer.Action) bool { return a.Action == answer.Profile || a.Action == answer.InspectHost })...)
		}
	}
}

// processorWait compares how much longer than its peers a rank waits for a processor, over
// the windows of a finding, with what the finding costs there. What the same sum gives for
// a peer (median) is chance, and is subtracted. No step counts more than twice the delay
// of a step that the finding struck.
func (j *judge) processorWait(f *Finding) (evidence.ProcessorWait, bool) {
	e := evidence.ProcessorWait{Rank: *f.Rank, Delay: f.Excess}
	sums := map[int]float64{}
	for w, q := range j.queued {
		if q == nil || len(f.Windows) > 0 && !slices.Contains(f.Windows, j.windows[w].Main.Window) {
			continue
		}
		for i, id := range q.ranks {
			sums[id] += q.sum(i, 2*float64(f.Excess))
		}
		e.Steps += q.steps
	}
	own, known := sums[*f.Rank]
	var others []float64
	for id, x := range sums {
		if id != *f.Rank && !slices.Contains(f.Ranks, id) {
			others = append(others, x)
		}
	}
	if e.N = len(others); !known || e.N == 0 || f.Explained <= 0 {
		return e, false
	}
	e.Share = min(1, max(0, own-robust.Lower(others))/float64(f.Explained))
	e.Wait = int64(e.Share * float64(e.Delay))
	return e, e.Share >= queuedReported
}
