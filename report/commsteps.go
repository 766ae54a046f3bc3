package report

import (
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/internal/table"
)

// CommSteps writes what a job communicated in each step, initialisation and shutdown apart. CSV is one row per step and operation.
func (o Output) CommSteps(r *comm.Result) error {
	steps := comm.StepsOf(r)
	return o.write(forms{
		schema:   "comm-steps",
		json:     func() any { return stepsOf(steps) },
		document: func() document { return stepsDocument(steps) },
	})
}

// placeName is the step, or when in the job's life it was.
func placeName(s *comm.Steps, p comm.Place) string {
	if p.Era == comm.InStep {
		return s.Names[p.Step]
	}
	return p.Era.String()
}

func stepsDocument(s *comm.Steps) document {
	per := perStepTable(s)
	if s.Source == comm.NoSteps {
		per = nil
	}
	return put(prose(say("steps "+s.Source.String(), s)), section("In a step", per), section("Steps", commStepTable(s)))
}

// perStepTable is calls and bytes of an operation in the steps, and beside them.
func perStepTable(s *comm.Steps) *table.Table {
	t := tableOf("per step")
	type use struct {
		calls map[comm.Era]int64
		bytes int64 // in steps
	}
	uses, order, steps := map[string]*use{}, []string{}, 0
	for i := range s.Totals {
		x := &s.Totals[i]
		if x.Era == comm.InStep {
			steps++
		}
		for _, o := range x.Ops {
			name := o.Op.String()
			if uses[name] == nil {
				uses[name], order = &use{calls: map[comm.Era]int64{}}, append(order, name)
			}
			u := uses[name]
			u.calls[x.Era] += o.Calls
			if x.Era == comm.InStep {
				u.bytes += o.Bytes
			}
		}
	}
	for _, name := range order {
		u := uses[name]
		count := func(era comm.Era) any {
			if u.calls[era] == 0 {
				return nil
			}
			return u.calls[era]
		}
		n := max(steps, 1)
		t.Row(name, float64(u.calls[comm.InStep])/float64(n), Size(u.bytes/int64(n)), count(comm.Initialisation), count(comm.Between), count(comm.Shutdown))
	}
	return t.Tidy()
}

// commStepTable is a line for each step, and for what is outside of them.
func commStepTable(s *comm.Steps) *table.Table {
	t := tableOf("comm step")
	for i := range s.Totals {
		x := &s.Totals[i]
		row := t.Cells(placeName(s, x.Place), x.Calls, Size(x.Bytes), nil, nil, nil)
		if x.End > 0 {
			row[3], row[4], row[5] = table.RealCell(float64(x.Length())), table.RealCell(float64(x.Transfer)), table.RealCell(float64(x.Wait))
		}
		t.Add(row...)
	}
	return clipped(t.Tidy())
}

type stepsJSON struct {
	Source comm.StepSource `json:"source" doc:"where the steps are from"`
	Steps  []stepOf        `json:"steps" doc:"steps in order, and what is outside of them"`
}

type stepOf struct {
	Era        comm.Era         `json:"era" doc:"when in the job it was"`
	Step       int              `json:"step" null:"negative" doc:"number of the step, from 0; null outside of steps"`
	Name       string           `json:"step_name" doc:"name of the step, or the era"`
	Calls      int64            `json:"calls" doc:"calls of all ranks"`
	Bytes      int64            `json:"bytes" doc:"bytes as logged, of all ranks"`
	Begin      *int64           `json:"begin_ns" doc:"start of the first kernel, on the first rank's clock; null without kernels"`
	End        *int64           `json:"end_ns" doc:"end of the last kernel, likewise"`
	Transfer   *int64           `json:"transfer_ns" doc:"collectives and messages after the last rank arrived, added up"`
	Wait       *int64           `json:"waited_ns" doc:"waiting for the last rank, of all ranks, added up"`
	Operations []parallel.OpUse `json:"operations" doc:"what was called, by operation"`
}

func stepsOf(s *comm.Steps) stepsJSON {
	out := stepsJSON{Source: s.Source, Steps: []stepOf{}}
	for i := range s.Totals {
		x := &s.Totals[i]
		j := stepOf{Era: x.Era, Step: x.Step, Name: placeName(s, x.Place), Calls: x.Calls, Bytes: x.Bytes, Operations: x.Ops}
		if x.End > 0 {
			j.Begin, j.End, j.Transfer, j.Wait = &x.Begin, &x.End, &x.Transfer, &x.Wait
		}
		out.Steps = append(out.Steps, j)
	}
	return out
}
