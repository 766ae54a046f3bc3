package report

import (
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/publish"
)

// CommSteps writes what a job communicated in each step, initialisation and shutdown apart. CSV is one row per step and operation.
func (o Output) CommSteps(r *comm.Result) error {
	steps := comm.StepsOf(r)
	return o.write(forms{
		json:     func() any { return publish.CommStepsOf(steps, problemsOf(o.Problems)) },
		rows:     func() *publish.Rows { return publish.CommStepsOf(steps, nil).Rows() },
		document: func() document { return stepsDocument(steps) },
	})
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
		row := t.Cells(publish.PlaceName(s, x.Place), x.Calls, Size(x.Bytes), nil, nil, nil)
		if x.End > 0 {
			row[3], row[4], row[5] = table.RealCell(float64(x.Length())), table.RealCell(float64(x.Transfer)), table.RealCell(float64(x.Wait))
		}
		t.Add(row...)
	}
	return capped(t.Tidy(), mostRows, "json")
}
