package report

import (
	"fmt"

	"github.com/sfstat/sfstat/engine/comm/megatron"
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
		t := tableOf("schedule")
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
