package frontier

import (
	"slices"

	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/stagename"
)

// Brief is the account of a window whose run has shown where its ranks synchronise: all ranks, once a
// step, at the end of stage at.At. It has what a finding may rest on, and what a table of windows shows:
// the advances, how far a rank may be delayed unseen, the device channel, and what is incomplete.
// The data wait of the window must be that of the step itself ([trace.DataWaitConsuming]), its ranks do
// the same work, and the options must fit it. before is the end of the window before; nil: there is none.
// A window without a whole step is accounted for as by [Analyze].
//
// O(T·S·R) time in one pass, O(S·R) memory.
func Brief(w *trace.Window, before *Border, at SyncPoint, o Options) *Analysis {
	b := &brief{w: w, at: at.At}
	if before.continues(w) {
		b.before = &before.last
	}
	if b.lay(); b.steps == 0 {
		if whole, err := Analyze(w, o); err == nil {
			return whole
		}
	}
	r := &Result{Run: w.Run, Window: w.Index, FirstStep: w.FirstStep + int64(b.from), Steps: b.steps, WorldSize: w.WorldSize,
		Members: w.Ranks, Cut: CutSync, CutReason: CutAtSyncPoint, SyncPoint: at, Quality: qualityOf(w)}
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
	b.device(r)
	b.decide(r, o)
	return &Analysis{Main: r}
}

// brief is a window while it is accounted for. Its steps begin after stage at: the stages behind that
// are those of the step before, what no stage covers the last of them.
type brief struct {
	w      *trace.Window
	before *trace.Window // its last steps; nil: the window follows none
	at     int

	layout
	tails       int // how many rows are of the step before
	from, steps int // of the window
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

// step is the recorded step t, [stage][rank], and its wall times; −1 is the last before the window.
func (b *brief) step(t int) (durations, wall []int64) {
	w := b.w
	if t < 0 {
		w = b.before
		t = w.Steps() - 1
	}
	if w.Wall != nil {
		wall = w.WallOf(t)
	}
	return w.Step(t), wall
}

// closing is how well the stages cover the wall times of the ranks: what they leave, and by how much they
// exceed them.
type closing struct{ wall, residual, overlap []int64 }

func newClosing(ranks int) closing {
	all := make([]int64, 3*ranks)
	return closing{all[:ranks], all[ranks : 2*ranks], all[2*ranks:]}
}

// rest writes what is left of the wall times of a step beyond what all its stages take, heads and tails.
func (c *closing) rest(dst, wall, heads, tails []int64) {
	wall, heads, tails = wall[:len(dst)], heads[:len(dst)], tails[:len(dst)]
	for r := range dst {
		x := wall[r] - heads[r] - tails[r]
		left := max(0, x)
		dst[r] = left
		c.wall[r] += wall[r]
		c.residual[r] += left
		c.overlap[r] += left - x
	}
}

// advanced adds a row to the prefixes, and gives the latest of them.
func advanced(prefix, row []int64) int64 {
	latest, row := int64(minInt64), row[:len(prefix)]
	for r, d := range row {
		x := prefix[r] + d
		prefix[r] = x
		latest = max(latest, x)
	}
	return latest
}

// swept is what a sweep sums over the steps.
type swept struct {
	advance []int64 // [row]
	slip    float64
}

// sweep takes the frontier over the steps, a step at a time. The ranks wait in the last row of the cut, at
// which they arrive with the one before it.
func (b *brief) sweep(r *Result) {
	w, R, S := b.w, len(b.w.Ranks), len(b.stages)
	rows := make([]int64, 4*R)
	prefix, heads, rest, tails := rows[:R], rows[R:2*R], rows[2*R:3*R], rows[3*R:]
	sums, closes := swept{advance: make([]int64, S)}, newClosing(R)
	recorded := b.tails
	if w.Wall != nil && b.tails > 0 {
		recorded-- // the last of them is what no stage covers
	}
	// heads are what the first stages of the step behind the last one take, up to stage at.
	if b.tails > 0 {
		durations, _ := b.step(b.from)
		headsOf(heads, durations, b.at)
	}
	for step := range b.steps {
		reached := int64(0)
		clear(prefix)
		before, wall := b.step(step + b.from)
		for i := range recorded {
			reached = sums.add(i, advanced(prefix, before[b.stages[i]*R:][:R]), reached)
		}
		now := before
		if b.tails > 0 {
			if recorded < b.tails {
				closes.rest(rest, wall, heads, prefix)
				if step+b.from < 0 {
					closes = newClosing(R) // of another window
				}
				reached = sums.add(recorded, advanced(prefix, rest), reached)
			}
			now, _ = b.step(step + b.from + 1)
			copy(tails, prefix)
		}
		for i := b.tails; i < S; i++ {
			if i == S-1 {
				sums.slip += slipOf(prefix)
			}
			reached = sums.add(i, advanced(prefix, now[b.stages[i]*R:][:R]), reached)
		}
		for k := range heads {
			heads[k] = prefix[k] - tails[k]
		}
		r.Makespan += reached
	}
	if w.Wall != nil { // the last step, whose tails are of the next window
		clear(prefix)
		last, wall := b.step(w.Steps() - 1)
		for i := range recorded {
			addTo(prefix, last[b.stages[i]*R:][:R])
		}
		closes.rest(rest, wall, heads, prefix)
		r.Quality.close(closes.wall, closes.residual, closes.overlap)
	}
	b.fill(r, sums)
}

// headsOf are what the stages of a step up to one take together, [rank].
func headsOf(dst, durations []int64, at int) {
	clear(dst)
	for k := range at + 1 {
		addTo(dst, durations[k*len(dst):][:len(dst)])
	}
}

// add takes how far a row reaches, and from where, and gives that.
func (s *swept) add(row int, latest, reached int64) int64 {
	s.advance[row] += latest - reached
	return latest
}

// fill writes the sums into the stages of the result.
func (b *brief) fill(r *Result, s swept) {
	r.Stages = make([]Stage, len(b.groups))
	for g, name := range b.groups {
		r.Stages[g].Name = name
	}
	for i, a := range s.advance {
		r.Stages[b.group[i]].Advance += a
	}
	r.Stages[b.group[len(b.stages)-1]].Syncs = true
	r.slip = slices.Repeat([]float64{s.slip / float64(max(1, b.steps))}, len(b.groups))
}

func (b *brief) device(r *Result) { r.Device = deviceOf(b.w, b.layout, r.Steps, r.Makespan) }

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
