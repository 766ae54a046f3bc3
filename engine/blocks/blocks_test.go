package blocks

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestOf: blocks as counted by hand, on either side of each threshold.
func TestOf(t *testing.T) {
	for _, c := range []struct {
		steps     int
		tau       float64
		length, n int
		refused   Refusal
	}{
		{19, 1, 1, 19, FewSteps}, {20, 1, 1, 20, Judged}, {40, 1, 1, 40, Judged}, {41, 1, 2, 20, Judged},
		{120, 1, 3, 40, Judged}, {120, 2.1, 4, 30, Judged}, {120, 10, 15, 8, Judged}, {120, 10.1, 16, 7, FewBlocks}, {20, 1.1, 2, 10, Judged}, {20, 2, 3, 6, FewBlocks},
	} {
		if b := Of(c.steps, c.tau); b.Length != c.length || b.N != c.n || b.Refused != c.refused {
			t.Errorf("%d steps, tau %v: %+v, want %d blocks of %d, %v", c.steps, c.tau, b, c.n, c.length, c.refused)
		}
	}
	if b := Of(123, 1); b.Length != 4 || b.N != 30 || b.Start() != 3 {
		t.Errorf("%+v, want blocks from step 3 on", b)
	}
	// √(n/(n − 1)/(1 − (τ² − 1)/(2Lτ))): of 20 blocks of 3 with τ = 2 that is √(20/19/(1 − 3/12)).
	if b := Of(60, 2); math.Abs(b.Widen-math.Sqrt(20./19/0.75)) > 1e-12 {
		t.Errorf("widened by %v", b.Widen)
	}
	if b := Independent(12); b.N != 12 || b.Length != 1 || b.Widen != 1 || b.Start() != 0 {
		t.Errorf("%+v", b)
	}
}

// ar returns correlated noise, [step][rank].
func ar(seed uint64, steps, ranks int, phi float64) []float64 {
	g := rand.New(rand.NewPCG(seed, 7))
	u := make([]float64, steps*ranks)
	for i := range u {
		u[i] = g.NormFloat64()
		if i >= ranks {
			u[i] = phi*u[i-ranks] + math.Sqrt(1-phi*phi)*u[i]
		}
	}
	return u
}

// TestTau: AR(1) has τ = (1 + φ)/(1 − φ), which is found within a third, also where several steps are put together;
// what never ends is refused at any length.
func TestTau(t *testing.T) {
	for _, steps := range []int{2000, 20000} {
		for _, phi := range []float64{0, 0.5, 0.8, 0.95} {
			want := (1 + phi) / (1 - phi)
			got := Tau(ar(3, steps, 8, phi), 8)
			if together := math.Ceil(float64(steps) / mostRows); got > want*1.34+together-1 || got < want*0.66 {
				t.Errorf("%d steps, φ %v: τ %v, want %v", steps, phi, got, want)
			}
		}
	}
	for _, steps := range []int{100, 3000, 50000} {
		u := make([]float64, steps*4)
		for i := range u {
			u[i] = float64(i/4) * float64(i%4-1)
		}
		if b := Of(steps, Tau(u, 4)); b.Refused != FewBlocks {
			t.Errorf("drift of %d steps: %+v, want too few blocks", steps, b)
		}
	}
	if got := Tau(make([]float64, 400), 4); got != 1 {
		t.Errorf("τ %v where nothing varies", got)
	}
	if got := Tau(nil, 0); got != 1 {
		t.Errorf("τ %v of nothing", got)
	}
}
