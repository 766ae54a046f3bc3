// Package stagename reads the names of stages: what a stage is for, to which
// microstep it belongs, and whether it is recorded or derived.
package stagename

import (
	"strconv"
	"strings"
)

// Residual is the stage that no one records: the part of a step's wall
// time that no explicit stage covers, max(0, wall − Σ explicit).
const Residual = "step.other_cpu_wall"

// DataStem starts the names of stages that wait for input data.
const DataStem = "data."

// BackwardStem starts the names of stages in which gradients are reduced
// over the replicas.
const BackwardStem = "model.backward"

// Whole is a step of which nothing is timed but the whole, and Remainder what timed stages leave of
// it, as logs have them: ranks synchronise in both.
const (
	Whole     = "step.whole"
	Remainder = "step.rest"
)

// WaitStem starts the names of the stages in which a reduced operator
// trace waits: "wait.forward-compute@3" is the time before that operator in
// which the rank's main queue stood still.
const WaitStem = "wait."

// IsWait reports whether a stage is measured waiting.
func IsWait(stage string) bool { return strings.HasPrefix(stage, WaitStem) }

// DeviceSuffix ends the names of stages that are timed on the device, and
// not on the host.
const DeviceSuffix = "_device"

// Split splits an accumulation-indexed stage name: "data.next_wait@2"
// gives ("data.next_wait", 2), a name without an index gives (name, −1).
func Split(stage string) (base string, micro int) {
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

// Kind is what a training step does in a stage, as far as its name tells.
type Kind uint8

const (
	Other      Kind = iota
	Data            // waits for input
	Forward         // forward pass and loss
	Backward        // backward pass, in which gradients are reduced
	Optimizer       // optimizer step
	Callbacks       // hooks, logging, checkpoints, evaluation
	Rest            // no recorded stage
	Collective      // nothing but a collective, in which ranks wait for each other
)

// collectives are what names of stages have in them that time a collective by itself.
var collectives = []string{"allreduce", "all_reduce", "all-reduce", "reducescatter", "reduce_scatter", "reduce-scatter", "allgather", "all_gather", "all-gather",
	"barrier", "grad_sync", "gradsync", "gradient_sync", "sync_grad"}

// stageStems are the beginnings of names, or of their last part, by kind.
var stems = [...][]string{
	Data:      {"data", "input", "dataload", "fetch"},
	Forward:   {"model.fwd", "model.forward", "forward", "fwd"},
	Backward:  {BackwardStem, "backward", "bwd", Whole, Remainder},
	Optimizer: {"optim", "opt_step"},
	Callbacks: {"callback", "hook", "logging", "checkpoint", "eval"},
}

// Several stands between the names of the first and the last of several operators that are one stage.
const Several = "…"

// KindOf reports what a stage is for by its name, in the recorder's names
// and in those that people choose: "data.next_wait", "forward", "bwd@1". Several operators are for what the first and the last both are.
func KindOf(stage string) Kind {
	base, _ := Split(stage)
	if base == Residual {
		return Rest
	}
	if first, last, several := strings.Cut(base, Several); several {
		kind := KindOf(first)
		if _, err := strconv.Atoi(last); err == nil || kind == KindOf(last) { // bwd@1…3
			return kind
		}
		return Other
	}
	base = strings.ToLower(base)
	for kind, stems := range stems {
		for _, stem := range stems {
			if strings.HasPrefix(base, stem) {
				return Kind(kind)
			}
		}
	}
	for _, name := range collectives {
		if strings.Contains(base, name) {
			return Collective
		}
	}
	return Other
}
