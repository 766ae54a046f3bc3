package ingest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// Programs count steps from 0 or from 1, or from where a rank was resumed. Where a rank counts otherwise than most and has as many steps, its steps
// may be theirs under other numbers. Ranks wait for one another in every step, so that a step is about as long on all of them: the lengths tell which steps are the same.

// NumberedSteps are the steps of a rank.
type NumberedSteps struct {
	Rank    int
	First   int64   // number
	Lengths []int64 // ns
}

// signLevel is the sign test's z of one in a million, one-sided: that by chance so many steps are more alike under one numbering than
// under the other, where each is by an even chance.
const signLevel = 4.75

// AlignNumbers returns by how much the numbers of each rank exceed those of most, where these count the same steps; 0 of all others. Nothing is
// found where ranks have different numbers of steps. The notes say what is found, and where the lengths do not tell.
func AlignNumbers(ranks []NumberedSteps) (excess []int64, notes []input.Note) {
	usual, ok := usualNumbers(ranks)
	if !ok {
		return nil, nil
	}
	excess = make([]int64, len(ranks))
	same, unsure := make(map[int64][]int), make(map[int64][]int)
	var lengths []int64
	for i, r := range ranks {
		by := r.First - usual
		if by == 0 {
			continue
		}
		if lengths == nil {
			lengths = medianLengths(ranks, usual)
		}
		next := cmp.Compare(by, 0)
		switch {
		case moreAlike(r.Lengths, lengths, 0, next) >= signLevel: // the same place, and not the next
			excess[i] = by
			same[r.First] = append(same[r.First], r.Rank)
		case moreAlike(r.Lengths, lengths, int(by), int(by)-next) < signLevel:
			unsure[r.First] = append(unsure[r.First], r.Rank)
		}
	}
	for first, odd := range same {
		notes = append(notes, input.Note{Kind: input.NoteRanksNumbered, Text: fmt.Sprintf("%s from %d, the others from %d: by their lengths these are the same steps, and are compared so", counts(odd), first, usual)})
	}
	for first, odd := range unsure {
		if n := int64(len(ranks[0].Lengths)); first >= usual+n || first+n <= usual {
			notes = append(notes, input.Note{Kind: input.NoteRanksNumbered, Text: fmt.Sprintf("%s from %d to %d, the others from %d to %d: no step has a number on both, and the lengths do not tell whether these are the same steps",
				counts(odd), first, first+n-1, usual, usual+n-1)})
			continue
		}
		notes = append(notes, input.Note{Kind: input.NoteRanksNumbered, Text: fmt.Sprintf("%s from %d, the others from %d, and the lengths do not tell whether these are the same steps: they are compared by their numbers", counts(odd), first, usual)})
	}
	slices.SortFunc(notes, func(a, b input.Note) int { return strings.Compare(a.Text, b.Text) })
	return excess, notes
}

func counts(ranks []int) string {
	slices.Sort(ranks)
	if len(ranks) == 1 {
		return trace.Ranks(ranks) + " counts its steps"
	}
	return trace.Ranks(ranks) + " count their steps"
}

// usualNumbers returns the number of the first step of most ranks, of as many the lowest; ok where some begin elsewhere, and all have as many steps.
func usualNumbers(ranks []NumberedSteps) (usual int64, ok bool) {
	count := make(map[int64]int)
	for _, r := range ranks {
		if len(r.Lengths) != len(ranks[0].Lengths) {
			return 0, false
		}
		count[r.First]++
	}
	for first, n := range count {
		if n > count[usual] || n == count[usual] && first < usual {
			usual = first
		}
	}
	return usual, len(count) > 1
}

// medianLengths returns the median length of each step over the ranks that begin with a number.
func medianLengths(ranks []NumberedSteps, first int64) []int64 {
	out := make([]int64, len(ranks[0].Lengths))
	for i := range out {
		var all []int64
		for _, r := range ranks {
			if r.First == first {
				all = append(all, r.Lengths[i])
			}
		}
		slices.Sort(all)
		out[i] = all[len(all)/2]
	}
	return out
}

// moreAlike returns the z of the sign test: of how many steps the length is more like that of the usual step so many places behind than like that of
// the one other places behind.
func moreAlike(own, usual []int64, behind, other int) float64 {
	first, second := 0, 0
	for i, length := range own {
		if min(i+behind, i+other) < 0 || max(i+behind, i+other) >= len(usual) {
			continue
		}
		switch a, b := magnitude(length-usual[i+behind]), magnitude(length-usual[i+other]); {
		case a < b:
			first++
		case b < a:
			second++
		}
	}
	return float64(first-second) / math.Sqrt(float64(max(1, first+second)))
}

func magnitude(v int64) int64 { return max(v, -v) }
