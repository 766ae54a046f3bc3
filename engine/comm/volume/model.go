// Package volume asks how many bytes a training job should communicate, and why it
// communicated another number.
//
// The model is a decoder-only transformer, L layers of width h on sequences of s tokens, V words, b sequences in a
// microbatch, trained by Megatron-LM's kinds of parallelism. Bytes of one iteration, on one rank, with
// M = global batch/(b·dp) microbatches, e bytes for an element and a = b·s·h·e of activations at a layer's border:
//
//	DP  one AllReduce of the gradients of the rank's parameters; sharded optimiser: ReduceScatter
//	    of gradients and AllGather of parameters (Rajbhandari et al. 2020, ZeRO); all sharded: two AllGathers and one
//	    ReduceScatter of each microbatch
//	TP  4 AllReduces of a for each layer and microbatch, 2 forward, 2 backward (Shoeybi et al. 2019)
//	SP  instead 6 AllGathers and 4 ReduceScatters of parts a/tp: each AllReduce becomes one of both, and backward gathers
//	    two inputs again that were kept in parts (Korthikanti et al. 2022)
//	PP  a to the next stage and a back for each microbatch and border of stages (Narayanan et al. 2021)
//	    with v virtual stages a model's layers are cut into pp·v chunks, each with borders of its own, and the last stage sends to the first
//	CP  an AllGather of keys and values, 2·a/tp, for each layer and microbatch, and a ReduceScatter of their gradients (as NCCL Trace Profiler, §2.4.4); a is that of
//	    1/cp of the sequence, and gradients are reduced over dp·cp ranks
//	EP  2 all-to-alls of k·a forward and 2 backward for each layer of experts and microbatch, tokens going to k
//	    experts, evenly (Lepikhin et al. 2020), padded to the capacity factor; dispatched by AllGather instead each gathers and reduce-scatters
//	    all tokens, a of each rank, twice
//
// Recomputing a layer repeats its forward communication. Parameters are those of
// Narayanan et al. 2021, eq. 2: 12·h² + 13·h of a layer and (V + s)·h of the embedding.
//
// Two measures: what the log counts, element count · size, of which AllGather and ReduceScatter log the part of one rank; and
// what leaves the rank on a ring. They differ by a factor of up to 2(n−1)/n or n−1 and are never mixed here.
package volume

import (
	"fmt"

	"github.com/sfstat/sfstat/engine/comm/parallel"
)

// Sharding is what data-parallel ranks keep a part of.
type Sharding string

const (
	Unsharded        Sharding = "none"
	ShardedOptimizer Sharding = "optimizer" // ZeRO 1 and 2, Megatron's distributed optimiser
	ShardedAll       Sharding = "full"      // ZeRO 3, FSDP
)

// Dispatch is how tokens reach their experts.
type Dispatch string

const (
	DispatchAlltoAll  Dispatch = "alltoall"
	DispatchAllGather Dispatch = "allgather" // every rank gets all tokens
)

// Model describes what is trained and how it is laid out.
type Model struct {
	Layers        int64    `yaml:"layers"`
	Hidden        int64    `yaml:"hidden"`
	Sequence      int64    `yaml:"sequence"`
	Vocabulary    int64    `yaml:"vocabulary"` // as padded
	Microbatch    int64    `yaml:"microbatch"` // sequences
	GlobalBatch   int64    `yaml:"global_batch"`
	ElementBytes  int64    `yaml:"element_bytes"`            // of activations and parameters
	GradientBytes int64    `yaml:"gradient_bytes,omitempty"` // of a reduced gradient; 0: as ElementBytes
	DP            int64    `yaml:"dp,omitempty"`             // these four: 0 is 1
	TP            int64    `yaml:"tp,omitempty"`
	PP            int64    `yaml:"pp,omitempty"`
	EP            int64    `yaml:"ep,omitempty"`                // a part of the data dimension
	CP            int64    `yaml:"cp,omitempty"`                // context: each rank has 1/cp of every sequence; 0 is 1
	Virtual       int64    `yaml:"virtual_stages,omitempty"`    // model chunks of a pipeline stage; 0 is 1
	Dispatcher    Dispatch `yaml:"dispatcher,omitempty"`        // "" is alltoall
	Capacity      float64  `yaml:"capacity_factor,omitempty"`   // that exchanges of tokens are padded to; 0 is 1: not padded
	MoELayers     int64    `yaml:"moe_layers,omitempty"`        // of the layers, those with experts
	Experts       int64    `yaml:"experts,omitempty"`           // of such a layer; 0: one for each rank of EP
	TopK          int64    `yaml:"top_k,omitempty"`             // experts that a token goes to; 0 is 1
	Sharding      Sharding `yaml:"sharding,omitempty"`          // "" is none
	SequenceTP    bool     `yaml:"sequence_parallel,omitempty"` // within the tensor dimension
	Recompute     bool     `yaml:"recompute,omitempty"`         // whole layers, in the backward pass
	Iterations    int64    `yaml:"iterations"`                  // that were recorded
}

