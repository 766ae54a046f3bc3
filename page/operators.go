package page

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/engine/ks"
	"github.com/sfstat/sfstat/internal/glyph"
	"github.com/sfstat/sfstat/trace/operator"
)

// operatorTrace is what is kept of an operator trace. Its stages are the names of its
// operators.
type operatorTrace struct {
	run
	length int64 // of all steps
	apart  *Apart
}

func (b *Builder) operators(t *operator.Trace) error {
	v, err := operators.Observe(t.Complete())
	if err != nil {
		return err
	}
	x := &operatorTrace{run: run{name: t.Run, members: v.Trace.Ranks, sums: make([]rankSum, len(v.Trace.Ranks)), place: make(map[int]int)}}
	for i, r := range x.members {
		x.place[r.ID] = i
	}
	for _, name := range v.Trace.Names {
		x.stages = append(x.stages, Stage{Name: name})
	}
	x.take(v)
	if v.Workers() <= mostApart {
		r, err := ks.Analyze(v.Completions(), distances())
		if err != nil {
			return err
		}
		x.apart = pairDistances(v, r, x.place)
	}
	b.traced = append(b.traced, x)
	return nil
}

// take draws the steps of a trace and sums its operators.
func (x *operatorTrace) take(v *operators.View) {
	t := v.Trace
	waits, _ := t.Waits()
	lanes := x.lanes()
	first := queues(t, waits)
	byStep := make(map[int32]*drawing)
	begin := make(map[int32]int64)
	for row, s := range t.Step {
		if at, ok := begin[s]; !ok || t.Start[row] < at {
			begin[s] = t.Start[row]
		}
	}
	for row, s := range t.Step {
		d := byStep[s]
		if d == nil {
			d = &drawing{step: t.Steps[s]}
			for _, r := range lanes {
				d.lanes = append(d.lanes, lane{rank: r})
			}
			byStep[s] = d
		}
		r, from, wait := int(t.Rank[row]), t.Start[row]-begin[s], min(max(0, waits[row]), t.Dur[row])
		d.length = max(d.length, from+t.Dur[row])
		sum := &x.sums[r]
		sum.spent, sum.waits = pad(sum.spent, len(x.stages), 0), pad(sum.waits, len(x.stages), 0)
		sum.spent[t.Name[row]] += t.Dur[row]
		sum.waits[t.Name[row]] += wait
		x.stages[t.Name[row]].Advance += t.Dur[row]
		if i := slices.Index(lanes, r); i >= 0 {
			queue := 0
			if t.Lane[row] != first[r] {
				queue = 1
			}
			d.lanes[i].spans = append(d.lanes[i].spans, span{series: int(t.Name[row]), from: from, busy: from + wait, to: from + t.Dur[row], queue: queue})
		}
	}
	x.keep(byStep)
}

// keep takes the drawings of all steps, or of the longest and the usual.
func (x *operatorTrace) keep(byStep map[int32]*drawing) {
	for _, d := range byStep {
		d.late = d.length
		x.length += d.length
		x.drawn = append(x.drawn, *d)
	}
	x.steps = len(byStep)
	for i := range x.sums {
		x.sums[i].steps = x.steps
	}
	slices.SortFunc(x.drawn, func(a, b drawing) int { return cmp.Compare(a.step, b.step) })
	if spansOf(x.drawn) > mostSpans {
		x.pruned = true
		x.drawn = best(x.drawn)
	}
	for len(x.drawn) > 1 && spansOf(x.drawn) > 4*mostSpans {
		x.drawn = x.drawn[:len(x.drawn)-1]
	}
}

// lanes returns the workers to draw: all, or some evenly taken.
func (x *operatorTrace) lanes() []int {
	n := len(x.members)
	if n <= mostLanes {
		return sequence(n)
	}
	out := sequence(mostLanes)
	for i := range out {
		out[i] = i * n / mostLanes
	}
	return out
}

// queues returns the queue of each rank that is busy for longest, without waits for others.
func queues(t *operator.Trace, waits []int64) []int32 {
	busy := make([]map[int32]int64, len(t.Ranks))
	out := make([]int32, len(t.Ranks))
	for row, r := range t.Rank {
		if busy[r] == nil {
			busy[r], out[r] = make(map[int32]int64), t.Lane[row]
		}
		busy[r][t.Lane[row]] += t.Dur[row] - min(max(0, waits[row]), t.Dur[row])
		if busy[r][t.Lane[row]] > busy[r][out[r]] {
			out[r] = t.Lane[row]
		}
	}
	return out
}

func spansOf(all []drawing) (n int) {
	for i := range all {
		for _, l := range all[i].lanes {
			n += len(l.spans)
		}
	}
	return n
}

// addTrace puts a trace on the page.
func (b *Builder) addTrace(v *diagnose.RunVerdict, out *Run) {
	i := slices.IndexFunc(b.traced, func(x *operatorTrace) bool { return x.name == v.Run })
	if i < 0 || b.traced[i].steps == 0 || v.Operators == nil {
		return
	}
	x := b.traced[i]
	o := outline{run: &x.run, unit: unitFor(x.length / int64(x.steps))}
	o.choose(v)
	out.Unit, out.Stages, out.Ranks, out.AllRanks = o.unit, o.stages(), o.ranks(), len(o.members)
	out.Operators, out.Workers, out.Drawn, out.AllDrawn, out.Apart = true, v.Operators.StandsFor(0) != nil, o.drawings(v), !o.pruned, x.apart
	out.Named, out.Signs = o.suspectPositions(v), o.signs(v)
	rank := func(w int) int { return v.Operators.Workers[w].ID }
	out.Walk = o.walk(v.Operators.Walks, rank, v)
}

// mostStops of a walk are shown, from its beginning and its end.
const mostStops = 16

// walk returns the longest walk back to the first of the ranks that findings name, or where there are none to
// whatever most end at; nil where less than a tenth of them do, or nothing delays the run.
func (o *outline) walk(all *operators.Walks, rank func(worker int) int, v *diagnose.RunVerdict) *Walk {
	if all == nil || v.Status <= answer.Unseen {
		return nil
	}
	first := suspectRanks(v)
	var best *operators.Culprit
	for i := range all.Culprits {
		c := &all.Culprits[i]
		if len(c.Path) > 1 && (best == nil || len(first) > 0 && rank(c.Worker) == first[0] && rank(best.Worker) != first[0]) {
			best = c
		}
	}
	if best == nil || len(first) > 0 && rank(best.Worker) != first[0] || 10*best.Symptoms < all.Symptoms {
		return nil
	}
	w := &Walk{Step: best.PathStep, Symptoms: best.Symptoms, All: all.Symptoms}
	for i, s := range best.Path {
		if n := len(best.Path); n > mostStops && i >= mostStops/2 && i < n-mostStops/2 {
			w.Left++
			continue
		}
		w.Stops = append(w.Stops, Stop{Rank: s.Rank, Op: glyph.Visible(s.Op), Start: o.units(float64(s.Start)), Length: o.units(float64(s.Dur))})
	}
	return w
}
