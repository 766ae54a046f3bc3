package stages

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/internal/natural"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/profile"
)

// Profiles are those that belong together: one for each rank, recorded at one
// time.
type Profiles struct {
	Ranks []*profile.Rank // by ID
	Notes []input.Note
}

// apartAfter is the pause after which recordings are of different times: ranks
// of one job are profiled together, give or take their clocks.
const apartAfter = 600_000_000_000

// Jobs sorts profiles, such as those of one folder, into jobs: by the size of
// the world that they tell, then by time. It settles which rank each is, by
// what the file tells, then by its name, then by order, and says so in notes;
// joins several recordings of one rank; and numbers steps alike where a rank
// counts from another number. The order of the profiles does not matter.
// O(n log n).
func Jobs(ranks []*profile.Rank) []Profiles {
	ranks = slices.Clone(ranks)
	slices.SortStableFunc(ranks, func(a, b *profile.Rank) int { return natural.Compare(a.Source, b.Source) })
	rebase(ranks)
	var out []Profiles
	for _, same := range groupByWorld(ranks) {
		for _, together := range groupByTime(same) {
			j := Profiles{Ranks: together}
			j.dropCopies()
			j.identify()
			j.renumber()
			j.joinClocks()
			j.settleRoles()
			out = append(out, j)
		}
	}
	return out
}

// rebase gives recordings that were cut before they told what their stamps
// count from the base that most others have.
func rebase(ranks []*profile.Rank) {
	count := make(map[int64]int)
	best := int64(0)
	for _, r := range ranks {
		if r.Base != 0 {
			count[r.Base]++
			if n := count[r.Base]; n > count[best] || n == count[best] && r.Base < best {
				best = r.Base
			}
		}
	}
	for _, r := range ranks {
		if best != 0 && r.Base == 0 && isTruncated(r) {
			r.Shift(best)
		}
	}
}

// groupByWorld groups profiles that give the same size of the world; those that
// give none belong to the only size that is given, if it is.
func groupByWorld(ranks []*profile.Rank) [][]*profile.Rank {
	var worlds []int
	for _, r := range ranks {
		if r.World > 0 && !slices.Contains(worlds, r.World) {
			worlds = append(worlds, r.World)
		}
	}
	slices.Sort(worlds)
	if len(worlds) < 2 {
		return [][]*profile.Rank{ranks}
	}
	groups := make([][]*profile.Rank, len(worlds)+1)
	for _, r := range ranks {
		at := len(worlds)
		if r.World > 0 {
			at, _ = slices.BinarySearch(worlds, r.World)
		}
		groups[at] = append(groups[at], r)
	}
	return slices.DeleteFunc(groups, func(g []*profile.Rank) bool { return len(g) == 0 })
}

// groupByTime groups profiles by when they were recorded.
func groupByTime(ranks []*profile.Rank) [][]*profile.Rank {
	sorted := slices.Clone(ranks)
	slices.SortStableFunc(sorted, func(a, b *profile.Rank) int { return cmp.Compare(startOf(a), startOf(b)) })
	var out [][]*profile.Rank
	last := int64(math.MinInt64)
	for _, r := range sorted {
		if out == nil || startOf(r) > last+apartAfter {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], r)
		last = max(last, endOf(r))
	}
	for _, g := range out {
		slices.SortStableFunc(g, func(a, b *profile.Rank) int { return natural.Compare(a.Source, b.Source) })
	}
	return out
}

func startOf(r *profile.Rank) int64 {
	if len(r.Steps) == 0 {
		return 0
	}
	return r.Steps[0].Start
}

func endOf(r *profile.Rank) int64 {
	if len(r.Steps) == 0 {
		return 0
	}
	return r.Steps[len(r.Steps)-1].End
}

func (j *Profiles) note(kind input.NoteKind, format string, args ...any) {
	j.Notes = append(j.Notes, input.Note{Kind: kind, Text: fmt.Sprintf(format, args...)})
}

