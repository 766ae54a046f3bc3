package stages

import (
	"slices"
	"strconv"

	"github.com/sfstat/sfstat/trace/input"
)

// syncSteps chooses the steps that all ranks have complete, and notes why others are left out. Where there is none,
// each rank keeps its own.
func (c *converter) syncSteps() {
	count := make(map[int64]int)
	cut, set := make(map[int64]bool), make(map[int64]bool)
	for _, r := range c.ranks {
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
		case n == len(c.ranks):
			common++
		default:
			lonely = append(lonely, index)
		}
	}
	if len(doubted) > 0 {
		c.note(input.NoteRecorder, "steps %s are left out: a clock was set in them", listSteps(doubted))
	}
	if len(dropped) > 0 && len(dropped) < len(count)-len(doubted) {
		c.note(input.NoteRecorder, "steps %s are cut off at the beginning or the end of the recording and left out", listSteps(dropped))
	} else {
		clear(cut)
	}
	if common > 0 && len(lonely) > 0 {
		c.note(input.NoteRecorder, "steps %s are left out: not all ranks recorded them", listSteps(lonely))
	}
	for _, r := range c.ranks {
		var use []int
		for i := range r.Steps {
			index := r.Steps[i].Index
			if !cut[index] && !set[index] && (common == 0 || count[index] == len(c.ranks)) {
				use = append(use, i)
			}
		}
		c.steps = append(c.steps, use)
	}
}

// usedSteps reports of each step of a rank whether it is used.
func (c *converter) usedSteps(r int) []bool {
	out := make([]bool, len(c.ranks[r].Steps))
	for _, at := range c.steps[r] {
		out[at] = true
	}
	return out
}

// stepNumbers returns the numbers of steps that some rank has, ascending, and the positions of these.
func (c *converter) stepNumbers(steps [][]int) (list []int64, at map[int64]int32) {
	for r, rank := range c.ranks {
		for _, i := range steps[r] {
			list = append(list, rank.Steps[i].Index)
		}
	}
	slices.Sort(list)
	list = slices.Compact(list)
	at = make(map[int64]int32, len(list))
	for i, index := range list {
		at[index] = int32(i)
	}
	return list, at
}

// listSteps writes step numbers in ascending order, at most eight runs of them.
func listSteps(steps []int64) string {
	slices.Sort(steps)
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
