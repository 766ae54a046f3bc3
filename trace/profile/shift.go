package profile

// Shift moves all times by ns, which is noted as the base. Times that would leave the range of int64 must
// have been refused before.
func (r *Rank) Shift(ns int64) {
	r.Base += ns
	for i := range r.Steps {
		r.Steps[i].Shift(ns)
	}
	r.ShiftCalls(ns, func(int64) bool { return true })
	for i := range r.Ops {
		r.Ops[i].Start, r.Ops[i].End = r.Ops[i].Start+ns, r.Ops[i].End+ns
	}
}

func (s *Step) Shift(ns int64) {
	s.Start, s.End = s.Start+ns, s.End+ns
	for k := range s.Spans {
		s.Spans[k].Start, s.Spans[k].End = s.Spans[k].Start+ns, s.Spans[k].End+ns
	}
	for k := range s.Microsteps {
		s.Microsteps[k] += ns
	}
	if d := s.Device; d != nil {
		d.Start, d.End = d.Start+ns, d.End+ns
		d.Exposed.shifted += ns
	}
	if c := s.Time; c != nil {
		c.Start, c.End = c.Start+ns, c.End+ns
		if c.First < c.Last {
			c.First, c.Last = c.First+ns, c.Last+ns
		}
	}
}
