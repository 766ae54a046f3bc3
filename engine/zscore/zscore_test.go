package zscore

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"testing"
)

func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }

func peers(n int) []int {
	w := make([]int, n)
	for i := range w {
		w[i] = i
	}
	return w
}

// healthy draws durations of about 100 ms with noise of 0.1 ms, and 0.5 ms
// that all peers of a step share.
func healthy(rng *rand.Rand, n, steps int) Series {
	s := Series{Quantity: Duration, Workers: peers(n), X: make([]int64, n*steps)}
	for t := range steps {
		common := 100e6 + 5e5*rng.NormFloat64()
		for i := range n {
			s.X[t*n+i] = int64(common + 1e5*rng.NormFloat64())
		}
	}
	return s
}

func analyze(t testing.TB, o Options, series ...Series) *Result {
	t.Helper()
	r, err := Analyze(series, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// heavy draws values with ties, outliers and several orders of magnitude.
func heavy(rng *rand.Rand, n int) []int64 {
	x := make([]int64, n)
	for i := range x {
		switch rng.IntN(5) {
		case 0:
			x[i] = int64(rng.IntN(3))
		case 1:
			x[i] = int64(math.Exp(30 * rng.Float64()))
		default:
			x[i] = 1e6 + rng.Int64N(1e5)
		}
	}
	return x
}

// TestCeiling: no value among N is further than √(N−1) population
// deviations from the mean, and one value at 10⁹ with the rest at 0 is
// just there.
func TestCeiling(t *testing.T) {
	rng := source(1)
	for n := 2; n <= 40; n++ {
		limit := ceiling(n)
		lone := make([]int64, n)
		lone[n/2] = 1e9
		z, err := scoresOf(Population, lone)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(z[n/2]-limit) > 1e-9*limit {
			t.Errorf("N = %d: a lone outlier has %v, want %v", n, z[n/2], limit)
		}
		for range 50 {
			z, _ := scoresOf(Population, heavy(rng, n))
			for _, v := range z {
				if math.Abs(v) > limit*(1+1e-9) {
					t.Fatalf("N = %d: %v above %v", n, v, limit)
				}
			}
		}
	}
}

// TestPlainRuleCannotFire: the paper's rule is silent at N = 10 whatever
// happens, and says so; one more peer, and it is not.
func TestPlainRuleCannotFire(t *testing.T) {
	o := Options{Method: Population}
	for _, n := range []int{4, 8, 10, 16} {
		s := healthy(source(2), n, 8)
		for step := range 8 {
			s.X[step*n] += 1e12
		}
		r := analyze(t, o, s)
		blind := n <= 10
		if got := slices.Contains(r.Series[0].Doubts, CannotFire); got != blind || (len(r.Outliers) == 0) != blind {
			t.Errorf("N = %d: %d outliers, said that it cannot fire: %v", n, len(r.Outliers), got)
		}
	}
}

// TestMasking: of two equal stragglers among 16, leave-one-out and the plain rule
// see none, the default both.
func TestMasking(t *testing.T) {
	for m, want := range map[Method]int{Pooled: 2, LeaveOneOut: 0, Population: 0} {
		s := healthy(source(3), 16, 20)
		for step := range 20 {
			s.X[step*16+4] += 3e6
			s.X[step*16+9] += 3e6
		}
		o := Options{Method: m}
		r := analyze(t, o, s)
		found := 0
		for _, w := range r.Workers {
			if w.Outliers >= 20 && (w.Worker == 4 || w.Worker == 9) {
				found++
			}
		}
		if found != want {
			t.Errorf("%s: %d of two stragglers found, want %d: %+v", m, found, want, r.Workers)
		}
	}
}

// TestLeaveOneOutIdentity: with the internal score ρ of population deviation,
// t = ρ·√((N−2)/(N−1−ρ²)).
func TestLeaveOneOutIdentity(t *testing.T) {
	rng := source(4)
	for range 300 {
		n := 3 + rng.IntN(30)
		x := make([]int64, n)
		for i := range x {
			x[i] = rng.Int64N(1e9)
		}
		z, _ := scoresOf(Population, x)
		got, err := scoresOf(LeaveOneOut, x)
		if err != nil {
			t.Fatal(err)
		}
		for i := range x {
			r := z[i]
			want := r * math.Sqrt(float64(n-2)/(float64(n-1)-r*r))
			if math.Abs(got[i]-want) > 1e-6*(1+math.Abs(want)) {
				t.Fatalf("N = %d: %v, want %v", n, got[i], want)
			}
		}
	}
}

// TestScoresInvariances: adding a constant and doubling change no score, the
// order of the peers only its place, and a mirrored sample has mirrored scores.
func TestScoresInvariances(t *testing.T) {
	rng := source(5)
	for _, m := range []Method{LeaveOneOut, Population} {
		for range 100 {
			x := heavy(rng, 3+rng.IntN(20))
			want, err := scoresOf(m, x)
			if err != nil {
				t.Fatal(err)
			}
			moved, mirrored, turned := make([]int64, len(x)), make([]int64, len(x)), make([]int64, len(x))
			for i, v := range x {
				moved[i], mirrored[i], turned[len(x)-1-i] = 2*v+1e15, -v, v
			}
			a, _ := scoresOf(m, moved)
			b, _ := scoresOf(m, mirrored)
			c, _ := scoresOf(m, turned)
			for i, w := range want {
				close := func(got float64) bool { return got == w || math.Abs(got-w) <= 1e-9*(1+math.Abs(w)) }
				if !close(a[i]) || !close(-b[i]) || !close(c[len(x)-1-i]) {
					t.Fatalf("%s: %v: score %v, moved %v, mirrored %v, turned %v", m, x, w, a[i], b[i], c[len(x)-1-i])
				}
			}
		}
	}
}

// TestPooledInvariances: what a step does to all peers alike changes nothing,
// nor do the unit of time, the threads, and the order of peers and series.
func TestPooledInvariances(t *testing.T) {
	rng := source(6)
	const n, steps = 6, 15
	var series []Series
	for op := range 5 {
		s := healthy(rng, n, steps)
		s.Op, s.Quantity = op, Start
		s.X[3*n+op] += 1e6
		for t := range steps {
			s.X[t*n+2] += 4e5
		}
		series = append(series, s)
	}
	o := Options{}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	want := analyze(t, o, series...)
	if len(want.Outliers) < 10 {
		t.Fatalf("%d outliers of those that were planted", len(want.Outliers))
	}
	runtime.GOMAXPROCS(7)
	if got := analyze(t, o, series...); !reflect.DeepEqual(got, want) {
		t.Error("seven threads give another result than one")
	}
	moved := make([]Series, len(series))
	for i, s := range series {
		moved[i] = s
		moved[i].X = slices.Clone(s.X)
		for k := range s.X {
			moved[i].X[k] = 4 * (s.X[k] + int64(1+k/n)*1e9)
		}
	}
	got := analyze(t, o, moved...)
	for i := range got.Outliers {
		got.Outliers[i].Effect /= 4
	}
	if !reflect.DeepEqual(got.Outliers, want.Outliers) {
		t.Error("common movement and unit of time change the outliers")
	}
	order := rng.Perm(n)
	turned := make([]Series, len(series))
	for i, s := range series {
		turned[i] = Series{Op: s.Op, Quantity: s.Quantity, X: make([]int64, len(s.X))}
		for to, from := range order {
			turned[i].Workers = append(turned[i].Workers, s.Workers[from])
			for t := range steps {
				turned[i].X[t*n+to] = s.X[t*n+from]
			}
		}
	}
	for _, o := range analyze(t, o, turned...).Outliers {
		if !slices.ContainsFunc(want.Outliers, func(w Outlier) bool {
			return w.Series == o.Series && w.Step == o.Step && w.Worker == o.Worker && w.Effect == o.Effect &&
				math.Abs(w.Score-o.Score) < 1e-9*math.Abs(w.Score)
		}) {
			t.Errorf("%+v only in another order of the peers", o)
		}
	}
}

// TestPlanted: effects, kinds and ranking of faults that are known.
func TestPlanted(t *testing.T) {
	const n, steps = 8, 30
	always, once := healthy(source(8), n, steps), healthy(source(9), n, steps)
	for step := range steps {
		always.X[step*n+5] += 2e6
	}
	once.Op = 1
	once.X[17*n+3] += 8e6
	r := analyze(t, Options{}, always, once)
	if len(r.Workers) < 2 || r.Workers[0].Worker != 5 || r.Workers[1].Worker != 3 {
		t.Fatalf("ranking %+v", r.Workers)
	}
	top := r.Outliers[0]
	if top.Step != EveryStep || top.Worker != 5 || !top.Sure || math.Abs(float64(top.Effect)-2e6) > 1e5 {
		t.Errorf("first outlier %+v", top)
	}
	worst := r.Outliers[r.Workers[1].Worst]
	if worst.Step != 17 || worst.Series != 1 || !worst.Sure || worst.P == nil || *worst.P > 1e-6 || math.Abs(float64(worst.Effect)-8e6) > 5e5 {
		t.Errorf("outlier of one step %+v", worst)
	}
	for _, o := range r.Outliers {
		if o.Step == 17 && o.Series == 1 && o.Worker != 3 && o.Sure {
			t.Errorf("a peer of the straggler is held guilty: %+v", o)
		}
	}
	if r.Instances != 2*steps {
		t.Errorf("%d instances, want %d", r.Instances, 2*steps)
	}
}

// TestWaitPointsAtTheLate: split into wait and transfer, a collective's late
// member has an abnormally short wait and no one an abnormal transfer; by raw
// duration it is the short one.
func TestWaitPointsAtTheLate(t *testing.T) {
	const n, steps = 4, 20
	rng := source(10)
	wait := Series{Quantity: Wait, Workers: peers(n)}
	transfer := Series{Quantity: Transfer, Workers: peers(n)}
	for range steps {
		start, duration := make([]int64, n), make([]int64, n)
		last := int64(0)
		for i := range n {
			start[i] = int64(50e6 + 1e5*rng.NormFloat64())
			if i == 2 {
				start[i] += 30e6
			}
			last = max(last, start[i])
		}
		for i := range n {
			duration[i] = last - start[i] + int64(10e6+1e5*rng.NormFloat64())
		}
		for i := range n {
			waited := last - start[i]
			wait.X, transfer.X = append(wait.X, waited), append(transfer.X, duration[i]-waited)
		}
	}
	r := analyze(t, Options{}, wait, transfer)
	for _, o := range r.Outliers {
		if o.Sure && (o.Series != 0 || o.Worker != 2 || o.Effect > -29e6) {
			t.Errorf("outlier %+v", o)
		}
	}
	if len(r.Workers) == 0 || r.Workers[0].Worker != 2 || r.Workers[0].Sure < steps {
		t.Errorf("workers %+v", r.Workers)
	}
}

func TestDoubtsAndEdges(t *testing.T) {
	o := Options{}
	has := func(s Series, want Doubt) *Result {
		t.Helper()
		r := analyze(t, o, s)
		if !slices.Contains(r.Series[0].Doubts, want) {
			t.Errorf("doubts %v, want %v", r.Series[0].Doubts, want)
		}
		return r
	}
	two := healthy(source(1), 2, 20)
	two.X[9] += 1e9
	if r := has(two, TooFewPeers); len(r.Outliers) > 0 {
		t.Errorf("of two peers one is flagged: %+v", r.Outliers)
	}
	short := healthy(source(1), 8, 3)
	short.X[9] += 1e9
	if r := has(short, FewSteps); r.Series[0].Method != LeaveOneOut || len(r.Outliers) != 1 || r.Outliers[0].Worker != 1 {
		t.Errorf("few steps: %+v", r)
	}
	// Without any noise one deviation stands out of nothing.
	flat := Series{Workers: peers(4), X: slices.Repeat([]int64{7}, 4*10)}
	if r := analyze(t, o, flat); len(r.Outliers) > 0 || r.Series[0].Sigma != 0 {
		t.Errorf("equal values: %+v", r)
	}
	flat.X[13] = 9
	if r := has(flat, MostlyEqual); len(r.Outliers) != 1 || r.Outliers[0].Effect != 2 || r.Outliers[0].Worker != 1 || r.Outliers[0].Step != 3 {
		t.Errorf("one unlike value: %+v", r.Outliers)
	}
	for step := range 10 {
		flat.X[step*4+1] = 9
	}
	if r := analyze(t, o, flat); !math.IsInf(r.Outliers[0].Score, 1) || r.Outliers[0].Step != EveryStep || *r.Outliers[0].P != 0 {
		t.Errorf("always unlike: %+v", r.Outliers)
	}
	// A drifting peer: consecutive steps are not independent.
	drift := healthy(source(3), 6, 40)
	for step := range 40 {
		drift.X[step*6] += int64(step) * 1e5
		drift.X[step*6+1] -= int64(step) * 1e5
	}
	has(drift, Dependent)
	// Noise of Student's t with 3 degrees of freedom, and a fault that is no noise.
	tails, calm := healthy(source(5), 8, 50), healthy(source(5), 8, 50)
	rng := source(6)
	for k := range tails.X {
		a := rng.NormFloat64()
		z := rng.NormFloat64() / math.Sqrt((2*rng.ExpFloat64()+a*a)/3)
		tails.X[k] = 100e6 + int64(1e5*z)
		if k%8 == 3 {
			calm.X[k] += 1e7
		}
	}
	has(tails, HeavyTails)
	if r := analyze(t, o, calm); slices.Contains(r.Series[0].Doubts, HeavyTails) {
		t.Errorf("a slow peer makes tails: %v", r.Series[0].Doubts)
	}
	if r := analyze(t, o); len(r.Outliers)+len(r.Workers)+len(r.Series) != 0 {
		t.Errorf("of nothing came %+v", r)
	}
	hole := healthy(source(4), 5, 12)
	for k := range hole.X {
		if k%7 == 0 || k%5 == 4 {
			hole.X[k] = Absent
		}
	}
	hole.X[6*5+1] += 5e6
	if r := analyze(t, o, hole); len(r.Workers) != 1 || r.Workers[0].Worker != 1 {
		t.Errorf("with values missing: %+v", r.Workers)
	}
}

func TestRefusals(t *testing.T) {
	ok := healthy(source(1), 4, 6)
	for _, s := range []Series{{}, {Workers: peers(4), X: make([]int64, 5)}, {Workers: peers(2), X: []int64{math.MinInt64 + 1, math.MaxInt64}}, {Quantity: 9, Workers: peers(1)}} {
		if _, err := Analyze([]Series{ok, s}, Options{}); err == nil {
			t.Errorf("%+v is accepted", s)
		}
	}
	for _, o := range []Options{{Alpha: 1}, {Alpha: math.NaN()}, {Alpha: 0.1, Method: 99}, {Alpha: 0.1, Method: Population, Cutoff: -1}, {Alpha: 0.1, Scale: 9}} {
		if _, err := Analyze(nil, o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

func FuzzAnalyze(f *testing.F) {
	f.Add(uint64(1), 4, 10, uint8(0))
	f.Add(uint64(2), 3, 1, uint8(1))
	f.Add(uint64(3), 9, 6, uint8(2))
	f.Fuzz(func(t *testing.T, seed uint64, n, steps int, method uint8) {
		if n < 1 || n > 12 || steps < 0 || steps > 20 {
			return
		}
		rng := source(seed)
		o := Options{Method: Method(method) % methodCount}
		o.Alpha = 0.2
		s := Series{Quantity: Quantity(rng.IntN(4)), Workers: peers(n)}
		for range steps {
			x := heavy(rng, n)
			x[rng.IntN(n)] = Absent
			s.X = append(s.X, x...)
		}
		r, err := Analyze([]Series{s}, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range r.Outliers {
			if !(math.Abs(u.Score) > u.Threshold && u.Threshold > 0) || u.P != nil && !(*u.P >= 0 && *u.P <= o.Alpha) {
				t.Fatalf("%+v", u)
			}
		}
	})
}

// scoresOf are the signed scores of one operator instance by a method that sees
// one step: all but Pooled. Values without any spread score 0.
func scoresOf(m Method, x []int64) ([]float64, error) {
	if len(x) < 1 || m == LeaveOneOut && len(x) < 3 {
		return nil, errors.New("too few values")
	}
	base := slices.Min(x)
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v - base)
	}
	var memory scratch
	return scoreStep(m, y, &memory), nil
}

// TestScaleOfEvenNoise: durations whose noise is not skewed are pooled as they are; on logarithms only where these are asked for and every value has one.
func TestScaleOfEvenNoise(t *testing.T) {
	s := &Series{Quantity: Duration, Workers: []int{0, 1, 2}}
	for i := range int64(30) {
		s.X = append(s.X, 1000+i*7%11, 1000+i*5%11, 1000+i*3%11)
	}
	for asked, want := range map[Scale]Scale{AutoScale: Linear, Linear: Linear, Log: Log} {
		if got := chooseFit(s, asked, &scratch{}).scale; got != want {
			t.Errorf("asked for %v: %v, want %v", asked, got, want)
		}
	}
	s.X[4] = 0
	if got := chooseFit(s, Log, &scratch{}).scale; got != Linear {
		t.Errorf("of a value of 0: %v, want %v", got, Linear)
	}
}
