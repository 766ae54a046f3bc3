package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/engine/comm/volume"
	"github.com/sfstat/sfstat/internal/largedata"
	"github.com/sfstat/sfstat/trace/nccl"
)

// volumeTruth is what a scenario was generated from, and its communicators.
type volumeTruth struct {
	truthFile
	Comms []struct {
		ID    int
		Kind  string
		Ranks []int
	}
}

// traffic is what a rank logged.
func (v *volumeTruth) traffic(rank int) []volume.Flow {
	dimensions := map[string]parallel.Kind{"TP": parallel.TensorParallel, "DP": parallel.DataParallel, "PP": parallel.PipelineParallel, "EP": parallel.ExpertParallel, "EDP": parallel.ExpertDataParallel}
	column := func(name string) int { return slices.Index(v.CallFields, name) }
	op, of, bytes, root := column("op"), column("comm"), column("bytes"), column("root")
	var out []volume.Flow
	for _, call := range v.Calls[strconv.Itoa(rank)] {
		i := slices.IndexFunc(v.Comms, func(c struct {
			ID    int
			Kind  string
			Ranks []int
		}) bool {
			return c.ID == int(call[of].(float64))
		})
		x := volume.CallFlow(dimensions[v.Comms[i].Kind], nccl.ParseOp(call[op].(string)), int64(len(v.Comms[i].Ranks)), int64(call[bytes].(float64)))
		peer := int(call[root].(float64))
		if x.Op.Message() && peer >= 0 && peer < len(v.Comms[i].Ranks) && v.Comms[i].Ranks[peer] == rank {
			x = x.Loopback()
		}
		out = append(out, x)
	}
	return out
}

// Generated runs beside theory. Their generator has Megatron's rules and knows nothing of these formulas.
func TestVolumes(t *testing.T) {
	root := largedata.Need(t, "data/nccl/dev")
	for _, tt := range []struct {
		name      string
		dimension parallel.Kind
		op        nccl.Op
		bytes     float64 // observed over expected, within a thousandth; 0: not as evenly as theory has it
		calls     float64
	}{
		{"dp4", parallel.DataParallel, nccl.AllReduce, 1, 2}, // and 8 bytes each iteration, the norm
		{"pp4", parallel.PipelineParallel, nccl.Send, 1, 1},
		{"tp4", parallel.TensorParallel, nccl.ReduceScatter, 1 + 1./16, 1 + 1./16}, // of the embedding, once a microbatch, beside 4 of each of 4 layers
		{"tp4", parallel.TensorParallel, nccl.AllGather, 1 + 3./24, 1 + 3./24},     // of logits and loss, beside 6
		{"tp2pp2", parallel.TensorParallel, nccl.AllReduce, 1 + 1./8, 1 + 1./8},
		{"moe_alltoall", parallel.ExpertParallel, nccl.Send, 0, 6. / 4}, // recomputed
		{"dp4_zero1", parallel.DataParallel, nccl.AllGather, 7. / 8, 4}, // in buckets, the last of half the size
		{"multinode", parallel.TensorParallel, nccl.AllGather, 1 + 3./12, 1 + 3./12},
	} {
		var v volumeTruth
		text, err := os.ReadFile(filepath.Join(root, tt.name, "truth.json"))
		if err == nil {
			err = json.Unmarshal(text, &v)
		}
		if err != nil {
			t.Fatal(err)
		}
		m, err := v.model()
		if err != nil {
			t.Fatal(err)
		}
		rank := 0
		seen := v.traffic(rank)
		c := volume.Compare(m.Flows(m.StageOf(rank), volume.ExchangeOf(seen)), seen)
		for _, r := range c.Rows {
			t.Logf("%s: %v %v: expected %.0f calls, %.4g B; seen %.0f, %.4g B; ratio %.3f = %.3f × %.3f", tt.name, r.Dimension, r.Op, r.Theory.Calls, r.Theory.Logged,
				r.Observed.Calls, r.Observed.Logged, r.Ratio, r.Count, r.Size)
			if r.Dimension == tt.dimension && r.Op == tt.op && (math.Abs(r.Count-tt.calls) > 1e-9 || tt.bytes > 0 && math.Abs(r.Ratio-tt.bytes) > 0.001) {
				t.Errorf("%s: %v %v: %.4f of the bytes in %.4f of the calls, want %.4f and %.4f", tt.name, r.Dimension, r.Op, r.Ratio, r.Count, tt.bytes, tt.calls)
			}
		}
		t.Logf("%s: thesis's theory %.4f GB, ours %.4f GB, observed %.4f GB logged", tt.name, m.ThesisBytes(m.StageOf(rank))/1e9, c.Theory.Logged/1e9, c.Observed.Logged/1e9)
	}
}
