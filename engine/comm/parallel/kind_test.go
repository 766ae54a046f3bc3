package parallel

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Where data-parallel ranks have an expert each, the ranks are the same ones: what reduces is for gradients, what sends to several for experts.
func TestSameRanks(t *testing.T) {
	fits := []dimension{{ExpertParallel, 4, 1}, {DataParallel, 4, 1}}
	for want, s := range map[Kind]Signature{
		DataParallel:   {Large: 4, LargeOps: map[nccl.Op]int{nccl.AllReduce: 4}},
		ExpertParallel: {Large: 8, LargeOps: map[nccl.Op]int{nccl.Send: 4, nccl.Recv: 4}, Sending: Sending{Peers: 4}},
	} {
		c := Communicator{NRanks: 4, Signature: s}
		if got := c.chooseDimension(fits).kind; got != want {
			t.Errorf("%v is taken for %v, want %v", s.LargeOps, got, want)
		}
	}
}

// Sizes of dimensions are read in any order.
func TestParseLayout(t *testing.T) {
	for text, want := range map[string]Layout{"": {}, "dp=4,tp=2": {DP: 4, TP: 2}, " PP = 3 , ep=2": {PP: 3, EP: 2}} {
		if l, err := ParseLayout(text); err != nil || l != want {
			t.Errorf("%q: %+v, %v", text, l, err)
		}
	}
	for _, text := range []string{"dp", "dp=0", "dp=x", "zp=2", "dp=1,dp=2", ",", "tp=9999999999"} {
		if l, err := ParseLayout(text); err == nil {
			t.Errorf("%q is taken for %+v", text, l)
		}
	}
}

// Ranks that no communicator joins, over others or directly, are told apart; one by itself is of no set.
func TestSeveral(t *testing.T) {
	all := []Communicator{
		{Ranks: []int{0, 1}, NRanks: 2}, {Ranks: []int{1, 2}, NRanks: 2}, {Ranks: []int{5, 4}, NRanks: 2}, {Ranks: []int{7}, NRanks: 1}, {},
	}
	if diff := cmp.Diff([][]int{{0, 1, 2}, {4, 5}}, Sets(all)); diff != "" {
		t.Error(diff)
	}
	all = append(all, Communicator{Ranks: []int{2, 4}, NRanks: 2})
	if diff := cmp.Diff([][]int{{0, 1, 2, 4, 5}}, Sets(all)); diff != "" {
		t.Error(diff)
	}
}
