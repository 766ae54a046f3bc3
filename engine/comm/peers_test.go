package comm

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// byU is how many of the orders of n and m values have each U, by the recurrence of Mann and Whitney.
func byU(n, m int) []float64 {
	if n == 0 || m == 0 {
		return []float64{1}
	}
	out := make([]float64, n*m+1)
	for u, c := range byU(n-1, m) {
		out[u+m] += c
	}
	for u, c := range byU(n, m-1) {
		out[u] += c
	}
	return out
}

// The approximation is on the safe side of the exact distribution where the values part, and near it in between.
func TestSlowerBy(t *testing.T) {
	for _, n := range []int{4, 6, 8} {
		counts, total := byU(n, n), 0.0
		for _, c := range counts {
			total += c
		}
		var x, y []float64
		for i := range n {
			x, y = append(x, float64(i)), append(y, float64(n+i))
		}
		p, least := slowerBy(x, y, 0)
		if exact := counts[0] / total; p != least || p < exact || p > 0.05 {
			t.Errorf("n = %d, all below: p %g, least %g, exact %g", n, p, least, exact)
		}
		// The lower half of x below all of y, the rest above: U = n·n/2.
		for i := n / 2; i < n; i++ {
			x[i] += float64(2 * n)
		}
		exact := 0.0
		for u := range n*n/2 + 1 {
			exact += counts[u] / total
		}
		if p, _ := slowerBy(x, y, 0); math.Abs(p-exact) > 0.02 {
			t.Errorf("n = %d, half below: p %g, exact %g", n, p, exact)
		}
		if lifted, _ := slowerBy(x, y, float64(2*n)); lifted < 0.5 {
			t.Errorf("n = %d, lifted above: p %g", n, lifted)
		}
	}
}

// Least P values of 1e-6, 1e-6 and 0.02 at 0.025: of one test all three could reach it, of two 0.0125 two.
func TestAttainable(t *testing.T) {
	all := []comparison{{least: 1e-6}, {least: 1e-6}, {least: 0.02}}
	if k := attainable(all, 0.025); k != 2 {
		t.Errorf("%g tests count, want 2", k)
	}
	if k := attainable(all[2:], 0.025); k != 1 {
		t.Errorf("%g tests count of one", k)
	}
}

func suspectsOf(r Speed) (list []int) {
	for _, s := range r.Suspects {
		list = append(list, s.Subject)
	}
	slices.Sort(list)
	return list
}

// What differs for ever by less than the margin is not called however often it is seen; two slow of four are both called, two of three
// not; what is seen too seldom, or shorter than the clocks resolve, is said to be so.
func TestMargin(t *testing.T) {
	for _, c := range []struct {
		name          string
		groups, calls int
		slower        map[int]float64
		want          []int
	}{
		{"8 % slower", 4, 400, map[int]float64{2: 1.08}, nil},
		{"20 % slower", 4, 400, map[int]float64{2: 1.2}, []int{2}},
		{"two of four", 4, 40, map[int]float64{0: 2, 2: 2.1}, []int{0, 2}},
		{"two of three", 3, 40, map[int]float64{0: 2, 2: 2.1}, nil},
		{"three calls", 4, 3, map[int]float64{2: 3}, nil},
	} {
		subjects, calls := groupsOf(rand.New(rand.NewPCG(8, 1)), c.groups, c.calls, c.slower)
		r := SpeedOf(subjects, calls, Theory{})
		if got := suspectsOf(r); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		want := Usual
		if c.calls < 4 {
			want = TooFew
		}
		if c.want == nil && (r.Cells[1].Standing != want || r.Cells[1].Peers != c.groups-1) {
			t.Errorf("%s: %v beside %d peers, want %v", c.name, r.Cells[1].Standing, r.Cells[1].Peers, want)
		}
	}
	subjects, calls := groupsOf(rand.New(rand.NewPCG(8, 2)), 4, 40, map[int]float64{2: 2})
	for i := range calls {
		calls[i].Parts[0].End -= 40_000
	}
	r := SpeedOf(subjects, calls, Theory{})
	if len(r.Suspects) > 0 || r.Cells[1].Standing != Blurred {
		t.Errorf("ends that are 40 µs apart in 300 µs: suspects %v, %v", suspectsOf(r), r.Cells[1].Standing)
	}
}
