package latent

import "math"

// moments are those of a sum over blocks of which each is any rank's, all alike: they are independent, and a block has
// most at most.
type moments struct {
	mean, variance, most float64
}

// add adds a block of counts, one of each rank.
func (m *moments) add(n int, count func(rank int) float64) {
	sum, squares, top := 0.0, 0.0, 0.0
	for i := range n {
		x := count(i)
		sum += x
		squares += x * x
		top = max(top, x)
	}
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

// bound bounds P of all departures and shares: by the sum over ranks and places of the chance that blocks handed out at
// random come to as much.
func (j *judge) bound() {
	cells, shares := make([][]moments, len(j.groups)), make([][]moments, len(j.groups))
	for k, g := range j.groups {
		n := len(g.ranks)
		cells[k], shares[k] = make([]moments, len(g.f0)), make([]moments, j.work.Points)
		for b := range j.cut.N {
			for i := range cells[k] {
				cells[k][i].add(n, func(r int) float64 { return float64(unpacked(g.counts[b*n+r], i)) })
			}
			for p := range shares[k] {
				shares[k][p].add(n, func(r int) float64 { return float64(g.won[b*n+r][p]) })
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
