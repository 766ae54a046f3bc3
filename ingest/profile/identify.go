package profile

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/trace"
)

// Job is the profiles that belong together: one for each rank, recorded at one
// time.
type Job struct {
	Ranks []*Rank // by ID
	Notes []trace.Note
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
func Jobs(ranks []*Rank) []Job {
	ranks = slices.Clone(ranks)
	slices.SortStableFunc(ranks, func(a, b *Rank) int { return naturally(a.Source, b.Source) })
	rebase(ranks)
	var out []Job
	for _, same := range byWorld(ranks) {
		for _, together := range byTime(same) {
			j := Job{Ranks: together}
			j.identify()
			j.renumber()
			j.settleRoles()
			out = append(out, j)
		}
	}
	return out
}

// rebase gives recordings that were cut before they told what their stamps
// count from the base that most others have.
func rebase(ranks []*Rank) {
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
		if best != 0 && r.Base == 0 && truncated(r) {
			r.Shift(best)
		}
	}
}

// byWorld groups profiles that tell the same size of the world; those that
// tell none belong to the only size that is told, if it is.
func byWorld(ranks []*Rank) [][]*Rank {
	var worlds []int
	for _, r := range ranks {
		if r.World > 0 && !slices.Contains(worlds, r.World) {
			worlds = append(worlds, r.World)
		}
	}
	slices.Sort(worlds)
	if len(worlds) < 2 {
		return [][]*Rank{ranks}
	}
	groups := make([][]*Rank, len(worlds)+1)
	for _, r := range ranks {
		at := len(worlds)
		if r.World > 0 {
			at, _ = slices.BinarySearch(worlds, r.World)
		}
		groups[at] = append(groups[at], r)
	}
	return slices.DeleteFunc(groups, func(g []*Rank) bool { return len(g) == 0 })
}

// byTime groups profiles by when they were recorded.
func byTime(ranks []*Rank) [][]*Rank {
	sorted := slices.Clone(ranks)
	slices.SortStableFunc(sorted, func(a, b *Rank) int { return cmp.Compare(a.first(), b.first()) })
	var out [][]*Rank
	last := int64(0)
	for i, r := range sorted {
		if i == 0 || r.first() > last+apartAfter {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], r)
		last = max(last, r.last())
	}
	for _, g := range out {
		slices.SortStableFunc(g, func(a, b *Rank) int { return naturally(a.Source, b.Source) })
	}
	return out
}

func (r *Rank) first() int64 {
	if len(r.Steps) == 0 {
		return 0
	}
	return r.Steps[0].Start
}

func (r *Rank) last() int64 {
	if len(r.Steps) == 0 {
		return 0
	}
	return r.Steps[len(r.Steps)-1].End
}

func (j *Job) note(kind trace.NoteKind, format string, args ...any) {
	j.Notes = append(j.Notes, trace.Note{Kind: kind, Text: fmt.Sprintf(format, args...)})
}

// identify gives every profile a rank of its own.
func (j *Job) identify() {
	told := make([]int, len(j.Ranks))
	named := make([]int, len(j.Ranks))
	for i, r := range j.Ranks {
		told[i], named[i] = r.ID, rankInName(r.Source)
	}
	switch {
	case complete(told) && distinctInts(told):
	case complete(named) && distinctInts(named):
		if complete(told) {
			j.note(trace.NoteRecorder, "%d traces say that they are rank %s: ranks are taken from the names of the files", len(told), trace.RankList(unique(told)))
		} else {
			j.note(trace.NoteRecorder, "ranks are taken from the names of the files: not all traces tell theirs")
		}
		j.assign(named)
	case complete(told) && j.join():
	case len(j.Ranks) > 1 && (!complete(told) || len(unique(told)) == 1):
		j.note(trace.NoteRecorder, "neither the traces nor their names tell which rank each is: they are numbered from 0 in order of their names")
		for i := range j.Ranks {
			told[i] = i
		}
		j.assign(told)
	case complete(told):
		j.keepLongest()
	default: // one that tells nothing
		if named[0] >= 0 {
			j.note(trace.NoteRecorder, "the rank is taken from the name of the file")
			j.assign(named)
		} else {
			j.note(trace.NoteRecorder, "the trace does not tell its rank: it counts as rank 0")
			j.assign([]int{0})
		}
	}
	slices.SortStableFunc(j.Ranks, func(a, b *Rank) int { return a.ID - b.ID })
}

func (j *Job) assign(ids []int) {
	for i, r := range j.Ranks {
		r.ID = ids[i]
	}
}

func complete(ids []int) bool { return !slices.Contains(ids, -1) }

func distinctInts(ids []int) bool { return len(unique(ids)) == len(ids) }

func unique(ids []int) []int { return slices.Compact(slices.Sorted(slices.Values(ids))) }

// join puts recordings of one rank together that have no step in common. It
// reports whether that left one profile for each rank.
func (j *Job) join() bool {
	first := make(map[int]*Rank)
	steps := make(map[[2]int64]bool)
	var several []int
	for _, r := range j.Ranks {
		for i := range r.Steps {
			k := [2]int64{int64(r.ID), r.Steps[i].Index}
			if steps[k] {
				return false
			}
			steps[k] = true
		}
		if first[r.ID] != nil {
			several = append(several, r.ID)
		}
		first[r.ID] = r
	}
	clear(first)
	var kept []*Rank
	for _, r := range j.Ranks {
		if have := first[r.ID]; have != nil {
			have.append(r)
			continue
		}
		first[r.ID] = r
		kept = append(kept, r)
	}
	j.Ranks = kept
	j.note(trace.NoteRecorder, "several recordings of rank %s are joined by their steps", trace.RankList(unique(several)))
	return true
}

