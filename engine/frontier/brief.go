package frontier

import (
	"slices"

	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/stagename"
)

// Brief is the account of a window whose run has shown where its ranks synchronise: all ranks, once a
// step, at the end of stage at.At. It has what a finding may rest on, and what a table of windows shows:
// the advances, how far ranks lag when they arrive there, the device channel, and what is incomplete.
// The data wait of the window must be that of the step itself ([trace.DataWaitConsuming]), its ranks do
// the same work, and the options must fit it. before is the end of the window before; nil: there is none.
// A window without a whole step is accounted for as by [Analyze].
//
// O(T·S·R) time in two passes, O(T·R) memory.
func Brief(w *trace.Window, before *Border, at SyncPoint, o Options) *Analysis {
	b := &brief{w: w, at: at.At}
	if before.continues(w) {
		b.before = &before.last
	}
	keep := spare.Get().(*buffers)
	defer spare.Put(keep)
	b.close(keep)
	if b.lay(); b.steps == 0 {
		if whole, err := Analyze(w, o); err == nil {
			return whole
		}
	}
	r := &Result{Run: w.Run, Window: w.Index, FirstStep: w.FirstStep + int64(b.from), Steps: b.steps, WorldSize: w.WorldSize,
		Members: w.Ranks, Cut: CutSync, CutReason: CutAtSyncPoint, SyncPoint: at, Quality: b.quality}
	if at.Evidence == SyncLikely {
		r.CutReason = CutAtLikelySync
	}
	for _, rank := range w.Ranks {
		r.Ranks = append(r.Ranks, rank.ID)
	}
	if end := w.FirstStep + int64(w.Steps()); r.FirstStep+int64(r.Steps) < end {
		r.LeftOut = []int64{end - 1}
	}
	b.sweep(r)
	b.decide(r, o)
	return &Analysis{Main: r}
}

// brief is a window while it is accounted for. Its steps begin after stage at: the stages behind that
// are those of the step before.
type brief struct {
	w        *trace.Window
	before   *trace.Window // its last steps; nil: the window follows none
	at       int
	residual [2][]int64 // of the last step of before, and of the window, [step][rank]; nil without wall time
	quality  Quality

	layout
	tails       int // how many rows are of the step before
	from, steps int // of the window
}

// close computes what no stage covers, and how well the stages close.
func (b *brief) close(keep *buffers) {
	w, R := b.w, len(b.w.Ranks)
	b.quality = qualityOf(w)
	if w.Wall == nil {
		return
	}
	if l := b.before; l != nil {
		last := l.Steps() - 1
		b.residual[0] = slices.Clone(l.WallOf(last))
		uncovered(b.residual[0], l.Step(last), nil)
	}
	totals := make([]int64, 3*R)
	wall, residual, overlap := totals[:R], totals[R:2*R], totals[2*R:]
	rest := append(sized(&keep.residual, 0), w.Wall...)
	keep.residual, b.residual[1] = rest, rest
	for t := range w.Steps() {
		left := rest[t*R : (t+1)*R]
		addTo(wall, left)
		uncovered(left, w.Step(t), overlap)
		addTo(residual, left)
	}
	b.quality.close(wall, residual, overlap)
}

// uncovered takes the durations of a step, [stage][rank], off its wall times, and adds to overlap by how
// much they exceed these.
func uncovered(wall, durations, overlap []int64) {
	for ; len(durations) >= len(wall); durations = durations[len(wall):] {
		row := durations[:len(wall)]
		for r := range wall {
			wall[r] -= row[r]
		}
	}
	for r, x := range wall {
		wall[r] = max(0, x)
		if overlap != nil {
			overlap[r] += max(0, -x)
		}
	}
}

// lay puts the stages in the order of the cut.
func (b *brief) lay() {
	names := slices.Clone(b.w.Schema.Stages)
	if b.w.Wall != nil {
		names = append(names, stagename.Residual)
	}
	S := len(names)
	b.steps, b.tails = b.w.Steps(), S-b.at-1
	if b.tails > 0 && b.before != nil {
		b.from = -1
	} else if b.tails > 0 {
		b.steps--
	}
	cut := make([]string, S)
	for i := range S {
		stage := (b.at + 1 + i) % S
		b.stages = append(b.stages, stage)
		cut[i] = names[stage]
	}
	b.groups, b.group = trace.Schema{Stages: cut}.Groups()
}

// row is the durations of stage i of the cut in one of its steps, [rank].
func (b *brief) row(step, i int) []int64 {
	w, rest, t := b.w, b.residual[1], step+b.from
	if i >= b.tails && b.tails > 0 {
		t++
	}
	if t < 0 {
		w, rest = b.before, b.residual[0]
		t = w.Steps() - 1
		if b.stages[i] == len(w.Schema.Stages) {
			return rest
		}
	}
	R, stage := len(w.Ranks), b.stages[i]
	if stage == len(w.Schema.Stages) {
		return rest[t*R : (t+1)*R]
	}
	return w.Step(t)[stage*R : (stage+1)*R]
}

// sweep takes the frontier over the steps. The ranks wait in the last stage of the cut, at which they
// arrive with the one before it.
func (b *brief) sweep(r *Result) {
	R, S := len(b.w.Ranks), len(b.stages)
	advance, slip, lag := make([]int64, S), 0.0, int64(0)
	prefix, scratch := make([]int64, R), make([]int64, R)
	for step := range b.steps {
		clear(prefix)
		reached := int64(0)
		for i := range S {
			if i == S-1 {
				slip += slipOf(prefix)
				if i > 0 {
					lag += reached - robust.MedianTimeOf(prefix, scratch)
				}
			}
			latest := int64(minInt64)
			row := b.row(step, i)[:len(prefix)]
			for k, d := range row {
				x := prefix[k] + d
				prefix[k] = x
				latest = max(latest, x)
			}
			advance[i] += latest - reached
			reached = latest
		}
		r.Makespan += reached
	}
	r.Stages = make([]Stage, len(b.groups))
	for g, name := range b.groups {
		r.Stages[g].Name = name
	}
	for i, a := range advance {
		r.Stages[b.group[i]].Advance += a
	}
	r.Stages[b.group[S-1]].Syncs = true
	if S > 1 {
		r.Stages[b.group[S-2]].Lag = lag
	}
	r.slip = slices.Repeat([]float64{slip / float64(max(1, b.steps))}, len(b.groups))
	r.Device = deviceOf(b.w, b.layout, r.Steps, r.Makespan)
}

// decide gives the labels that findings ask for: those that say what is incomplete, and those of the
// device channel.
func (b *brief) decide(r *Result, o Options) {
	g := o.Gates.OrDefault()
	g = g.ScaledTo(r.Makespan/int64(max(1, r.Steps)), b.w.Steps())
	q := r.Quality
	e := labels.Evidence{Ranks: len(r.Ranks), GatherFailed: !q.GatherOK, MissingRanks: len(q.Missing), SchemaMismatch: !q.SchemaOK,
		ClosureResidual: q.ClosureResidual, OverlapError: q.OverlapError, Roles: labels.RolesUndeclared, Folded: folded(b.w)}
	r.Leader.Stage = -1
	if r.Makespan > int64(g.DenominatorFloor) {
		for i := range r.Stages {
			share := float64(r.Stages[i].Advance) / float64(r.Makespan)
			r.Stages[i].Share = &share
			e.Shares = append(e.Shares, share)
		}
		r.Leader.Stage = labels.Rank(e.Shares)[0]
	}
	if r.Device != nil {
		r.Device.tell(&e)
	}
	r.evidence = e
	r.Decision = labels.Decide(e, g)
	r.withhold()
}
