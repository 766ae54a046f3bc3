package publish

import (
	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/engine/ks"
)

// Completions is how the completion times of a trace's workers compare: sfstat ks.
type Completions struct {
	Trace
	Clock      Name[ks.Clock]   `json:"clock" doc:"what completions were measured from: the start of their step, or the first start of the trace"`
	Against    Name[ks.Against] `json:"against" doc:"workers that s is a mean over"`
	Window     int64            `json:"window_ns" doc:"length of the windows in which completions are counted"`
	Points     int              `json:"points" doc:"windows in which anything completes"`
	Replicates int              `json:"replicates" doc:"most permutations of the test; 0 is no test"`
	Discovery  *float64         `json:"false_discovery_rate" doc:"the rate that flagged keeps"`
	Seed       uint64           `json:"seed" doc:"seed of the permutations"`
	Doubts     []Name[ks.Doubt] `json:"doubts" doc:"reasons to read the result with care"`
	Workers    []Score          `json:"workers" doc:"all workers, by stage, then by replica"`
	Ranking    []int            `json:"ranking" doc:"ranks by descending s; without those that have none"`
	Matrix     *[][]*float64    `json:"matrix" doc:"distance D of every two workers, 0 to 1, rows and columns in the order of workers, null where one completed nothing; null unless --matrix is given"`
}

// Score is what is known of the completion times of one worker.
type Score struct {
	Worker
	Ops       int             `json:"completions" doc:"operators that it completed"`
	Peers     int             `json:"peers" doc:"workers that it was compared with"`
	Mean      *float64        `json:"s" doc:"S: mean distance to those workers, 0 to 1; null without completions or peers"`
	Median    *float64        `json:"median" doc:"median of the same distances"`
	Later     int64           `json:"later_ns" doc:"how much later than the median peer it completes on average; negative: earlier"`
	Departure *float64        `json:"departure" doc:"largest distance from the median completion-time distribution of its stage, 0 to 1: what the test is about"`
	P         *float64        `json:"p" doc:"chance of such a departure if the peers are exchangeable; null where undecided"`
	Q         *float64        `json:"q" doc:"smallest false-discovery rate at which it is found; null where undecided"`
	Flagged   bool            `json:"flagged" doc:"found at false_discovery_rate"`
	Draws     int             `json:"draws" doc:"departures that p was counted among; 0 where undecided"`
	Undecided *Name[ks.Doubt] `json:"undecided" doc:"why there is no test; null where there is one"`
}

// CompletionsOf returns how the completion times of a trace's workers compare.
func CompletionsOf(v *operators.View, r *ks.Result) Completions {
	out := Completions{Trace: TraceOf(v), Clock: nameOf(r.Clock), Against: nameOf(r.Against), Window: r.Window, Points: r.Points, Replicates: r.Replicates,
		Discovery: number(r.Discovery), Seed: r.Seed, Doubts: convert(r.Doubts, nameOf[ks.Doubt]),
		Workers: convert(r.Scores, func(s ks.Score) Score { return scoreOf(v, &s) }), Ranking: RanksOf(v, r.Ranking)}
	if n := len(r.Scores); n > 0 && r.Matrix != nil {
		rows := make([][]*float64, n)
		for a := range rows {
			rows[a] = convert(r.Matrix[a*n:(a+1)*n], func(d float64) *float64 {
				if d < 0 {
					return nil // one of them completed nothing
				}
				return number(d)
			})
		}
		out.Matrix = &rows
	}
	return out
}

func scoreOf(v *operators.View, s *ks.Score) Score {
	out := Score{Worker: WorkerOf(v, s.Worker), Ops: s.Ops, Peers: s.Peers, Later: s.Later, Flagged: s.Flagged()}
	if s.Peers != 0 {
		out.Mean, out.Median = number(s.Mean), number(s.Median)
	}
	if s.Test != nil {
		out.Departure, out.P, out.Q, out.Draws = number(s.Test.Departure), number(s.Test.P), number(s.Test.Q), s.Test.Draws
	}
	if s.Undecided != ks.NoDoubt {
		doubt := nameOf(s.Undecided)
		out.Undecided = &doubt
	}
	return out
}

// CompletionRows returns a row for each worker in the order of the ranks' places; where all distances are kept, one
// for each pair of workers.
func CompletionRows(traces []Completions) *Rows {
	pairs := rowsUnder("run rank peer_rank distance")
	workers := rowsUnder("run rank dp pp completions peers s median later_ns departure p q flagged undecided")
	for _, t := range traces {
		for a, s := range t.Workers {
			workers.add(t.Run, s.Rank, s.DP, s.PP, s.Ops, s.Peers, s.Mean, s.Median, s.Later, s.Departure, s.P, s.Q, s.Flagged, s.Undecided)
			for b := a + 1; t.Matrix != nil && b < len(t.Workers); b++ {
				pairs.add(t.Run, s.Rank, t.Workers[b].Rank, (*t.Matrix)[a][b])
			}
		}
	}
	if len(pairs.cells) > 0 {
		return pairs
	}
	return workers
}
