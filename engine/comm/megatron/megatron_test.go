package megatron

import (
	"encoding/csv"
	"math"
	"os"
	"reflect"
	"strconv"
	"testing"

	"github.com/sfstat/sfstat/engine/comm/volume"
	"github.com/sfstat/sfstat/trace/nccl"
)

// dense and moe are the two models of the NCCL Trace Profiler.
var dense = Job{Model: volume.Model{Layers: 16, Hidden: 512, Sequence: 1024, Vocabulary: 50257, Microbatch: 4, GlobalBatch: 64, ElementBytes: 2, Iterations: 10},
	FP16: true, Skipped: 10, LogInterval: 1, LogsToBoard: true}

func moe(change func(*Job)) Job {
	return with(dense, func(j *Job) {
		j.FP16, j.Skipped, j.NoBias, j.GradientBytes = false, 0, true, 4
		j.DP, j.EP, j.MoELayers, j.Experts, j.TopK = 4, 4, 8, 4, 2
		change(j)
	})
}

func with(j Job, change func(*Job)) Job {
	change(&j)
	return j
}

// jobs are those that bench/reference/megatron_calls.py walks through.
var jobs = map[string]Job{
	"DP=4":                    with(dense, func(j *Job) { j.DP = 4 }),
	"DP=4, sharded optimizer": with(dense, func(j *Job) { j.DP, j.Sharding = 4, volume.ShardedOptimizer }),
	"PP=4":                    with(dense, func(j *Job) { j.PP = 4 }),
	"PP=4, 2 virtual stages":  with(dense, func(j *Job) { j.PP, j.Virtual = 4, 2 }),
	"TP=4":                    with(dense, func(j *Job) { j.Layers, j.TP = 8, 4 }),
	"TP=4, sequence parallel": with(dense, func(j *Job) { j.Layers, j.TP, j.SequenceTP = 8, 4, true }),
	"EP=4, all-to-all":        moe(func(*Job) {}),
	"EP=4, all-gather":        moe(func(j *Job) { j.Dispatcher = volume.DispatchAllGather }),
	"Table 4.1":               with(dense, func(j *Job) { j.Layers, j.TP, j.PP, j.Microbatch = 4, 2, 2, 2 }),
	"Table 4.2":               with(dense, func(j *Job) { j.Layers, j.TP, j.SequenceTP = 4, 4, true }),
	"bf16, TP, PP, DP": with(dense, func(j *Job) {
		j.Layers, j.Hidden, j.TP, j.PP, j.DP, j.Iterations = 8, 256, 2, 2, 2, 3
		j.SequenceTP, j.Sharding, j.FP16, j.Skipped, j.GradientBytes = true, volume.ShardedOptimizer, false, 0, 4
	}),
	"fp16, 3 skipped of 5": with(dense, func(j *Job) {
		small(j)
		j.Layers, j.TP, j.PP, j.DP, j.Virtual, j.GlobalBatch, j.Iterations, j.Skipped = 12, 2, 3, 2, 2, 24, 5, 3
	}),
	"experts, PP, recompute": moe(func(j *Job) {
		small(j)
		j.Layers, j.MoELayers, j.PP, j.EP, j.GlobalBatch, j.Iterations, j.Recompute = 8, 4, 2, 2, 16, 2, true
	}),
	"experts, sharded optimizer": moe(func(j *Job) {
		small(j)
		j.Layers, j.MoELayers, j.EP, j.GlobalBatch, j.Iterations, j.Sharding = 4, 2, 2, 16, 2, volume.ShardedOptimizer
	}),
}

func small(j *Job) { j.Hidden, j.Sequence, j.Vocabulary, j.Microbatch = 64, 128, 1000, 1 }

// counts are what a rank calls of one operation; SendRecv is the kernels of sends and receives.
type counts struct{ lines, calls, kernels, bytes int64 }

func tally(j *Job, rank int64) map[string]counts {
	out := map[string]counts{}
	for _, c := range j.Calls(rank) {
		n := out[c.Op.String()]
		n.lines, n.calls, n.bytes = n.lines+c.Lines, n.calls+c.Times, n.bytes+int64(math.Round(c.Bytes*float64(c.Times)))
		if !c.Op.Message() {
			n.kernels += c.Kernels
		} else if c.Kernels > 0 {
			joined := out[nccl.SendRecv.String()]
			joined.kernels += c.Kernels
			out[nccl.SendRecv.String()] = joined
		}
		out[c.Op.String()] = n
	}
	return out
}

// Every job, rank and operation as a walk through Megatron-LM's schedule counts them, call by call.
func TestCallsAsTheScheduleIsWalked(t *testing.T) {
	f, err := os.Open("testdata/calls.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]map[int64]map[string]counts{}
	for _, row := range rows[1:] {
		var n [5]int64
		for i, at := range []int{1, 3, 4, 5, 6} {
			if n[i], err = strconv.ParseInt(row[at], 10, 64); err != nil {
				t.Fatal(err)
			}
		}
		if want[row[0]] == nil {
			want[row[0]] = map[int64]map[string]counts{}
		}
		if want[row[0]][n[0]] == nil {
			want[row[0]][n[0]] = map[string]counts{}
		}
		want[row[0]][n[0]][row[2]] = counts{n[1], n[2], n[3], n[4]}
	}
	if len(want) != len(jobs) {
		t.Errorf("%d jobs were walked, %d are described here", len(want), len(jobs))
	}
	for name, j := range jobs {
		complete, err := j.Complete()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := int64(len(want[name])); got != complete.Ranks() {
			t.Errorf("%s: %d ranks were walked, %d are described here", name, got, complete.Ranks())
		}
		for rank := range complete.Ranks() {
			if got := tally(&complete, rank); !reflect.DeepEqual(got, want[name][rank]) {
				t.Errorf("%s, rank %d:\n%v, walked\n%v", name, rank, got, want[name][rank])
			}
		}
	}
}