// rankAssignments lists the first traces with the ranks that they count as.
func (j *Profiles) rankAssignments() string {
	const most = 8
	var list []string
	for i, r := range j.Ranks[:min(most, len(j.Ranks))] {
		list = append(list, fmt.Sprintf("%d: %s", i, path.Base(r.Source)))
	}
	if len(j.Ranks) > most {
		list = append(list, "…")
	}
	return strings.Join(list, ", ")
}

// identify gives every profile a rank of its own.
func (j *Profiles) identify() {
	told := make([]int, len(j.Ranks))
	named := make([]int, len(j.Ranks))
	for i, r := range j.Ranks {
		told[i], named[i] = r.ID, rankInName(r.Source)
		if r.World > 0 && named[i] >= r.World { // a process, or a date
			named[i] = -1
		}
	}
	switch {
	case complete(told) && distinctInts(told):
	case complete(named) && distinctInts(named):
		if complete(told) {
			j.note(input.NoteRecorder, "%d traces say that they are %s: ranks are taken from the names of the files", len(told), trace.Ranks(unique(told)))
		} else {
			j.note(input.NoteRecorder, "ranks are taken from the names of the files: not all traces tell theirs")
		}
		j.assign(named)
	case complete(told) && j.join():
	case !complete(told) && complete(named) && j.isSequence(named):
		j.note(input.NoteRecorder, "ranks are taken from the names of the files: not all traces tell theirs")
		j.assign(named)
		if !j.join() {
			j.keepLongest()
		}
	case len(j.Ranks) > 1 && complete(told) && len(unique(told)) == 1 && slices.ContainsFunc(j.Ranks, func(r *profile.Rank) bool { return r.World > len(j.Ranks) }):
		j.keepLongest() // as many traces as ranks may all say 0 by mistake; fewer are of one rank
	case len(j.Ranks) > 1 && (!complete(told) || len(unique(told)) == 1):
		for i := range j.Ranks {
			told[i] = i
		}
		j.note(input.NoteRanksNumbered, "neither the traces nor their names tell which rank each is: they are numbered from 0 in order of their names (%s)", j.rankAssignments())
		j.assign(told)
	case complete(told):
		j.keepLongest()
	default: // one that tells nothing
		if named[0] >= 0 {
			j.note(input.NoteRecorder, "the rank is taken from the name of the file")
			j.assign(named)
		} else {
			j.note(input.NoteRecorder, "the trace does not tell its rank: it counts as rank 0")
			j.assign([]int{0})
		}
	}
	slices.SortStableFunc(j.Ranks, func(a, b *profile.Rank) int { return a.ID - b.ID })
	j.tellBeyond()
}

// dropCopies keeps one of the recordings that are the same, whatever their files are called, unless names tell different ranks.
func (j *Profiles) dropCopies() {
	type key struct {
		rank, steps int
		start, end  int64
	}
	seen := make(map[key][]*profile.Rank)
	var left []string
	j.Ranks = slices.DeleteFunc(slices.Clone(j.Ranks), func(r *profile.Rank) bool {
		k := key{r.ID, len(r.Steps), startOf(r), endOf(r)}
		i := slices.IndexFunc(seen[k], func(o *profile.Rank) bool {
			a, b := rankInName(r.Source), rankInName(o.Source)
			return r.CopyOf(o) && (a == b || a < 0 || b < 0)
		})
		if i >= 0 {
			left = append(left, fmt.Sprintf("%s of %s", baseName(r.Source), baseName(seen[k][i].Source)))
			return true
		}
		seen[k] = append(seen[k], r)
		return false
	})
	if len(left) > 0 {
		j.note(input.NoteStepsRepeated, "copies of a recording are left out, so that one rank does not count twice: %s", firstOf(left))
	}
}

// firstOf lists the first of some texts, with how many more there are.
func firstOf(texts []string) string {
	more := ""
	if n := len(texts) - listedFiles; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(texts[:min(listedFiles, len(texts))], ", ") + more
}

