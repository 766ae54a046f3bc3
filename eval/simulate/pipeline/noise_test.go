package pipeline

import (
	"fmt"
	"math"
	"testing"

	"github.com/sfstat/sfstat/eval/simulate/internal/streams"
	"github.com/sfstat/sfstat/trace/operator"
)

// TestMoments: durations have the mean and the deviation of their Dist,
// whatever the jitter, and lognormal quantiles: the median is
// mean ÷ √(1 + jitter²).
func TestMoments(t *testing.T) {
	const n = 300_000
	for _, d := range []Dist{{5, 0}, {217.5, 0.016}, {0.005, 0.8}, {30, 2}} {
		t.Run(fmt.Sprintf("mean=%v/jitter=%v", float64(d.Mean), d.Jitter), func(t *testing.T) {
			rng, l := streams.New().Restart(1, forWork, 2, 3), d.law(2)
			mean, median := 2*float64(d.Mean)*nsPerMilli, 2*float64(d.Mean)*nsPerMilli/math.Sqrt(1+d.Jitter*d.Jitter)
			var sum, square float64
			below := 0
			for range n {
				x := l.Draw(rng.Rand)
				sum += x
				square += (x - mean) * (x - mean)
				if x < median {
					below++
				}
			}
			if limit := 5*d.Jitter*mean/math.Sqrt(n) + 1e-9*mean; math.Abs(sum/n-mean) > limit {
				t.Errorf("mean is %.4f ns, want %.4f ± %.4f", sum/n, mean, limit)
			}
			// The error of the deviation grows with the fourth moment, which is
			// large at a jitter of 2.
			if sd, want := math.Sqrt(square/n), d.Jitter*mean; math.Abs(sd-want) > (0.01+0.05*d.Jitter*d.Jitter)*want {
				t.Errorf("deviation is %.4f ns, want %.4f", sd, want)
			}
			if d.Jitter > 0 && math.Abs(float64(below)-n/2) > 2.5*math.Sqrt(n) {
				t.Errorf("%d of %d lie under the median", below, n)
			}
		})
	}
}

// TestExtraLength: the mean of what makes microbatches longer is 1 in spite of
// the cut; its deviation is 1.54.
func TestExtraLength(t *testing.T) {
	const n = 4_000_000
	rng, sum := streams.New().Restart(1, forLength, 0, 0), 0.0
	for range n {
		sum += drawExtra(rng)
	}
	if limit := 5 * 1.54 / math.Sqrt(n); math.Abs(sum/n-1) > limit {
		t.Errorf("mean is %.5f, want 1 ± %.5f", sum/n, limit)
	}
}

