package tables

import (
	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/internal/table"
)

// What StageFrontier (arXiv 2606.06751) reports, to stand beside what is found
// here. Its rows are runs on other machines with other seeds; only the kind of
// fault, the number of ranks and the delay are the same.

// publishedTally is a row of Table 4.
type publishedTally struct {
	top1, top2, hits, of int
	mean                 float64
	max                  int
}

// publishedMethods is Table 4: five families, 8 and 32 ranks, five seeds,
// 120 ms, τ = 0.80; in the order of Score.Methods.
var publishedMethods = [...]publishedTally{
	{40, 50, 50, 50, 2.00, 2},
	{22, 50, 50, 50, 2.40, 3},
	{20, 40, 40, 50, 2.30, 3},
	{40, 40, 50, 50, 2.20, 3},
	{20, 40, 46, 50, 2.40, 3},
	{20, 40, 40, 50, 2.16, 3},
}

// publishedCase is a row of Table 14 or of the section on sharded runs.
type publishedCase struct {
	family   simulate.Family
	ranks    int // 0: several
	delay    simulate.Millis
	top1     int
	top2, of int
	// Of those whose candidate sets are counted too, in Table 14: hits. All of its
	// sets have two stages.
	hits, counted int
}

// mean is the mean size of the candidate sets.
func (p *publishedCase) mean() table.Cell {
	if p.counted == 0 {
		return table.None()
	}
	return table.RealCell(2)
}

var publishedFamilies = [...]publishedCase{
	{simulate.Data, 8, 120, 5, 5, 5, 5, 5},
	{simulate.Data, 32, 120, 5, 5, 5, 5, 5},
	{simulate.Backward, 8, 120, 5, 5, 5, 5, 5},
	{simulate.Backward, 32, 120, 5, 5, 5, 5, 5},
	{simulate.BackwardComm, 8, 120, 5, 5, 5, 5, 5},
	{simulate.BackwardComm, 32, 120, 5, 5, 5, 5, 5},
	{simulate.ForwardDevice, 8, 120, 0, 5, 5, 5, 5},
	{simulate.ForwardDevice, 32, 120, 0, 5, 5, 5, 5},
	{simulate.ForwardHost, 8, 120, 5, 5, 5, 5, 5},
	{simulate.ForwardHost, 32, 120, 5, 5, 5, 5, 5},
	{simulate.CallbackSync, 8, 60, 0, 3, 3, 0, 0},
	{simulate.CallbackSync, 8, 120, 0, 3, 3, 3, 3},
	{simulate.CallbackSync, 8, 180, 3, 3, 3, 0, 0},
	{simulate.CallbackSync, 8, 240, 3, 3, 3, 0, 0},
	{simulate.CallbackHost, 8, 120, 0, 0, 3, 0, 3},
	{simulate.OptimizerHost, 0, 180, 0, 0, 18, 0, 0},
}

// publishedFor sums the published rows that a group covers. All of them are
// about constant faults.
func publishedFor(g *group, by []Key) (sum publishedCase) {
	for _, p := range publishedFamilies {
		like := runCase{Family: p.family, Ranks: p.ranks, Delay: p.delay}
		covered := true
		for _, k := range by {
			covered = covered && k.compare(&g.like, &like) == 0
		}
		if covered && !g.like.Intermittent {
			sum.top1 += p.top1
			sum.top2 += p.top2
			sum.of += p.of
			sum.hits += p.hits
			sum.counted += p.counted
		}
	}
	return sum
}

// forwardFamilies are the rows of Table 5: the label that a delay in forward
// should have, and how often the seeded stage is found there. That E5's rows carry the
// label is all that the text says of them: it has no count.
var forwardFamilies = [...]struct {
	family     simulate.Family
	label      labels.Label
	top1, top2 int // of 10
}{
	{simulate.ForwardDevice, labels.ForwardDeviceSupported, 0, 10},
	{simulate.ForwardHost, labels.ForwardHostOverheadSuspected, 10, 10},
}

// publishedSweep is Table 15: hits of 50, mean and largest candidate set.
var publishedSweep = map[float64]publishedTally{
	0.70: {hits: 50, of: 50, mean: 2.00, max: 2},
	0.75: {hits: 50, of: 50, mean: 2.00, max: 2},
	0.80: {hits: 50, of: 50, mean: 2.00, max: 2},
	0.85: {hits: 50, of: 50, mean: 2.20, max: 3},
	0.90: {hits: 50, of: 50, mean: 3.00, max: 3},
}
