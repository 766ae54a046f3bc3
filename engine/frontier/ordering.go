package frontier

import (
	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/trace/enum"
)

// Method is a way to rank stages that the frontier is compared with.
type Method uint8

// The five comparison baselines (StageFrontier, Table 4).
const (
	StageMax    Method = iota // Σ_t max_r d
	StageMean                 // Σ_t mean_r d
	Spread                    // Σ_t max_r d − median_r d
	SlowestRank               // the stages of each step's slowest rank
	Rank0                     // the stages of the lowest rank
)

var methodNames = [...]string{"stage_max", "stage_mean", "spread", "slowest_rank", "rank0"}

func (m Method) String() string { return enum.Name(methodNames[:], m) }

// Ordering is what one comparison method says.
type Ordering struct {
	Method     Method
	Scores     []float64 // normalised to sum 1; nil when all are 0
	Ranking    []int     // stages, best first
	Candidates []int     // its smallest prefix that reaches tau
}

// order returns the ranking of a method by its scores of the stages; its candidates reach tau.
func (m Method) order(score []float64, tau float64) Ordering {
	o := Ordering{Method: m, Ranking: labels.Rank(score)}
	total := 0.0
	for _, x := range score {
		total += x
	}
	if total > 0 {
		o.Scores = make([]float64, len(score))
		for g, x := range score {
			o.Scores[g] = x / total
		}
		o.Candidates = labels.RoutingSet(o.Scores, tau)
	}
	return o
}
