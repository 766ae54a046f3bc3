package megatron

import (
	"fmt"

	"github.com/sfstat/sfstat/engine/comm/volume"
	"github.com/sfstat/sfstat/trace/enum"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Per is what a call is repeated for.
type Per uint8

const (
	Once Per = iota
	Chunk
	Iteration
	Update     // an iteration that changes parameters
	Log        // an iteration that prints its times
	Microbatch // of the rank, in all iterations; a chunk of the model is passed once for each
	Layer      // of the rank, for each microbatch
	MoELayer   // a layer with experts of the rank, for each microbatch
)

var perNames = []string{"job", "chunk", "iteration", "update", "log", "microbatch", "layer", "moe_layer"}

func (p Per) String() string { return enum.Name(perNames, p) }

// Names returns the names of all values.
func (Per) Names() []string { return perNames }

// Call is one row of the tables: a call that a rank makes.
type Call struct {
	For     string
	Group   Group
	Op      nccl.Op
	Each    int64 // calls
	Per     Per
	Bytes   float64 // count × size as one call logs it, of one part for AllGather and ReduceScatter; of uneven messages the mean
	Ranks   int64   // of the group
	Times   int64   // calls of the rank in the whole job
	Kernels int64   // that these launch; of messages between stages the sends have those of the receives too
	Lines   int64   // of the log that begin with the operation's name: calls, and how each runs on the first rank of a group
}

// Sizes of what is not a model's.
const (
	barrierBytes    = 4                           // PyTorch's AllReduce of one number
	flagBytes       = 4                           // a number of 32 bits
	pairBytes       = 8                           // a number of 64 bits, or two of 32
	timeBytes       = 4                           // a time
	timerCount      = 24                          // that training_log names
	setupTimerCount = 2                           // timers of setting up
	splitCount      = 3                           // training, validation, test
	runFlagBytes    = 3 * 8                       // whether to train, validate, test
	indexBytes      = 8                           // of a token, its label, its position
	weightBytes     = 4                           // of a token's weight in the loss
	lossBytes       = 4                           // of the loss, 32 bits
	maskBytes       = 1                           // of the attention's mask, a byte
	routeBytes      = 1                           // of the map of tokens to experts, a byte
	tokenCountBytes = 8                           // of the tokens for an expert
	timesBytes      = timerCount * timeBytes      // what a rank's times have
	setupTimesBytes = setupTimerCount * timeBytes // what its times of set-up have
)

// table collects the rows of one rank.
type table struct {
	*Job
	place
	calls []Call
}

// row is what the tables below are written in.
type row struct {
	what  string
	group Group
	op    nccl.Op
	each  int64
	per   Per
	bytes float64
}

// Calls returns what a rank calls, in the order of the script. The job is complete.
func (j *Job) Calls(rank int64) []Call {
	t := table{Job: j, place: j.place(rank)}
	t.start()
	t.batches()
	t.tensor()
	t.loss()
	t.pipeline()
	t.experts()
	t.gradients()
	t.optimizer()
	t.exchangeTimes()
	return t.calls
}

// units returns how often a row is repeated.
func (t *table) units(per Per) int64 {
	layers, experts := t.layers(t.place)
	m := t.microbatches() * t.Iterations
	switch per {
	case Chunk:
		return t.Virtual
	case Iteration:
		return t.Iterations
	case Update:
		return t.updates()
	case Log:
		return t.logs()
	case Microbatch:
		return m
	case Layer:
		return m * layers
	case MoELayer:
		return m * experts
	}
	return 1
}

// rows adds rows that the job has.
func (t *table) rows(rows ...row) {
	for _, r := range rows {
		c := Call{For: r.what, Group: r.group, Op: r.op, Each: r.each, Per: r.per, Bytes: r.bytes, Ranks: t.ranks(r.group), Times: r.each * t.units(r.per)}
		if c.Times == 0 {
			continue
		}
		c.Lines = c.Times
		if c.Ranks > 1 {
			c.Kernels = c.Times
			if !c.Op.Message() && t.leads(t.place, r.group) {
				c.Lines += c.Times
			}
		}
		t.calls = append(t.calls, c)
	}
}

// start adds what comes before the first iteration and after the last.
func (t *table) start() {
	t.rows(
		row{"barriers, kernels compile", World, nccl.AllReduce, 2, Once, barrierBytes},
		row{"when the job began", World, nccl.AllReduce, 1, Once, pairBytes},
		row{"barriers, dates", World, nccl.AllReduce, 5, Once, barrierBytes},
		row{"barriers, timers of set-up", World, nccl.AllReduce, 3, Once, barrierBytes},
		row{"barriers, data sets", World, nccl.AllReduce, splitCount, Chunk, barrierBytes},
		row{"whether to train, validate, test", World, nccl.Broadcast, 1, Chunk, runFlagBytes},
		row{"barrier, times of set-up", World, nccl.AllReduce, 1, Once, barrierBytes},
		row{"times of set-up", World, nccl.AllGather, 1, Once, setupTimesBytes},
	)
	if t.sharesEmbedding() {
		t.rows(row{"embedding, copied to the last", Embedding, nccl.AllReduce, 1, Once, t.embeddingBytes()})
	}
}

// sharesEmbedding reports whether the rank has one of two copies of the word embedding.
func (t *table) sharesEmbedding() bool { return t.PP > 1 && !t.Untied && t.isEndStage(t.place) }

// embeddingBytes returns the bytes of a rank's word embedding.
func (t *table) embeddingBytes() float64 { return t.size(t.Vocabulary / t.TP * t.Hidden) }

// size returns the bytes of parameters or activations.
func (t *table) size(elements int64) float64 { return float64(elements * t.ElementBytes) }

// batches adds the tensors of a batch, which the first rank of TP gives the others: on the first stage and the last, for every chunk there.
func (t *table) batches() {
	tokens := float64(t.Microbatch * t.Sequence)
	mask := row{"attention mask of a batch", Tensor, nccl.Broadcast, t.Virtual, Microbatch, tokens * float64(t.Sequence) * maskBytes}
	if t.first() {
		t.rows(row{"tokens of a batch", Tensor, nccl.Broadcast, t.Virtual, Microbatch, tokens * indexBytes})
	}
	if t.last(t.place) {
		t.rows(
			row{"labels of a batch", Tensor, nccl.Broadcast, t.Virtual, Microbatch, tokens * indexBytes},
			row{"weights of tokens in the loss", Tensor, nccl.Broadcast, t.Virtual, Microbatch, tokens * weightBytes},
		)
	}
	if t.isEndStage(t.place) && !t.NoMask {
		t.rows(mask)
	}
	if t.first() {
		t.rows(row{"positions of a batch", Tensor, nccl.Broadcast, t.Virtual, Microbatch, tokens * indexBytes})
	}
}

// activations returns the bytes at a layer's border.
func (t *table) activations() float64 { return t.size(t.Microbatch * t.Sequence * t.Hidden) }

// passes returns how often a layer's forward pass is done.
func (t *table) passes() int64 {
	if t.Recompute {
		return 2
	}
	return 1
}

// tensor adds tensor parallelism: the two matrices of attention and the two of the feed-forward part, the embedding and the output. A matrix
// that is split by rows adds up what it gives; one that is split by columns adds up the gradient of what it gets.
func (t *table) tensor() {
	if t.TP == 1 {
		return
	}
	a := t.activations()
	part := a / float64(t.TP)
	if t.SequenceTP {
		t.rows(
			row{"inputs, forward", Tensor, nccl.AllGather, 2 * t.passes(), Layer, part},
			row{"outputs, forward", Tensor, nccl.ReduceScatter, 2 * t.passes(), Layer, part},
			row{"gradients of outputs", Tensor, nccl.AllGather, 2, Layer, part},
			row{"inputs again, for weights", Tensor, nccl.AllGather, 2, Layer, part},
			row{"gradients of inputs", Tensor, nccl.ReduceScatter, 2, Layer, part},
		)
	} else {
		t.rows(
			row{"outputs, forward", Tensor, nccl.AllReduce, 2 * t.passes(), Layer, a},
			row{"gradients of inputs", Tensor, nccl.AllReduce, 2, Layer, a},
		)
	}
	if t.first() {
		switch {
		case t.SequenceTP && t.NoPositions:
			t.rows(row{"word embeddings", Tensor, nccl.ReduceScatter, 1, Microbatch, part})
		default: // positions are added to whole sequences
			t.rows(row{"word embeddings", Tensor, nccl.AllReduce, 1, Microbatch, a})
		}
		if t.SequenceTP {
			t.rows(row{"gradient of embeddings", Tensor, nccl.AllGather, 1, Microbatch, part})
		}
	}
	if t.last(t.place) {
		if t.SequenceTP {
			t.rows(
				row{"logits: input, and again", Tensor, nccl.AllGather, 2, Microbatch, part},
				row{"logits: gradient of input", Tensor, nccl.ReduceScatter, 1, Microbatch, part},
			)
		} else {
			t.rows(row{"logits: gradient of input", Tensor, nccl.AllReduce, 1, Microbatch, a})
		}
	}
}

// loss adds the cross entropy of logits that TP splits, called with one rank too, and its mean over DP.
func (t *table) loss() {
	if !t.last(t.place) {
		return
	}
	t.rows(
		row{"cross entropy, three sums", Tensor, nccl.AllReduce, 3, Microbatch, float64(t.Microbatch * t.Sequence * lossBytes)},
		row{"loss", Data, nccl.AllReduce, 1, Iteration, pairBytes},
	)
}

// pipeline adds pipeline parallelism: activations to the next stage and gradients back, of each microbatch and chunk.
func (t *table) pipeline() {
	if t.PP == 1 {
		return
	}
	each := 2 * t.Virtual // a chunk sends forward and back, but the model's ends
	if t.first() {
		each--
	}
	if t.last(t.place) {
		each--
	}
	message := t.activations()
	if t.SequenceTP {
		message /= float64(t.TP)
	}
	t.rows(
		row{"activations, gradients", Pipeline, nccl.Send, each, Microbatch, message},
		row{"activations, gradients", Pipeline, nccl.Recv, each, Microbatch, message},
	)
	sent, got := &t.calls[len(t.calls)-2], &t.calls[len(t.calls)-1]
	if t.Virtual == 1 {
		sent.Kernels, got.Kernels = t.joinedKernels()*t.Iterations, 0
	}
}

// joinedKernels returns the kernels of an iteration of 1F1B, where a send and a receive that are issued together run in one: those of the
// microbatches that fill and drain the pipeline go alone, those between go with one of the other direction. With virtual stages each goes by itself, so that
// communication overlaps (--overlap-p2p-communication, the default there).
func (t *table) joinedKernels() int64 {
	has := func(neighbour bool) int64 {
		if neighbour {
			return 1
		}
		return 0
	}
	before, after := has(!t.first()), has(!t.last(t.place))
	m := t.microbatches()
	filling := min(t.PP-t.pp-1, m)
	kernels := 2 * filling * (before + after)
	if m > filling {
		kernels += before + (m-filling)*(before+after)
	}
	return kernels
}

// experts adds expert parallelism: tokens go to their experts and come back, with the probabilities that weigh them, and so do their gradients.
func (t *table) experts() {
	if t.MoELayers == 0 {
		return
	}
	tokens := t.Microbatch * t.Sequence
	forward := t.passes()
	// The balance of experts is added up over the pipeline, of all layers of the model.
	t.rows(row{"balance of experts", Pipeline, nccl.AllReduce, 1, Iteration, float64(t.Layers * timeBytes)})
	if t.EP == 1 {
		return
	}
	if t.Dispatcher == volume.DispatchAllGather {
		each := t.size(tokens * t.Experts)
		t.rows(
			row{"map of tokens to experts", Expert, nccl.AllGather, forward, MoELayer, float64(tokens * t.Experts * routeBytes)},
			row{"probabilities, forward", Expert, nccl.AllGather, forward, MoELayer, each},
			row{"tokens, forward", Expert, nccl.AllGather, forward, MoELayer, t.activations()},
			row{"results, forward", Expert, nccl.ReduceScatter, forward, MoELayer, t.activations()},
			row{"gradient of results", Expert, nccl.AllGather, 1, MoELayer, t.activations()},
			row{"gradient of tokens", Expert, nccl.ReduceScatter, 1, MoELayer, t.activations()},
			row{"gradient of probabilities", Expert, nccl.ReduceScatter, 1, MoELayer, each},
		)
		return
	}
	t.rows(row{"tokens for each expert", Expert, nccl.AllGather, forward, MoELayer, float64(t.Experts * tokenCountBytes)})
	t.exchange("tokens and results", 2*(forward+1), t.size(tokens*t.TopK*t.Hidden))
	t.exchange("probabilities", forward+1, t.size(tokens*t.TopK))
}

// exchange adds all-to-alls in each layer of experts, each a send and a receive for every rank, itself too, in one kernel; bytes
// are what a rank sends in one of them.
func (t *table) exchange(what string, each int64, bytes float64) {
	for _, op := range [...]nccl.Op{nccl.Send, nccl.Recv} {
		t.rows(row{what, Expert, op, each * t.EP, MoELayer, bytes / float64(t.EP)})
		if n := len(t.calls); n > 0 && t.calls[n-1].Op == op && t.calls[n-1].For == what {
			c := &t.calls[n-1]
			c.Kernels = 0
			if op == nccl.Send {
				c.Kernels = c.Times / t.EP
			}
		}
	}
}

// shardsOptimizer reports whether data-parallel ranks share the optimizer's state.
func (j *Job) shardsOptimizer() bool { return j.Sharding == volume.ShardedOptimizer }

// gradients adds data parallelism: the gradients of each chunk are reduced at the end of an iteration, and with a distributed optimizer updated parameters gathered.
func (t *table) gradients() {
	for n := range t.Virtual {
		own := t.tensorsOf(t.place, n)
		of := ""
		if t.Virtual > 1 {
			of = fmt.Sprintf(" of chunk %d", n+1)
		}
		t.reduce("gradients"+of, Data, t.buckets(own.dense, own.shared, t.DP))
		if len(own.experts) > 0 {
			t.reduce("gradients of experts"+of, ExpertData, t.buckets(own.experts, 0, t.DP/t.EP))
		}
	}
	if whole := t.replicatedElements(); t.SequenceTP && whole > 0 {
		t.rows(row{"gradients of whole tensors", Tensor, nccl.AllReduce, 1, Iteration, float64(whole * t.GradientBytes)})
	}
	if t.sharesEmbedding() {
		t.rows(row{"gradient of shared embedding", Embedding, nccl.AllReduce, 1, Iteration, float64(t.Vocabulary / t.TP * t.Hidden * t.GradientBytes)})
	}
}

// reduce adds the reduction of buckets over a group, and where the optimizer is distributed the gathering of what it updates.
func (t *table) reduce(what string, group Group, buckets []int64) {
	for _, elements := range buckets {
		gradients := float64(elements * t.GradientBytes)
		if !t.shardsOptimizer() {
			t.rows(row{what, group, nccl.AllReduce, 1, Iteration, gradients})
			continue
		}
		n := float64(t.ranks(group))
		t.rows(
			row{what, group, nccl.ReduceScatter, 1, Iteration, gradients / n},
			row{"updated parameters", group, nccl.AllGather, 1, Update, t.size(elements) / n},
		)
	}
}

// replicatedElements returns the elements of parameters that all ranks of TP have and that saw a part of each sequence: norms, and biases of
// matrices that rows split.
func (t *table) replicatedElements() (n int64) {
	layers, _ := t.layers(t.place)
	n = layers * 2 * sum(t.norm())
	if !t.NoBias {
		n += layers * 2 * t.Hidden
	}
	if t.last(t.place) {
		n += sum(t.norm())
	}
	return n
}

// optimizer adds whether gradients overflowed, their norm, and what all stages must agree on.
func (t *table) optimizer() {
	dense, experts := ModelParallel, ExpertParallel
	if t.shardsOptimizer() {
		dense, experts = Optimizer, Optimizer
	}
	_, own := t.layers(t.place)
	if t.FP16 {
		t.rows(row{"overflow of gradients", dense, nccl.AllReduce, 1, Iteration, flagBytes})
		if own > 0 {
			t.rows(row{"overflow, experts", experts, nccl.AllReduce, 1, Iteration, flagBytes})
		}
	}
	t.rows(row{"norm of gradients", dense, nccl.AllReduce, 1, Update, flagBytes})
	if own > 0 && !t.shardsOptimizer() {
		t.rows(row{"norm, experts", experts, nccl.AllReduce, 1, Update, flagBytes})
	}
	t.rows(
		row{"whether parameters changed", ModelParallel, nccl.AllReduce, 1, Iteration, flagBytes},
		row{"norm for all stages", ModelParallel, nccl.AllReduce, 1, Iteration, flagBytes},
	)
}

// exchangeTimes adds the exchange of an iteration's times.
func (t *table) exchangeTimes() {
	t.rows(row{"learning rate for all stages", ModelParallel, nccl.AllReduce, 1, Iteration, flagBytes})
	if t.LogsToBoard {
		t.rows(row{"times for TensorBoard", World, nccl.AllGather, 1, Iteration, timesBytes})
	}
	t.rows(
		row{"barriers, interval timer", World, nccl.AllReduce, 2, Log, barrierBytes},
		row{"times", World, nccl.AllGather, 1, Log, timesBytes},
	)
}
