package breakdown

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/profile"
)

// step is a step by hand: compute from the beginning, communication after it,
// both in the middle of idle time.
func step(n, start, end, first, compute, communication int64) profile.DeviceStep {
	return profile.DeviceStep{Step: n, Categories: profile.Categories{Start: start, End: end, First: first, Last: first + compute + communication,
		Compute: compute, Communication: communication, Idle: end - start - compute - communication, ExposedComm: communication}}
}

// TestTotals: steps that touch are one stretch, from the first work to the
// last; idle time between recordings is nobody's.
func TestTotals(t *testing.T) {
	empty := profile.DeviceStep{Step: 9, Categories: profile.Categories{Start: 200, End: 240, Idle: 40}}
	d := &profile.DeviceTimes{Ranks: []profile.DeviceRank{{Steps: []profile.DeviceStep{
		step(1, 0, 100, 10, 50, 20), step(2, 100, 200, 130, 30, 10), empty, // 10–200: one recording; its work ends at 170
		step(7, 1000, 1100, 1005, 60, 0), // another
	}}, {}, {Steps: []profile.DeviceStep{empty}}}}
	r, err := Analyze(d, DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	want := Times{Span: 160 + 60, In: [categories]int64{Compute: 140, Communication: 30, Idle: 50, ExposedComm: 30}}
	if diff := cmp.Diff(want, r.Ranks[0].Times); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := r.Ranks[0].Steps[1]; got.Step != 2 || got.Span != 100 || got.In[Idle] != 60 {
		t.Errorf("step 2: %+v", got)
	}
	if idle := r.Ranks[1]; idle.Span != 0 || !math.IsNaN(idle.Share(Idle)) || !math.IsNaN(idle.ExposedShare()) {
		t.Errorf("a rank without work: %+v", idle.Times)
	}
}

// TestSteps: ranks without any are left out, and a run of these is none.
func TestSteps(t *testing.T) {
	d := &profile.DeviceTimes{Ranks: []profile.DeviceRank{{}, {Steps: []profile.DeviceStep{step(1, 0, 100, 10, 50, 20), step(2, 100, 200, 130, 30, 10)}}}}
	r, err := Analyze(d, DefaultOptions())
	if err != nil || len(r.Ranks) != 1 || r.Ranks[0].Span != 160 || r.Ranks[0].In[Compute] != 80 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := Analyze(&profile.DeviceTimes{}, DefaultOptions()); !errors.Is(err, input.ErrMissing) {
		t.Errorf("error %v", err)
	}
}

// TestParts: what is shown of a span adds up to it, whatever overlaps.
func TestParts(t *testing.T) {
	s := profile.DeviceStep{Categories: profile.Categories{Start: 0, End: 100, First: 0, Last: 100, Compute: 50, Communication: 40, Memory: 30, Idle: 20, ExposedComm: 15}}
	var got Times
	got.add(&s)
	if sum := got.In[Compute] + got.In[ExposedComm] + got.In[ExposedMemory] + got.In[Idle]; sum != got.Span || got.In[ExposedMemory] != 15 {
		t.Errorf("%+v adds up to %d", got, sum)
	}
}

// shares makes a run of ranks that compute so many of 1000 ns and are idle
// else.
func shares(compute ...int64) *profile.DeviceTimes {
	d := &profile.DeviceTimes{}
	for i, c := range compute {
		d.Ranks = append(d.Ranks, profile.DeviceRank{Rank: trace.Rank{ID: i}, Steps: []profile.DeviceStep{
			{Categories: profile.Categories{Start: 0, End: 1000, First: 0, Last: 1000, Compute: c, Idle: 1000 - c}}}})
	}
	return d
}

// TestMarks: who stands out. By hand, of the first case: the others have mean
// 0.415 and squares 500e-6, so that t = 0.185/√(500e-6/3·1.25) = 12.8172; with
// three degrees of freedom P(T > t) = 1/2 − (y/(1+y²) + atan y)/π, y = t/√3.
func TestMarks(t *testing.T) {
	loose := DefaultOptions()
	loose.Alpha = 0.05
	for name, tt := range map[string]struct {
		run  *profile.DeviceTimes
		o    Options
		want []int // ranks, once for compute and once for idle
	}{
		"one of five":                    {shares(420, 400, 410, 430, 600), loose, []int{4, 4}},
		"not at a stricter level":        {shares(420, 400, 410, 430, 600), DefaultOptions(), nil},
		"alike":                          {shares(420, 400, 410, 430, 415), loose, nil},
		"all equal":                      {shares(400, 400, 400, 400, 400), loose, nil},
		"the others equal":               {shares(400, 400, 400, 400, 500), DefaultOptions(), []int{4, 4}},
		"equal but for what is no worth": {shares(400, 400, 400, 400, 405), DefaultOptions(), nil},
		"too few":                        {shares(400, 401, 900), loose, nil},
		"one":                            {shares(400), loose, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := Analyze(tt.run, tt.o)
			if err != nil {
				t.Fatal(err)
			}
			var got []int
			for _, m := range r.Marks {
				got = append(got, m.Rank)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	r, _ := Analyze(shares(420, 400, 410, 430, 600), loose)
	y := 12.8172 / math.Sqrt(3)
	want := 25 * 2 * (0.5 - (y/(1+y*y)+math.Atan(y))/math.Pi)
	if m := r.Marks[0]; math.Abs(m.P-want) > 1e-5 || math.Abs(m.Peers-0.415) > 1e-12 || m.Category != Compute {
		t.Errorf("%+v", m)
	}
}

// TestGroups: ranks are held against their role group.
func TestGroups(t *testing.T) {
	d := shares(400, 402, 401, 403, 800, 803, 801, 802)
	for i := range d.Ranks {
		d.Ranks[i].Rank.Role = trace.Role{{Axis: "pp", Index: i / 4}}
	}
	o := DefaultOptions()
	o.Alpha = 0.2
	if r, err := Analyze(d, o); err != nil || len(r.Marks) != 0 || r.Tests != 40 {
		t.Errorf("%d marks of %d comparisons, %v", len(r.Marks), r.Tests, err)
	}
}

// TestErrorRate: of healthy runs no more than Alpha have a mark, at sizes where
// three standard deviations never or always fire somewhere.
func TestErrorRate(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{4, 8, 64} {
		marked := 0
		const runs = 2000
		for range runs {
			compute := make([]int64, n)
			for i := range compute {
				compute[i] = 500_000_000 + int64(30_000_000*rng.NormFloat64())
			}
			d := shares(compute...)
			for i := range d.Ranks {
				s := &d.Ranks[i].Steps[0]
				s.End, s.Last, s.Idle = 1e9, 1e9, 1e9-s.Compute
			}
			o := DefaultOptions()
			o.Alpha, o.Least = 0.05, 0
			if r, err := Analyze(d, o); err != nil || len(r.Marks) > 0 {
				marked++
			}
		}
		// 100 expected at most; 4.5 standard deviations above.
		if marked > 144 {
			t.Errorf("%d ranks: %d of %d healthy runs are marked", n, marked, runs)
		}
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{{}, {Alpha: 1}, {Alpha: math.NaN()}, {Alpha: 0.1, Least: -1}, {Alpha: 0.1, Least: math.NaN()}} {
		if _, err := Analyze(shares(1), o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}
