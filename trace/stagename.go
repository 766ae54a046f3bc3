package trace

import (
	"strconv"
	"strings"
)

// ResidualStage is the stage that no one records: the part of a step's wall
// time that no explicit stage covers, max(0, wall − Σ explicit).
const ResidualStage = "step.other_cpu_wall"

// DataStageStem starts the names of stages that wait for input data.
const DataStageStem = "data."

// BackwardStageStem starts the names of stages in which gradients are reduced
// over the replicas.
const BackwardStageStem = "model.backward"

// WaitStageStem starts the names of the stages in which a reduced operator
// trace waits: "wait.forward-compute@3" is the time before that operator in
// which the rank's main queue stood still.
const WaitStageStem = "wait."

// IsWait reports whether a stage is measured waiting.
func IsWait(stage string) bool { return strings.HasPrefix(stage, WaitStageStem) }

// DeviceStageSuffix ends the names of stages that are timed on the device, and
// not on the host.
const DeviceStageSuffix = "_device"

// SplitStage splits an accumulation-indexed stage name: "data.next_wait@2"
// gives ("data.next_wait", 2), a name without an index gives (name, −1).
func SplitStage(stage string) (base string, micro int) {
	at := strings.LastIndexByte(stage, '@')
	if at <= 0 || at == len(stage)-1 {
		return stage, -1
	}
	n, err := strconv.Atoi(stage[at+1:])
	if err != nil || n < 0 || stage[at+1] == '+' {
		return stage, -1
	}
	return stage[:at], n
}

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
