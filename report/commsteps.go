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
	return put(prose(sayHowSteps(s)), section("In a step", per), section("Steps", commStepTable(s)))
}

// perStepTable returns the calls and bytes of an operation in the steps, and outside them.
func perStepTable(s *comm.Steps) *table.Table {
	t := perStepColumns()
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

// commStepTable returns a table of a line for each step, and for calls outside of steps.
func commStepTable(s *comm.Steps) *table.Table {
	t := commStepColumns()
	for i := range s.Totals {
		x := &s.Totals[i]
		row := t.Cells(publish.PlaceName(s, x.Place), x.Calls, Size(x.Bytes), nil, nil, nil)
		if x.End > 0 {
			row[3], row[4], row[5] = table.RealCell(float64(x.Length())), table.RealCell(float64(x.Transfer)), table.RealCell(float64(x.Wait))
		}
		t.Add(row...)
	}
	return capRows(t.Tidy(), mostRows, "json")
}

func perStepColumns() *table.Table {
	return &table.Table{Caption: "over all ranks; of initialisation, between steps and shutdown the calls. volume: elements × element size, as logged.", Columns: []table.Column{
		{Head: "operation", Kind: table.Text},
		{Head: "calls a step", Kind: table.Real},
		{Head: "volume a step", Kind: table.Text},
		{Head: "initialisation", Kind: table.Integer},
		{Head: "between", Kind: table.Integer},
		{Head: "shutdown", Kind: table.Integer},
	}}
}

func commStepColumns() *table.Table {
	return &table.Table{Columns: []table.Column{
		{Head: "step", Kind: table.Name},
		{Head: "calls", Kind: table.Integer},
		{Head: "volume", Kind: table.Text},
		{Head: "length %s", Kind: table.Length, Means: "length: from the first kernel's start to the last one's end."},
		{Head: "transfer %s", Kind: table.Length, Means: "transfer: collectives and messages with all ranks there, summed over all communicators."},
		{Head: "waited %s", Kind: table.Length, Means: "waited: for the last rank, summed over all ranks."},
	}}
}
