package page

import (
	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/trace"
)

// entryDelays is by how much each rank delays the calls of each step that it enters: its
// own delay, summed over the calls. What it inherits from another synchronisation
// point is not among it.
type entryDelays struct {
	at    map[int]int         // of a rank's ID
	steps map[int64][]float32 // by rank, ns; NaN where it entered nothing
	first int64
	last  int64
	drawn map[int64]bool // steps of which waits are kept
	waits map[waiting][2]int64
}

// waiting is a rank in a stage of a step. It waits from its last entry there until
// the last member has entered that or an earlier call.
type waiting struct {
	step  int64
	rank  int
	stage string
}

// keep begins to keep the waits of the steps of drawings.
func (e *entryDelays) keep(all []drawing) {
	e.drawn, e.waits = make(map[int64]bool, len(all)), make(map[waiting][2]int64)
	for i := range all {
		e.drawn[all[i].step] = true
	}
}

func (e *entryDelays) see(c arrivals.Call) {
	if c.Step < 0 {
		return
	}
	if e.steps == nil {
		e.at, e.steps, e.first = make(map[int]int), make(map[int64][]float32), c.Step
	}
	if e.drawn[c.Step] && c.Stage != "" && c.Whole {
		at := waiting{c.Step, c.Rank, c.Stage}
		w := e.waits[at]
		e.waits[at] = [2]int64{max(w[0], c.Enter), max(w[1], c.Release)}
	}
	rank, known := e.at[c.Rank]
	if !known {
		rank = len(e.at)
		e.at[c.Rank] = rank
	}
	e.first, e.last = min(e.first, c.Step), max(e.last, c.Step)
	row := pad(e.steps[c.Step], rank+1, nan32)
	if isNaN(row[rank]) {
		row[rank] = 0
	}
	row[rank] += float32(max(0, c.Delay))
	e.steps[c.Step] = row
}

// largestDelays returns the largest own delay in any of some steps, by the rank's number here.
func (e *entryDelays) largestDelays(first int64, steps int) []float32 {
	var out []float32
	for t := first; t < first+int64(steps); t++ {
		out = combineSeries(out, e.steps[t], nil, func(x, y float32) float32 { return max(x, y) })
	}
	return out
}

// columns makes columns of steps that have no stage times: at most mostColumns.
func (e *entryDelays) columns() (c columns) {
	for t := e.first; t <= e.last && len(e.steps) > 0; t++ {
		if row, ok := e.steps[t]; ok {
			c.add(column{first: t, steps: 1, last: -1, late: row}, len(e.at))
		}
	}
	return c
}

// enteredSteps puts who enters calls last over the steps of a run, where most of its
// columns have entries: stage times cannot show who is late inside a stage in which
// all ranks wait for each other.
func (o *outline) enteredSteps(e *entryDelays, out *Steps) {
	known := 0
	rows := make([][]float32, len(o.columns.all))
	for i := range o.columns.all {
		if rows[i] = e.largestDelays(o.columns.all[i].first, o.columns.all[i].steps); rows[i] != nil {
			known++
		}
	}
	if 2*known <= len(rows) {
		return
	}
	out.Entered, out.Bands = true, nil
	of := func(column, member int) float32 {
		if at, ok := e.at[o.members[member].ID]; ok {
			return at32(rows[column], at)
		}
		return nan32
	}
	for i := range rows {
		out.Last[i], out.Behind[i] = -1, -1
		for m := range o.members {
			if x := of(i, m); !isNaN(x) && o.cell(x) > max(0, out.Behind[i]) {
				out.Last[i], out.Behind[i] = o.at[m], o.cell(x)
			}
		}
		if rows[i] != nil {
			out.Behind[i] = max(0, out.Behind[i])
		}
	}
	for k, row := range o.rows {
		for i := range rows {
			out.Late[k][i] = o.cell(of(i, o.shown[row]))
		}
	}
}

// addSteps puts the steps of a run without stage times on its page, as its entries show
// them.
func (e *entryDelays) addSteps(v *diagnose.RunVerdict, a *Arrivals, out *Run) {
	if a == nil || len(e.steps) == 0 {
		return
	}
	r := &run{name: v.Run, members: make([]trace.Rank, len(e.at)), sums: make([]rankSum, len(e.at)), place: e.at, columns: e.columns(), steps: len(e.steps)}
	for id, m := range e.at {
		r.members[m] = trace.Rank{ID: id, LocalRank: -1}
	}
	for _, row := range e.steps {
		last := -1
		for m, x := range row {
			if isNaN(x) {
				continue
			}
			r.sums[m].steps++
			r.sums[m].late += int64(x)
			if x > 0 && (last < 0 || x > row[last]) {
				last = m
			}
		}
		if last >= 0 {
			r.sums[last].last++
		}
	}
	o := outline{run: r, unit: unitFor(a.Step)}
	o.choose(v)
	out.Unit, out.Ranks, out.AllRanks, out.Named, out.Steps = o.unit, o.ranks(), len(o.members), o.suspectPositions(v), o.steps()
	o.enteredSteps(e, out.Steps)
}

// shade puts waits inside stages into a drawing, at the end of the stage: the order of
// calls and work in it is not drawn.
func (e *entryDelays) shade(d *drawing, o *outline) {
	for i := range d.lanes {
		l := &d.lanes[i]
		var spans []span
		for _, s := range l.spans {
			w := e.waits[waiting{d.step, o.members[l.rank].ID, o.run.stages[s.series].Name}]
			wait := min(max(0, w[1]-w[0]), s.to-s.busy)
			if wait == 0 {
				spans = append(spans, s)
				continue
			}
			spans = append(spans, span{series: s.series, from: s.from, busy: s.busy, to: s.to - wait, queue: s.queue},
				span{series: s.series, from: s.to - wait, busy: s.to, to: s.to, queue: s.queue})
		}
		l.spans = spans
	}
}
