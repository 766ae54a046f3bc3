package report

import (
	"fmt"

	"github.com/sfstat/sfstat/engine/comm/megatron"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/publish"
)

// CommSchedule writes what Megatron-LM calls when it trains the job, which is complete. CSV is one row per call.
func (o Output) CommSchedule(j *megatron.Job) error {
	stages := j.Stages()
	return o.write(forms{
		json:     func() any { return publish.CommScheduleOf(stages) },
		rows:     func() *publish.Rows { return publish.CommScheduleOf(stages).Rows() },
		document: func() document { return scheduleDocument(stages) },
	})
}

func scheduleDocument(stages []megatron.Stage) document {
	var out document
	for i, s := range stages {
		t := scheduleColumns()
		if i < len(stages)-1 {
			t.Caption = "" // below the last alone
		}
		for _, c := range s.Calls {
			t.Row(c.For, fmt.Sprintf("%s %d", c.Group, c.Ranks), c.Op.String(), fmt.Sprintf("%d per %s", c.Each, c.Per), c.Times, c.Kernels, Size(int64(c.Bytes)))
		}
		ranks := fmt.Sprintf("%d", s.First)
		if s.Last > s.First {
			ranks = fmt.Sprintf("%d-%d", s.First, s.Last)
		}
		out = append(out, section("Ranks "+ranks, t)...)
	}
	return out
}

func scheduleColumns() *table.Table {
	return &table.Table{Caption: "calls: of each rank, as the source of Megatron-LM's core_r0.13.0 has them; logs: bytes of one. Calls on a group of one rank are logged and launch nothing; sends and receives that are issued together run in one kernel, counted with the sends. The first rank of a group logs a second line for each collective.", Columns: []table.Column{
		{Head: "for", Kind: table.Text},
		{Head: "on", Kind: table.Text},
		{Head: "operation", Kind: table.Text},
		{Head: "each", Kind: table.Text, Spare: true},
		{Head: "calls", Kind: table.Integer},
		{Head: "kernels", Kind: table.Integer, Spare: true},
		{Head: "logs", Kind: table.Text},
	}}
}
