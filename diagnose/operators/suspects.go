package operators

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/engine/zscore"
)

// Suspect is what is held against one worker.
type Suspect struct {
	zscore.Suspect
	// Excess does not count starts: one delay makes every later start late.
	Excess int64 // how much longer than its peers' its flagged durations and transfers are, over all steps; of every name the instances or the total, whichever is more
}

// Suspects returns the workers of a result over the series and operators of View.Series, the largest Excess first. It counts no
// time twice: of every name on a worker the excess of its instances together, or of their total, whichever is more.
func (v *View) Suspects(r *zscore.Result, series []zscore.Series, operators []Operator) []Suspect {
	type place struct {
		worker, series int
	}
	single, every := make(map[place]int64), make(map[place]int64)
	for _, o := range r.Outliers {
		q := series[o.Series].Quantity
		if o.Effect <= 0 || q != zscore.Duration && q != zscore.Transfer {
			continue
		}
		at := place{o.Worker, o.Series}
		if o.Step == zscore.EveryStep {
			every[at] = o.Effect * int64(len(v.Grid.Steps))
		} else {
			single[at] += o.Effect
		}
	}
	for at, excess := range every {
		single[at] = max(single[at], excess)
	}
	type name struct {
		worker int
		name   string
	}
	parts, total := make(map[name]int64), make(map[name]int64)
	for at, excess := range single {
		op := operators[series[at.series].Op]
		if k := (name{at.worker, op.Name}); op.Instance == Total {
			total[k] = excess
		} else {
			parts[k] += excess
		}
	}
	for k, excess := range total {
		parts[k] = max(parts[k], excess)
	}
	sum := make(map[int]int64)
	for k, excess := range parts {
		sum[k.worker] += excess
	}
	var out []Suspect
	for _, w := range r.Workers {
		out = append(out, Suspect{w, sum[w.Worker]})
	}
	slices.SortStableFunc(out, func(a, b Suspect) int {
		return cmp.Or(cmp.Compare(b.Excess, a.Excess), cmp.Compare(a.Worst, b.Worst))
	})
	return out
}
