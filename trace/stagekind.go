package trace

import "strings"

// StageKind is what a training step does in a stage, as far as its name tells.
type StageKind uint8

const (
	StageOther     StageKind = iota
	StageData                // waits for input
	StageForward             // forward pass and loss
	StageBackward            // backward pass, in which gradients are reduced
	StageOptimizer           // optimizer step
	StageCallbacks           // hooks, logging, checkpoints, evaluation
	StageResidual            // no recorded stage
)

// stageStems are the beginnings of names, or of their last part, by kind.
var stageStems = [...][]string{
	StageData:      {"data", "input", "dataload", "fetch"},
	StageForward:   {"model.fwd", "model.forward", "forward", "fwd"},
	StageBackward:  {BackwardStageStem, "backward", "bwd"},
	StageOptimizer: {"optim", "opt_step"},
	StageCallbacks: {"callback", "hook", "logging", "checkpoint", "eval"},
}

// KindOfStage reports what a stage is for by its name, in the recorder's names
// and in those that people choose: "data.next_wait", "forward", "bwd@1".
func KindOfStage(stage string) StageKind {
	base, _ := SplitStage(stage)
	if base == ResidualStage {
		return StageResidual
	}
	base = strings.ToLower(base)
	for kind, stems := range stageStems {
		for _, stem := range stems {
			if strings.HasPrefix(base, stem) {
				return StageKind(kind)
			}
		}
	}
	return StageOther
}
