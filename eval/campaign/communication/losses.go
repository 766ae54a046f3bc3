package communication

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/sfstat/sfstat/engine/comm/align"
	"github.com/sfstat/sfstat/engine/comm/needleman"
	"github.com/sfstat/sfstat/eval/campaign/tables"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// The workloads of the thesis's Table 4.5: of each scenario 4 ranks with 200 operations, of which the trace, the log or both
// lack a fifth. It does not say which operations.
const (
	lossRanks      = 4
	lossOperations = 200
	lossPart       = 0.2
	lossSeeds      = 20 // as many workloads
)

// lossMix is what an operation is drawn from, each equally likely: the collectives of the thesis's jobs.
var lossMix = []nccl.Op{nccl.AllReduce, nccl.AllGather, nccl.ReduceScatter, nccl.Broadcast}

// lossScenario is a row of Table 4.5.
type lossScenario struct {
	name               string
	kernels, calls     bool    // what is lost
	sliding, alignment float64 // F1, as published
}

var lossScenarios = [...]lossScenario{
	{"nothing lost", false, false, 1, 0.988},
	{"20 % of kernels", true, false, 0.916, 0.912},
	{"20 % of calls", false, true, 0.276, 0.868},
	{"20 % of both", true, true, 0.256, 0.805},
}

// lossy is one rank of a scenario: what was recorded of it, and which operation each record is of.
type lossy struct {
	align.Process
	calls, kernels []int
}

func (s *lossScenario) rank(r *rand.Rand, mix []nccl.Op) (p lossy) {
	for i := range lossOperations {
		op := mix[r.IntN(len(mix))]
		if !s.kernels || r.Float64() >= lossPart {
			p.Kernels, p.kernels = append(p.Kernels, comms.Kernel{KernelName: nccl.KernelName{Op: op}, Start: int64(i)}), append(p.kernels, i)
		}
		if !s.calls || r.Float64() >= lossPart {
			p.Calls, p.calls = append(p.Calls, &comms.Call{Op: op}), append(p.calls, i)
		}
	}
	return p
}

// judge counts pairs of the rank.
func (p *lossy) judge(s *Score, found []needleman.Pair) {
	for _, i := range p.calls {
		if _, both := slices.BinarySearch(p.kernels, i); both {
			s.True++
		}
	}
	for _, x := range found {
		s.add(p.calls[x.Row] == p.kernels[x.Column], false)
	}
}

// lossF1 is how well a method pairs the workloads of a scenario: of all together, and the least and the most of one.
type lossF1 struct{ all, least, most float64 }

func (s *lossScenario) score(method func(align.Process) ([]needleman.Pair, error), mix []nccl.Op) (lossF1, error) {
	var all Score
	f := lossF1{least: 1}
	for seed := range uint64(lossSeeds) {
		var own Score
		r := rand.New(rand.NewPCG(seed, 0))
		for range lossRanks {
			p := s.rank(r, mix)
			found, err := method(p.Process)
			if err != nil {
				return f, err
			}
			p.judge(&own, found)
		}
		all.sum(own)
		f.least, f.most = min(f.least, own.F1()), max(f.most, own.F1())
	}
	f.all = all.F1()
	return f, nil
}

// slidingAlignment returns the alignment that looks for a call among the next few, so many as the window has.
func slidingAlignment(window int) func(align.Process) ([]needleman.Pair, error) {
	return func(p align.Process) ([]needleman.Pair, error) { return align.BySliding(p, window), nil }
}

