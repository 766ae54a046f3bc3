package ks

import (
	"errors"
	"math"
	"slices"
)

// Textbook is the two-sample Kolmogorov–Smirnov test of N against M times. Its
// P holds for independent draws. Completions of operators are not that:
// do not alarm on them.
type Textbook struct {
	D float64 `json:"d" doc:"the statistic"`
	N int     `json:"n" doc:"completions of the worker"`
	M int     `json:"m" doc:"completions of its peers"`
	P float64 `json:"p" doc:"exact up to n·m = 2¹⁸, beyond by Kolmogorov's distribution with Stephens' correction"`
}

// exactLimit is the largest n·m for which the exact P is counted.
const exactLimit = 1 << 18

// TwoSample tests two sets of times in ns, in any order. It changes neither, and fails
// where one is empty. O((n+m)·log(n+m)), and O(n·m) where the exact P is counted.
func TwoSample(x, y []int64) (Textbook, error) {
	n, m := len(x), len(y)
	if n == 0 || m == 0 {
		return Textbook{}, errors.New("ks: no times to compare")
	}
	x, y = slices.Clone(x), slices.Clone(y)
	slices.Sort(x)
	slices.Sort(y)
	gap, i, j := 0, 0, 0 // gap = n·m·D so far, exact
	for i < n && j < m {
		t := min(x[i], y[j])
		for i < n && x[i] == t {
			i++
		}
		for j < m && y[j] == t {
			j++
		}
		gap = max(gap, i*m-j*n, j*n-i*m)
	}
	return newTextbook(int64(gap), n, m), nil
}

// newTextbook is the test of D = gap ∕ (n·m).
func newTextbook(gap int64, n, m int) Textbook {
	t := Textbook{D: float64(gap) / (float64(n) * float64(m)), N: n, M: m}
	if n <= exactLimit/m {
		t.P = exact(gap, n, m)
	} else {
		t.P = stephens(t.D, n, m)
	}
	return t
}

// stephens is the limit of P for many times, with the correction for fewer of Stephens
// (1970, J. R. Stat. Soc. B 32:115–122).
func stephens(d float64, n, m int) float64 {
	en := math.Sqrt(float64(n) / float64(n+m) * float64(m))
	return kolmogorovQ((en + 0.12 + 0.11/en) * d)
}

// kolmogorovQ is the upper tail of Kolmogorov's distribution,
// 2·Σ_{k≥1} (−1)^{k−1} e^{−2k²λ²}, and below 1.18, where that converges slowly,
// 1 − √(2π)/λ·Σ_{k≥1} e^{−(2k−1)²π²/8λ²}.
func kolmogorovQ(lambda float64) float64 {
	if lambda <= 0 {
		return 1
	}
	sum := 0.0
	if lambda < 1.18 {
		v := math.Pi * math.Pi / (8 * lambda * lambda)
		for k := 1.0; k <= 20; k++ {
			sum += math.Exp(-(2*k - 1) * (2*k - 1) * v)
		}
		return min(1, max(0, 1-math.Sqrt(2*math.Pi)/lambda*sum))
	}
	for k, sign := 1.0, 1.0; k <= 20; k, sign = k+1, -sign {
		sum += sign * math.Exp(-2*k*k*lambda*lambda)
	}
	return min(1, max(0, 2*sum))
}

// exact is P(D' ≥ gap ∕ (n·m)) without ties, as the probability that a random
// lattice path from (0,0) to (n,m) meets a point with |i·m − j·n| ≥ gap (Hodges
// 1958, Ark. Mat. 3:469–486). Run backwards from (n,m), the path came to (i,j)
// from (i−1,j) with probability i ∕ (i+j). With ties it is conservative.
// O(n·m) time, O(m) memory.
func exact(gap int64, n, m int) float64 {
	if gap <= 0 {
		return 1
	}
	met := make([]float64, m+1)
	for i := range n + 1 {
		for j := range m + 1 {
			off := int64(i)*int64(m) - int64(j)*int64(n)
			switch {
			case off >= gap || -off >= gap:
				met[j] = 1
			case i == 0 && j == 0:
				met[j] = 0
			case i == 0:
				met[j] = met[j-1]
			case j > 0:
				met[j] += (met[j-1] - met[j]) * float64(j) / float64(i+j)
			}
		}
	}
	return met[m]
}

// textbook tests every worker against the pool of its peers. With P(k) the
// completions of all of them, N in number, up to window k,
//
//	F_A − F_rest = (C_A·N − P·n) ∕ (n·(N − n)),
//
// which is extreme right before and right after completions of A.
func (s *sample) textbook(group []int, r *Result) {
	if len(group) < 2 {
		return
	}
	o := s.byWindow(group)
	all := int64(len(o.owner))
	count, gap := make([]int64, len(group)), make([]int64, len(group))
	hold := func(owners []int32, before int64) {
		for _, i := range owners {
			d := count[i]*all - before*int64(s.ops(group[i]))
			gap[i] = max(gap[i], d, -d)
		}
	}
	from := int32(0)
	for _, to := range o.end {
		now := o.owner[from:to]
		hold(now, int64(from))
		for _, i := range now {
			count[i]++
		}
		hold(now, int64(to))
		from = to
	}
	for i, w := range group {
		n := s.ops(w)
		t := newTextbook(gap[i], n, int(all)-n)
		r.Scores[w].Textbook = &t
	}
}
