package operator

import (
	"github.com/sfstat/sfstat/trace"
	"strings"
	"testing"
)

// kernels makes a trace of three kernels, two launches each, on four ranks in
// six steps, without those for which skip says so.
func kernels(t *testing.T, skip func(rank, step, name, seq int32) bool) *Trace {
	t.Helper()
	o := &Trace{Names: []string{"gemm", "softmax", "norm"}, Layout: Layout{DP: 4, PP: 1, World: 4}}
	for r := range 4 {
		o.Ranks = append(o.Ranks, trace.Rank{ID: r, Role: trace.Role{{Axis: trace.DataParallel, Index: r}, {Axis: trace.PipelineParallel}}})
	}
	for s := range int32(6) {
		o.Steps = append(o.Steps, int64(s))
		for r := range int32(4) {
			for i := range int32(6) {
				if skip != nil && skip(r, s, i%3, i/3) {
					continue
				}
				o.Rank, o.Step, o.Name, o.Seq = append(o.Rank, r), append(o.Step, s), append(o.Name, i%3), append(o.Seq, i/3)
				o.Lane, o.Group = append(o.Lane, 0), append(o.Group, -1)
				o.Chunk, o.GlobalChunk, o.Microbatch = append(o.Chunk, -1), append(o.GlobalChunk, -1), append(o.Microbatch, -1)
				o.Start, o.Dur = append(o.Start, int64(s)*1000+int64(i)*10), append(o.Dur, 8)
			}
		}
	}
	if err := o.Arrange(nil); err != nil {
		t.Fatal(err)
	}
	return o
}

// TestShared: a name that one rank launches once less in one step is left out
// everywhere, and said; a step that differs in most names is the grid's to
// leave out; a trace that is even is left as it is.
func TestShared(t *testing.T) {
	even := kernels(t, nil)
	if even.DropUneven() != even || even.HasSchedule() {
		t.Error("an even trace was changed, or has a schedule")
	}
	o := kernels(t, func(r, s, name, seq int32) bool { return r == 2 && s == 4 && name == 1 && seq == 1 })
	got := o.DropUneven()
	if got.Len() != 4*6*4 || o.Len() != 4*6*6-1 {
		t.Fatalf("%d operators of %d are left", got.Len(), o.Len())
	}
	if n := got.Notes; len(n) != 1 || !strings.Contains(n[0].Text, "1 of 3 operator names") || !strings.Contains(n[0].Text, "softmax (rank 2, step 4: 1, mostly 2)") {
		t.Errorf("notes %v", n)
	}
	g, err := got.Grid()
	if err != nil || len(g.Steps) != 6 || len(g.Instances) != 4 {
		t.Errorf("grid %+v, %v", g, err)
	}
	warm := kernels(t, func(r, s, name, seq int32) bool { return s == 0 && seq == 1 })
	if got := warm.DropUneven(); got != warm {
		t.Errorf("a step of another kind made %d operators of %d be left out", warm.Len()-got.Len(), warm.Len())
	}
	if g, err := warm.Grid(); err != nil || len(g.Steps) != 5 {
		t.Errorf("grid %+v, %v", g, err)
	}
}
