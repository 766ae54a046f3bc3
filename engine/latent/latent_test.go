package latent

import (
	"cmp"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/engine/blocks"
	"github.com/sfstat/sfstat/engine/claim"
)

// slow returns a job with rank 3 slower in forward.
func slow(by int64) job {
	return job{Seed: 6, Steps: 120, Ranks: 8, Noise: 160, Late: 3, By: by, Piece: 1}
}

func test(t *testing.T, w *Work) *Result {
	t.Helper()
	r, err := Test(w, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// certain returns the ranks that differ for certain.
func certain(r *Result) (out []int) {
	for _, c := range r.Claims() {
		if c.Certainty > claim.Event {
			out = append(out, c.Rank())
		}
	}
	return out
}

// TestOrder: in which order ranks were recorded changes no figure of any, P included, whether they are of one set or two.
func TestOrder(t *testing.T) {
	for _, sets := range []bool{false, true} {
		w := slow(2e6).work()
		order := []int{5, 2, 7, 0, 3, 6, 1, 4}
		other := *w
		other.Own = nil
		for _, own := range w.Own {
			moved := make([]int64, len(own))
			for i := range own {
				moved[i] = own[i/8*8+order[i%8]]
			}
			other.Own = append(other.Own, moved)
		}
		if sets {
			w.Peers, other.Peers = []int{0, 0, 0, 0, 1, 1, 1, 1}, make([]int, 8)
			for at, r := range order {
				other.Peers[at] = 7 - w.Peers[r] // numbered otherwise, too
			}
		}
		a, b := test(t, w), test(t, &other)
		for at, r := range order {
			for k := range a.Columns {
				if !reflect.DeepEqual(a.Score(r, k), b.Score(at, k)) || a.Blame[r] != b.Blame[at] {
					t.Fatalf("rank %d: %+v %+v, in another order %+v %+v", r, *a.Score(r, k), a.Blame[r], *b.Score(at, k), b.Blame[at])
				}
			}
		}
		if a.Draws < 399 {
			t.Errorf("%d draws, want as many as a claim takes", a.Draws)
		}
	}
}

// TestScale: all times longer by a factor give the same answer; so do times longer by as much on all ranks.
func TestScale(t *testing.T) {
	w := slow(2e6).work()
	a := test(t, w)
	scaled, shifted := *w, *w
	scaled.Step *= 4
	scaled.Own, shifted.Own = nil, nil
	for k, own := range w.Own {
		x, y := slices.Clone(own), slices.Clone(own)
		for i := range x {
			x[i] *= 4
			y[i] += int64(i/8%7) * 3e6 * int64(k)
		}
		scaled.Own, shifted.Own = append(scaled.Own, x), append(shifted.Own, y)
	}
	b, c := test(t, &scaled), test(t, &shifted)
	for i := range a.Workers {
		if x, y := a.Workers[i], b.Workers[i]; x.P != y.P || x.Quarters != y.Quarters || math.Abs(4*x.Level-y.Level) > 1e-3 {
			t.Errorf("%+v, four times as long %+v", x, y)
		}
		if !reflect.DeepEqual(a.Workers[i], c.Workers[i]) {
			t.Errorf("%+v, longer on all ranks %+v", a.Workers[i], c.Workers[i])
		}
	}
}

// TestThresholds: two jobs on either side of each, and what decides between them.
func TestThresholds(t *testing.T) {
	far := slow(5e6)
	for _, c := range []struct {
		name       string
		job        job
		change     func(*Work)
		claimed    bool
		refused    blocks.Refusal
		confidence claim.Certainty
	}{
		{"1 % of a step", slow(1e6), nil, false, 0, 0},
		{"2 %", slow(2e6), nil, true, 0, claim.Strong},
		{"2 %, of a clock that sees 0.5 %", slow(2e6), func(w *Work) { w.Resolution = 5e5 }, true, 0, claim.Strong},
		{"2 %, of a clock that sees 1 %", slow(2e6), func(w *Work) { w.Resolution = 1e6 }, false, 0, 0},
		{"faster", slow(-5e6), nil, false, 0, 0},
		{"nobody waits", far, func(w *Work) { w.Points = 0 }, false, 0, 0},
		{"from half-way", job{Seed: 6, Steps: 120, Ranks: 8, Noise: 160, Late: 3, By: 5e6, Piece: 1, From: 60}, nil, false, 0, 0},
		{"from the second quarter", job{Seed: 6, Steps: 120, Ranks: 8, Noise: 160, Late: 3, By: 5e6, Piece: 1, From: 28}, nil, true, 0, claim.Strong},
		{"from the second quarter on but for its begin", job{Seed: 6, Steps: 120, Ranks: 8, Noise: 160, Late: 3, By: 5e6, Piece: 1, From: 41}, nil, true, 0, claim.Strong},
		{"19 steps", job{Seed: 6, Steps: 19, Ranks: 8, Noise: 160, Late: 3, By: 5e6, Piece: 1}, nil, false, blocks.FewSteps, 0},
		{"20 steps", job{Seed: 6, Steps: 20, Ranks: 8, Noise: 160, Late: 3, By: 5e6, Piece: 1}, nil, true, 0, claim.Strong},
		{"correlated", job{Seed: 5, Steps: 120, Ranks: 8, Noise: 160, Phi: 972, Late: 3, By: 5e7, Piece: 1}, nil, false, blocks.FewBlocks, 0},
		{"correlated, and longer", job{Seed: 5, Steps: 900, Ranks: 8, Noise: 20, Phi: 972, Late: 3, By: 5e6, Piece: 1}, nil, true, 0, claim.Strong},
	} {
		w := c.job.work()
		if c.change != nil {
			c.change(w)
		}
		r := test(t, w)
		if got := slices.Equal(certain(r), []int{3}); got != c.claimed || r.Blocks.Refused != c.refused {
			t.Errorf("%s: claims %+v by %+v, want %v, refused %v", c.name, r.Claims(), r.Blocks, c.claimed, c.refused)
		}
		if claims := r.Claims(); c.claimed && claims[0].Certainty != c.confidence {
			t.Errorf("%s: %v, want %v", c.name, claims[0].Certainty, c.confidence)
		}
	}
}

// TestClaim: a claim has the level, where it is, and how it was tested; a rank that nobody waits for is an event.
func TestClaim(t *testing.T) {
	r := test(t, slow(2e6).work())
	c := r.Claims()[0]
	d := c.Difference
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	if c.Cause != claim.Latent || len(c.Parts) != 1 || c.Parts[0].Stage != 1 || d.Sum || !d.Slower() {
		t.Errorf("%+v %+v, want slower in stage 1", c, d)
	}
	if math.Abs(float64(d.Level)-2e6) > 2e5 || c.Size != d.Level || d.Margin != 1e6 || d.Blocks != 40 || d.Block != 3 || d.Of != 120 || d.Last < 30 {
		t.Errorf("%+v, want 2 ms of 100 beyond 1 ms, last in twice its turns of 120 by 40 blocks of 3", d)
	}
	w := slow(2e6).work()
	for i := range w.Own[2] { // half as much again in a stage in which that is below the margin
		if i%8 == 3 {
			w.Own[2][i] += 9e5
		}
	}
	if d := test(t, w).Claims()[0].Difference; d.Sum || math.Abs(float64(d.Total-d.Level)-9e5) > 2e5 {
		t.Errorf("%+v, want 2 ms in one piece and 0.9 ms beside", d)
	}
	w = slow(2e6).work()
	w.Points = 0
	if free := test(t, w).Claims(); len(free) != 1 || free[0].Certainty != claim.Event || free[0].Difference.Of != 0 {
		t.Errorf("%+v, want an event where nobody waits", free)
	}
}

// TestPlaces: a claim has the shares that decide it and how often it is last by quarters, as the prototype has them, of 120
// intervals; joined stretches have their means and their sums.
func TestPlaces(t *testing.T) {
	beyond := []int64{-2083658, -1750803, -1311187, -882593, -502560, -255538, 20215, 246414, 513943, 832978, 1332533, 1734478, 2190366}
	peers := []float64{118, 115.5, 107.5, 95.5, 82.5, 73, 61, 49, 36.5, 25, 11, 6, 3}
	rank := []float64{120, 120, 120, 118, 114, 113, 107, 99, 95, 73, 47, 31, 15}
	d := []float64{.130189, .197386, .340997, .465155, .566328, .682888, .766773, .847701, 1.059659, .984939, 1.039664, .955899, .640513}
	quarter := []claim.Quarter{{Last: 6, Of: 30}, {Last: 11, Of: 30}, {Last: 14, Of: 30}, {Last: 6, Of: 30}}
	one := test(t, slow(2e6).work())
	twice := []claim.Quarter{{Last: 17, Of: 60}, {Last: 20, Of: 60}, {Last: 17, Of: 60}, {Last: 20, Of: 60}}
	for _, c := range []struct {
		r        *Result
		quarters []claim.Quarter
	}{{one, quarter}, {Join([]*Result{one, one}), twice}} {
		got := c.r.Claims()[0].Difference
		if len(got.Places) != len(beyond) || got.Together || !slices.Equal(got.Quarters, c.quarters) {
			t.Fatalf("%+v, want %d places in one stage, and %v", got, len(beyond), c.quarters)
		}
		for i, p := range got.Places {
			if max(p.Beyond-beyond[i], beyond[i]-p.Beyond) > 1 || math.Abs(p.Peers*120-peers[i]) > 1e-9 || math.Abs(p.Rank*120-rank[i]) > 1e-9 || math.Abs(p.D-d[i]) > 1e-6 {
				t.Errorf("place %d: %+v, want %d ns, %v and %v of 120, D %v", i, p, beyond[i], peers[i], rank[i], d[i])
			}
		}
		if most := slices.MaxFunc(got.Places, func(a, b claim.Place) int { return cmp.Compare(a.D, b.D) }); math.Abs(most.D-got.D) > 1e-12 {
			t.Errorf("the largest departure is %v, and D %v", most.D, got.D)
		}
	}
	w := slow(2e6).work()
	for k := range w.Own { // as much in each piece
		for i := 3; i < len(w.Own[k]); i += 8 {
			w.Own[k][i] += 2e6
		}
	}
	if got := test(t, w).Claims()[0].Difference; !got.Together || got.Sum {
		t.Errorf("%+v, want the distribution of the sum, and pieces that differ by themselves", got)
	}
	w.Points = 0
	if got := test(t, w).Claims()[0].Difference; got.Quarters != nil {
		t.Errorf("%+v, where nobody waits", got.Quarters)
	}
}

// TestCertainty: a claim takes P of the distribution, quarters and blame, on either side of each: 0.05/6 and 0.05, a fifth of
// these for strong, and three quarters.
func TestCertainty(t *testing.T) {
	for _, c := range []struct {
		p, blame float64
		quarters int
		want     string
		as       float64
	}{
		{0.0083, 0.04, 3, "supported", 0.0083},
		{0.0084, 0.001, 4, "", 0},
		{0.001, 0.04, 4, "supported", 0.04 / 6},
		{0.001, 0.0099, 4, "strong", 0.0099 / 6},
		{0.001, 0.0101, 4, "supported", 0.0101 / 6},
		{0.0017, 0.001, 4, "supported", 0.0017},
		{0.001, 0.051, 4, "event", 0.001},
		{0.001, 0.001, 2, "", 0},
	} {
		r := &Result{Ranks: 1, Columns: []Column{{Stage: 0}}, Blocks: blocks.Of(120, 1), Step: 100e6, Margin: 1e6, Workers: []Score{{Level: 2e6, D: 1, P: c.p, Quarters: c.quarters}},
			Blame: []Share{{Last: 60, Of: 120, P: c.blame, Waits: true}}, o: Options{}.orDefault()}
		got, as := "", 0.0
		if claims := r.Claims(); len(claims) > 0 {
			got, as = claims[0].Certainty.String(), claims[0].P
		}
		if got != c.want || math.Abs(as-c.as) > 1e-12 {
			t.Errorf("P %v, blame %v, %d quarters: %q at %v, want %q at %v", c.p, c.blame, c.quarters, got, as, c.want, c.as)
		}
	}
}

// TestDraws: a rank that differs and that no bound decides takes as many draws as can show the strong level.
func TestDraws(t *testing.T) {
	r := test(t, slow(17e5).work())
	if c := r.Claims(); len(c) != 1 || r.Draws != 1199 || c[0].Certainty != claim.Strong || r.Score(3, 1).Bound <= r.o.Level/5 {
		t.Errorf("%+v by %d draws, bound %v", c, r.Draws, r.Score(3, 1).Bound)
	}
}

// TestSum: what is spread over pieces is found in their sum, which no piece shows by itself.
func TestSum(t *testing.T) {
	r := test(t, job{Seed: 7, Steps: 120, Ranks: 6, Noise: 160, Late: 3, By: 2e6, Piece: -1}.work())
	claims := r.Claims()
	if !slices.Equal(certain(r), []int{3}) || !claims[0].Difference.Sum || len(claims[0].Parts) != 4 {
		t.Fatalf("%+v, want rank 3 in the sum of all", claims)
	}
	for k, c := range r.Columns {
		if p := r.Score(3, k).P; (p <= r.o.Level) != c.Sum() {
			t.Errorf("column %+v: P %v", c, p)
		}
	}
}

// TestVaries: a rank that is as fast on average and varies more is heard, and is not slower.
func TestVaries(t *testing.T) {
	r := test(t, job{Seed: 9, Steps: 400, Ranks: 8, Noise: 40, Late: 3, By: 4e6, Piece: 1, Bimodal: true}.work())
	claims := r.Claims()
	if len(claims) != 1 || claims[0].Rank() != 3 || claims[0].Difference.Slower() {
		t.Errorf("%+v, want rank 3, which is not slower", claims)
	}
}

// TestPeers: ranks are held against those of their own set: that one set has more to do is no difference.
func TestPeers(t *testing.T) {
	w := job{Seed: 2, Steps: 120, Ranks: 8, Noise: 160, Late: -1}.work()
	for i := range w.Own[1] {
		if i%8 >= 4 {
			w.Own[1][i] += 20e6
		}
	}
	if r := test(t, w); len(certain(r)) == 0 {
		t.Error("half of the ranks has more to do, and nobody differs where all are peers")
	}
	w.Peers = []int{0, 0, 0, 0, 1, 1, 1, 1}
	if r := test(t, w); len(r.Claims()) != 0 {
		t.Errorf("%+v, want nobody within sets", r.Claims())
	}
	w.Peers = []int{0, 1, 2, 3, 4, 5, 6, 7}
	if r := test(t, w); len(r.Claims()) != 0 || r.Draws != 0 {
		t.Errorf("%+v by %d draws, want nobody where nobody has a peer", r.Claims(), r.Draws)
	}
}

// TestPoints: a rank is waited for at the point that its work leads to, and at no other.
func TestPoints(t *testing.T) {
	w := slow(2e6).work()
	w.Points = 2
	w.Pieces[2].Point, w.Pieces[3].Point = 1, 1
	r := test(t, w)
	if got := certain(r); !slices.Equal(got, []int{3}) {
		t.Errorf("%v, want rank 3", got)
	}
	if first, second := r.Blame[3*2].P, r.Blame[3*2+1].P; first > 0.05 || second < 0.05 {
		t.Errorf("blame %v at the point behind forward and %v at the next", first, second)
	}
}

// TestJoin: three quarters of a run must agree; a part of it that is not judged does not count.
func TestJoin(t *testing.T) {
	late, not := test(t, slow(3e6).work()), test(t, job{Seed: 1, Steps: 120, Ranks: 8, Noise: 160, Late: -1}.work())
	short := test(t, job{Seed: 1, Steps: 12, Ranks: 8, Noise: 160, Late: -1}.work())
	for _, c := range []struct {
		list []*Result
		want bool
	}{
		{[]*Result{late, late, late, not}, true},
		{[]*Result{late, not, late}, false},
		{[]*Result{late, late, short}, true},
		{[]*Result{short, late}, true},
		{[]*Result{short, short}, false},
		{nil, false},
	} {
		r := Join(c.list)
		if got := slices.Equal(certain(r), []int{3}); got != c.want {
			t.Errorf("%v of %d stretches", got, len(c.list))
		}
	}
	quiet, err := Test(job{Seed: 1, Steps: 120, Ranks: 8, Noise: 20, Late: -1}.work(), Options{Screen: true})
	if err != nil || !quiet.Screened {
		t.Fatalf("%+v, %v, want nothing tested", quiet, err)
	}
	if r := Join([]*Result{late, late, late, quiet}); !slices.Equal(certain(r), []int{3}) || math.Abs(r.Score(3, 1).Level-late.Score(3, 1).Level) > 1e-6 {
		t.Errorf("%+v where the fourth quarter was screened", r.Claims())
	}
	if r := Join([]*Result{late, quiet, quiet}); len(r.Claims()) != 0 {
		t.Errorf("%+v where most of the run was screened", r.Claims())
	}
	r := Join([]*Result{late, late, late, not})
	if s, one := r.Score(3, 1), late.Score(3, 1); math.Abs(s.P-one.P*4/3) > 1e-12 || r.Blocks.Steps != 480 || math.Abs(s.Level-(3*one.Level+not.Score(3, 1).Level)/4) > 1e-6 {
		t.Errorf("%+v of %+v", s, one)
	}
}

// TestScreen: what a screen lets alone nobody is claimed in, and it lets alone what is far from the margin only; who is
// slower or varies more is tested. A run that is refused is not screened.
func TestScreen(t *testing.T) {
	for _, c := range []struct {
		job      job
		screened bool
	}{
		{job{Seed: 1, Steps: 120, Ranks: 8, Noise: 80, Late: -1}, true},
		{job{Seed: 1, Steps: 120, Ranks: 8, Noise: 80, Late: 3, By: 5e5, Piece: 1}, true},
		{job{Seed: 1, Steps: 120, Ranks: 8, Noise: 80, Late: 3, By: 1e6, Piece: 1}, false},
		{job{Seed: 1, Steps: 120, Ranks: 8, Noise: 80, Late: 3, By: 1e6, Piece: -1}, false},
		{job{Seed: 1, Steps: 1200, Ranks: 8, Noise: 80, Late: 3, By: 15e5, Piece: 2}, false},
		{job{Seed: 9, Steps: 400, Ranks: 8, Noise: 40, Late: 3, By: 4e6, Piece: 1, Bimodal: true}, false},
		{job{Seed: 9, Steps: 400, Ranks: 8, Noise: 80, Late: 3, By: 8e5, Piece: 1, Bimodal: true}, false},
		{job{Seed: 9, Steps: 4000, Ranks: 8, Noise: 80, Late: 3, By: 6e5, Piece: 1, Bimodal: true}, false},
		{job{Seed: 1, Steps: 12, Ranks: 8, Noise: 20, Late: -1}, false},
	} {
		r, err := Test(c.job.work(), Options{Screen: true})
		if err != nil || r.Screened != c.screened || r.Screened && len(test(t, c.job.work()).Claims()) > 0 {
			t.Errorf("%+v: screened %v, %v", c.job, r.Screened, err)
		}
	}
}

// TestBound: the bound is above the chance of as many heads of 40 coins, which is counted here, and within the square of it; it
// decides who is far beyond the margin with hardly a draw.
func TestBound(t *testing.T) {
	var m moments
	for range 40 {
		m.add(2, 1, 1, 1)
	}
	exact, term := 0.0, math.Pow(0.5, 40) // of 40 heads
	for heads := 40; heads > 20; heads-- {
		exact += term
		if got := m.tail(float64(heads)); got < exact || heads > 25 && got*got > 10*exact {
			t.Errorf("%d heads of 40: bound %v, chance %v", heads, got, exact)
		}
		term *= float64(heads) / float64(41-heads)
	}
	if got := m.tail(20); got != 1 {
		t.Errorf("bound %v of the mean, want 1", got)
	}
	if far := test(t, slow(20e6).work()); far.Draws > 50 || !slices.Equal(certain(far), []int{3}) || far.Claims()[0].P > 1e-4 {
		t.Errorf("%+v by %d draws, want rank 3 by hardly any", far.Claims(), far.Draws)
	}
}

// TestValidate: work and options that make no sense are refused with what is wrong.
func TestValidate(t *testing.T) {
	for want, change := range map[string]func(*Work){
		"Ranks is 0":                 func(w *Work) { w.Ranks = 0 },
		"Own has 3 pieces":           func(w *Work) { w.Own = w.Own[:3] },
		"Peers has 2":                func(w *Work) { w.Peers = []int{0, 1} },
		"Points is -1":               func(w *Work) { w.Points = -1 },
		"Step is 0 ns":               func(w *Work) { w.Step = 0 },
		"Resolution is -1 ns":        func(w *Work) { w.Resolution = -1 },
		"Own[1] has 952 values":      func(w *Work) { w.Own[1] = w.Own[1][8:] },
		"Pieces[2] leads to point 1": func(w *Work) { w.Pieces[2].Point = 1 },
		"rank 3 is -7 ns":            func(w *Work) { w.Own[0][11] = -7 },
	} {
		w := slow(0).work()
		change(w)
		if _, err := Test(w, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for want, o := range map[string]Options{"Level": {Level: 1}, "Blame": {Blame: math.NaN()}, "Margin": {Margin: -1}, "Draws": {Draws: -1}} {
		if _, err := Test(slow(0).work(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
