package stages

import (
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/ingest/profiler"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/profile"
)

// profileOf returns a profile of steps 10 ms long each.
func profileOf(source string, id, world int, start int64, indices ...int64) *profile.Rank {
	r := &profile.Rank{Source: source, ID: id, World: world, Stages: []string{"a"}}
	for i, index := range indices {
		at := start + int64(i)*10_000_000
		r.Steps = append(r.Steps, profile.Step{Index: index, Start: at, End: at + 10_000_000})
	}
	return r
}

func TestJobs(t *testing.T) {
	const hour = 3_600_000_000_000
	for name, tt := range map[string]struct {
		in    []*profile.Rank
		want  string // ranks of each job
		noted string
	}{
		"told":                     {[]*profile.Rank{profileOf("b", 1, 2, 0, 1), profileOf("a", 0, 2, 0, 1)}, "0 1", ""},
		"all say 0, named":         {[]*profile.Rank{profileOf("x/rank-1.json", 0, 2, 0, 1), profileOf("x/rank-0.json", 0, 2, 0, 1)}, "0 1", "2 traces say that they are rank 0"},
		"rank_3":                   {[]*profile.Rank{profileOf("rank_3.json", -1, 0, 0, 1), profileOf("rank_7.json", -1, 0, 0, 1)}, "3 7", "names of the files"},
		"rank3":                    {[]*profile.Rank{profileOf("rank3.json", -1, 0, 0, 1), profileOf("rank12.json", -1, 0, 0, 1)}, "3 12", "names of the files"},
		"worker":                   {[]*profile.Rank{profileOf("worker3.1700000000000.pt.trace.json", -1, 0, 0, 1), profileOf("worker4.1700000000001.pt.trace.json", -1, 0, 0, 1)}, "3 4", "names"},
		".3.pt.trace":              {[]*profile.Rank{profileOf("h.3.pt.trace.json", -1, 0, 0, 1), profileOf("h.4.pt.trace.json", -1, 0, 0, 1)}, "3 4", "names"},
		"host and process":         {[]*profile.Rank{profileOf("n0_10.1700000000000.pt.trace.json", -1, 0, 0, 1), profileOf("n0_9.1700000000000.pt.trace.json", -1, 0, 5, 1)}, "0 1", "in order of their names"},
		"all say 0, nameless":      {[]*profile.Rank{profileOf("a", 0, 2, 0, 1), profileOf("b", 0, 2, 5, 1)}, "0 1", "in order of their names"},
		"alone":                    {[]*profile.Rank{profileOf("trace.json", -1, 0, 0, 1)}, "0", "counts as rank 0"},
		"alone, named":             {[]*profile.Rank{profileOf("rank-34.json", -1, 0, 0, 1)}, "34", "from the name"},
		"two of each, other steps": {[]*profile.Rank{profileOf("a1", 0, 2, 0, 1, 2), profileOf("a2", 0, 2, 1e9, 7), profileOf("b1", 1, 2, 0, 1, 2), profileOf("b2", 1, 2, 1e9, 7)}, "0 1", "joined by their steps"},
		"two of one, same steps":   {[]*profile.Rank{profileOf("a1", 0, 2, 0, 1, 2), profileOf("a2", 0, 2, 0, 1), profileOf("b1", 1, 2, 0, 1, 2)}, "0 1", "left out, since another trace has their rank and steps: a2"},
		"other times":              {[]*profile.Rank{profileOf("a1", 0, 2, 0, 1), profileOf("a2", 0, 2, hour, 1), profileOf("b1", 1, 2, 0, 1), profileOf("b2", 1, 2, hour, 1)}, "0 1; 0 1", ""},
		"other worlds":             {[]*profile.Rank{profileOf("a", 0, 2, 0, 1), profileOf("b", 1, 2, 0, 1), profileOf("c", 0, 8, 0, 1)}, "0 1; 0", ""},
		"a rank too many":          {[]*profile.Rank{profileOf("a", 1, 4, 0, 1), profileOf("c", 5, 4, 0, 1)}, "1 5", "a world of 4 ranks, told by the traces, has no rank 5"},
		"processes in the names":   {[]*profile.Rank{profileOf("h.1075.pt.trace.json", -1, 2, 0, 1), profileOf("h.1074.pt.trace.json", -1, 2, 5, 1)}, "0 1", "in order of their names"},
		"two of each worker":       {[]*profile.Rank{profileOf("worker0.1700000000000.pt.trace.json", -1, 0, 0, 5, 6), profileOf("worker0.1700000100000.pt.trace.json", -1, 0, 100e9, 16, 17)}, "0", "joined by their steps"},
		"workers of one name":      {[]*profile.Rank{profileOf("worker0.1700000000000.pt.trace.json", -1, 0, 0, 5, 6), profileOf("worker0.1700000000001.pt.trace.json", -1, 0, 5, 5, 6)}, "0 1", "in order of their names"},
		"a copy":                   {[]*profile.Rank{profileOf("one", -1, 0, 7, 1), profileOf("two", -1, 0, 7, 1)}, "0", "copies of a recording are left out, so that one rank does not count twice: two of one"},
		"copies under two ranks":   {[]*profile.Rank{profileOf("rank0", -1, 0, 7, 1), profileOf("rank1", -1, 0, 7, 1)}, "0 1", "names of the files"},
		"one of many twice":        {[]*profile.Rank{profileOf("base", 1, 64, 0, 1), profileOf("test", 1, 64, 5, 1)}, "1", "left out, since another trace has their rank and steps: test"},
		"a gap":                    {[]*profile.Rank{profileOf("a", 0, 4, 0, 1), profileOf("c", 3, 4, 0, 1)}, "0 3", ""},
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 {
				jobs := Jobs(tt.in)
				var got []string
				noted := tt.noted == ""
				for _, j := range jobs {
					var ids []string
					for _, r := range j.Ranks {
						ids = append(ids, itoa(int64(r.ID)))
					}
					got = append(got, strings.Join(ids, " "))
					for _, n := range j.Notes {
						noted = noted || strings.Contains(n.Text, tt.noted)
					}
				}
				if strings.Join(got, "; ") != tt.want {
					t.Errorf("got %v, want %s", got, tt.want)
				}
				if !noted {
					t.Errorf("no note says %q: %+v", tt.noted, jobs)
				}
				if strings.Contains(name, "of each") || strings.Contains(name, "copy") || strings.Contains(name, "say 0") || strings.HasPrefix(tt.noted, "in order") || strings.Contains(tt.noted, "name") || strings.HasPrefix(name, "alone") {
					break // the first call has settled the ranks
				}
				slices.Reverse(tt.in)
			}
		})
	}
}

