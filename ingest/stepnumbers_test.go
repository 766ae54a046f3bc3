package ingest

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestAlignNumbers: a rank that counts from another number is compared by the lengths of its steps, by its numbers where these fit, and with a
// question where neither is told.
func TestAlignNumbers(t *testing.T) {
	const steps = 60
	rng := rand.New(rand.NewPCG(1, 2))
	job := make([]int64, steps+2) // lengths of the steps of a job
	for i := range job {
		job[i] = 100e6 + rng.Int64N(10e6)
	}
	rank := func(id int, first, from int64, noise int64) NumberedSteps {
		r := NumberedSteps{Rank: id, First: first}
		for i := range int64(steps) {
			r.Lengths = append(r.Lengths, job[from+i]+rng.Int64N(noise+1))
		}
		return r
	}
	others := func(odd NumberedSteps) []NumberedSteps {
		return []NumberedSteps{rank(0, 0, 0, 1e5), rank(1, 0, 0, 1e5), odd, rank(3, 0, 0, 1e5)}
	}
	for name, c := range map[string]struct {
		ranks []NumberedSteps
		want  []int64
		says  string
	}{
		"the same steps from 1": {others(rank(2, 1, 0, 1e5)), []int64{0, 0, 1, 0}, "rank 2 counts its steps from 1, the others from 0: by their lengths"},
		"the next steps":        {others(rank(2, 1, 1, 1e5)), []int64{0, 0, 0, 0}, ""},
		"steps of any length":   {others(rank(2, 1, 0, 1e9)), []int64{0, 0, 0, 0}, "do not tell"},
		"all alike":             {[]NumberedSteps{rank(0, 0, 0, 1), rank(1, 0, 0, 1)}, nil, ""},
		"far from the others":   {others(rank(2, 7, 0, 1e5)), []int64{0, 0, 7, 0}, "rank 2 counts its steps from 7, the others from 0: by their lengths"},
		"behind the others":     {others(rank(2, 100, 0, 1e5)), []int64{0, 0, 100, 0}, "rank 2 counts its steps from 100, the others from 0: by their lengths"},
		"later steps":           {others(rank(2, 2, 2, 1e5)), []int64{0, 0, 0, 0}, ""},
		"other steps":           {others(rank(2, 100, 0, 1e9)), []int64{0, 0, 0, 0}, "from 100 to 159, the others from 0 to 59: no step has a number on both"},
		"half and half":         {[]NumberedSteps{rank(0, 0, 0, 1), rank(1, 1, 0, 1)}, []int64{0, 1}, "rank 1 counts its steps from 1, the others from 0: by their lengths"},
	} {
		excess, notes := AlignNumbers(c.ranks)
		text := ""
		for _, n := range notes {
			text += n.Text
		}
		if !slices.Equal(excess, c.want) || !strings.Contains(text, c.says) || (text == "") != (c.says == "") {
			t.Errorf("%s: %v, notes %q, want %v, %q", name, excess, text, c.want, c.says)
		}
	}
}
