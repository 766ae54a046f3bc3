package pipeline

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/trace/operator"
)

const ms = int64(nsPerMilli)

// quiet is a spec without any noise: passes of 10 and 20 ms, transfers of 1,
// gathering 6, reduction 7, and at the end 1, 2, 3, 8, 4 and 5.
func quiet(l Layout) Spec {
	fixed := func(m Millis) Op { return Op{Dist: Dist{Mean: m}} }
	return Spec{Layout: l, Steps: Steps{Count: 1, Every: 1}, Ops: Ops{
		Forward: fixed(10), Backward: fixed(20), ForwardTransfer: fixed(1), BackwardTransfer: fixed(1),
		Gather: fixed(6), Reduce: fixed(7), SeparateReduce: fixed(8), Layernorm: fixed(2), Embedding: fixed(3),
		Clip: fixed(4), Optimizer: fixed(5), Collect: fixed(1),
	}}
}

func layout(dp, pp, microbatches int) Layout {
	return Layout{DP: dp, PP: pp, TP: 1, Chunks: 1, Microbatches: microbatches, Buckets: 1}
}

func simulated(t testing.TB, s Spec) *operator.Trace {
	t.Helper()
	o, _, err := Make(s)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// timeline lists what a rank did in a step: "name number start+duration" in
// milliseconds, names by their initials.
func timeline(o *operator.Trace, rank, step int) string {
	var words []string
	for i := range o.Start {
		if o.Rank[i] != int32(rank) || o.Step[i] != int32(step) {
			continue
		}
		short := ""
		for _, w := range strings.Split(o.Names[o.Name[i]], "-") {
			short += w[:1]
		}
		words = append(words, fmt.Sprintf("%s%d %v+%v", short, o.Seq[i], float64(o.Start[i])/float64(ms), float64(o.Dur[i])/float64(ms)))
	}
	return strings.Join(words, ", ")
}

// TestByHand: two stages, two microbatches, all times counted by hand. fc and
// bc are the passes, fs, fr, bs, br the transfers, pag and grs the collectives
// over replicas, sgar the separate reduction, g, lgar, egar, ocmg, o the end.
func TestByHand(t *testing.T) {
	early := layout(2, 2, 2)
	early.EarlyReduce = true
	buckets := layout(2, 1, 1)
	buckets.Buckets = 2
	fault := func(s Spec, f Fault) Spec { s.Faults = []Fault{f}; return s }
	tests := []struct {
		name string
		spec Spec
		want []string // by rank
	}{
		// Stage 1 waits 11 ms for its first input, stage 0 from 20 to 42 for its
		// first gradient. The receive of gradients is posted after the first
		// pass; the ends of a transfer end together.
		{"one replica", quiet(layout(1, 2, 2)), []string{
			"fc0 0+10, br0 10+32, fc1 10+10, fs0 10+1, fs1 20+2, bc0 42+20, br1 62+10, bc1 72+20, g0 92+1, lgar0 93+2, egar0 95+3, ocmg0 98+4, o0 102+5",
			"fr0 0+11, fc0 11+10, bc0 21+20, fr1 21+1, bs0 41+1, fc1 41+10, bc1 51+20, bs1 71+1, g0 71+1, lgar0 72+2, egar0 74+24, ocmg0 98+4, o0 102+5",
		}},
		// Gathering holds the first pass of stage 0 up; what follows is 6 ms
		// later, and the reduction comes before clipping.
		{"two replicas", quiet(layout(2, 2, 2)), []string{
			"pag0 0+6, fc0 6+10, br0 16+32, fc1 16+10, fs0 16+1, fs1 26+2, bc0 48+20, br1 68+10, bc1 78+20, g0 98+1, lgar0 99+2, egar0 101+3, grs0 104+7, ocmg0 111+4, o0 115+5",
			"",
			"fr0 0+17, pag0 0+6, fc0 17+10, bc0 27+20, fr1 27+1, bs0 47+1, fc1 47+10, bc1 57+20, bs1 77+1, g0 77+1, lgar0 78+2, egar0 80+24, grs0 104+7, ocmg0 111+4, o0 115+5",
			"",
		}},
		// Reduction begins with the last backward pass; collection runs beside it.
		{"early reduction", quiet(early), []string{
			"pag0 0+6, fc0 6+10, br0 16+32, fc1 16+10, fs0 16+1, fs1 26+2, bc0 48+20, br1 68+10, bc1 78+20, g0 98+1, grs0 98+7, lgar0 105+2, egar0 107+3, sgar0 110+8, ocmg0 118+4, o0 122+5",
			"",
			"fr0 0+17, pag0 0+6, fc0 17+10, bc0 27+20, fr1 27+1, bs0 47+1, fc1 47+10, bc1 57+20, bs1 77+1, g0 77+1, grs0 77+7, lgar0 84+2, egar0 86+24, sgar0 110+8, ocmg0 118+4, o0 122+5",
			"",
		}},
		// One stage in two buckets of 3 and 3.5 ms; replica 1 computes 2 × 4 ms
		// longer, and replica 0 waits for it in the first bucket of reduction.
		{"a slow replica", fault(quiet(buckets), Fault{Kind: SlowWorker, Where: Where{DP: new(1)}, Size: Size{Delay: 4}}), []string{
			"pag0 0+3, pag1 3+3, fc0 6+10, bc0 16+20, g0 36+1, lgar0 37+2, egar0 39+3, grs0 42+11.5, grs1 53.5+3.5, ocmg0 57+4, o0 61+5",
			"pag0 0+3, pag1 3+3, fc0 6+14, bc0 20+24, g0 44+1, lgar0 45+2, egar0 47+3, grs0 50+3.5, grs1 53.5+3.5, ocmg0 57+4, o0 61+5",
		}},
		// The first transfer of gradients 5 ms slower: both ends have it.
		{"a slow edge", fault(quiet(layout(1, 2, 1)), Fault{Kind: SlowEdge, Where: Where{PP: new(1), Op: "backward-send"}, Size: Size{Delay: 5}}), []string{
			"br0 0+47, fc0 0+10, fs0 10+1, bc0 47+20, g0 67+1, lgar0 68+2, egar0 70+3, ocmg0 73+4, o0 77+5",
			"fr0 0+11, fc0 11+10, bc0 21+20, bs0 41+6, g0 41+1, lgar0 42+2, egar0 44+29, ocmg0 73+4, o0 77+5",
		}},
		// The host of replica 1 is busy for 9 ms before the backward pass.
		{"a late start", fault(quiet(layout(2, 1, 1)), Fault{Kind: LateStart, Where: Where{DP: new(1), Op: "backward-compute"}, Size: Size{Delay: 9}}), []string{
			"pag0 0+6, fc0 6+10, bc0 16+20, g0 36+1, lgar0 37+2, egar0 39+3, grs0 42+16, ocmg0 58+4, o0 62+5",
			"pag0 0+6, fc0 6+10, bc0 25+20, g0 45+1, lgar0 46+2, egar0 48+3, grs0 51+7, ocmg0 58+4, o0 62+5",
		}},
		// Two chunks (depths 0 and 2 on stage 0, 1 and 3 on stage 1): inputs of
		// chunk b come back from the last stage. Receives at the ends of the
		// model (fr0, fr1 of stage 0, br0, br1 of stage 1) are empty.
		{"interleaved", quiet(Layout{DP: 1, PP: 2, TP: 1, Chunks: 2, Microbatches: 2, Buckets: 1}), []string{
			"fc0 0+10, fr0 0+0, fc1 10+10, fr1 10+0, fs0 10+1, fr2 20+2, fs1 20+2, fc2 22+10, br0 32+32, fr3 32+1, fs2 32+1, fc3 33+10, fs3 43+1, " +
				"bc0 64+20, br1 84+10, bs0 84+10, bc1 94+20, br2 114+1, bs1 114+1, bc2 115+20, br3 135+1, bs2 135+0, bc3 136+20, bs3 156+0, " +
				"g0 156+1, lgar0 157+2, egar0 159+3, ocmg0 162+4, o0 166+5",
			"fr0 0+11, fc0 11+10, fr1 21+1, fs0 21+1, fc1 22+10, br0 32+0, fr2 32+1, fs1 32+1, fc2 33+10, bc0 43+20, fr3 43+1, fs2 43+0, br1 63+0, bs0 63+1, fc3 63+10, " +
				"bc1 73+20, fs3 73+0, br2 93+1, bs1 93+1, bc2 94+20, br3 114+1, bs2 114+1, bc3 115+20, bs3 135+1, " +
				"g0 135+1, lgar0 136+2, egar0 138+24, ocmg0 162+4, o0 166+5",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := simulated(t, test.spec)
			for rank, want := range test.want {
				if got := timeline(o, rank, 0); want != "" && got != want {
					t.Errorf("rank %d\n got %s\nwant %s", rank, got, want)
				}
			}
		})
	}
}

// TestStepsFollow: a worker begins a step when its own optimizer has ended. Who
// is late there is late in the next step, and the trace's zero is the first
// operator of anybody.
func TestStepsFollow(t *testing.T) {
	s := quiet(layout(2, 1, 1))
	s.Between = Dist{Mean: 2}
	s.Steps = Steps{Count: 3, First: 7, Every: 5}
	s.Faults = []Fault{{Kind: SlowWorker, Where: Where{DP: new(1), Op: "optimizer"}, Size: Size{Delay: 11}, When: When{Until: 1}}}
	o := simulated(t, s)
	if want := []int64{7, 12, 17}; !slices.Equal(o.Steps, want) {
		t.Errorf("steps %v, want %v", o.Steps, want)
	}
	for step, want := range [][2]string{
		{"pag0 0+6, fc0 6+10, bc0 16+20, g0 36+1, lgar0 37+2, egar0 39+3, grs0 42+7, ocmg0 49+4, o0 53+5",
			"pag0 0+6, fc0 6+10, bc0 16+20, g0 36+1, lgar0 37+2, egar0 39+3, grs0 42+7, ocmg0 49+4, o0 53+16"},
		{"pag0 0+17, fc0 17+10, bc0 27+20, g0 47+1, lgar0 48+2, egar0 50+3, grs0 53+7, ocmg0 60+4, o0 64+5",
			"pag0 11+6, fc0 17+10, bc0 27+20, g0 47+1, lgar0 48+2, egar0 50+3, grs0 53+7, ocmg0 60+4, o0 64+5"},
		{"pag0 0+6, fc0 6+10, bc0 16+20, g0 36+1, lgar0 37+2, egar0 39+3, grs0 42+7, ocmg0 49+4, o0 53+5",
			"pag0 0+6, fc0 6+10, bc0 16+20, g0 36+1, lgar0 37+2, egar0 39+3, grs0 42+7, ocmg0 49+4, o0 53+5"},
	} {
		for rank := range 2 {
			if got := timeline(o, rank, step); got != want[rank] {
				t.Errorf("step %d, rank %d\n got %s\nwant %s", step, rank, got, want[rank])
			}
		}
	}
	// On one clock for the run: step 0 begins at 2 ms and lasts 69, four steps
	// as long pass unseen, and after 2 ms more the next one begins.
	s.Clock.Running = true
	o = simulated(t, s)
	starts := make(map[[2]int32]int64)
	for i, start := range o.Start {
		if k := [2]int32{o.Rank[i], o.Step[i]}; o.Seq[i] == 0 && o.Names[o.Name[i]] == "params-all-gather" {
			starts[k] = start / ms
		}
	}
	second := 2 + 58 + 2 + 4*69 // of rank 0, whose step ended after 58
	third := second + 69 + 2 + 4*69
	for k, want := range map[[2]int32]int{{0, 0}: 2, {1, 0}: 2, {0, 1}: second, {1, 1}: second + 11, {0, 2}: third, {1, 2}: third} {
		if got := starts[k]; got != int64(want) {
			t.Errorf("rank %d begins step %d at %d ms, want %d", k[0], k[1], got, want)
		}
	}
}