// TestRecordedNoise: the trace has what the spec says: durations of passes and
// transfers, launch delays where nothing else holds an operator up.
func TestRecordedNoise(t *testing.T) {
	s := DefaultSpec()
	s.Layout, s.SpeedSD = layout(32, 2, 32), 0
	o := simulated(t, s)
	_, transfer := o.Waits()
	type moments struct{ n, sum, square float64 }
	seen := make(map[string]*moments)
	add := func(key string, x int64) {
		m := seen[key]
		if m == nil {
			m = &moments{}
			seen[key] = m
		}
		m.n++
		m.sum += float64(x) / nsPerMilli
		m.square += float64(x) / nsPerMilli * float64(x) / nsPerMilli
	}
	collected := int64(0)
	for i := range o.Start {
		name := o.Names[o.Name[i]]
		add(name, transfer[i])
		switch name { // on one worker the one waits for the other alone
		case "gc":
			collected = o.Start[i] + o.Dur[i]
		case "layernorm-grads-all-reduce":
			add("launch of layernorm", o.Start[i]-collected)
		}
	}
	for name, want := range map[string]Dist{
		"forward-compute": s.Ops.Forward.Dist, "backward-compute": s.Ops.Backward.Dist, "forward-send": s.Ops.ForwardTransfer.Dist,
		"forward-recv": s.Ops.ForwardTransfer.Dist, "backward-recv": s.Ops.BackwardTransfer.Dist, "params-all-gather": s.Ops.Gather.Dist,
		"grads-reduce-scatter": s.Ops.Reduce.Dist, "layernorm-grads-all-reduce": s.Ops.Layernorm.Dist, "embedding-grads-all-reduce": s.Ops.Embedding.Dist,
		"optimizer-clip-main-grad": s.Ops.Clip.Dist, "optimizer": s.Ops.Optimizer.Dist, "launch of layernorm": s.Ops.Layernorm.Launch,
	} {
		m := seen[name]
		if m == nil {
			t.Errorf("no %s", name)
			continue
		}
		draws := m.n
		switch operator.ParseClass(name) {
		case operator.ParamsAllGather, operator.GradsReduceScatter:
			draws /= 32
		case operator.OptimizerClip:
			draws /= 64
		}
		mean := m.sum / m.n
		jitter := math.Sqrt(max(0, m.square/m.n-mean*mean)) / mean
		slack := 5 * want.Jitter / math.Sqrt(draws)
		if math.Abs(mean/float64(want.Mean)-1) > slack || math.Abs(jitter/want.Jitter-1) > 5/math.Sqrt(draws) {
			t.Errorf("%s: mean %.4f ms, jitter %.4f, want %.4f and %.4f", name, mean, jitter, float64(want.Mean), want.Jitter)
		}
	}
}

// TestBetween: a worker pauses anew before every step, for a time of its own.
func TestBetween(t *testing.T) {
	s := quiet(layout(40, 1, 1))
	s.Between, s.Clock.Running, s.Steps.Count = Dist{3, 0.2}, true, 50
	d := index(simulated(t, s))
	seen := make(map[int64]bool)
	var sum, square float64
	for k, i := range d.row {
		if k.class != operator.ParamsAllGather {
			continue
		}
		pause := d.o.Start[i]
		if k.step > 0 {
			j := d.row[instance{k.rank, k.step - 1, operator.Optimizer, 0}]
			pause -= d.o.Start[j] + d.o.Dur[j]
		}
		seen[pause] = true
		sum += float64(pause) / nsPerMilli
		square += float64(pause) / nsPerMilli * float64(pause) / nsPerMilli
	}
	const n = 40 * 50
	mean := sum / n
	if sd := math.Sqrt(square/n - mean*mean); len(seen) < n-5 || math.Abs(mean-3) > 5*0.6/math.Sqrt(n) || math.Abs(sd-0.6) > 0.06 {
		t.Errorf("%d pauses in %d steps, mean %.3f ms, deviation %.3f, want 3 and 0.6", len(seen), n, mean, sd)
	}
}

// TestSpeed: workers differ persistently, in what they do themselves only; the
// slowest of n ranks is E max of n normals slower on average (1.423606 for 8,
// Harter 1961, Biometrika 48:151–165).
func TestSpeed(t *testing.T) {
	for tp, want := range map[int]float64{1: 0, 8: 1.423606} {
		s := quiet(layout(500, 2, 1))
		s.Layout.TP, s.SpeedSD, s.Steps.Count = tp, 0.02, 2
		o := simulated(t, s)
		forward := make(map[int32]int64) // by rank
		sum := 0.0
		for i := range o.Start {
			switch name := o.Names[o.Name[i]]; {
			case name == "forward-compute" && o.Step[i] == 0:
				forward[o.Rank[i]] = o.Dur[i]
				sum += (float64(o.Dur[i])/(10*nsPerMilli) - 1) / 0.02
			case name == "forward-compute" && o.Dur[i] != forward[o.Rank[i]]:
				t.Fatalf("rank %d takes %d ns in step 1, %d in step 0", o.Rank[i], o.Dur[i], forward[o.Rank[i]])
			case name == "backward-compute":
				if d := o.Dur[i] - 2*forward[o.Rank[i]]; d < -1 || d > 1 {
					t.Fatalf("rank %d takes %d ns forward and %d backward", o.Rank[i], forward[o.Rank[i]], o.Dur[i])
				}
			}
		}
		if got := sum / 1000; math.Abs(got-want) > 5/math.Sqrt(1000) {
			t.Errorf("tp %d: workers are %.3f deviations slow on average, want %.3f", tp, got, want)
		}
	}
}

