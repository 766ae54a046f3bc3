package whatif

import (
	"slices"

	"github.com/sfstat/sfstat/internal/ordered"
	"github.com/sfstat/sfstat/trace/operator"
)

// newSerialSchedule returns the graph of a trace in which every rank runs one
// operator after another: each waits for the one before it, and those that share
// a group synchronise.
func newSerialSchedule(t *operator.Trace, g *operator.Grid) *schedule {
	s := &schedule{}
	members := ordered.Numbers[int32]{} // positions of groups in the graph's
	lanes := g.Lanes()
	for i, in := range g.Instances {
		node := Node{Op: t.Names[in.Name], Seq: int(in.Seq), Stage: int(in.Stage)}
		if i > 0 && g.Instances[i-1].Stage == in.Stage {
			node.After = []int32{int32(i - 1)}
		}
		node.Final = i+1 == len(g.Instances) || g.Instances[i+1].Stage != in.Stage
		rows := g.At[i*lanes : (i+1)*lanes]
		if group := t.Group[rows[0]]; group >= 0 {
			node.Communication = true
			at, first := members.Of(group)
			if first {
				s.graph.Groups = append(s.graph.Groups, Group{AcrossReplicas: !slices.ContainsFunc(rows[:g.Replicas], func(row int32) bool { return t.Group[row] != group })})
			}
			s.graph.Groups[at].Members = append(s.graph.Groups[at].Members, int32(i))
		}
		s.graph.Nodes, s.instance = append(s.graph.Nodes, node), append(s.instance, int32(i))
	}
	return s
}
