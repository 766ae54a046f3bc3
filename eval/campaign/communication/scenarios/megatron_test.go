package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/engine/comm/megatron"
	"github.com/sfstat/sfstat/engine/comm/volume"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/flightrecorder"
	"github.com/sfstat/sfstat/internal/largedata"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// groupsOfDumps are those of Megatron-LM's own names for groups, in dumps of PyTorch's Flight Recorder, that the tables have.
var groupsOfDumps = map[string]megatron.Group{"TENSOR_MODEL_PARALLEL_GROUP": megatron.Tensor, "PIPELINE_MODEL_PARALLEL_GROUP": megatron.Pipeline}

// Real dumps of a Megatron-LM job of 16 ranks (sequences of 8,192, hidden 5,120, bf16 with sequence parallelism and interleaved
// stages): what its ranks had called on groups of TP and PP when it stopped is in the tables, by operation and bytes. Its
// tensors of 8 bits are of FP8, which the tables do not have, and its experts are spread over TP.
func TestMegatronOfRealDumps(t *testing.T) {
	root := largedata.Need(t, "data/public/nvrx/gpu_error_1st")
	j, err := megatron.Job{Model: volume.Model{Layers: 32, Hidden: 5120, Sequence: 8192, Vocabulary: 200000, Microbatch: 1, GlobalBatch: 64, ElementBytes: 2, GradientBytes: 4,
		Iterations: 1, TP: 2, PP: 4, DP: 2, Virtual: 2, SequenceTP: true, Sharding: volume.ShardedOptimizer}, NoPositions: true, NoBias: true, RMSNorm: true, Untied: true, NoMask: true}.Complete()
	if err != nil {
		t.Fatal(err)
	}
	type call struct {
		group megatron.Group
		op    nccl.Op
		bytes int64
	}
	found, unknown := map[call]int{}, map[string]int{}
	for rank := range j.Ranks() {
		tabled := map[call]bool{}
		for _, c := range j.Calls(rank) {
			tabled[call{c.Group, c.Op, int64(c.Bytes)}] = true
		}
		src, err := ingest.Open(filepath.Join(root, fmt.Sprintf("_dump_%d", rank)), ingest.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := new(flightrecorder.Reader).Read(src, src.Name())
		src.Close()
		if err != nil {
			t.Fatal(err)
		}
		for i := range r.Calls {
			c := &r.Calls[i]
			if c.Group == comms.None {
				continue
			}
			group, known := groupsOfDumps[r.Groups[c.Group].Desc]
			if !known || slices.Contains(c.Tensors.InTypes, "Byte") {
				continue
			}
			if is := (call{group, c.Op, loggedBytes(c)}); tabled[is] {
				found[is]++
			} else {
				unknown[fmt.Sprintf("%v %v of %d B", group, c.Op, loggedBytes(c))]++
			}
		}
	}
	if len(unknown) > 0 {
		t.Errorf("calls that are not in the tables: %v", unknown)
	}
	part := int64(8192 / 2 * 5120 * 2)
	for _, want := range []call{{megatron.Tensor, nccl.AllGather, part}, {megatron.Tensor, nccl.ReduceScatter, part}, {megatron.Tensor, nccl.Broadcast, 8192 * 8},
		{megatron.Pipeline, nccl.Send, part}, {megatron.Pipeline, nccl.Recv, part}} {
		if found[want] == 0 {
			t.Errorf("no dump has %+v: %v", want, found)
		}
	}
	t.Logf("%v", found)
}

// loggedBytes returns what NCCL's log would count of a call in a dump: of what is scattered the part.
func loggedBytes(c *comms.Call) int64 {
	elements := comms.Elements(c.Tensors.InSizes)
	if c.Op == nccl.ReduceScatter {
		elements = comms.Elements(c.Tensors.OutSizes)
	}
	return elements * map[string]int64{"BFloat16": 2, "Float": 4, "Int": 4, "Long": 8}[c.Tensors.InTypes[0]]
}

// A real log of Megatron-LM's shows calls on groups of one rank, and that fp16 skips iterations: after six of them the loss is
// scaled by 2²⁷, which is 2³² halved by all but the first.
func TestMegatronOfRealLog(t *testing.T) {
	root := largedata.Need(t, "data/nccl/real-logs")
	text, err := os.ReadFile(filepath.Join(root, "megatron-275.log"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"iteration        6/", fmt.Sprintf("loss scale: %.1f", float64(int64(1)<<(32-5))), "skipped iterations:   1 ", "NCCL INFO Broadcast", "[nranks=1]"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the log lacks %q", want)
		}
	}
}
