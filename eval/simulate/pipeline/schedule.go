package pipeline

// pass is one forward or backward pass of one model chunk for one microbatch.
type pass struct {
	forward bool
	seq     int // ordinal of its direction on the stage
	chunk   int // on the stage
	micro   int
}

// passes returns the order of work of a stage: as many forward passes ahead as keep the stages behind it busy, then one
// backward and one forward in turn, then the backward passes that are left.
//
// With one chunk on a stage this is 1F1B (Narayanan et al. 2021, SC,
// "Efficient Large-Scale Language Model Training on GPU Clusters"), with more
// the interleaved schedule of the same paper, which takes microbatches in
// rounds of as many as there are stages, and in a round one chunk after the
// other; backward the last chunk first.
func (l Layout) passes(stage int) []pass {
	n := l.Microbatches * l.Chunks
	list := make([]pass, 0, 2*n)
	ahead := min(l.ahead(stage), n)
	for k := range ahead {
		list = append(list, l.pass(true, k))
	}
	for k := range n {
		if ahead+k < n {
			list = append(list, l.pass(true, ahead+k))
		}
		list = append(list, l.pass(false, k))
	}
	return list
}

// ahead returns how many forward passes a stage does before it alternates.
func (l Layout) ahead(stage int) int {
	if l.Chunks == 1 {
		return l.PP - 1 - stage
	}
	return 2*(l.PP-1-stage) + (l.Chunks-1)*l.PP
}

// pass returns the k-th pass of a direction, the same on all stages.
func (l Layout) pass(forward bool, k int) pass {
	round, in := k/(l.PP*l.Chunks), k%(l.PP*l.Chunks)
	p := pass{forward, k, in / l.PP, round*l.PP + in%l.PP}
	if !forward {
		p.chunk = l.Chunks - 1 - p.chunk
	}
	return p
}

// depth returns the depth of a stage's chunk in the whole model.
func (l Layout) depth(stage, chunk int) int { return chunk*l.PP + stage }