// maxCapacity bounds a capacity factor; those in use are 1 to 2.
const maxCapacity = 64

// most bounds every number of a model and its ranks, so that no product overflows.
const most = 1 << 24

// Complete fills what was left out and says what is wrong with the rest.
func (m Model) Complete() (Model, error) {
	for _, n := range []*int64{&m.DP, &m.TP, &m.PP, &m.EP, &m.CP, &m.Virtual, &m.TopK} {
		if *n == 0 {
			*n = 1
		}
	}
	if m.GradientBytes == 0 {
		m.GradientBytes = m.ElementBytes
	}
	if m.Experts == 0 {
		m.Experts = m.EP
	}
	if m.Sharding == "" {
		m.Sharding = Unsharded
	}
	if m.Dispatcher == "" {
		m.Dispatcher = DispatchAlltoAll
	}
	if m.Capacity == 0 {
		m.Capacity = 1
	}
	for _, f := range m.counts() {
		if f.value < 1 || f.value > most {
			return m, fmt.Errorf("%s is %d, expected at least 1 and at most %d", f.name, f.value, most)
		}
	}
	return m, m.checkConsistency()
}

type field struct {
	name  string
	value int64
}

func (m *Model) counts() []field {
	return []field{{"layers", m.Layers}, {"hidden", m.Hidden}, {"sequence", m.Sequence}, {"vocabulary", m.Vocabulary},
		{"microbatch", m.Microbatch}, {"global_batch", m.GlobalBatch}, {"element_bytes", m.ElementBytes}, {"gradient_bytes", m.GradientBytes},
		{"dp", m.DP}, {"tp", m.TP}, {"pp", m.PP}, {"ep", m.EP}, {"cp", m.CP}, {"virtual_stages", m.Virtual}, {"experts", m.Experts}, {"top_k", m.TopK}, {"iterations", m.Iterations}}
}

// checkConsistency returns an error that says which numbers do not go together.
func (m *Model) checkConsistency() error {
	switch m.Sharding {
	case Unsharded, ShardedOptimizer, ShardedAll:
	default:
		return fmt.Errorf("sharding is %q, expected %s, %s or %s", m.Sharding, Unsharded, ShardedOptimizer, ShardedAll)
	}
	if m.Dispatcher != DispatchAlltoAll && m.Dispatcher != DispatchAllGather {
		return fmt.Errorf("dispatcher is %q, expected %s or %s", m.Dispatcher, DispatchAlltoAll, DispatchAllGather)
	}
	if !(m.Capacity > 0 && m.Capacity <= maxCapacity) {
		return fmt.Errorf("capacity_factor is %g, expected more than 0 and at most %d", m.Capacity, maxCapacity)
	}
	if m.Virtual > 1 && m.PP == 1 {
		return fmt.Errorf("virtual_stages is %d, and pp is 1: a pipeline of one stage has no chunks", m.Virtual)
	}
	if m.MoELayers < 0 || m.MoELayers > m.Layers {
		return fmt.Errorf("moe_layers is %d, expected 0 to layers, %d", m.MoELayers, m.Layers)
	}
	for _, d := range []struct {
		name    string
		of      int64
		by      string
		divisor int64
	}{{"layers", m.Layers, "pp·virtual_stages", m.PP * m.Virtual}, {"sequence", m.Sequence, "cp", m.CP}, {"dp", m.DP, "ep", m.EP}, {"experts", m.Experts, "ep", m.EP},
		{"global_batch", m.GlobalBatch, "microbatch·dp", m.Microbatch * m.DP}} {
		if d.divisor < 1 || d.of%d.divisor != 0 {
			return fmt.Errorf("%s, %d, is no multiple of %s, %d", d.name, d.of, d.by, d.divisor)
		}
	}
	if m.DP*m.TP > most || m.DP*m.TP*m.CP > most || m.Ranks() > most {
		return fmt.Errorf("dp·tp·cp·pp is %d·%d·%d·%d, expected at most %d ranks", m.DP, m.TP, m.CP, m.PP, most)
	}
	if m.TopK > m.Experts {
		return fmt.Errorf("top_k is %d, expected at most experts, %d", m.TopK, m.Experts)
	}
	return nil
}

