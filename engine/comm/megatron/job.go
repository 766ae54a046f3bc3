// Package megatron asks which calls Megatron-LM makes when it trains a GPT model: not how many bytes its parallelism needs, as
// engine/comm/volume does, but every call that its training script issues, with those before, between and after the iterations.
//
// The tables of calls.go follow pretrain_gpt.py of release core_r0.13.0 (commit 73a28a1), read from its source; each row says what
// the call is for, on which group, how often and with how many bytes. Nothing in them was measured.
//
// A call is logged by every rank of its group, also where the group has one rank: there it launches no kernel. Point-to-point
// calls that are issued together run in one kernel. NCCL's log has a second line for each collective, by which it says how the
// collective runs (NCCL_DEBUG_SUBSYS=TUNING); of each group its first rank alone prints it.
//
// Assumed: PyTorch's barriers are AllReduces of 4 bytes; no checkpoint is loaded or saved, nothing is evaluated; experts come
// without tensor parallelism. Left out, and refused: context parallelism, parameters sharded as by FSDP, capacities of experts.
//
// O(rows) for a rank, about thirty.
package megatron

import (
	"fmt"

	"github.com/sfstat/sfstat/engine/comm/parallel"
	"github.com/sfstat/sfstat/engine/comm/volume"
)

// Job is a model, its layout, and the arguments of pretrain_gpt.py that change what is called.
type Job struct {
	volume.Model `yaml:",inline"`
	FP16         bool  `yaml:"fp16,omitempty"`               // with a dynamic loss scale; else bf16
	Skipped      int64 `yaml:"skipped_iterations,omitempty"` // of the iterations: gradients overflowed, nothing was updated
	FFN          int64 `yaml:"ffn_hidden,omitempty"`         // width within the feed-forward part; 0 is 4·hidden
	KeyValue     int64 `yaml:"key_value_width,omitempty"`    // of grouped queries: groups × width of a head; 0 is hidden
	Gated        bool  `yaml:"gated,omitempty"`              // --swiglu
	NoBias       bool  `yaml:"without_bias,omitempty"`       // --disable-bias-linear
	RMSNorm      bool  `yaml:"rms_norm,omitempty"`           // --normalization RMSNorm
	NoPositions  bool  `yaml:"without_positions,omitempty"`  // --position-embedding-type rope or none
	Untied       bool  `yaml:"untied,omitempty"`             // --untie-embeddings-and-output-weights
	NoMask       bool  `yaml:"without_mask,omitempty"`       // --no-create-attention-mask-in-dataloader
	LogInterval  int64 `yaml:"log_interval,omitempty"`       // 0 is Megatron-LM's 100
	LogsToBoard  bool  `yaml:"timers_to_tensorboard,omitempty"`
}

// NewJob returns the job of a model whose arguments are Megatron-LM's defaults.
func NewJob(m volume.Model) Job { return Job{Model: m} }

// vocabularyMultiple is what --make-vocab-size-divisible-by defaults to.
const vocabularyMultiple = 128

// defaultLogInterval is --log-interval's.
const defaultLogInterval = 100

// UnsupportedError says that the tables have no calls for an argument.
type UnsupportedError struct{ What string }

func (e *UnsupportedError) Error() string {
	return e.What + " is not in the tables of Megatron-LM's calls: compare with the volumes alone, without --theory megatron"
}

// Complete fills what was left out, pads the vocabulary as Megatron-LM does, and returns an error for what does not go together
// or is not in the tables.
func (j Job) Complete() (Job, error) {
	m, err := j.Model.Complete()
	if err != nil {
		return j, err
	}
	j.Model = m
	for _, refused := range []struct {
		is   bool
		what string
	}{{m.CP > 1, "context parallelism (cp)"}, {m.Sharding == volume.ShardedAll, "sharding: full"}, {m.Capacity != 1, "capacity_factor"},
		{m.MoELayers > 0 && m.TP > 1, "a layer of experts with tensor parallelism (moe_layers with tp)"}} {
		if refused.is {
			return j, &UnsupportedError{refused.what}
		}
	}
	if j.FFN == 0 {
		j.FFN = 4 * j.Hidden
	}
	if j.KeyValue == 0 {
		j.KeyValue = j.Hidden
	}
	if j.LogInterval == 0 {
		j.LogInterval = defaultLogInterval
	}
	for _, f := range []struct {
		name        string
		value, most int64
	}{{"skipped_iterations", j.Skipped, j.Iterations}, {"ffn_hidden", j.FFN, 64 * j.Hidden}, {"key_value_width", j.KeyValue, j.Hidden}, {"log_interval", j.LogInterval, 1 << 24}} {
		if f.value < 0 || f.value > f.most {
			return j, fmt.Errorf("%s is %d, expected 0 to %d", f.name, f.value, f.most)
		}
	}
	if j.Skipped > 0 && !j.FP16 {
		return j, fmt.Errorf("skipped_iterations is %d, and fp16 is false: only a loss scale skips iterations", j.Skipped)
	}
	if m.SequenceTP && m.TP == 1 {
		j.SequenceTP = false // as Megatron-LM does
	}
	multiple := vocabularyMultiple * m.TP
	j.Vocabulary = (m.Vocabulary + multiple - 1) / multiple * multiple
	return j, nil
}

// WithLayout returns the job with the sizes of a layout, those that it gives.
func (j Job) WithLayout(l parallel.Layout) Job {
	for _, d := range []struct {
		size int
		of   *int64
	}{{l.TP, &j.TP}, {l.CP, &j.CP}, {l.DP, &j.DP}, {l.PP, &j.PP}, {l.EP, &j.EP}} {
		if d.size > 0 {
			*d.of = int64(d.size)
		}
	}
	return j
}

// microbatches returns how many microbatches each rank has in an iteration.
func (j *Job) microbatches() int64 { return j.GlobalBatch / (j.Microbatch * j.DP) }

// updates returns how many iterations change parameters.
func (j *Job) updates() int64 { return j.Iterations - j.Skipped }

// logs returns how many iterations print their times.
func (j *Job) logs() int64 { return j.Iterations / j.LogInterval }

// place is where a rank is in the layout: tensor first, then experts within data, then pipeline.
type place struct{ rank, tp, dp, pp int64 }

func (j *Job) place(rank int64) place {
	return place{rank, rank % j.TP, rank / j.TP % j.DP, rank / (j.TP * j.DP)}
}

func (p place) first() bool      { return p.pp == 0 }
func (j *Job) last(p place) bool { return p.pp == j.PP-1 }

// isEndStage reports whether a place is in the first or the last stage.
func (j *Job) isEndStage(p place) bool { return p.first() || j.last(p) }

// hasExperts reports whether layer i of the model, from 0, has experts: they are spread as --moe-layer-freq spreads them.
func (j *Job) hasExperts(i int64) bool { return i*j.MoELayers%j.Layers < j.MoELayers }

// chunk returns the layers of a stage's n-th part of the model.
func (j *Job) chunk(p place, n int64) (from, to int64) {
	each := j.Layers / (j.PP * j.Virtual)
	from = (n*j.PP + p.pp) * each
	return from, from + each
}

// layers returns how many layers a rank has, and how many of them have experts.
func (j *Job) layers(p place) (all, experts int64) {
	for n := range j.Virtual {
		from, to := j.chunk(p, n)
		for i := from; i < to; i++ {
			all++
			if j.hasExperts(i) {
				experts++
			}
		}
	}
	return all, experts
}
