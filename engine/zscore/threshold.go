package zscore

// family is what all series share: how many tests there are.
type family struct {
	o          Options
	quantities map[int]int // series of an Op
	tests      int         // in the whole analysis
	instances  int
}

func newFamily(series []Series, o Options) *family {
	f := &family{o: o, quantities: make(map[int]int)}
	longest := make(map[int]int)
	for i := range series {
		s := &series[i]
		f.quantities[s.Op]++
		longest[s.Op] = max(longest[s.Op], s.steps())
		f.tests += (s.steps() + 1) * len(s.Workers) // and EveryStep
	}
	for _, steps := range longest {
		f.instances += steps
	}
	return f
}

// instanceAlpha returns the error rate of one quantity of an instance.
func (f *family) instanceAlpha(s *Series) float64 {
	return f.o.Alpha / float64(f.quantities[s.Op])
}
