package stages

import (
	"cmp"
	"math"
	"slices"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/profile"
)

// A clock that is set while a rank records (NTP, a virtual machine that moved)
// makes one step look as long as it was set by, and puts all that follows at
// other times than its peers have. It is told from a rank that stood still by
// collectives, which end on all members at once: their ends differ by much the
// same before, and by much the same and something else after.

// leastSet is how much, in ns, is called a clock that was set, and clearlySet
// by how much it must exceed any other change from one collective to the next.
const (
	leastSet   = 10_000_000
	clearlySet = 20
)

// encounter is a collective of a rank and one other.
type encounter struct {
	common int64 // when it ended, on the other's clock
	apart  int64 // how much later on the rank's own
	step   int   // position in Rank.Steps
}

// setting is a clock that was set.
type setting struct {
	by     int64
	before int64 // number of the last step that has a collective before it
	after  int64 // of the first that has one after; the same: it was set between two of them
}

// mendClocks brings the times after a clock was set to those before, and marks
// the steps that are not to be believed. O(n log n) in the collectives, of jobs
// whose steps say that there is something to be looked for.
func (j *Job) mendClocks() {
	if !slices.ContainsFunc(j.Ranks, func(r *profile.Rank) bool { return r != j.Ranks[0] && strays(r, j.Ranks[0]) }) {
		return
	}
	m := match(j.Ranks)
	settings := make([]setting, len(j.Ranks))
	set := 0
	for i := 1; i < len(j.Ranks); i++ {
		if s, ok := settingOf(encounters(j.Ranks, m, pair{i, 0}), j.Ranks[i].Steps); ok {
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
			j.note(trace.NoteRecorder, "the clock of rank %d was set by about %.3f s while it recorded: its times were brought together by the ends of collectives",
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

// encounters are the collectives of two ranks, by time.
func encounters(ranks []*profile.Rank, m *matching, p pair) []encounter {
	var out []encounter
	for i, set := range m.of[p.rank] {
		if set < 0 || !m.collective(set) {
			continue
		}
		at, ok := slices.BinarySearchFunc(m.sets[set], p.reference, func(x member, rank int) int { return x.rank - rank })
		if own := &ranks[p.rank].Collectives[i]; ok && own.Step >= 0 {
			common := ranks[p.reference].Collectives[m.sets[set][at].collective].End
			out = append(out, encounter{common, own.End - common, own.Step})
		}
	}
	slices.SortFunc(out, func(a, b encounter) int { return cmp.Compare(a.common, b.common) })
	return out
}

// settingOf finds where a clock was set: the largest change of all between two
// collectives, with two or more on either side.
func settingOf(all []encounter, steps []profile.Step) (s setting, ok bool) {
	largest, second, at := int64(0), int64(0), 0
	for i := 1; i < len(all); i++ {
		change := all[i].apart - all[i-1].apart
		if change = max(change, -change); change > largest {
			largest, second, at = change, largest, i
		} else {
			second = max(second, change)
		}
	}
	if largest < leastSet || largest/clearlySet < second || largest > math.MaxInt64/4 || at < 2 || at > len(all)-2 {
		return setting{}, false
	}
	return setting{all[at].apart - all[at-1].apart, steps[all[at-1].step].Index, steps[all[at].step].Index}, true
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
	for i := range r.Collectives {
		if c := &r.Collectives[i]; c.Step >= 0 && later[c.Step] {
			c.Shift(-s.by)
		}
	}
	for i := range r.Ops {
		if o := &r.Ops[i]; later[o.Step] {
			o.Start, o.End = o.Start-s.by, o.End-s.by
		}
	}
	r.SortSteps()
}
