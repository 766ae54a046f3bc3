package profile

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/trace"
)

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
	j.note(trace.NoteRecorder, "several recordings of %s are joined by their steps", trace.Ranks(unique(several)))
	return true
}

// listedFiles is how many names of files a note gives.
const listedFiles = 4

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
	more := ""
	if n := len(left) - listedFiles; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	j.note(trace.NoteRecorder, "left out, since another trace has their rank and steps: %s%s", strings.Join(left[:min(listedFiles, len(left))], ", "), more)
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
			d.Exposed.collectives += collectives
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
	for _, t := range o.Tallies {
		t.Step += int32(steps)
		t.Name += names
		r.Tallies = append(r.Tallies, t)
	}
	r.OpsLost, r.TalliesLost = r.OpsLost || o.OpsLost, r.TalliesLost || o.TalliesLost
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
	for i := range r.Tallies {
		r.Tallies[i].Step = int32(place[r.Tallies[i].Step])
	}
}
