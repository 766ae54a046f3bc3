package publish

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/operators"
)

// Traces is the document of all commands over operator traces.
type Traces[T any] struct {
	Schema   string    `json:"schema" doc:"name and version of this form"`
	Traces   []T       `json:"traces" doc:"one for each operator trace, in the order of the input"`
	Problems []Problem `json:"problems" doc:"inputs that were refused; the others were analysed"`
}

// Trace is what is known of a trace before any engine.
type Trace struct {
	Run       string   `json:"run" doc:"name of the trace: its own, else that of its file"`
	DP        int      `json:"dp_size" doc:"replicas"`
	PP        int      `json:"pp_size" doc:"pipeline stages"`
	World     int      `json:"world_size" doc:"ranks of the job; 0 where it is not known"`
	Operators int      `json:"operators" doc:"operators in the trace"`
	Steps     []int64  `json:"step_ids" doc:"indices of the steps that were analysed, ascending; lists per step are in this order"`
	Offset    int64    `json:"clock_offset_ns" doc:"largest offset of a rank's clock before clocks were aligned; 0: clocks were left as they are"`
	Notes     []string `json:"notes" doc:"what is incomplete, in sentences"`
}

// TraceOf returns what is known of a trace, each note once.
func TraceOf(v *operators.View) Trace {
	notes := []string{}
	for _, n := range v.Notes() {
		if !slices.Contains(notes, n.Text) {
			notes = append(notes, n.Text)
		}
	}
	return Trace{v.Trace.Run, v.Grid.Replicas, v.Grid.Stages, v.Trace.Layout.World, v.Trace.Len(), list(v.Steps()), v.Offset, notes}
}

// Worker is a worker of a trace and its place.
type Worker struct {
	Rank int `json:"rank" doc:"global rank"`
	DP   int `json:"dp" doc:"its replica"`
	PP   int `json:"pp" doc:"its pipeline stage"`
}

// WorkerOf returns a worker by its number.
func WorkerOf(v *operators.View, worker int) Worker {
	return Worker{v.Rank(worker).ID, v.Replica(worker), v.Stage(worker)}
}

// RanksOf returns the IDs of workers, never nil.
func RanksOf(v *operators.View, workers []int) []int {
	return convert(workers, func(w int) int { return v.Rank(w).ID })
}
