package publish

import (
	"github.com/sfstat/sfstat/engine/comm/megatron"
	"github.com/sfstat/sfstat/trace/nccl"
)

// CommSchedule is what Megatron-LM calls: sfstat comm --show schedule.
type CommSchedule struct {
	Schema string          `json:"schema" doc:"name and version of this form"`
	Calls  []ScheduledCall `json:"calls" doc:"rows of the schedule, for ranks that make the same calls"`
}

// ScheduledCall is one row of the schedule of some ranks.
type ScheduledCall struct {
	First   int64                `json:"first_rank" doc:"first of the ranks, which follow one another"`
	Last    int64                `json:"last_rank" doc:"last of them"`
	For     string               `json:"for" doc:"what the call is for"`
	Group   Name[megatron.Group] `json:"group" doc:"which of Megatron-LM's process groups it is on"`
	Ranks   int64                `json:"ranks" doc:"ranks of the group; a call on one launches nothing"`
	Op      Name[nccl.Op]        `json:"op" doc:"what is called"`
	Each    int64                `json:"calls_each" doc:"calls in each of that unit"`
	Per     Name[megatron.Per]   `json:"per" doc:"unit that repeats the call"`
	Calls   int64                `json:"calls" doc:"calls of each rank, in the whole job"`
	Kernels int64                `json:"kernels" doc:"kernels that they launch; of messages between stages the sends have those of the receives too"`
	Bytes   float64              `json:"bytes_each" doc:"bytes that one call logs: of AllGather and ReduceScatter one part, of uneven messages the mean"`
}

// CommScheduleOf returns the document of what a job calls.
func CommScheduleOf(stages []megatron.Stage) CommSchedule {
	out := CommSchedule{"sfstat.comm-schedule/1", []ScheduledCall{}}
	for _, s := range stages {
		for _, c := range s.Calls {
			out.Calls = append(out.Calls, ScheduledCall{s.First, s.Last, c.For, nameOf(c.Group), c.Ranks, nameOf(c.Op), c.Each, nameOf(c.Per), c.Times, c.Kernels, c.Bytes})
		}
	}
	return out
}

// Rows returns a row for each call.
func (s CommSchedule) Rows() *Rows { return rowsOf(s.Calls) }
