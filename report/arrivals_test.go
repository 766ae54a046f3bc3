package report

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/engine/sync"
	"github.com/sfstat/sfstat/publish"
)

// everyArrival has every part of a result.
func everyArrival() []Arrivals {
	line := arrivals.Line{File: "/job/train.py", Line: 66, Function: "work", Call: "backward", Phase: arrivals.PhaseBackward}
	r := &arrivals.Result{Ranks: []int{0, 1, 2}, Missing: []int{3}, Calls: 90, Lost: 7, Begin: 5, End: 2e9 + 5, Step: 1e8,
		Clocks: []sync.Clock{{Host: "a", Ranks: []int{0, 1}, HalfWidth: 2e6}, {Ranks: []int{2}, Offset: -3e6, HalfWidth: -1}},
		Places: []arrivals.Place{{Op: "nccl:all_reduce", Bytes: 4, Group: "0", Desc: "dp", Line: line, Phase: line.Phase, Stage: "model.backward", After: "nccl:barrier", Waits: 1, Points: 20,
			Members: 3, Skew: 4e7, Noise: 1e6, Strikes: 20, Repeats: true, Ranks: []arrivals.RankAt{{Rank: 2, Arrival: 4e7, Delay: 4e7, Points: 20, Last: 20, Strikes: 20, Charge: 8e8, P: math.Exp(-30)}}}},
		Late: []claim.Claim{{Source: claim.Entries, Ranks: []int{2}, Hosts: []string{"b"}, Group: "0", Parts: []claim.Part{{Charged: 8e8}}, P: math.Exp(-30), Saves: claim.Saving{Alone: 0.4, AtMost: 0.4},
			Entered: &claim.Entered{Desc: "dp", Last: 20, Points: 20, Strikes: 20, Delay: 4e7, Recorded: [2]int64{3, 22}, Clock: true}}},
		Set: &arrivals.Set{Ranks: []int{1, 2}, Delay: 4e7},
		Hang: &arrivals.Hang{Dumped: 9e9, Groups: []arrivals.Blocked{{Group: "0", Op: "nccl:barrier", Seq: 9, Line: line, Waiting: []int{0, 1}, Since: 2e9, WaitsFor: -1,
			Missing: []arrivals.Absent{{Rank: 2, Host: "b", Seq: 8, Op: "nccl:all_reduce", Line: line, Enter: 1e9}}, Unknown: []int{3}},
			{Group: "7", Op: "nccl:send", Seq: 4, Waiting: []int{3}, Missing: []arrivals.Absent{{Rank: 0, Seq: -1, In: "0"}}, WaitsFor: 0}}},
		Mismatches: []arrivals.Mismatch{{Difference: arrivals.DifferentSizes, Group: "0", Seq: 4, Sides: []arrivals.Side{{Ranks: []int{0, 1}, Op: "nccl:all_reduce", Sizes: "[[4]]"}, {Ranks: []int{2}, Op: "nccl:all_reduce", Sizes: "[[5]]", Line: line}}}},
		ByOrder:    []string{"0"}, Silent: []string{"0"}}
	return []Arrivals{{"job", r}}
}

func TestArrivalSchemas(t *testing.T) {
	for name, write := range map[string]func(*bytes.Buffer) error{
		"arrivals": func(b *bytes.Buffer) error { return to(b, JSON, Style{}).Arrivals(everyArrival()) },
		"hang":     func(b *bytes.Buffer) error { return to(b, JSON, Style{}).Hang(everyArrival()) },
	} {
		schema, _ := readSchema(t, name)
		var out bytes.Buffer
		if err := write(&out); err != nil {
			t.Fatal(err)
		}
		valid(t, schema, name, out.Bytes())
	}
}

func TestHangWords(t *testing.T) {
	j := everyArrival()[0]
	for want, got := range map[string]string{
		"Hang: rank 2 (b) never entered barrier #9 of group 0; 2 ranks waited for at least 7.00 s, since 00:00:02 UTC on 1 January 1970.":                sayStandstill(j.Result.Hang, &j.Result.Hang.Groups[0]),
		"Rank 2 last entered all_reduce #8 there, from train.py:66 (backward); the others came from train.py:66 (backward); it waits in no other group.": sayWhyHang(&j.Result.Hang.Groups[0]),
		"Desync: call #4 of group 0 differs in its sizes: rank 2 entered all_reduce of [[5]], the others all_reduce of [[4]].":                           sayMismatch(&j.Mismatches[0]),
	} {
		if got != want {
			t.Errorf("%s\nexpected\n%s", got, want)
		}
	}
}

// A missing rank of which there is no dump is one of the ranks without dump too.
func TestHangOfRankWithoutDump(t *testing.T) {
	h := &arrivals.Hang{Dumped: 9e9, Groups: []arrivals.Blocked{{Group: "0", Op: "nccl:barrier", Seq: 9, Waiting: []int{0, 1}, Since: 2e9, WaitsFor: -1,
		Missing: []arrivals.Absent{{Rank: 2, Seq: -1, AtMost: 6e9, May: true, Dump: arrivals.NoDump}}}}}
	if got := publish.HangJobOf("a", &arrivals.Result{Hang: h}).Blocked[0]; !slices.Equal(got.Unknown, []int{2}) || len(got.Missing) != 1 {
		t.Errorf("without dump %v, missing %v", got.Unknown, got.Missing)
	}
}
