package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/montanaflynn/stats"

	"github.com/sfstat/sfstat/engine/overhead"
	"github.com/sfstat/sfstat/eval/campaign"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/internal/table"
)

// From these shares of the processors' time on, something else disturbed a chunk. They are this project's choice: well
// above what ticks of 10 ms can tell, 0.25 % of ten steps of 200 ms on two processors. Any time for which a GPU was
// throttled counts.
const (
	othersShare = 0.05
	stealShare  = 0.01
)

// arms returns the measured arms, in the order of rounds.
func (s *size) arms() (arms []campaign.Arm) {
	for i := range s.rounds {
		if a := s.rounds[i].Arm; !slices.Contains(arms, a) {
			arms = append(arms, a)
		}
	}
	return arms
}

// roundsOf returns the rounds of an arm.
func (s *size) roundsOf(a campaign.Arm) (rounds []campaign.Round) {
	for _, r := range s.rounds {
		if r.Arm == a {
			rounds = append(rounds, r)
		}
	}
	return rounds
}

// account is what an arm costs at a size. Times are ns per step.
type account struct {
	ranks, runs      int
	arm              campaign.Arm
	rounds           []campaign.Round
	all              *overhead.Account
	calm             *overhead.Account // without the rounds that a measured cause disturbed; nil: no round is left
	disturbed        int               // rounds
	outliers         []campaign.Round
	step             float64 // without the recorder
	thread, process  float64 // processor time beyond that of the arm without
	closing, writing float64
	stageCall        float64 // ns, median of runs
}

// accountsOf returns an account for each size and arm. cores are the machine's processors.
func accountsOf(sizes []size, cores int) (accounts []account, err error) {
	for i := range sizes {
		for _, arm := range sizes[i].arms() {
			a, err := accountOf(sizes[i].ranks, sizes[i].roundsOf(arm), cores)
			if err != nil {
				return nil, fmt.Errorf("%d ranks, arm %v: %w", sizes[i].ranks, arm, err)
			}
			accounts = append(accounts, a)
		}
	}
	return accounts, nil
}

// accountOf sums the rounds of an arm up; there is at least one.
func accountOf(ranks int, rounds []campaign.Round, cores int) (account, error) {
	a := account{ranks: ranks, arm: rounds[0].Arm, rounds: rounds}
	var calm []campaign.Round
	var calls []float64
	n := float64(len(rounds))
	for i := range rounds {
		r := &rounds[i]
		if len(causes(&r.Base, cores))+len(causes(&r.With, cores)) == 0 {
			calm = append(calm, *r)
		}
		a.step += r.Base.Wall / n
		a.thread += (r.With.Thread - r.Base.Thread) / n
		a.process += (r.With.Process - r.Base.Process) / n
		a.closing += r.Closing / n
		a.writing += r.Writing / n
		calls = append(calls, r.StageCall)
	}
	a.stageCall, a.disturbed = robust.Median(calls), len(rounds)-len(calm)
	var err error
	if a.all, err = examine(rounds); err != nil {
		return a, err
	}
	a.runs = a.all.Blocks
	if a.outliers, err = outliers(rounds); err != nil || len(calm) == 0 {
		return a, err
	}
	a.calm, err = examine(calm)
	return a, err
}

// examine bounds the mean overhead of rounds, a run a block, against the gate of their arm.
func examine(rounds []campaign.Round) (*overhead.Account, error) {
	gate := campaign.Gate(rounds[0].Arm)
	pairs := make([]overhead.Measurement, len(rounds))
	for i, r := range rounds {
		pairs[i] = overhead.Measurement{Pair: r.Run, Window: r.Number, Base: r.Base.Wall, With: r.With.Wall}
	}
	return overhead.Examine(pairs, overhead.ByFile, overhead.Options{Gate: &gate})
}

// causes names what else the machine did during a chunk, where that is much.
func causes(c *campaign.Chunk, cores int) (causes []string) {
	all := c.Wall * float64(cores) // processor time
	if share := c.Others / all; share > othersShare {
		causes = append(causes, "other processes used "+table.Percent(share)+" of the processors")
	}
	if share := c.Steal / all; share > stealShare {
		causes = append(causes, "the host took "+table.Percent(share)+" of the processors away")
	}
	if c.Throttled > 0 {
		causes = append(causes, "a GPU was throttled for "+table.Percent(c.Throttled/c.Wall)+" of the time")
	}
	return causes
}

// outliers returns the rounds whose overhead lies beyond the quartiles by more than 1.5 times their distance.
func outliers(rounds []campaign.Round) (far []campaign.Round, err error) {
	if len(rounds) < 4 {
		return nil, nil // quartiles need as many
	}
	overheads := make([]float64, len(rounds))
	for i, r := range rounds {
		overheads[i] = r.With.Wall/r.Base.Wall - 1
	}
	beyond, err := stats.QuartileOutliers(overheads)
	if err != nil {
		return nil, err
	}
	for i, x := range overheads {
		if slices.Contains(beyond.Mild, x) || slices.Contains(beyond.Extreme, x) {
			far = append(far, rounds[i])
		}
	}
	return far, nil
}

// othersMedian returns the median share of the processors that other processes used in the chunks of all rounds; NaN
// where that was not measured.
func othersMedian(sizes []size, cores int) float64 {
	var shares []float64
	for i := range sizes {
		for _, r := range sizes[i].rounds {
			for _, c := range []campaign.Chunk{r.Base, r.With} {
				if share := c.Others / (c.Wall * float64(cores)); !math.IsNaN(share) {
					shares = append(shares, share)
				}
			}
		}
	}
	if len(shares) == 0 {
		return math.NaN()
	}
	return robust.Median(shares)
}
