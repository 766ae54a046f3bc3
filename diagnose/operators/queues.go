package operators

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/engine/blame"
)

// queues is a step of a trace without a schedule: an operator follows the one
// before it on its queue, and the members of a collective wait for each other.
// What the host waited for before it launched is not in the trace.
func (f *Flags) queues(step int) (g blame.Graph, symptoms []int64) {
	v := f.v
	replicas, lanes := v.Grid.Replicas, v.Grid.Lanes()
	worst, score := slices.Repeat([]int64{-1}, v.Workers()), make([]int64, v.Workers())
	type queue struct {
		worker int
		lane   int32
	}
	queued := make(map[queue][]blame.Op)
	for i, in := range v.Grid.Instances {
		for d := range replicas {
			at := i*lanes + step*replicas + d
			row := v.Grid.At[at]
			w := int(in.Stage)*replicas + d
			op := blame.Op{ID: int64(i*replicas + d), Rank: v.Rank(w).ID, Start: v.Trace.Start[row], End: v.Trace.Start[row] + v.Trace.Dur[row],
				Lateness: f.late[at], Length: f.long[at], Collective: int64(v.Trace.Group[row]) + 1}
			g.Ops = append(g.Ops, op)
			q := queue{w, v.Trace.Lane[row]}
			queued[q] = append(queued[q], op)
			if f.late[at] == blame.High && f.lateness[at] > score[w] {
				worst[w], score[w] = op.ID, f.lateness[at]
			}
		}
	}
	for _, ops := range queued {
		slices.SortFunc(ops, func(a, b blame.Op) int {
			return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End), cmp.Compare(a.ID, b.ID))
		})
		for k := 1; k < len(ops); k++ {
			g.Edges = append(g.Edges, blame.Edge{From: ops[k-1].ID, To: ops[k].ID, Kind: blame.Lane})
		}
	}
	return g, symptomsOf(worst, score)
}