// LossTable makes the thesis's Table 4.5 on workloads generated as it tells of its own, and why its figures are others, by row
// and column.
func LossTable() (*table.Table, map[[2]string]string, error) {
	t := &table.Table{Title: source + ", Table 4.5. F1 of pairs of call and kernel where a fifth is lost",
		Columns: slices.Concat(table.Words("lost"), table.Heads(table.Unit, "sliding window", "alignment"), table.Words("range of sliding window", "range of alignment"),
			table.Heads(table.Unit, "thesis: sliding window", "thesis: alignment"))}
	why := map[[2]string]string{}
	var means, published [2]float64
	for i := range lossScenarios {
		s := &lossScenarios[i]
		slide, err := s.score(slidingAlignment(align.SlidingWindow), lossMix)
		if err != nil {
			return nil, nil, err
		}
		aligned, err := s.score(align.ByThesis, lossMix)
		if err != nil {
			return nil, nil, err
		}
		why[[2]string{s.name, "sliding window"}], why[[2]string{s.name, "alignment"}] = slide.explanation(s.sliding, slidingLimit), aligned.explanation(s.alignment, s.alignmentLimit())
		for k, x := range [...]float64{slide.all, aligned.all} {
			means[k] += x / float64(len(lossScenarios))
		}
		published[0], published[1] = published[0]+s.sliding/float64(len(lossScenarios)), published[1]+s.alignment/float64(len(lossScenarios))
		t.Add(table.TextCell(s.name), table.RealCell(slide.all), table.RealCell(aligned.all), table.TextCell(slide.span()), table.TextCell(aligned.span()),
			table.RealCell(s.sliding), table.RealCell(s.alignment))
	}
	t.Add(table.TextCell("mean"), table.RealCell(means[0]), table.RealCell(means[1]), table.NoFigure(), table.NoFigure(), table.RealCell(published[0]), table.RealCell(published[1]))
	for k, name := range [...]string{"sliding window", "alignment"} {
		why[[2]string{"mean", name}] = fmt.Sprintf("The mean of the four rows, there and here, whose differences average %+.3f.", means[k]-published[k])
	}
	t.Notes = []string{fmt.Sprintf("%d workloads of %d ranks with %d operations, AllReduce, AllGather, ReduceScatter and Broadcast equally likely; ranges are of single workloads. The thesis has one workload and does not say which operations. "+
		"Alignment: its whole scoring, by names alone (sfstat comm --scoring thesis). Sliding window: for each kernel the first call of its operation among the next %d.", lossSeeds, lossRanks, lossOperations, align.SlidingWindow)}
	return t, why, nil
}

func (f *lossF1) span() string {
	return table.Decimals(f.least, 3) + " to " + table.Decimals(f.most, 3)
}

// matchesPublished reports whether single workloads have a published figure.
func (f *lossF1) matchesPublished(published float64) bool {
	return f.least <= published && published <= f.most
}

// explanation returns a sentence that single workloads have the published figure, or else why not, as far as the text allows.
func (f *lossF1) explanation(published float64, limit string) string {
	if f.matchesPublished(published) {
		return fmt.Sprintf("Single workloads have %s here, and the published one lies within.", f.span())
	}
	return tables.Unexplained + limit
}

// alignmentLimit returns why the scoring of the text cannot give its figure.
func (s *lossScenario) alignmentLimit() string {
	if !s.kernels && !s.calls {
		return "by the scoring of the text two equal sequences align in full, whatever they are, for every pair adds to the score and every gap and mismatch takes from it: F1 is 1."
	}
	return "the scoring of the text treats kernels and calls alike, so that a fifth lost of either costs the same on average, here and by its rule; its two rows differ by more than workloads do."
}

// The windows and mixes that the text leaves open, which says neither how far the sliding window looks ahead nor which operations there are: its
// alignment knows seven names. Which they are is nothing to the window, as long as calls and kernels share them.
const (
	leastWindow, mostWindow = 2, 12
	leastMix                = 3
)

var lossNames = append(slices.Clone(lossMix), nccl.SendRecv, nccl.Reduce, nccl.PutSignal)

// slidingLimit says what slidingTogether finds.
const slidingLimit = "of windows of 2 to 12 calls on 3 to 7 equally likely operations only one of 4 calls on 6 or 7 has workloads with the published figures of this column's three rows, and then the alignment has more than its 0.805."

// slidingTogether returns the mixes, by how many operations they have, and the windows for which single workloads have the published
// figures of every row with losses.
func slidingTogether() (out [][2]int, err error) {
	for n := leastMix; n <= len(lossNames); n++ {
		for window := leastWindow; window <= mostWindow; window++ {
			all := true
			for i := range lossScenarios {
				s := &lossScenarios[i]
				of, err := s.score(slidingAlignment(window), lossNames[:n])
				if err != nil {
					return nil, err
				}
				all = all && of.matchesPublished(s.sliding)
			}
			if all {
				out = append(out, [2]int{n, window})
			}
		}
	}
	return out, nil
}
