package page

import (
	"github.com/sfstat/sfstat/engine/comm"
	"slices"

	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/internal/bug"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/operator"
	"github.com/sfstat/sfstat/trace/sums"
)

// Builder takes the windows of runs one at a time and keeps what a page shows of
// them: O(ranks × stages) and at most [mostHeld] numbers of steps a run.
type Builder struct {
	// Limits are what nccl-tests reached, which bandwidths are held against; nil: what links allow.
	Limits *comm.Benchmarks
	o      frontier.Options
	runs   []*run
	traced []*operatorTrace
	failed map[string]*bug.Error // by run
}

// New starts a page of windows that are accounted for in this way.
func New(o frontier.Options) *Builder { return &Builder{o: o} }

// run is what is kept of one run.
type run struct {
	name    string
	flat    sums.Rule // of its windows
	series  *frontier.Series
	stages  []Stage
	members []trace.Rank
	place   map[int]int // of a rank's ID in members
	sums    []rankSum
	columns columns
	steps   int
	exposed int64
	drawn   []drawing
	pruned  bool // not every step is among them

	calls    []*comms.Record // of NCCL
	arrivals arrivals.Job
}

// rankSum is one rank over all steps.
type rankSum struct {
	steps int
	spent []int64 // [stage]
	waits []int64 // [stage]
	late  int64
	last  int
}

// windowPlaces says where the stages and ranks of a window are in its run.
type windowPlaces struct{ stages, ranks []int }

func (b *Builder) runOf(name string) *run {
	i := slices.IndexFunc(b.runs, func(r *run) bool { return r.name == name })
	if i < 0 {
		i = len(b.runs)
		b.runs = append(b.runs, &run{name: name, series: frontier.NewSeries(b.o), place: make(map[int]int)})
	}
	return b.runs[i]
}

// Add takes what was recorded of a run, in the order in which a session of package
// diagnose takes it: stage times, an operator trace, entries of calls. What charts
// have no use for is passed over.
//
// A window takes O(T·S·R), an operator trace O(operators) and, for up to mostApart
// workers, the square of their number.
func (b *Builder) Add(r trace.Recording) error {
	var err error
	b.containPanic(r.RunName(), func() { err = b.add(r) })
	return err
}

// containPanic calls do for a run. If that panics, the run has no charts.
func (b *Builder) containPanic(name string, do func()) {
	if b.failed[name] != nil {
		return
	}
	if err := bug.Guard("charts of run "+name, do); err != nil {
		if b.failed == nil {
			b.failed = make(map[string]*bug.Error)
		}
		b.failed[name] = bug.PanicOf(err)
	}
}

func (b *Builder) add(r trace.Recording) error {
	switch r := r.(type) {
	case *trace.Window:
		return b.window(r)
	case *operator.Trace:
		return b.operators(r)
	case *comms.Record:
		if r.Entries() {
			return b.runOf(r.Run).arrivals.Add(r)
		}
		x := b.runOf(r.Run)
		x.calls = append(x.calls, r)
	}
	return nil
}

func (b *Builder) window(w *trace.Window) error {
	r := b.runOf(w.Run)
	one := []*trace.Window{w}
	r.flat.Apply(one) // as a session does
	_, d, err := r.series.AddDetailed(one[0])
	if err != nil {
		return err
	}
	r.arrivals.AddWindow(w)
	r.add(d)
	return nil
}

func (r *run) add(d *frontier.Detail) {
	if d.Steps == 0 || len(d.Boundaries) == 0 {
		return
	}
	w := r.placeOf(d)
	total := make([]int64, len(d.Ranks))
	for t := range d.Steps {
		for i, late := range r.step(d, t, w) {
			total[i] += late
		}
	}
	r.steps += d.Steps
	r.draw(d, w, lanesOf(d, total))
}

// placeOf finds the stages and ranks of a window in the run, which takes up those
// that are new.
func (r *run) placeOf(d *frontier.Detail) *windowPlaces {
	w := &windowPlaces{stages: make([]int, len(d.Stages)), ranks: make([]int, len(d.Ranks))}
	for _, b := range d.Recorded { // in the order of the step
		s := d.Stages[d.Stage[b]]
		i := slices.IndexFunc(r.stages, func(x Stage) bool { return x.Name == s.Name })
		if i < 0 {
			i = len(r.stages)
			r.stages = append(r.stages, Stage{Name: s.Name})
		}
		r.stages[i].Syncs = r.stages[i].Syncs || s.Syncs || b == d.Sync
		w.stages[d.Stage[b]] = i
	}
	for i, m := range d.Members {
		at, known := r.place[m.ID]
		if !known {
			at = len(r.members)
			r.place[m.ID] = at
			r.members, r.sums = append(r.members, m), append(r.sums, rankSum{})
		}
		w.ranks[i] = at
	}
	return w
}

// step adds one step, and gives the lateness of the window's ranks in it.
func (r *run) step(d *frontier.Detail, t int, w *windowPlaces) []int64 {
	late := d.Lateness(t)
	c := column{first: d.StepAt(t), steps: 1, last: -1, ranks: w.ranks, exposed: make([]float64, len(r.stages)),
		late: make([]float32, len(w.ranks)), spent: make([][]float32, len(r.stages))}
	for s := range d.Stages {
		advance := d.Advance(t, s)
		c.exposed[w.stages[s]] += float64(advance)
		r.stages[w.stages[s]].Advance += advance
		r.exposed += advance
	}
	for b := range d.Boundaries {
		s, spent, waits := w.stages[d.Stage[b]], d.DurationsAt(t, b), d.Waits(t, b)
		c.spent[s] = pad(c.spent[s], len(w.ranks), nan32)
		for i, at := range w.ranks {
			sum := &r.sums[at]
			sum.spent, sum.waits = pad(sum.spent, len(r.stages), 0), pad(sum.waits, len(r.stages), 0)
			sum.spent[s] += spent[i]
			sum.waits[s] += waits[i]
			if x := &c.spent[s][i]; isNaN(*x) {
				*x = float32(spent[i])
			} else {
				*x += float32(spent[i])
			}
		}
	}
	last := slices.Index(late, slices.Max(late))
	for i, at := range w.ranks {
		c.late[i] = float32(late[i])
		r.sums[at].late += late[i]
		r.sums[at].steps++
	}
	if late[last] > 0 {
		c.last = w.ranks[last]
		r.sums[c.last].last++
	}
	r.columns.add(c, (len(r.stages)+1)*len(r.members))
	return late
}

// draw keeps the steps of a window that are worth drawing.
func (r *run) draw(d *frontier.Detail, w *windowPlaces, lanes []int) {
	spans := spansOf(r.drawn) + d.Steps*len(lanes)*len(d.Boundaries)
	for t := range d.Steps {
		r.drawn = append(r.drawn, drawingOf(d, t))
	}
	if r.pruned = r.pruned || spans > mostSpans || len(r.members) > mostLanes; r.pruned {
		r.drawn = best(r.drawn)
	}
	for i := range r.drawn {
		if x := &r.drawn[i]; x.lanes == nil {
			x.fill(d, w, lanes)
		}
	}
}
