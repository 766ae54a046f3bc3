package megatron

import (
	"encoding/csv"
	"math"
	"os"
	"reflect"
	"strconv"
	"testing"

	"github.com/sfstat/sfstat/engine/comm/parallel"
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

// Arguments that no walked job has, by hand: 2 layers of width 8 on sequences of 4, 128 words after padding, fed 12 wide.
func TestParameters(t *testing.T) {
	base := Job{Model: volume.Model{Layers: 2, Hidden: 8, Sequence: 4, Vocabulary: 100, Microbatch: 1, GlobalBatch: 1, ElementBytes: 2, Iterations: 1}, FFN: 12}
	for _, tt := range []struct {
		name   string
		change func(*Job)
		want   int64
	}{
		{"as it is", func(*Job) {}, 128*8 + 4*8 + 2*(16+192+24+64+8+16+96+12+96+8) + 16},
		{"without biases", func(j *Job) { j.NoBias = true }, 128*8 + 4*8 + 2*(16+192+64+16+96+96) + 16},
		{"RMS norm", func(j *Job) { j.RMSNorm = true }, 128*8 + 4*8 + 2*(8+192+24+64+8+8+96+12+96+8) + 8},
		{"gated", func(j *Job) { j.Gated = true }, 128*8 + 4*8 + 2*(16+192+24+64+8+16+192+24+96+8) + 16},
		{"grouped queries", func(j *Job) { j.KeyValue = 2 }, 128*8 + 4*8 + 2*(16+96+12+64+8+16+96+12+96+8) + 16},
		{"no positions, untied", func(j *Job) { j.NoPositions, j.Untied = true, true }, 2*128*8 + 2*(16+192+24+64+8+16+96+12+96+8) + 16},
	} {
		j, err := with(base, tt.change).Complete()
		if err != nil {
			t.Fatal(err)
		}
		if got := sum(j.tensorsOf(j.place(0), 0).dense); got != tt.want {
			t.Errorf("%s: %d parameters, want %d", tt.name, got, tt.want)
		}
	}
}

// Without positions the embeddings of split sequences are reduce-scattered; without a mask batches have four tensors; timers that
// are printed every third iteration have three logs of ten.
func TestArguments(t *testing.T) {
	of := func(j Job, rank int64, what string) (n int64) {
		t.Helper()
		j, err := j.Complete()
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range j.Calls(rank) {
			if c.For == what {
				n += c.Times
			}
		}
		return n
	}
	sp := jobs["TP=4, sequence parallel"]
	for _, tt := range []struct {
		what   string
		change func(*Job)
		op     nccl.Op
		want   int64
	}{{"word embeddings", func(j *Job) { j.NoPositions = true }, nccl.ReduceScatter, 160}, {"word embeddings", func(*Job) {}, nccl.AllReduce, 160},
		{"attention mask of a batch", func(j *Job) { j.NoMask = true }, nccl.Broadcast, 0}, {"attention mask of a batch", func(*Job) {}, nccl.Broadcast, 160},
		{"times", func(j *Job) { j.LogInterval = 3 }, nccl.AllGather, 3}, {"times for TensorBoard", func(j *Job) { j.LogsToBoard = false }, nccl.AllGather, 0}} {
		j, err := with(sp, tt.change).Complete()
		if err != nil {
			t.Fatal(err)
		}
		got := int64(0)
		for _, c := range j.Calls(0) {
			if c.For == tt.what && c.Op == tt.op {
				got += c.Times
			}
		}
		if got != tt.want {
			t.Errorf("%s: %d %v, want %d", tt.what, got, tt.op, tt.want)
		}
	}
	if got := of(with(jobs["PP=4, 2 virtual stages"], func(j *Job) { j.Untied = true }), 0, "gradient of shared embedding"); got != 0 {
		t.Errorf("%d gradients of a shared embedding that is none", got)
	}
}

// What a job cannot be is refused with what to do.
func TestRefused(t *testing.T) {
	for want, change := range map[string]func(*Job){
		"context parallelism (cp) is not in the tables of Megatron-LM's calls: compare with the volumes alone, without --theory megatron": func(j *Job) { j.CP = 2 },
		"sharding: full is not in the tables of Megatron-LM's calls: compare with the volumes alone, without --theory megatron":           func(j *Job) { j.Sharding = volume.ShardedAll },
		"skipped_iterations is 11, expected 0 to 10":                                      func(j *Job) { j.Skipped = 11 },
		"skipped_iterations is 10, and fp16 is false: only a loss scale skips iterations": func(j *Job) { j.FP16 = false },
		"key_value_width is 1024, expected 0 to 512":                                      func(j *Job) { j.KeyValue = 1024 },
		"layers is 0, expected at least 1 and at most 16777216":                           func(j *Job) { j.Layers = 0 },
	} {
		if _, err := with(dense, change).Complete(); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Stages whose ranks call the same are one table. The two in the middle of 1F1B launch different kernels, for they fill the pipeline with
// different numbers of microbatches; with virtual stages each message has its own.
func TestStages(t *testing.T) {
	for virtual, want := range map[int64][][2]int64{1: {{0, 1}, {2, 3}, {4, 5}, {6, 7}}, 2: {{0, 1}, {2, 5}, {6, 7}}} {
		j, err := with(dense, func(j *Job) { j.TP, j.PP, j.Virtual = 2, 4, virtual }).Complete()
		if err != nil {
			t.Fatal(err)
		}
		var got [][2]int64
		for _, s := range j.Stages() {
			got = append(got, [2]int64{s.First, s.Last})
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%d virtual stages: ranks %v, want %v", virtual, got, want)
		}
	}
}

// Groups of the same ranks are one to a log: in DP=4 all ranks are the data dimension's, and the first and last of two stages the pipeline's.
func TestPurpose(t *testing.T) {
	for _, tt := range []struct {
		job   string
		rank  int64
		ranks []int
		want  string
	}{{"DP=4", 1, []int{0, 1, 2, 3}, "DP"}, {"Table 4.1", 1, []int{1, 3}, "PP"}, {"Table 4.1", 1, []int{0, 1, 2, 3}, "TP_PP"}, {"PP=4", 3, []int{0, 3}, "PP_ends"},
		{"bf16, TP, PP, DP", 5, []int{0, 1, 2, 3, 4, 5, 6, 7}, "all"}, {"bf16, TP, PP, DP", 5, []int{5, 7}, "DP"}, {"experts, PP, recompute", 1, []int{0, 1}, "EP"},
		{"experts, PP, recompute", 1, []int{1, 3}, "EDP"}, {"bf16, TP, PP, DP", 5, []int{5, 6}, ""}} {
		j, err := jobs[tt.job].Complete()
		if err != nil {
			t.Fatal(err)
		}
		kind, name, known := j.Purpose(tt.rank, tt.ranks)
		if name == "" && known {
			name = map[parallel.Kind]string{parallel.DataParallel: "DP", parallel.PipelineParallel: "PP", parallel.ExpertParallel: "EP", parallel.ExpertDataParallel: "EDP"}[kind]
		}
		if name != tt.want || known != (tt.want != "") {
			t.Errorf("%s, rank %d: %v are %q (%v), want %q", tt.job, tt.rank, tt.ranks, name, known, tt.want)
		}
	}
}

// What a job sends is what logs of it are held against: of all ranks, by operation, but for calls on one rank.
func TestFlows(t *testing.T) {
	j, err := jobs["EP=4, all-to-all"].Complete()
	if err != nil {
		t.Fatal(err)
	}
	var sends, gathers, exchanged float64
	for _, f := range j.Flows(0, volume.SendsAndReceives) {
		if f.Ranks < 2 {
			t.Errorf("a flow of %d ranks: %+v", f.Ranks, f)
		}
		switch f.Op {
		case nccl.Send:
			sends += f.Logged
			if math.Abs(f.Sent/f.Logged-0.75) > 1e-12 {
				t.Errorf("%.2f of what is sent leaves the rank, want three quarters", f.Sent/f.Logged)
			}
		case nccl.AllGather:
			gathers += f.Calls
		}
	}
	for _, f := range j.Flows(0, volume.AlltoAllCalls) {
		if f.Op == nccl.AlltoAll {
			exchanged += f.Calls
		}
	}
	if sends != 320*(4*8<<20+2*16<<10) || gathers != 320+21 || exchanged != 320*6 {
		t.Errorf("%.0f bytes sent, %.0f gathers, %.0f exchanges", sends, gathers, exchanged)
	}
}
