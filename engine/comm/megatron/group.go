package megatron

import (
	"slices"

	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/engine/comm/volume"
	"github.com/sfstat/sfstat/trace/enum"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Group is which of Megatron-LM's process groups a call is on.
type Group uint8

const (
	World          Group = iota
	Optimizer            // the distributed optimizer's, of all ranks
	Tensor               // TP
	Data                 // DP
	Pipeline             // PP
	ModelParallel        // TP·PP
	Embedding            // first and last stage
	Expert               // EP
	ExpertData           // DP ÷ EP
	ExpertParallel       // EP·PP, with the tensor dimension of experts
)

var groupNames = []string{"all", "optimizer", "TP", "DP", "PP", "TP_PP", "PP_ends", "EP", "EDP", "EP_PP"}

func (g Group) String() string { return enum.Name(groupNames, g) }

// Names returns the names of all values.
func (Group) Names() []string { return groupNames }

// ranks returns how many ranks a group has.
func (j *Job) ranks(g Group) int64 {
	switch g {
	case Tensor:
		return j.TP
	case Data:
		return j.DP
	case Pipeline:
		return j.PP
	case ModelParallel:
		return j.TP * j.PP
	case Embedding:
		return min(j.PP, 2)
	case Expert:
		return j.EP
	case ExpertData:
		return j.DP / j.EP
	case ExpertParallel:
		return j.EP * j.TP * j.PP
	}
	return j.Ranks()
}

// leads reports whether a rank is the first of its group, the one that prints how collectives run.
func (j *Job) leads(p place, g Group) bool {
	switch g {
	case Tensor:
		return p.tp == 0
	case Data:
		return p.dp == 0
	case Pipeline, Embedding:
		return p.pp == 0
	case ModelParallel:
		return p.tp == 0 && p.pp == 0
	case Expert:
		return p.dp%j.EP == 0
	case ExpertData:
		return p.dp/j.EP == 0
	case ExpertParallel:
		return p.tp == 0 && p.dp%j.EP == 0 && p.pp == 0
	}
	return p.rank == 0
}

// members returns the ranks of a rank's group, ascending. O(ranks of the job).
func (j *Job) members(p place, g Group) (out []int) {
	within := p.dp / j.EP * j.EP // the first of the rank's experts
	for rank := range j.Ranks() {
		q := j.place(rank)
		tp, pp := q.tp == p.tp, q.pp == p.pp
		dp, ep := q.dp == p.dp, q.dp >= within && q.dp < within+j.EP
		var is bool
		switch g {
		case Tensor:
			is = dp && pp
		case Data:
			is = tp && pp
		case Pipeline:
			is = tp && dp
		case ModelParallel:
			is = dp
		case Embedding:
			is = tp && dp && j.isEndStage(q)
		case Expert:
			is = tp && ep && pp
		case ExpertData:
			is = tp && q.dp%j.EP == p.dp%j.EP && pp
		case ExpertParallel:
			is = ep
		default:
			is = true
		}
		if is {
			out = append(out, int(rank))
		}
	}
	return out
}

// dimensions are the groups of one dimension and what they are for, then those of several.
var dimensions = []struct {
	Group
	parallel.Kind
}{{Tensor, parallel.TensorParallel}, {Data, parallel.DataParallel}, {Pipeline, parallel.PipelineParallel}, {Expert, parallel.ExpertParallel},
	{ExpertData, parallel.ExpertDataParallel}, {ModelParallel, parallel.UnknownKind}, {Embedding, parallel.UnknownKind}, {ExpertParallel, parallel.UnknownKind}, {World, parallel.UnknownKind}}

// Purpose returns which dimension the ranks of a communicator are, or the name of several: logs do not tell groups of the same ranks apart. Known is
// false where a rank has no such group.
func (j *Job) Purpose(rank int64, ranks []int) (kind parallel.Kind, name string, known bool) {
	p := j.place(rank)
	for _, d := range dimensions {
		if int64(len(ranks)) == j.ranks(d.Group) && slices.Equal(ranks, j.members(p, d.Group)) {
			if d.Kind == parallel.UnknownKind {
				name = d.Group.String()
			}
			return d.Kind, name, true
		}
	}
	return parallel.UnknownKind, "", false
}

// Flows returns what a rank calls on groups of several ranks, as logs are compared with it; how says how all-to-alls are written there.
func (j *Job) Flows(rank int64, how volume.Exchange) (out []volume.Flow) {
	for _, c := range j.Calls(rank) {
		if c.Ranks < 2 {
			continue
		}
		kind, name, _ := j.Purpose(rank, j.members(j.place(rank), c.Group))
		if c.Group == Expert && c.Op.Message() && how == volume.AlltoAllCalls {
			if c.Op == nccl.Recv {
				continue
			}
			c.Op, c.Times = nccl.AlltoAll, c.Kernels
		}
		f := volume.CallFlow(kind, c.Op, c.Ranks, 1)
		if c.Group == Expert && c.Op == nccl.Send {
			f.Sent *= float64(c.Ranks-1) / float64(c.Ranks) // what a rank sends to itself stays there
		}
		f.Name, f.Calls, f.Logged = name, float64(c.Times), float64(c.Times)*c.Bytes
		f.Sent *= f.Logged
		out = append(out, f)
	}
	return out
}
