package detectability

import (
	"fmt"
	"math"
	"slices"

	"github.com/montanaflynn/stats"

	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/stagename"
)

// leastRounds is the smallest recording that is resampled: fewer rounds repeat
// each other too often to stand for other windows of the job.
const leastRounds = 20

// job is what a fault-free recording says about a job: in rounds from one
// synchronisation point of all ranks to the next, what every rank does without waiting. A
// round is the rows after the synchronisation point, of one step, and those up to it, of the
// next.
type job struct {
	like   trace.Window // the first window, for everything but times
	rows   []row        // in recorded order; the residual last, where wall time was recorded
	stages []string     // grouped, in recorded order
	at     int          // row at whose end a round ends
	wall   bool
	own    []int64 // [round][row][rank] ns; may be negative by what clocks and timers are off
	// When each rank leaves the synchronisation point at which a round begins and that at which
	// it ends, after the first rank that does: [round][rank] ns.
	start, exit []int64
}

// row is a recorded stage, or the residual.
type row struct {
	stage int  // in job.stages, −1 of the residual
	syncs bool // all ranks wait for the last one in it
}

func (j *job) ranks() int  { return len(j.like.Ranks) }
func (j *job) rounds() int { return len(j.own) / (len(j.rows) * j.ranks()) }

// round is [row][rank] of a round, aliasing the job.
func (j *job) round(k int) []int64 {
	n := len(j.rows) * j.ranks()
	return j.own[k*n : (k+1)*n]
}

// order is the rows of a round as they follow each other.
func (j *job) order() []int {
	var out []int
	for i := range j.rows {
		out = append(out, (j.at+1+i)%len(j.rows))
	}
	return out
}

// newJob splits a recording, windows of one run in order. Where the ranks synchronise
// is what the frontier finds in the longest of them.
func newJob(windows []*trace.Window, o frontier.Options) (*job, error) {
	if len(windows) == 0 {
		return nil, input.Bad(input.ErrEmpty, "no window to take the job from")
	}
	longest := windows[0]
	for _, w := range windows {
		if !alike(w, longest) {
			return nil, input.Bad(input.ErrFormat, "window %d of run %q is of another job than window %d of run %q: its stages, ranks or wall times differ",
				w.Index, w.Run, windows[0].Index, windows[0].Run)
		}
		if w.Steps() > longest.Steps() {
			longest = w
		}
	}
	if len(longest.Ranks) < 2 {
		return nil, input.Bad(input.ErrMissing, "one rank is recorded: nobody waits for it, so it cannot be found late; record the others too")
	}
	j := &job{like: *windows[0], wall: longest.Wall != nil}
	names, group := longest.Schema.Groups()
	j.stages = names
	for _, g := range group {
		j.rows = append(j.rows, row{stage: g})
	}
	if j.wall {
		j.rows = append(j.rows, row{stage: -1})
	}
	if err := j.findSyncPoints(longest, o); err != nil {
		return nil, err
	}
	for _, w := range windows {
		j.split(w)
	}
	if n := j.rounds(); n < leastRounds {
		return nil, input.Bad(input.ErrMissing, "%d whole steps are recorded, expected at least %d: record a longer window", n, leastRounds)
	}
	return j, nil
}

// alike reports whether a column of one window is the same rank, in the same
// stages, as that of another.
func alike(a, b *trace.Window) bool {
	sameRank := func(x, y trace.Rank) bool { return x.ID == y.ID }
	return a.Schema.Equal(b.Schema) && slices.EqualFunc(a.Ranks, b.Ranks, sameRank) && a.WorldSize == b.WorldSize && (a.Wall == nil) == (b.Wall == nil)
}

// findSyncPoints notes the rows in which all ranks synchronise.
func (j *job) findSyncPoints(w *trace.Window, o frontier.Options) error {
	a, err := frontier.Analyze(w, o)
	if err != nil {
		return err
	}
	m := a.Main.SyncPoint
	rowOf := func(name string) int {
		if i := slices.Index(w.Schema.Stages, name); i >= 0 || name != stagename.Residual {
			return i
		}
		return len(j.rows) - 1
	}
	for _, b := range m.Boundaries {
		if b.Within != "" {
			return fmt.Errorf("in %s ranks synchronise in sets along %s only: delays that stay within a set are not simulated", b.Name, b.Within)
		}
		if b.Syncs {
			j.rows[rowOf(b.Name)].syncs = true
		}
	}
	if m.At < 0 {
		return fmt.Errorf("no stage is found in which all ranks synchronise, so what a delay makes others wait is unknown; name one with --meet-after")
	}
	j.at = rowOf(m.Name)
	j.rows[j.at].syncs = true
	return nil
}

