package compare

// Batches are the units of a side that is one run: batches of consecutive values,
// such as those of its steps. They are kept as sums, of as many values each as keep
// their number below mostCells: memory is flat however many values come. The zero
// value is empty.
type Batches struct {
	size int // values in a cell; the last may have fewer
	sums []float64
	last int // values in the last cell
}

const (
	mostCells = 256
	// mostBatches is how many means of batches stand for a run: of few and long
	// ones, what one step has in common with the next is inside them (Schmeiser
	// 1982, Oper. Res. 30:556–568, finds 10 to 30 enough).
	mostBatches = 16
	// leastBatch is how many values a batch has at the least.
	leastBatch = 4
)

// Add adds the next value.
func (b *Batches) Add(v float64) {
	if b.size == 0 {
		b.size = 1
	}
	if len(b.sums) == 0 || b.last == b.size {
		if len(b.sums) == mostCells {
			for i := range mostCells / 2 {
				b.sums[i] = b.sums[2*i] + b.sums[2*i+1]
			}
			b.sums, b.size = b.sums[:mostCells/2], 2*b.size
		}
		b.sums, b.last = append(b.sums, 0), 0
	}
	b.sums[len(b.sums)-1] += v
	b.last++
}

// Drop drops the first n values, and what is kept in one sum with the last of them.
func (b *Batches) Drop(n int) {
	if b == nil || n <= 0 || b.size == 0 {
		return
	}
	if b.sums = b.sums[min(len(b.sums), (n+b.size-1)/b.size):]; len(b.sums) == 0 {
		b.last = 0
	}
}

// Means returns the means of at most mostBatches batches of about one length; fewer than two where there is too little for
// that.
func (b *Batches) Means() []float64 {
	if b == nil || len(b.sums) == 0 {
		return nil
	}
	cells := len(b.sums)
	values := (cells-1)*b.size + b.last
	k := min(mostBatches, cells, values/leastBatch)
	var out []float64
	for i := range k {
		from, to := i*cells/k, (i+1)*cells/k
		sum, n := 0.0, (to-from)*b.size
		for _, v := range b.sums[from:to] {
			sum += v
		}
		if to == cells {
			n += b.last - b.size
		}
		out = append(out, sum/float64(n))
	}
	return out
}
