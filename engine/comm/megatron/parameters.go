package megatron

// tensors are the elements of a rank's parameters of one chunk of the model, each tensor by itself, since the distributed
// optimizer aligns them.
type tensors struct {
	dense, experts []int64
	shared         int64 // the word embedding that first and last stage both have; 0: none
}

// norm returns the elements of a layer norm.
func (j *Job) norm() []int64 {
	if j.RMSNorm {
		return []int64{j.Hidden}
	}
	return []int64{j.Hidden, j.Hidden}
}

// linear returns the elements of a matrix and its bias.
func (j *Job) linear(matrix, bias int64) []int64 {
	if j.NoBias {
		return []int64{matrix}
	}
	return []int64{matrix, bias}
}

// feedForwardWidth returns the width that the first matrix of the feed-forward part gives.
func (j *Job) feedForwardWidth() int64 {
	if j.Gated {
		return 2 * j.FFN
	}
	return j.FFN
}

// tensorsOf returns the tensors of the n-th chunk of a rank's stage.
func (j *Job) tensorsOf(p place, n int64) (t tensors) {
	h, tp := j.Hidden, j.TP
	dense := func(parts ...[]int64) {
		for _, part := range parts {
			t.dense = append(t.dense, part...)
		}
	}
	from, to := j.chunk(p, n)
	words := j.Vocabulary / tp * h
	if from == 0 {
		dense([]int64{words})
		if !j.NoPositions {
			dense([]int64{j.Sequence * h})
		}
	}
	for i := from; i < to; i++ {
		attention := h + 2*j.KeyValue
		dense(j.norm(), j.linear(attention*h/tp, attention/tp), j.linear(h*h/tp, h), j.norm())
		if !j.hasExperts(i) {
			dense(j.linear(j.feedForwardWidth()*h/tp, j.feedForwardWidth()/tp), j.linear(j.FFN*h/tp, h))
			continue
		}
		dense([]int64{j.Experts * h}) // the router
		for range j.Experts / j.EP {
			t.experts = append(t.experts, j.linear(j.feedForwardWidth()*h, j.feedForwardWidth())...)
			t.experts = append(t.experts, j.linear(j.FFN*h, h)...)
		}
	}
	if to == j.Layers {
		dense(j.norm())
		if j.Untied || j.PP > 1 {
			dense([]int64{words}) // the output's weights, or the embedding's copy
		}
	}
	if j.PP > 1 && !j.Untied && (from == 0 || to == j.Layers) {
		t.shared = words
	}
	return t
}

func sum(elements []int64) (n int64) {
	for _, e := range elements {
		n += e
	}
	return n
}

// The distributed optimizer starts tensors at multiples of alignment elements and ends buckets at multiples of the ranks and of
// bucketMultiple.
const (
	alignment      = 64
	bucketMultiple = 128
)

func roundUp(n, multiple int64) int64 { return (n + multiple - 1) / multiple * multiple }

// buckets returns the elements of what is reduced at once: all of a chunk's gradients, and with a distributed optimizer the shared
// embedding by itself, padded.
func (j *Job) buckets(elements []int64, shared, ranks int64) (out []int64) {
	if !j.shardsOptimizer() {
		return []int64{sum(elements)}
	}
	multiple := ranks / gcd(ranks, bucketMultiple) * bucketMultiple
	var rest int64
	for _, e := range elements {
		if shared > 0 && e == shared {
			out = append(out, roundUp(e, multiple))
			shared = 0
			continue
		}
		rest = roundUp(rest, alignment) + e
	}
	return append(out, roundUp(rest, multiple))
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
