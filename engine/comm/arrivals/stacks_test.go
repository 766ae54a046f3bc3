package arrivals

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/trace/comms"
)

func looked(rank int, frames ...comms.Frame) *comms.Record {
	return &comms.Record{Sources: make([]comms.Source, 1), Processes: []comms.Process{{Rank: rank, Stack: frames}}}
}

// Equal stacks are one, that of most ranks first, and a rank that was looked at again is where it was last.
func TestStacks(t *testing.T) {
	at := func(function string, line int) comms.Frame {
		return comms.Frame{Function: function, File: "train.py", Line: line}
	}
	wait := comms.Frame{Function: "Barrier.wait", File: "threading.py", Line: 697}
	var j Job
	for _, c := range []*comms.Record{looked(3, at("fetch", 25), at("train", 32)), looked(0, wait, at("train", 37)), looked(2, wait, at("train", 37)), looked(1, at("fetch", 25)), looked(1, wait, at("train", 37))} {
		if err := j.Add(c); err != nil {
			t.Fatal(err)
		}
	}
	r := j.Analyze(Options{})
	most, others := r.Majority()
	if most == nil || len(others) != 1 || !j.Empty() || !j.ShowsStoppedRanks() {
		t.Fatalf("%+v", r.Stacks)
	}
	if diff := cmp.Diff([][]int{{0, 1, 2}, {3}}, [][]int{most.Ranks, others[0].Ranks}); diff != "" {
		t.Error(diff)
	}
	if most.Line.String() != "train.py:37" || most.Line.Call != "Barrier.wait" || r.StackOf(3).Line.Function != "fetch" || r.StackOf(4) != nil {
		t.Errorf("%+v, %+v", most, r.StackOf(3))
	}
	two := Job{}
	two.Add(looked(0, at("a", 1)))
	two.Add(looked(1, at("b", 2)))
	if most, _ := two.Analyze(Options{}).Majority(); most != nil {
		t.Errorf("one of two ranks is most: %+v", most)
	}
}
