package stages

import (
	"slices"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/profile"
)

// join puts recordings of one rank together that have no step in common. It
// reports whether that left one profile for each rank.
func (j *Profiles) join() bool {
	first := make(map[int]*profile.Rank)
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
	var kept []*profile.Rank
	for _, r := range j.Ranks {
		if have := first[r.ID]; have != nil {
			have.Append(r)
			continue
		}
		first[r.ID] = r
		kept = append(kept, r)
	}
	j.Ranks = kept
	j.note(input.NoteRecorder, "several recordings of %s are joined by their steps", trace.Ranks(unique(several)))
	return true
}

// listedFiles is how many names of files a note gives.
const listedFiles = 4

// keepLongest keeps of the recordings of each rank the one with most steps.
func (j *Profiles) keepLongest() {
	best := make(map[int]*profile.Rank)
	for _, r := range j.Ranks {
		if have := best[r.ID]; have == nil || len(r.Steps) > len(have.Steps) {
			best[r.ID] = r
		}
	}
	var left []string
	j.Ranks = slices.DeleteFunc(j.Ranks, func(r *profile.Rank) bool {
		if best[r.ID] != r {
			left = append(left, baseName(r.Source))
		}
		return best[r.ID] != r
	})
	j.note(input.NoteStepsRepeated, "left out, since another trace has their rank and steps: %s", firstOf(left))
}