func TestRenumber(t *testing.T) {
	j := Jobs([]*profile.Rank{profileOf("a", 0, 3, 0, 4, 5, 6), profileOf("b", 1, 3, 1e6, 5, 6, 7), profileOf("c", 2, 3, 0, 4, 5, 6)})[0]
	if got := j.Ranks[1].Steps[0].Index; got != 4 || len(j.Notes) != 1 {
		t.Errorf("rank 1 begins with step %d, notes %v", got, j.Notes)
	}
	// Other times: another step, not another number.
	j = Jobs([]*profile.Rank{profileOf("a", 0, 2, 0, 4, 5, 6), profileOf("b", 1, 2, 10e6, 5, 6, 7)})[0]
	if got := j.Ranks[1].Steps[0].Index; got != 5 {
		t.Errorf("rank 1 begins with step %d", got)
	}
}

// TestRebase: a cut recording that lost what its stamps count from belongs to
// the others.
func TestRebase(t *testing.T) {
	const base = 1_711_964_646_000_000_000
	ranks := []*profile.Rank{profileOf("rank-0", 0, 2, 0, 1), profileOf("rank-1", -1, 0, 0, 1)}
	ranks[0].Shift(base)
	ranks[1].Notes = []input.Note{{Kind: input.NoteTruncated, Text: "cut"}}
	jobs := Jobs(ranks)
	if len(jobs) != 1 || len(jobs[0].Ranks) != 2 || jobs[0].Ranks[1].ID != 1 || jobs[0].Ranks[1].Steps[0].Start != base {
		t.Errorf("jobs %+v", jobs)
	}
}

// TestSettleRoles: roles are all or nothing.
func TestSettleRoles(t *testing.T) {
	make4 := func() []*profile.Rank {
		var out []*profile.Rank
		for id := range 4 {
			r := profileOf("r"+itoa(int64(id)), id, 4, 0, 1)
			r.Role = profiler.RoleOf(id, []profiler.Group{{Desc: "mesh_tp", Ranks: []int{id / 2 * 2, id/2*2 + 1}}, {Desc: "mesh_dp", Ranks: []int{id % 2, id%2 + 2}}})
			out = append(out, r)
		}
		return out
	}
	if got := Jobs(make4())[0].Ranks[3].Role.String(); got != "dp=1,tp=1" {
		t.Errorf("role %q", got)
	}
	for name, spoil := range map[string]func(r *profile.Rank){
		"one has none":       func(r *profile.Rank) { r.Role = nil },
		"one has fewer axes": func(r *profile.Rank) { r.Role = r.Role[:1] },
		"two are the same": func(r *profile.Rank) {
			r.Role = profiler.RoleOf(0, []profiler.Group{{Desc: "tp", Ranks: []int{0}}, {Desc: "dp", Ranks: []int{0}}})
		},
	} {
		ranks := make4()
		spoil(ranks[3])
		if got := Jobs(ranks)[0].Ranks[0].Role; got != nil {
			t.Errorf("%s: role %v", name, got)
		}
	}
}