// isSequence reports whether recordings of the same rank were made at different times: a profiler writes
// a file for each capture of a worker, and two workers of one name run side by side.
func (j *Profiles) isSequence(ids []int) bool {
	last := make(map[int]int64)
	order := make([]int, len(j.Ranks))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(startOf(j.Ranks[a]), startOf(j.Ranks[b])) })
	for _, i := range order {
		if end, ok := last[ids[i]]; ok && startOf(j.Ranks[i]) < end {
			return false
		}
		last[ids[i]] = endOf(j.Ranks[i])
	}
	return true
}

// tellBeyond notes ranks that the world they tell has not.
func (j *Profiles) tellBeyond() {
	var beyond []int
	world := 0
	for _, r := range j.Ranks {
		if world = max(world, r.World); r.World > 0 && r.ID >= r.World {
			beyond = append(beyond, r.ID)
		}
	}
	if len(beyond) > 0 {
		j.note(input.NoteRecorder, "a world of %d ranks, told by the traces, has no %s: the larger number counts; are all files of one job?", world, trace.Ranks(beyond))
	}
}

func (j *Profiles) assign(ids []int) {
	for i, r := range j.Ranks {
		r.ID = ids[i]
	}
}

func complete(ids []int) bool { return !slices.Contains(ids, -1) }

func distinctInts(ids []int) bool { return len(unique(ids)) == len(ids) }

func unique(ids []int) []int { return slices.Compact(slices.Sorted(slices.Values(ids))) }

// renumber lets all ranks count steps alike: one that recorded as many steps
// at the same times, under numbers that are all one off, counts from another.
func (j *Profiles) renumber() {
	if len(j.Ranks) < 2 {
		return
	}
	count := make(map[int64]int)
	for _, r := range j.Ranks {
		if len(r.Steps) > 0 {
			count[r.Steps[0].Index]++
		}
	}
	reference := j.Ranks[0]
	for _, r := range j.Ranks {
		if len(r.Steps) > 0 && len(reference.Steps) > 0 && count[r.Steps[0].Index] > count[reference.Steps[0].Index] {
			reference = r
		}
	}
	var off []int
	for _, r := range j.Ranks {
		by := stepOffset(reference, r)
		if by == 0 {
			continue
		}
		off = append(off, r.ID)
		r.Renumber(by)
	}
	if len(off) > 0 {
		j.note(input.NoteRecorder, "steps that were numbered one off the others', which were recorded at the same times, are numbered alike: those of %s", trace.Ranks(off))
	}
}

// stepOffset returns the number to add to o's steps, 0 where they agree or differ in another way.
func stepOffset(r, o *profile.Rank) int64 {
	if len(r.Steps) != len(o.Steps) || len(r.Steps) == 0 {
		return 0
	}
	by := r.Steps[0].Index - o.Steps[0].Index
	if by != 1 && by != -1 {
		return 0
	}
	for i := range r.Steps {
		a, b := &r.Steps[i], &o.Steps[i]
		apart := a.Start - b.Start
		if a.Index-b.Index != by || 2*max(apart, -apart) > a.End-a.Start {
			return 0
		}
	}
	return by
}

// settleRoles drops the roles of a job unless all its ranks have coordinates
// along the same axes and no two the same: half of a layout misleads.
func (j *Profiles) settleRoles() {
	seen := make(map[string]bool)
	good := true
	for _, r := range j.Ranks {
		good = good && r.Role != nil && axesOf(r.Role) == axesOf(j.Ranks[0].Role) && !seen[r.Role.String()]
		seen[r.Role.String()] = true
	}
	if good {
		return
	}
	for _, r := range j.Ranks {
		r.Role = nil
	}
}

func axesOf(role trace.Role) string {
	var axes []string
	for _, c := range role {
		axes = append(axes, c.Axis)
	}
	return strings.Join(axes, ",")
}
