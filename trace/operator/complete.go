package operator

import (
	"fmt"
	"github.com/sfstat/sfstat/trace/input"
	"slices"
	"strconv"
)

// Complete leaves out the replicas of which a pipeline stage recorded nothing,
// with a note: what their other stages waited for is not in the trace. What is
// left is joined anew. A trace in which all replicas are complete, or none is,
// is returned as it is. O(n).
func (t *Trace) Complete() *Trace {
	dp, pp := t.Coordinates()
	stages := t.Layout.PP
	for _, s := range pp {
		stages = max(stages, s+1)
	}
	found := make(map[int]int)
	for i, d := range dp {
		if d < 0 || pp[i] < 0 {
			return t
		}
		found[d]++
	}
	var lost []string
	for _, d := range slices.Compact(slices.Sorted(slices.Values(dp))) {
		if found[d] < stages {
			lost = append(lost, strconv.Itoa(d))
		}
	}
	if len(lost) == 0 || len(lost) == len(found) {
		return t
	}
	out := *t
	out.keepRanks(func(i int) bool { return found[dp[i]] >= stages })
	out.Notes = slices.DeleteFunc(slices.Clone(t.Notes), func(n input.Note) bool { return n.Kind == input.NoteUnjoined })
	out.Notes = append(out.Notes, input.Note{Kind: input.NoteMissingRanks, Text: fmt.Sprintf(
		"replica dp = %s left out: not all of its %d pipeline stages recorded", listSome(lost), stages)})
	if g, err := out.Grid(); err == nil {
		if w, err := out.Wire(g); err == nil {
			out.Join(g, w)
		}
	}
	return &out
}
