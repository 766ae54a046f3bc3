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
	r := &profile.Rank{ID: id, World: 2, Host: "n0", LocalRank: -1, Groups: 1, Stages: []string{"model.backward_cpu_wall"},
		Entered: comms.Record{Groups: []comms.Group{{Name: "0", Rank: -1, Members: []int{0, 1}, Size: 2}}}}
	for _, index := range steps {
		r.Steps = append(r.Steps, profile.Step{Index: index, Start: index * 1000, End: index*1000 + 999})
		c := comms.UnknownCall(0)
		c.Op, c.Name, c.Group, c.Step, c.Stage = nccl.AllReduce, "c10d::allreduce_", 0, index, r.Stages[0]
		c.Enter, c.HasEnter, c.Exit = index*1000+500, true, index*1000+600
		r.Entered.Calls = append(r.Entered.Calls, c)
	}
	return r
}

func TestEntered(t *testing.T) {
	t.Run("common steps", func(t *testing.T) {
		c := enteredCollectives([]*profile.Rank{rankThatEntered(0, 2, 3, 4), rankThatEntered(1, 3, 4, 5)}, "job")
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
			r.Entered.Groups[0].Members = []int{0, 1, 2}
		}
		if c := enteredCollectives(ranks, "job"); c == nil || len(c.Calls) != 4 || !slices.Equal(c.Groups[0].Members, []int{0, 1, 2}) {
			t.Errorf("%+v, expected four calls of a group of three", c)
		}
	})
	for name, spoil := range map[string]func(r *profile.Rank){
		"device work":          func(r *profile.Rank) { r.Entered = comms.Record{} },
		"several groups":       func(r *profile.Rank) { r.Groups, r.Entered.Groups[0].Name = 2, "" },
		"message to whom":      func(r *profile.Rank) { r.Entered.Calls[0].Op = nccl.Send },
		"ranks without traces": func(r *profile.Rank) { r.World, r.Entered.Groups[0].Members = 3, nil },
		"clock set":            func(r *profile.Rank) { r.Steps[1].Set = true },
	} {
		t.Run(name, func(t *testing.T) {
			r := rankThatEntered(1, 3, 4, 5)
			spoil(r)
			if c := enteredCollectives([]*profile.Rank{rankThatEntered(0, 3, 4, 5), r}, "job"); c != nil {
				t.Errorf("%d calls, expected none that compare", len(c.Calls))
			}
		})
	}
}