// keepLongest keeps of the recordings of each rank the one with most steps.
func (j *Job) keepLongest() {
	best := make(map[int]*Rank)
	for _, r := range j.Ranks {
		if have := best[r.ID]; have == nil || len(r.Steps) > len(have.Steps) {
			best[r.ID] = r
		}
	}
	var left []string
	j.Ranks = slices.DeleteFunc(j.Ranks, func(r *Rank) bool {
		if best[r.ID] != r {
			left = append(left, filepath.Base(r.Source))
		}
		return best[r.ID] != r
	})
	j.note(trace.NoteRecorder, "%d traces are of a rank and steps that another one has: left out %s", len(left), strings.Join(left[:min(4, len(left))], ", "))
}

// append adds a later or earlier recording of the same rank.
func (r *Rank) append(o *Rank) {
	steps, collectives, names := len(r.Steps), len(r.Collectives), int32(len(r.Names))
	r.Steps = append(r.Steps, o.Steps...)
	for _, c := range o.Collectives {
		if c.Step >= 0 {
			c.Step += steps
		}
		r.Collectives = append(r.Collectives, c)
	}
	for i := range o.Steps {
		if d := o.Steps[i].Device; d != nil {
			for k := range d.Exposed {
				if d.Exposed[k].Collective >= 0 {
					d.Exposed[k].Collective += collectives
				}
			}
		}
	}
	r.Names = append(r.Names, o.Names...)
	for _, op := range o.Ops {
		op.Step += int32(steps)
		op.Name += names
		if op.Collective >= 0 {
			op.Collective += int32(collectives)
		}
		r.Ops = append(r.Ops, op)
	}
	r.OpsLost = r.OpsLost || o.OpsLost
	r.Streams = max(r.Streams, o.Streams)
	r.Notes = append(r.Notes, o.Notes...)
	r.sortSteps()
}

// sortSteps puts the steps in order of time again.
func (r *Rank) sortSteps() {
	order := make([]int, len(r.Steps))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(r.Steps[a].Start, r.Steps[b].Start) })
	sorted := make([]Step, len(order))
	place := make([]int, len(order))
	for i, from := range order {
		sorted[i], place[from] = r.Steps[from], i
	}
	r.Steps = sorted
	for i := range r.Collectives {
		if c := &r.Collectives[i]; c.Step >= 0 {
			c.Step = place[c.Step]
		}
	}
	for i := range r.Ops {
		r.Ops[i].Step = int32(place[r.Ops[i].Step])
	}
}

// renumber lets all ranks count steps alike: one that recorded as many steps
// at the same times, under numbers that are all one off, counts from another.
func (j *Job) renumber() {
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
		by := reference.oneOff(r)
		if by == 0 {
			continue
		}
		off = append(off, r.ID)
		for i := range r.Steps {
			r.Steps[i].Index += by
		}
	}
	if len(off) > 0 {
		j.note(trace.NoteRecorder, "ranks %s number their steps one off the others, which recorded at the same times: they are numbered alike", trace.RankList(off))
	}
}

// oneOff is what must be added to the numbers of o's steps, 0 where they agree
// or differ in another way.
func (r *Rank) oneOff(o *Rank) int64 {
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

// rankPatterns are the ways in which names of files tell a rank, the surest
// first. Processes and times are longer numbers.
var rankPatterns = []*regexp.Regexp{
	regexp.MustCompile(`(?i)(?:^|[^a-z])rank[-_. ]?(\d{1,6})(?:\D|$)`),
	regexp.MustCompile(`(?i)(?:^|[^a-z])(?:worker|trainer|proc|process|gpu)[-_. ]?(\d{1,6})(?:\D|$)`),
	regexp.MustCompile(`(?:^|[-_.])r(\d{1,6})(?:[-_.]|$)`),
	regexp.MustCompile(`(?:^|\.)(\d{1,5})\.pt\.trace`),
	regexp.MustCompile(`^(\d{1,5})\.`),
}

// rankInName is the rank that the name of a file tells, −1: none.
func rankInName(path string) int {
	name := filepath.Base(path)
	for _, p := range rankPatterns {
		if m := p.FindStringSubmatch(name); m != nil {
			n, err := strconv.Atoi(m[1])
			if err == nil && n < trace.MaxRanks {
				return n
			}
		}
	}
	return -1
}

// naturally orders names as people do: numbers in them count as numbers, so
// that host_9 comes before host_10.
func naturally(a, b string) int {
	for a != "" && b != "" {
		na, nb := leadingDigits(a), leadingDigits(b)
		if na > 0 && nb > 0 {
			x, y := strings.TrimLeft(a[:na], "0"), strings.TrimLeft(b[:nb], "0")
			if c := cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y)); c != 0 {
				return c
			}
			a, b = a[na:], b[nb:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

func leadingDigits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}