// TestClocks: what a worker records is the true time as its clock has it, an
// offset and a rate, the same in all steps.
func TestClocks(t *testing.T) {
	s := busy(layout(8, 4, 4))
	s.Clock.Running = true
	truth := simulated(t, s)
	s.Clock.SkewSD, s.Clock.DriftPPM = 4, 100
	o := simulated(t, s)
	_, pp := o.Coordinates()
	type line struct{ t0, y0, t1, y1 int64 }
	lines := make(map[int32]line)
	index := make(map[instance]int) // the order of rows may differ in ties
	for i := range truth.Start {
		index[instance{truth.Rank[i], truth.Step[i], operator.Class(truth.Name[i]), int(truth.Seq[i])}] = i
	}
	for i := range o.Start {
		j := index[instance{o.Rank[i], o.Step[i], operator.Class(o.Name[i]), int(o.Seq[i])}]
		l, ok := lines[o.Rank[i]]
		if !ok {
			l.t0, l.y0 = truth.Start[j], o.Start[i]
		}
		l.t1, l.y1 = truth.Start[j], o.Start[i]
		lines[o.Rank[i]] = l
	}
	var rates, offsets float64
	for i := range o.Start {
		j := index[instance{o.Rank[i], o.Step[i], operator.Class(o.Name[i]), int(o.Seq[i])}]
		l := lines[o.Rank[i]]
		rate := float64(l.y1-l.y0)/float64(l.t1-l.t0) - 1
		want := float64(l.y0) + (1+rate)*float64(truth.Start[j]-l.t0)
		if math.Abs(float64(o.Start[i])-want) > 2 {
			t.Fatalf("rank %d of stage %d reads %d at %d, want %.0f", o.Rank[i], pp[o.Rank[i]], o.Start[i], truth.Start[j], want)
		}
	}
	for _, l := range lines {
		rate := float64(l.y1-l.y0)/float64(l.t1-l.t0) - 1
		offset := (float64(l.y0)-float64(l.t0)*(1+rate))/nsPerMilli - 8*4
		rates, offsets = rates+rate*rate, offsets+offset*offset
	}
	// 32 workers: deviations are known to about 12 %.
	if rate, offset := math.Sqrt(rates/32), math.Sqrt(offsets/32); rate < 60e-6 || rate > 150e-6 || offset < 2.4 || offset > 6 {
		t.Errorf("rates deviate by %.1f ppm and offsets by %.2f ms, want 100 and 4", rate*1e6, offset)
	}
}

// TestMoreReplicas: replicas draw the same in a larger job, and so do the
// collectives over them.
func TestMoreReplicas(t *testing.T) {
	small, large := busy(layout(3, 2, 4)), busy(layout(7, 2, 4))
	small.Faults, large.Faults = nil, nil
	a, b := drawn(t, small, 1), drawn(t, large, 1)
	for v := range a.program.nodes {
		n := &a.program.nodes[v]
		for dp := range 3 {
			if n.group >= 0 && (a.program.groups[n.group].members[0] != int32(v) || a.program.groups[n.group].across && dp > 0) {
				continue // it is drawn elsewhere
			}
			if x, y := a.end[v*3+dp], b.end[v*7+dp]; x != y {
				t.Fatalf("%v %d of stage %d, replica %d: %d and %d ns", n.class, n.seq, n.stage, dp, x, y)
			}
			if x, y := a.start[v*3+dp], b.start[v*7+dp]; x != y {
				t.Fatalf("launch of %v %d of stage %d, replica %d: %d and %d ns", n.class, n.seq, n.stage, dp, x, y)
			}
		}
	}
}
