package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/sfstat/sfstat/engine/comm/volume"
	"github.com/sfstat/sfstat/trace/nccl"
)

// truthName is the file with what is true of a scenario.
const truthName = "truth.json"

// orphaned is a call whose line lost its head and is there all the same.
const orphaned = "orphan"

// truthFile is that file, as its generator writes it.
type truthFile struct {
	Ranks []struct {
		Rank      int
		PID       int64
		Host      string
		Log       string
		Sqlite    string
		GlobalPid int64 `json:"global_pid"`
	}
	CallFields   []string `json:"call_fields"`
	KernelFields []string `json:"kernel_fields"`
	Calls        map[string][][]any
	Kernels      map[string][][]any
	Config       struct {
		Program        string
		TP, PP, DP, EP int64
		B, S, H, Vocab int64
		Layers, M      int64 // layers of one stage; microbatches
		Iters          int64
		Dtype          nccl.Datatype
		SP             bool
		Optimizer      bool    `json:"dist_opt"`
		MoELayers      int64   `json:"moe_layers"`
		Ops            int64   // cut after so many operations; 0: whole iterations
		Lost           float64 `json:"drop_log"`
		Literal        bool    // lines that no rule of NCCL explains
	}
}

func readTruth(dir string) (*truthFile, error) {
	text, err := os.ReadFile(filepath.Join(dir, truthName))
	if err != nil {
		return nil, err
	}
	f := &truthFile{}
	return f, json.Unmarshal(text, f)
}

var errNoModel = errors.New("not whole iterations of a model")

// model returns the model that the scenario was generated from, and errNoModel where the log does not hold whole iterations of
// a model.
func (f *truthFile) model() (volume.Model, error) {
	c := &f.Config
	if c.Program == "random" || c.Ops > 0 || c.Lost > 0 || c.Literal {
		return volume.Model{}, errNoModel
	}
	m := volume.Model{Layers: c.Layers * c.PP, Hidden: c.H, Sequence: c.S, Vocabulary: c.Vocab, Microbatch: c.B, GlobalBatch: c.B * c.M * c.DP,
		ElementBytes: c.Dtype.Size(), DP: c.DP, TP: c.TP, PP: c.PP, EP: c.EP, MoELayers: c.MoELayers, SequenceTP: c.SP, Iterations: c.Iters}
	if c.Dtype == nccl.Bfloat16 { // reduced in float32, as Megatron-LM does
		m.GradientBytes = nccl.Float32.Size()
	}
	if c.Optimizer {
		m.Sharding = volume.ShardedOptimizer
	}
	return m.Complete()
}
