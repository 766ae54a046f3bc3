package megatron

import (
	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/trace/enum"
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

var groupNames = []string{"all ranks", "optimizer", "TP", "DP", "PP", "TP·PP", "first and last stage", "EP", "DP of experts", "EP·PP"}

func (g Group) String() string { return enum.Name(groupNames, g) }

// Names returns all of them.
func (Group) Names() []string { return groupNames }

// ranks is how many a group has.
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

// Dimension is what a group is for, as logs of the same ranks are told apart: what spans several dimensions is of none.
func (j *Job) Dimension(g Group) parallel.Kind {
	switch g {
	case Tensor:
		return parallel.TensorParallel
	case Data:
		return parallel.DataParallel
	case Pipeline:
		return parallel.PipelineParallel
	case Expert:
		return parallel.ExpertParallel
	case ExpertData:
		return parallel.ExpertDataParallel
	}
	return parallel.UnknownKind
}
