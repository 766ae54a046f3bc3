package stages

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/engine/clock"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/profile"
)

// A clock that is set while a rank records (NTP, a virtual machine that moved)
// makes one step look as long as it was set by, and puts all that follows at
// other times than its peers have. It is told from a rank that stood still by
// collectives, which end on all members at once: their ends differ by much the
// same before, and by much the same and something else after.

// leastSet is how much, in ns, the steps of two ranks must move against each other
// for collectives to be looked at.
const leastSet = 10_000_000

// setting is a clock that was set.
type setting struct {
	by     int64
	before int64 // number of the last step that has a collective before it
	after  int64 // of the first that has one after; the same: it was set between two of them
}

// joinClocks brings the times after a clock was set to those before, and marks
// the steps that are not to be believed. O(n log n) in the collectives, of jobs
// whose steps say that there is something to be looked for.
func (j *Profiles) joinClocks() {
	if !slices.ContainsFunc(j.Ranks, func(r *profile.Rank) bool { return r != j.Ranks[0] && strays(r, j.Ranks[0]) }) {
		return
	}
	m := match(j.Ranks)
	settings := make([]setting, len(j.Ranks))
	set := 0
	for i := 1; i < len(j.Ranks); i++ {
		if s, ok := m.settingOf(j.Ranks, i); ok {
			settings[i] = s
			set++
		}
	}
	if set > 1 && set == len(j.Ranks)-1 { // it was the first rank's
		first := settings[1]
		first.by = -first.by
		clear(settings)
		settings[0] = first
	}
	for i, s := range settings {
		if s.by != 0 {
			s.undo(j.Ranks[i])
			j.note(input.NoteRecorder, "the clock of rank %d was set by about %.3f s while it recorded: its times were brought together by the ends of collectives",
				j.Ranks[i].ID, float64(s.by)/1e9)
		}
	}
}

// strays reports whether the steps of a rank begin, against those of another,
// elsewhere by leastSet from one step to the next.
func strays(r, other *profile.Rank) bool {
	starts := make(map[int64]int64, len(other.Steps))
	for i := range other.Steps {
		starts[other.Steps[i].Index] = other.Steps[i].Start
	}
	last, any := int64(0), false
	for i := range r.Steps {
		start, ok := starts[r.Steps[i].Index]
		if !ok {
			continue
		}
		apart := r.Steps[i].Start - start
		if any && (apart-last > leastSet || last-apart > leastSet) {
			return true
		}
		last, any = apart, true
	}
	return false
}

// settingOf finds where the clock of a rank was set, by the ends of the
// collectives that it shares with the first rank.
func (m *matching) settingOf(ranks []*profile.Rank, rank int) (s setting, ok bool) {
	type end struct {
		clock.Point
		step int64
	}
	var ends []end
	for i, set := range m.of[rank] {
		if set < 0 || !m.collective(set) {
			continue
		}
		first, shared := slices.BinarySearchFunc(m.sets[set], 0, func(x member, rank int) int { return int(x.Process) - rank })
		if step := ranks[rank].Comm.Calls[i].Step; shared && step >= 0 {
			_, at := ran(ranks, m.sets[set][first])
			_, own := ran(ranks, member{Process: int32(rank), Call: int32(i)})
			ends = append(ends, end{clock.Point{At: at, Ahead: own - at}, step})
		}
	}
	slices.SortFunc(ends, func(a, b end) int { return cmp.Compare(a.At, b.At) })
	points := make([]clock.Point, len(ends))
	for i := range ends {
		points[i] = ends[i].Point
	}
	at, by, ok := clock.Jump(points)
	if !ok {
		return setting{}, false
	}
	return setting{by, ends[at-1].step, ends[at].step}, true
}

// undo takes back what a clock was set by.
func (s setting) undo(r *profile.Rank) {
	later := make([]bool, len(r.Steps)) // than when it was set
	for i := range r.Steps {
		index := r.Steps[i].Index
		later[i] = index > s.before
		r.Steps[i].Set = index >= s.before && index <= s.after
	}
	for i := 1; i < len(r.Steps); i++ { // accounts of steps end where the next begins
		if later[i] != later[i-1] {
			r.Steps[i-1].Set, r.Steps[i].Set = true, true
		}
	}
	for i := range r.Steps {
		if later[i] {
			r.Steps[i].Shift(-s.by)
		}
	}
	r.ShiftCalls(-s.by, func(step int64) bool { return step > s.before })
	for i := range r.Ops {
		if o := &r.Ops[i]; later[o.Step] {
			o.Start, o.End = o.Start-s.by, o.End-s.by
		}
	}
	r.SortSteps()
}
