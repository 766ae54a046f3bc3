package pipeline

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/trace/operator"
)

// brief writes an order of work as "F0 B0 F1": direction and microbatch, with
// the chunk where there are several.
func brief(l Layout, stage int) string {
	var words []string
	for _, p := range l.passes(stage) {
		w := "B"
		if p.forward {
			w = "F"
		}
		w += fmt.Sprint(p.micro)
		if l.Chunks > 1 {
			w += string(rune('a' + p.chunk))
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

// TestPasses: 1F1B as in figure 4 of Narayanan et al. 2021 (4 stages, 8
// microbatches), and by hand; the interleaved schedule by hand, for two stages
// of two chunks (a, b): 2·(stages behind) + stages·(chunks − 1) passes ahead.
func TestPasses(t *testing.T) {
	tests := []struct {
		l     Layout
		stage int
		want  string
	}{
		{Layout{PP: 1, Chunks: 1, Microbatches: 3}, 0, "F0 B0 F1 B1 F2 B2"},
		{Layout{PP: 2, Chunks: 1, Microbatches: 2}, 0, "F0 F1 B0 B1"},
		{Layout{PP: 2, Chunks: 1, Microbatches: 2}, 1, "F0 B0 F1 B1"},
		{Layout{PP: 4, Chunks: 1, Microbatches: 8}, 0, "F0 F1 F2 F3 B0 F4 B1 F5 B2 F6 B3 F7 B4 B5 B6 B7"},
		{Layout{PP: 4, Chunks: 1, Microbatches: 8}, 2, "F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 F6 B5 F7 B6 B7"},
		{Layout{PP: 4, Chunks: 1, Microbatches: 2}, 0, "F0 F1 B0 B1"},
		{Layout{PP: 2, Chunks: 2, Microbatches: 4}, 0, "F0a F1a F0b F1b F2a B0b F3a B1b F2b B0a F3b B1a B2b B3b B2a B3a"},
		{Layout{PP: 2, Chunks: 2, Microbatches: 4}, 1, "F0a F1a F0b B0b F1b B1b F2a B0a F3a B1a F2b B2b F3b B3b B2a B3a"},
	}
	for _, test := range tests {
		if got := brief(test.l, test.stage); got != test.want {
			t.Errorf("%+v, stage %d:\n got %s\nwant %s", test.l, test.stage, got, test.want)
		}
	}
}

// TestSchedules: whatever the layout, every stage passes every chunk of every
// microbatch once each way, backward after forward, and nothing deadlocks.
func TestSchedules(t *testing.T) {
	n := 0
	for pp := 1; pp <= 8; pp++ {
		for chunks := 1; chunks <= 4; chunks++ {
			for _, rounds := range []int{1, 2, 3, 5} {
				for dp := 1; dp <= 2; dp++ {
					l := Layout{DP: dp, PP: pp, TP: 1, Chunks: chunks, Microbatches: rounds * pp, Buckets: 2, EarlyReduce: rounds == 2}
					if chunks == 1 {
						l.Microbatches = rounds
					}
					if l.validate() != nil {
						continue // one stage of several chunks
					}
					n++
					checkPasses(t, l)
					compile(l) // panics on a deadlock
				}
			}
		}
	}
	if n < 200 {
		t.Errorf("only %d layouts were tried", n)
	}
}

func checkPasses(t *testing.T, l Layout) {
	t.Helper()
	for stage := range l.PP {
		type key struct{ chunk, micro int }
		forward, backward := make(map[key]bool), make(map[key]bool)
		for _, p := range l.passes(stage) {
			k := key{p.chunk, p.micro}
			switch {
			case p.forward && forward[k], !p.forward && (backward[k] || !forward[k]):
				t.Fatalf("%+v: stage %d passes %+v twice, or backward before forward", l, stage, p)
			case p.forward:
				forward[k] = true
			default:
				backward[k] = true
			}
		}
		if want := l.Chunks * l.Microbatches; len(forward) != want || len(backward) != want {
			t.Fatalf("%+v: stage %d passes %d forward and %d backward, want %d", l, stage, len(forward), len(backward), want)
		}
	}
}

// TestProgramSize: a stage in the middle of n passes has n receives and n sends
// each way, the ends of the model half of that; with several chunks the ends
// record theirs too, though nothing moves.
func TestProgramSize(t *testing.T) {
	p := compile(Layout{DP: 2, PP: 3, TP: 1, Chunks: 1, Microbatches: 7, Buckets: 1})
	count := func(p *program, stage int, class operator.Class, connected bool) (n int) {
		for _, v := range p.stages[stage] {
			if p.nodes[v].class == class && (!connected || p.nodes[v].group >= 0) {
				n++
			}
		}
		return n
	}
	classes := []operator.Class{operator.ForwardRecv, operator.ForwardSend, operator.BackwardRecv, operator.BackwardSend}
	for stage, want := range [][]int{{0, 7, 7, 0}, {7, 7, 7, 7}, {7, 0, 0, 7}} {
		var got []int
		for _, class := range classes {
			got = append(got, count(p, stage, class, false))
		}
		if !slices.Equal(got, want) {
			t.Errorf("stage %d: %v receives and sends, want %v", stage, got, want)
		}
	}
	p = compile(Layout{DP: 2, PP: 2, TP: 1, Chunks: 2, Microbatches: 4, Buckets: 1})
	for stage, want := range [][]int{{4, 8, 8, 4}, {8, 4, 4, 8}} {
		var all, connected []int
		for _, class := range classes {
			all = append(all, count(p, stage, class, false))
			connected = append(connected, count(p, stage, class, true))
		}
		if !slices.Equal(all, []int{8, 8, 8, 8}) || !slices.Equal(connected, want) {
			t.Errorf("stage %d: %v receives and sends, %v move something, want %v", stage, all, connected, want)
		}
	}
}
