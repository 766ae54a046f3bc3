package stages

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/profile"
)

// shared is which steps of each rank are used, and why others are not.
type shared struct {
	steps [][]int // [rank] positions in Rank.Steps
	notes []input.Note
}

// syncSteps finds the steps that all ranks have complete. Where there is none,
// each rank keeps its own.
func syncSteps(ranks []*profile.Rank) shared {
	var out shared
	count := make(map[int64]int)
	cut, set := make(map[int64]bool), make(map[int64]bool)
	for _, r := range ranks {
		for i := range r.Steps {
			s := &r.Steps[i]
			count[s.Index]++
			cut[s.Index] = cut[s.Index] || s.Cut
			set[s.Index] = set[s.Index] || s.Set
		}
	}
	var dropped, doubted, lonely []int64
	common := 0
	for index, n := range count {
		switch {
		case set[index]:
			doubted = append(doubted, index)
		case cut[index]:
			dropped = append(dropped, index)
		case n == len(ranks):
			common++
		default:
			lonely = append(lonely, index)
		}
	}
	if len(doubted) > 0 {
		out.note("steps %s are left out: a clock was set in them", doubted)
	}
	if len(dropped) > 0 && len(dropped) < len(count)-len(doubted) {
		out.note("steps %s are cut off at the beginning or the end of the recording and left out", dropped)
	} else {
		clear(cut)
	}
	if common > 0 && len(lonely) > 0 {
		out.note("steps %s are left out: not all ranks recorded them", lonely)
	}
	for _, r := range ranks {
		var use []int
		for i := range r.Steps {
			index := r.Steps[i].Index
			if !cut[index] && !set[index] && (common == 0 || count[index] == len(ranks)) {
				use = append(use, i)
			}
		}
		out.steps = append(out.steps, use)
	}
	return out
}

func (s *shared) note(format string, indices []int64) {
	slices.Sort(indices)
	s.notes = append(s.notes, input.Note{Kind: input.NoteRecorder, Text: fmt.Sprintf(format, listSteps(indices))})
}

// listSteps writes ascending step numbers, at most eight runs of them.
func listSteps(steps []int64) string {
	text, runs := "", 0
	for i := 0; i < len(steps); {
		j := i
		for j+1 < len(steps) && steps[j+1] == steps[j]+1 {
			j++
		}
		if runs++; runs > 8 {
			return text + ", …"
		}
		if text != "" {
			text += ", "
		}
		text += strconv.FormatInt(steps[i], 10)
		if j > i {
			text += "-" + strconv.FormatInt(steps[j], 10)
		}
		i = j + 1
	}
	return text
}