// microbatches returns how many microbatches each rank has in an iteration.
func (m *Model) microbatches() int64 { return m.GlobalBatch / (m.Microbatch * m.DP) }

// Layout returns how many ranks each dimension has.
func (m *Model) Layout() parallel.Layout {
	return parallel.Layout{TP: int(m.TP), CP: int(m.CP), EP: int(m.EP), DP: int(m.DP), PP: int(m.PP)}
}

// Ranks returns how many ranks the layout has.
func (m *Model) Ranks() int64 { return m.DP * m.TP * m.CP * m.PP }

// Bubble returns the time in which stages of the pipeline idle while it fills and drains, over that in which they compute (Narayanan et al. 2021; equation 2.10 of the
// NCCL Trace Profiler has it without virtual stages).
func (m *Model) Bubble() float64 {
	return float64(m.PP-1) / float64(m.microbatches()*m.Virtual)
}

// StageOf returns the pipeline stage of a rank, as Megatron-LM numbers ranks: tensor first, then context, data, pipeline.
func (m *Model) StageOf(rank int) int64 {
	return min(max(int64(rank)/(m.TP*m.CP*m.DP), 0), m.PP-1)
}

// activations returns the bytes at a layer's border, of one microbatch and one rank's part of the sequences.
func (m *Model) activations() float64 {
	return float64(m.Microbatch) * float64(m.Sequence) / float64(m.CP) * float64(m.Hidden) * float64(m.ElementBytes)
}

// parameters returns the parameters of one rank of a stage: those that all data-parallel ranks hold, and those of
// experts, which only ranks of equal place in EP hold. Of a layer tensor parallelism splits 12·h² + 7·h, and
// leaves 6·h whole; experts replace the 8·h² + 5·h of the feed-forward part.
func (m *Model) parameters(stage int64) (dense, experts float64) {
	h, tp := float64(m.Hidden), float64(m.TP)
	layers, moe := float64(m.Layers)/float64(m.PP), float64(m.MoELayers)/float64(m.PP)
	each := (12*h*h+7*h)/tp + 6*h
	ffn := (8*h*h+4*h)/tp + h
	dense = layers*each - moe*ffn
	if m.MoELayers > 0 {
		experts = moe * ffn * float64(m.Experts) / float64(m.EP)
		dense += moe * h * float64(m.Experts) // the router
	}
	if stage == 0 {
		dense += float64(m.Vocabulary)*h/tp + float64(m.Sequence)*h
	}
	if m.PP > 1 && stage == m.PP-1 { // the shared embedding's copy
		dense += float64(m.Vocabulary) * h / tp
	}
	return dense, experts
}

// RanksError says that a model is not that of the job: it has other ranks.
type RanksError struct {
	Model    *Model
	Recorded int
}

func (e *RanksError) Error() string {
	m := e.Model
	return fmt.Sprintf("the model has dp·tp·cp·pp = %d·%d·%d·%d = %d ranks, the logs and exports have %d", m.DP, m.TP, m.CP, m.PP, m.Ranks(), e.Recorded)
}
