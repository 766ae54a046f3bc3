package ks

import "slices"

// sweep computes distances where the grid is far larger than a worker's number
// of completions, as it is in the raw limit. For a row A it walks once over the
// completions of all workers in order of time and holds F_A against each F_B as
// that jumps: between two jumps of F_B the largest F_B − F_A is right after the
// first, the largest F_A − F_B right before the second.
type sweep struct {
	m   *matrix
	own [][]int32 // sorted windows of each worker's completions
	windowOrder
}

// windowOrder lists the completions of a group by window.
type windowOrder struct {
	owner []int32 // position of the worker in the group
	end   []int32 // end[k]: completions up to and with window k
}

// byWindow orders the completions of some workers. O(completions + windows).
func (s *sample) byWindow(workers []int) windowOrder {
	o := windowOrder{end: make([]int32, s.points)}
	total := 0
	for _, w := range workers {
		for _, k := range s.done(w) {
			o.end[k]++
		}
		total += s.ops(w)
	}
	sum := int32(0)
	for k, n := range o.end {
		o.end[k] = sum // where window k begins; filling it moves this to its end
		sum += n
	}
	o.owner = make([]int32, total)
	for i, w := range workers {
		for _, k := range s.done(w) {
			o.owner[o.end[k]] = int32(i)
			o.end[k]++
		}
	}
	return o
}

// window is the range of completions in window k.
func (o *windowOrder) window(k int32) (from, to int32) {
	if k > 0 {
		from = o.end[k-1]
	}
	return from, o.end[k]
}

func newSweep(m *matrix) *sweep {
	w := &sweep{m: m, windowOrder: m.byWindow(m.workers)}
	for _, worker := range m.workers {
		own := slices.Clone(m.done(worker))
		slices.Sort(own)
		w.own = append(w.own, own)
	}
	return w
}

// jumper is another worker as a row is held against it.
type jumper struct {
	gap      int64
	count, n int32
}

func (w *sweep) fill(block []int, gaps []int64, memory *spare) {
	columns := len(w.m.n)
	if memory.jumpers == nil {
		memory.jumpers = make([]jumper, columns)
	}
	for r, i := range block {
		for j, n := range w.m.n {
			memory.jumpers[j] = jumper{n: int32(n)}
		}
		w.row(i, memory.jumpers)
		for j, b := range memory.jumpers {
			gaps[r*columns+j] = b.gap
		}
	}
}

// row holds worker i against all.
func (w *sweep) row(i int, others []jumper) {
	own, at := w.own[i], int32(0)
	r := runner{n: w.m.n[i]}
	for len(own) > 0 {
		k, here := own[0], 1
		for here < len(own) && own[here] == k {
			here++
		}
		own = own[here:]
		from, to := w.window(k)
		r.hold(others, w.owner[at:from])
		r.after += int64(here)
		r.hold(others, w.owner[from:to])
		r.before, at = r.after, to
	}
	r.hold(others, w.owner[at:])
}

// runner is the worker of a row: how many of its n completions lie before a
// window, and before the window's end.
type runner struct{ n, before, after int64 }

// hold compares right before and right after each completion of others. Several
// completions of one worker in one window need no care: those between its first
// and last only give smaller gaps.
func (r runner) hold(others []jumper, owners []int32) {
	for _, owner := range owners {
		b := &others[owner]
		c := int64(b.count) * r.n
		b.gap = max(b.gap, r.before*int64(b.n)-c, c+r.n-r.after*int64(b.n))
		b.count++
	}
}
