package opnames

import (
	"testing"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/operator"
)

// grouped is job with its ranks in four pipeline stages of two.
func grouped(change func(row *operator.Total)) *operator.Totals {
	t := job(8, 1, change)
	for i := range t.Ranks {
		t.Ranks[i].Role = trace.Role{{Axis: trace.DataParallel, Index: i % 2}, {Axis: trace.PipelineParallel, Index: i / 2}}
	}
	return t
}

// TestAcross: what both ranks of a stage take longer for is found, under the
// lower of them; collectives, and what a stage launches more often, are not
// compared, and neither is anything in a run of one group.
func TestAcross(t *testing.T) {
	const slow, more = 2, 5
	r, err := CompareGroups(grouped(func(row *operator.Total) {
		if row.Rank/2 == 1 && (row.Name == slow || row.Name == more) {
			row.Dur = row.Dur * 3 / 2
		}
		if row.Rank/2 == 1 && row.Name == more {
			row.Count *= 2
		}
	}), Alpha)
	if err != nil {
		t.Fatal(err)
	}
	found := r.SureDifferences()
	if len(found) != 1 || found[0].Rank != 4 || found[0].Name != "void kernel_2<float>(int)" || found[0].Factor() < 1.45 {
		t.Errorf("found %+v, want kernel_2 of rank 4", found)
	}
	for _, d := range r.Differences {
		if d.Name == "void kernel_5<float>(int)" || d.Kind == Collective {
			t.Errorf("compared %s", d.Name)
		}
	}
	if r, err := CompareGroups(job(8, 1, nil), Alpha); r != nil || err != nil {
		t.Errorf("one group: %v, %v", r, err)
	}
	if r, err := CompareGroups(grouped(nil), Alpha); err != nil || len(r.SureDifferences()) != 0 {
		t.Errorf("healthy: %v, %v", r.SureDifferences(), err)
	}
}
