package sums_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/sums"
)

const steps, ranks = 60, 4

// job returns the times of a step of a rank in milliseconds: rank 3 waits for data, and
// all meet at the end of backward.
func job(rnd *rand.Rand, rank int) (data, forward, backward, optim float64) {
	noise := func(ms float64) float64 { return ms * (1 + 0.02*rnd.NormFloat64()) }
	data, forward, optim = noise(15), noise(60), noise(10)
	if rank == 3 {
		data += 40
	}
	return data, forward, 220 - data - forward - optim + noise(1), optim
}

// window returns one whose rows hold these times in milliseconds, with so many decimals.
func window(decimals int, stages string, row func(rnd *rand.Rand, step, rank int) []float64) *trace.Window {
	w := &trace.Window{Schema: trace.Schema{Stages: strings.Fields(stages)}, Ranks: make([]trace.Rank, ranks)}
	S := len(w.Schema.Stages)
	w.Durations = make([]int64, steps*S*ranks)
	rnd := rand.New(rand.NewPCG(1, 2))
	for t := range steps {
		for r := range ranks {
			for s, ms := range row(rnd, t, r) {
				w.Durations[(t*S+s)*ranks+r] = int64(math.Round(ms*math.Pow10(decimals)) * math.Pow10(6-decimals))
			}
		}
	}
	return w
}

