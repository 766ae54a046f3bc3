package stages

import (
	"slices"
	"testing"

	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
	"github.com/sfstat/sfstat/trace/profile"
)

// rankThatEntered has one collective in each of its steps.
func rankThatEntered(id int, steps ...int64) *profile.Rank {
	r := &profile.Rank{ID: id, World: 2, Host: "n0", LocalRank: -1, Groups: 1, Stages: []string{"model.backward_cpu_wall"}}
	for i, index := range steps {
		r.Steps = append(r.Steps, profile.Step{Index: index, Start: index * 1000, End: index*1000 + 999})
		r.Entries = append(r.Entries, profile.Collective{Op: nccl.AllReduce, Name: "c10d::allreduce_", Group: "0", Ranks: []int{0, 1}, Size: 2, Seq: -1, Bytes: -1,
			Self: -1, Peer: -1, Step: i, Start: index*1000 + 500, End: index*1000 + 600})
	}
	return r
}

func TestEntered(t *testing.T) {
	t.Run("common steps", func(t *testing.T) {
		c := Entered([]*profile.Rank{rankThatEntered(0, 2, 3, 4), rankThatEntered(1, 3, 4, 5)}, "job")
		if c == nil || len(c.Calls) != 4 || len(c.Processes) != 2 || c.Sources[1].Kind != comms.SourceKineto {
			t.Fatalf("%+v", c)
		}
		for i, step := range []int64{3, 4, 3, 4} { // calls without numbers pair by order, so from one step on
			x := c.Calls[i]
			if x.Step != step || x.Enter != step*1000+500 || !x.HasEnter || x.Exit != step*1000+600 || x.Stage != "model.backward_cpu_wall" || x.Op != nccl.AllReduce || x.Seq != -1 {
				t.Errorf("call %d: %+v", i, x)
			}
		}
	})
	t.Run("a rank without a profile", func(t *testing.T) {
		ranks := []*profile.Rank{rankThatEntered(0, 3, 4), rankThatEntered(2, 3, 4)}
		for _, r := range ranks {
			for i := range r.Entries {
				r.Entries[i].Ranks = []int{0, 1, 2}
			}
		}
		if c := Entered(ranks, "job"); c == nil || len(c.Calls) != 4 || !slices.Equal(c.Groups[0].Members, []int{0, 1, 2}) {
			t.Errorf("%+v, expected four calls of a group of three", c)
		}
	})
	for name, spoil := range map[string]func(r *profile.Rank){
		"device work":          func(r *profile.Rank) { r.Entries = nil },
		"several groups":       func(r *profile.Rank) { r.Groups, r.Entries[0].Group = 2, "" },
		"message to whom":      func(r *profile.Rank) { r.Entries[0].Op = nccl.Send },
		"ranks without traces": func(r *profile.Rank) { r.World, r.Entries[0].Ranks = 3, nil },
		"clock set":            func(r *profile.Rank) { r.Steps[1].Set = true },
	} {
		t.Run(name, func(t *testing.T) {
			r := rankThatEntered(1, 3, 4, 5)
			spoil(r)
			if c := Entered([]*profile.Rank{rankThatEntered(0, 3, 4, 5), r}, "job"); c != nil {
				t.Errorf("%d calls, expected none that compare", len(c.Calls))
			}
		})
	}
}
