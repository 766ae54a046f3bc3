package diagnose

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/eval/simulate/pipeline"
	"github.com/sfstat/sfstat/trace/operator"
)

// FuzzOperators: whatever happened to a trace on its way, it is judged or
// refused, and what is judged makes sense.
func FuzzOperators(f *testing.F) {
	for seed := range uint64(40) {
		f.Add(seed, uint8(seed), uint8(seed/8))
	}
	f.Add(uint64(14), uint8(0x81), uint8(3)) // an outlier that has no place in the replay
	f.Fuzz(func(t *testing.T, seed uint64, harm, shape uint8) {
		s := pipeline.DefaultSpec()
		s.Seed = seed
		s.Layout = pipeline.Layout{DP: 1 + int(shape%4), PP: 1 + int(shape/4%3), TP: 1, Chunks: 1 + int(shape/16%2), Microbatches: 3 * (1 + int(shape/32%2)), Buckets: 1,
			EarlyReduce: shape&128 != 0}
		s.Steps.Count = 1 + int(seed%7)
		if s.Layout.Chunks > 1 {
			s.Layout.Microbatches = s.Layout.PP * 2
		}
		if s.Layout.PP < 2 {
			s.Layout.Chunks = 1
		}
		o, _, err := pipeline.Make(s)
		if err != nil {
			return // no such job
		}
		hurt(o, harm, rand.New(rand.NewPCG(seed, uint64(harm))))
		if o.Arrange(nil) != nil {
			return // a reader refuses it
		}
		if g, err := o.Grid(); err == nil {
			if w, err := o.Wire(g); err == nil {
				o.Join(g, w)
			}
		}
		d := New(Options{})
		if d.Add(o) != nil {
			return
		}
		v := d.Verdict()
		for _, s := range v.Findings {
			if !(s.Gain >= 0 && s.Gain <= 1.0001) || s.Explained < 0 || len(s.Evidence) == 0 || s.IsFlagged() && s.Score <= 0 {
				t.Errorf("%+v", s)
			}
		}
	})
}

// hurt does to a trace what bits of harm say.
func hurt(o *operator.Trace, harm uint8, random *rand.Rand) {
	n := o.Len()
	some := func(part float64, do func(row int)) {
		for row := range n {
			if random.Float64() < part {
				do(row)
			}
		}
	}
	if harm&1 != 0 { // durations of nothing
		some(0.3, func(row int) { o.Dur[row] = 0 })
	}
	if harm&2 != 0 { // equal times
		some(0.2, func(row int) { o.Start[row] = o.Start[0] })
	}
	if harm&4 != 0 { // absurd durations
		some(0.01, func(row int) { o.Dur[row] = random.Int64N(1e15) })
	}
	if harm&8 != 0 { // another order of microbatches
		some(0.5, func(row int) { o.Microbatch[row] = random.Int32N(5) - 1 })
	}
	if harm&16 != 0 { // a name that nobody knows
		o.Names = append(slices.Clone(o.Names), "mystery")
		some(0.05, func(row int) { o.Name[row] = int32(len(o.Names) - 1) })
	}
	if harm&32 != 0 { // clocks that jump
		some(0.05, func(row int) { o.Start[row] += random.Int64N(1e12) })
	}
	if harm&64 != 0 { // everything at once
		for row := range n {
			o.Start[row], o.Dur[row] = 5, 0
		}
	}
	if harm&128 != 0 { // a kind of operator is lost
		lost := random.Int32N(int32(len(o.Names)))
		some(1, func(row int) {
			if o.Name[row] == lost {
				o.Seq[row] += 3
			}
		})
	}
}
