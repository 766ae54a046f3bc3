package operators

// Frequency is how often workers complete the operators of one name, over time.
type Frequency struct {
	Workers []int // those that have the operator, ascending
	Bin     int64 // length of a bin, ns
	// Rates[k][b] is the rate of worker Workers[k] in bin b, which begins at b·Bin,
	// completions per second. Each completion counts over the time that the
	// operator ran: alone in a bin it is one over its duration, and the rates times
	// the length of a bin add up to the completions.
	Rates [][]float64
	// Steps are where steps begin, ns. They stand one after another, without what
	// lies between them: the steps of a trace need not follow each other, nor its
	// clock run on from one to the next.
	Steps []int64
}

// Frequency returns the time-frequency view of the operators of a name, in at most
// so many bins (KAIR, ASE 2025); nil where no worker has the operator. An operator
// slower than on the peers shows a lower rate for longer, and a waiting worker none. O(n + workers·bins).
func (v *View) Frequency(name string, bins int) *Frequency {
	at := make(map[int]int) // worker → position in Workers
	v.instancesOf(name, func(w, _ int, _ int32) { at[w] = 0 })
	if len(at) == 0 || bins < 1 {
		return nil
	}
	f := &Frequency{}
	for w := range v.Workers() {
		if _, has := at[w]; has {
			at[w] = len(f.Workers)
			f.Workers = append(f.Workers, w)
			f.Rates = append(f.Rates, make([]float64, bins))
		}
	}
	end := int64(0)
	for _, length := range v.lengths() {
		f.Steps = append(f.Steps, end)
		end += length
	}
	f.Bin = end/int64(bins) + 1
	v.instancesOf(name, func(w, step int, row int32) {
		f.addCompletion(f.Rates[at[w]], v.Trace.Start[row]-v.origins[step]+f.Steps[step], v.Trace.Dur[row])
	})
	return f
}

// lengths returns, by step of the grid, the time from the first start to the last
// end on any rank, ns.
func (v *View) lengths() []int64 {
	g, t := v.Grid, v.Trace
	out := make([]int64, len(g.Steps))
	for i := range g.Instances {
		for s := range out {
			for d := range g.Replicas {
				row := v.row(i, s, d)
				out[s] = max(out[s], t.Start[row]+t.Dur[row]-v.origins[s])
			}
		}
	}
	return out
}

// instancesOf visits the rows of the operators of a name, by instance, step and
// replica.
func (v *View) instancesOf(name string, visit func(worker, step int, row int32)) {
	g := v.Grid
	for i, in := range g.Instances {
		if v.Trace.Names[in.Name] != name {
			continue
		}
		for s := range g.Steps {
			for d := range g.Replicas {
				visit(int(in.Stage)*g.Replicas+d, s, v.row(i, s, d))
			}
		}
	}
}

// addCompletion adds one completion to the bins over which its operator ran. An
// operator without a duration counts in the bin that it is in.
func (f *Frequency) addCompletion(rates []float64, start, length int64) {
	const second = 1e9
	end := start + max(length, 1)
	for b := max(start, 0) / f.Bin; b < int64(len(rates)) && b*f.Bin < end; b++ {
		inside := min(end, (b+1)*f.Bin) - max(start, b*f.Bin)
		rates[b] += float64(inside) / float64(end-start) * second / float64(f.Bin)
	}
}