// says returns what was found in short: "step=data+forward".
func says(w *trace.Window, found []sums.Sum) string {
	var out []string
	for _, f := range found {
		var parts []string
		for _, p := range f.Parts {
			parts = append(parts, w.Schema.Stages[p])
		}
		text := w.Schema.Stages[f.Stage] + "=" + strings.Join(parts, "+")
		if f.Whole {
			text += "!"
		}
		if f.Gap > 0 {
			text += "~"
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

// TestSums: stages around others are found wherever they stand and however times are
// rounded, "!" those around all, "~" with a gap.
func TestSums(t *testing.T) {
	for _, c := range []struct {
		name, stages string
		decimals     int
		row          func(d, f, b, o float64, step int) []float64
		want         string
	}{
		{"around all", "data forward backward optim x", 6, func(d, f, b, o float64, _ int) []float64 { return []float64{d, f, b, o, d + f + b + o} }, "x=data+forward+backward+optim!"},
		{"in front", "x data forward backward optim", 6, func(d, f, b, o float64, _ int) []float64 { return []float64{d + f + b + o, d, f, b, o} }, "x=data+forward+backward+optim!"},
		{"whole milliseconds", "data forward backward optim train", 0, func(d, f, b, o float64, _ int) []float64 { return []float64{d, f, b, o, f + b + o} }, "train=forward+backward+optim"},
		{"one wrong row", "data forward backward optim x", 3, func(d, f, b, o float64, step int) []float64 {
			return []float64{d, f, b, o, d + f + b + o + 1000*float64(max(0, step-58))}
		}, "x=data+forward+backward+optim!"},
		{"two of four", "compute data forward backward optim", 3, func(d, f, b, o float64, _ int) []float64 { return []float64{f + b, d, f, b, o} }, "compute=forward+backward"},
		{"one in another", "data train forward backward optim all", 3, func(d, f, b, o float64, _ int) []float64 {
			return []float64{d, f + b + o, f, b, o, d + f + b + o}
		}, "train=forward+backward+optim all=data+forward+backward+optim!"},
		{"twice", "data forward backward optim x y", 6, func(d, f, b, o float64, _ int) []float64 {
			return []float64{d, f, b, o, d + f + b + o, d + f + b + o}
		}, "x=data+forward+backward+optim! y=data+forward+backward+optim!"},
		{"beside one that takes no time", "data forward backward optim eval x", 3, func(d, f, b, o float64, _ int) []float64 { return []float64{d, f, b, o, 0, d + f + b + o} }, "x=data+forward+backward+optim!"},
		{"with a gap", "data forward backward optim x", 3, func(d, f, b, o float64, _ int) []float64 { return []float64{d, f, b, o, f + b + o + 0.2 + f/1000} }, "x=forward+backward+optim~"},
		{"by its name, half of it elsewhere", "data forward optim iter_time", 3, func(d, f, b, o float64, _ int) []float64 { return []float64{d, f, o, d + f + b/2 + o} }, "iter_time=data+forward+optim!~"},
		{"in parentheses too", "data forward optim Total(ms)", 3, func(d, f, b, o float64, _ int) []float64 { return []float64{d, f, o, d + f + b/2 + o} }, "Total(ms)=data+forward+optim!~"},
	} {
		w := window(c.decimals, c.stages, func(rnd *rand.Rand, step, rank int) []float64 {
			d, f, b, o := job(rnd, rank)
			return c.row(d, f, b, o, step)
		})
		if got := says(w, sums.Find(w)); got != c.want {
			t.Errorf("%s: %q, expected %q", c.name, got, c.want)
		}
	}
}

// TestNoSums: stages that are as long as others by chance are stages.
func TestNoSums(t *testing.T) {
	for _, c := range []struct {
		name, stages string
		decimals     int
		row          func(rnd *rand.Rand, rank int) []float64
	}{
		{"healthy", "data forward backward optim", 6, func(rnd *rand.Rand, _ int) []float64 { d, f, b, o := job(rnd, 0); return []float64{d, f, b, o} }},
		{"two alike", "data forward backward copy", 6, func(rnd *rand.Rand, _ int) []float64 { d, f, b, _ := job(rnd, 0); return []float64{d, f, b, f} }},
		{"alike but for nothing", "forward copy eval", 6, func(rnd *rand.Rand, _ int) []float64 { _, f, _, _ := job(rnd, 0); return []float64{f, f, 0} }},
		{"as long, each by itself", "a b c", 0, func(rnd *rand.Rand, _ int) []float64 {
			return []float64{20 + rnd.NormFloat64(), 30 + rnd.NormFloat64(), 50 + 2*rnd.NormFloat64()}
		}},
		{"as long, and nothing varies", "a b c", 0, func(*rand.Rand, int) []float64 { return []float64{20, 30, 50} }},
		{"as long, and all on a slow rank", "a b c", 0, func(rnd *rand.Rand, rank int) []float64 {
			slow := 1 + 0.3*float64(rank/3)
			return []float64{slow * (20 + 0.6*rnd.NormFloat64()), slow * (30 + 0.9*rnd.NormFloat64()), slow * (50 + 1.5*rnd.NormFloat64())}
		}},
		{"a little longer, and all on a slow rank", "a b c", 6, func(rnd *rand.Rand, rank int) []float64 {
			slow := 1 + 0.3*float64(rank/3) + 0.05*rnd.NormFloat64()
			return []float64{slow * 20, slow * 30, slow * 52}
		}},
		{"the rest of a fixed time", "a b c", 6, func(rnd *rand.Rand, _ int) []float64 {
			a, b := 20+rnd.NormFloat64(), 30+rnd.NormFloat64()
			return []float64{a, b, 100 - a - b}
		}},
		{"too coarse to tell", "a b c", -1, func(rnd *rand.Rand, rank int) []float64 {
			return []float64{20 + 10*float64(rank), 30, 50 + 10*float64(rank)}
		}},
		{"a step of the optimizer", "data forward backward step", 3, func(rnd *rand.Rand, _ int) []float64 { d, f, b, o := job(rnd, 0); return []float64{d, f, b, o} }},
	} {
		w := window(c.decimals, c.stages, func(rnd *rand.Rand, _, rank int) []float64 { return c.row(rnd, rank) })
		if got := says(w, sums.Find(w)); got != "" {
			t.Errorf("%s: %q, expected nothing", c.name, got)
		}
	}
}

// TestChance: jobs with whole milliseconds, in which a stage may be as long as others, and
// ranks are slow in all stages, keep theirs.
func TestChance(t *testing.T) {
	found := 0
	const jobs = 400
	for seed := range jobs {
		draw := rand.New(rand.NewPCG(uint64(seed), 3))
		n := 3 + draw.IntN(6)
		var stages []string
		means := make([]float64, n)
		for s := range n {
			stages, means[s] = append(stages, fmt.Sprint("s", s)), math.Round(5+100*draw.Float64())
		}
		w := window(seed%3, strings.Join(stages, " "), func(rnd *rand.Rand, _, rank int) []float64 {
			slow := 1 + 0.2*float64(rank/3) + 0.01*rnd.NormFloat64()
			out := slices.Clone(means)
			for s := range out {
				out[s] *= slow * (1 + 0.02*rnd.NormFloat64())
			}
			return out
		})
		if got := sums.Find(w); got != nil {
			found++
			t.Logf("seed %d, %v: %s", seed, means, says(w, got))
		}
	}
	if found > jobs/100 {
		t.Errorf("sums in %d of %d jobs without any", found, jobs)
	}
}

// TestManySums: of many stages neighbours are found, in the windows of one step too that
// loops write which log now and then.
func TestManySums(t *testing.T) {
	var names []string
	for i := range 20 {
		names = append(names, fmt.Sprint("part", i))
	}
	all := window(3, strings.Join(names, " ")+" inner total", func(rnd *rand.Rand, _, _ int) []float64 {
		var out []float64
		var last, total float64
		for i := range names {
			out = append(out, 5+rnd.Float64())
			if total += out[i]; i >= 16 {
				last += out[i]
			}
		}
		return append(out, last, total)
	})
	var single []*trace.Window
	for s := range steps {
		w := *all
		w.Durations = all.Step(s)
		single = append(single, &w)
	}
	const inner, total = 20, 21
	for _, windows := range [][]*trace.Window{{all}, single} {
		got := sums.Find(windows...)
		if len(got) != 2 || got[0].Stage != inner || len(got[0].Parts) != 4 || got[1].Stage != total || !got[1].Whole {
			t.Errorf("%d windows: %s", len(windows), says(all, got))
		}
	}
}
