package publish

import (
	"github.com/sfstat/sfstat/engine/comm"
)

// CommSteps is what a job communicated in each step: sfstat comm --show steps.
type CommSteps struct {
	Schema   string                `json:"schema" doc:"name and version of this form"`
	Source   Name[comm.StepSource] `json:"source" doc:"where the steps are from"`
	Steps    []StepOf              `json:"steps" doc:"steps in order, and what is outside of them"`
	Problems []Problem             `json:"problems" doc:"inputs that were refused; the others were analysed"`
}

// StepOf adds up the calls of one step, or of one era outside of steps, over all ranks.
type StepOf struct {
	Era      Name[comm.Era] `json:"era" doc:"when in the job it was"`
	Step     *int           `json:"step" doc:"number of the step, from 0; null outside of steps"`
	Name     string         `json:"step_name" doc:"name of the step, or the era"`
	Calls    int64          `json:"calls" doc:"calls of all ranks"`
	Bytes    int64          `json:"bytes" doc:"bytes as logged, of all ranks"`
	Begin    *int64         `json:"begin_ns" doc:"start of the first kernel, on the first rank's clock; null without kernels"`
	End      *int64         `json:"end_ns" doc:"end of the last kernel, likewise"`
	Transfer *int64         `json:"transfer_ns" doc:"collectives and messages after the last rank arrived, added up"`
	Wait     *int64         `json:"waited_ns" doc:"waiting for the last rank, of all ranks, added up"`
	Ops      []OpUse        `json:"operations" doc:"what was called, by operation"`
}

// CommStepsOf returns the document of what a job communicated in each step.
func CommStepsOf(s *comm.Steps, problems []Problem) CommSteps {
	return CommSteps{"sfstat.comm-steps/1", nameOf(s.Source), convert(s.Totals, func(t comm.StepTotal) StepOf {
		out := StepOf{Era: nameOf(t.Era), Step: nonNegative(t.Step), Name: PlaceName(s, t.Place), Calls: t.Calls, Bytes: t.Bytes, Ops: convert(t.Ops, opUseOf)}
		if t.End != 0 {
			out.Begin, out.End, out.Transfer, out.Wait = &t.Begin, &t.End, &t.Transfer, &t.Wait
		}
		return out
	}), list(problems)}
}

// PlaceName returns the name of a step, or when in the job's life it was.
func PlaceName(s *comm.Steps, p comm.Place) string {
	if p.Era == comm.InStep {
		return s.Names[p.Step]
	}
	return p.Era.String()
}

// Rows returns a row for each step and operation.
func (s CommSteps) Rows() *Rows {
	r := rowsUnder("era step step_name op calls bytes")
	for _, t := range s.Steps {
		for _, u := range t.Ops {
			r.add(t.Era, t.Step, t.Name, u.Op, u.Calls, u.Bytes)
		}
	}
	return r
}

// CommMatrix is how many bytes each rank sends each other: sfstat comm --show matrix.
type CommMatrix struct {
	Schema   string    `json:"schema" doc:"name and version of this form"`
	Sent     []Sent    `json:"sent" doc:"pairs of ranks and routes"`
	Unplaced int64     `json:"unplaced_bytes" doc:"bytes to ranks that left no log"`
	Problems []Problem `json:"problems" doc:"inputs that were refused; the others were analysed"`
}

// Sent is what a rank sends another by one algorithm.
type Sent struct {
	From  int              `json:"from_rank" doc:"sender, rank of the job"`
	To    int              `json:"to_rank" doc:"receiver, rank of the job"`
	Route Name[comm.Route] `json:"route" doc:"by what algorithm"`
	Calls int64            `json:"calls" doc:"calls of the sender"`
	Bytes int64            `json:"bytes" doc:"bytes sent"`
}

// CommMatrixOf returns the document of what ranks send each other.
func CommMatrixOf(sent []comm.Sent, unplaced float64, problems []Problem) CommMatrix {
	return CommMatrix{"sfstat.comm-matrix/1", convert(sent, func(x comm.Sent) Sent { return Sent{x.From, x.To, nameOf(x.Route), x.Calls, int64(x.Bytes)} }),
		int64(unplaced), list(problems)}
}

// Rows returns a row for each pair and route.
func (m CommMatrix) Rows() *Rows { return rowsOf(m.Sent) }