// split appends the rounds of a window. Where ranks synchronise, a rank's own time is
// what is left of the stage when the last rank has come: it leaves the others
// waiting no more.
func (j *job) split(w *trace.Window) {
	R := j.ranks()
	exits := j.exits(w)
	order := j.order()
	x := make([]int64, R)
	for t := 1; t < w.Steps(); t++ {
		own := make([]int64, len(j.rows)*R)
		copy(x, exits[t-1])
		for _, i := range order {
			step := t
			if i > j.at {
				step--
			}
			last := slices.Max(x)
			for r := range R {
				d := j.duration(w, step, i, r)
				own[i*R+r] = d
				if j.rows[i].syncs {
					own[i*R+r] = d - (last - x[r])
				}
				x[r] += d
			}
		}
		j.own = append(j.own, own...)
		j.start = append(j.start, exits[t-1]...)
		j.exit = append(j.exit, exits[t]...)
	}
}

// exits is how long after the first rank each rank leaves the synchronisation point of every
// step, [step][rank] ns. Where a rank has got by its own clock, since the window
// began, differs from the others by what it leaves later, by when it started,
// and by its clock's rate; the last two are a line over the steps, taken off
// rank by rank. O(T·S·R).
func (j *job) exits(w *trace.Window) [][]int64 {
	R, T := j.ranks(), w.Steps()
	late := make([]stats.Series, R) // [rank][step] behind the mean rank
	x := make([]int64, R)
	for t := range T {
		for i := range j.rows {
			for r := range R {
				x[r] += j.duration(w, t, i, r)
			}
			if i != j.at {
				continue
			}
			mean := 0.0
			for _, y := range x {
				mean += float64(y-x[0]) / float64(R)
			}
			for r, y := range x {
				late[r] = append(late[r], stats.Coordinate{X: float64(t), Y: float64(y-x[0]) - mean})
			}
		}
	}
	for r := range late {
		line, _ := stats.LinearRegression(late[r]) // none for a single step
		for t := range line {
			late[r][t].Y -= line[t].Y
		}
	}
	out := make([][]int64, T)
	for t := range out {
		out[t] = make([]int64, R)
		for r := range R {
			out[t][r] = int64(math.Round(late[r][t].Y))
		}
		first := slices.Min(out[t])
		for r := range R {
			out[t][r] -= first
		}
	}
	return out
}

// duration is a recorded time; the residual's may be negative where stages
// overlap.
func (j *job) duration(w *trace.Window, t, i, r int) int64 {
	R, stages := j.ranks(), len(w.Schema.Stages)
	if i < stages {
		return w.Step(t)[i*R+r]
	}
	left := w.WallOf(t)[r]
	for s := range stages {
		left -= w.Step(t)[s*R+r]
	}
	return left
}

// of is the part of a slice [round][rank] that belongs to a round.
func (j *job) of(all []int64, k int) []int64 { return all[k*j.ranks() : (k+1)*j.ranks()] }

// longest bounds what all ranks spend in one round with a delay, in ns.
func (j *job) longest(delay int64) float64 {
	most := 0.0
	for k := range j.rounds() {
		sum := 0.0
		for _, x := range j.round(k) {
			sum += math.Abs(float64(x))
		}
		most = max(most, sum)
	}
	// Everybody may wait for the delayed rank, and for one that was late.
	R := float64(j.ranks())
	return R * (most + float64(len(j.rows))*float64(delay))
}

// stepTime is the median over rounds of the time that the last rank takes, in
// ns.
func (j *job) stepTime() int64 {
	var all []int64
	x, times := make([]int64, j.ranks()), make([]int64, len(j.rows)*j.ranks())
	for k := range j.rounds() {
		copy(x, j.of(j.start, k))
		j.run(j.round(k), delay{}, x, times)
		all = append(all, slices.Max(x))
	}
	return robust.Upper(all)
}
