package latent

import "math"

// moments are those of a sum over blocks of which each is any rank's, all alike: they are independent, and a block has
// most at most.
type moments struct {
	mean, variance, most float64
}

// add adds a block in which n ranks have so much together, by their squares, and one of them top.
func (m *moments) add(n int, sum, squares, top float64) {
	mean := sum / float64(n)
	m.mean += mean
	m.variance += squares/float64(n) - mean*mean
	m.most = max(m.most, top-mean)
}

// tail bounds the probability that the sum reaches x (Bernstein; Boucheron, Lugosi and Massart 2013, Concentration
// Inequalities, theorem 2.10).
func (m *moments) tail(x float64) float64 {
	d := x - m.mean
	if d <= 0 {
		return 1
	}
	return math.Exp(-d * d / 2 / (m.variance + m.most*d/3))
}

// boundChances bounds P of all departures and shares: by the sum over ranks and places of the chance that blocks handed out at
// random come to as much.
func (j *judge) boundChances() {
	cells, shares := make([][]moments, len(j.groups)), make([][]moments, len(j.groups))
	for k, g := range j.groups {
		n := len(g.ranks)
		cells[k], shares[k] = make([]moments, len(g.f0)), make([]moments, j.work.Points)
		sum, squares, top := make([]int64, len(g.f0)), make([]int64, len(g.f0)), make([]int64, len(g.f0))
		for b := range j.cut.N {
			clear(sum)
			clear(squares)
			clear(top)
			for _, row := range g.counts[b*n : (b+1)*n] {
				for i := range sum {
					x := int64(unpack(row, i))
					sum[i], squares[i], top[i] = sum[i]+x, squares[i]+x*x, max(top[i], x)
				}
			}
			for i := range cells[k] {
				cells[k][i].add(n, float64(sum[i]), float64(squares[i]), float64(top[i]))
			}
			for p := range shares[k] {
				sum, squares, top := 0.0, 0.0, 0.0
				for _, row := range g.won[b*n : (b+1)*n] {
					x := float64(row[p])
					sum, squares, top = sum+x, squares+x*x, max(top, x)
				}
				shares[k][p].add(n, sum, squares, top)
			}
		}
	}
	cut := float64(j.cut.N * j.cut.Length)
	for i := range j.Workers {
		s := &j.Workers[i]
		if !j.held[i/len(j.Columns)] || s.D <= 0 {
			continue
		}
		p := 0.0
		for k, g := range j.groups {
			for at := range cells[k] {
				p += float64(len(g.ranks)) * cells[k][at].tail((g.f0[at]+(s.D-rounding)*g.spread[at])*cut)
			}
			if p >= 1 {
				break
			}
		}
		s.Bound = min(1, p)
		s.P = s.Bound
	}
	for i := range j.Blame {
		s := &j.Blame[i]
		if !s.Waits {
			continue
		}
		p := 0.0
		for k, g := range j.groups {
			for at := range shares[k] {
				p += float64(len(g.ranks)) * shares[k][at].tail(float64(s.Last))
			}
		}
		s.Bound = min(1, p)
		s.P = s.Bound
	}
}
