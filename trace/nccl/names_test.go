package nccl

import "testing"

func TestEnds(t *testing.T) {
	for name, want := range map[string][2]int{
		"nccl:send 0->1": {0, 1}, "nccl:recv 3<-12": {3, 12}, "gloo:send 2 -> 0": {-1, -1}, "nccl:send": {-1, -1}, "nccl:send 0->": {-1, -1},
		"nccl:send ->1": {-1, -1}, "nccl:send 1->1": {-1, -1}, "nccl:send -1->1": {-1, -1}, "nccl:send 0->99999999999999999999": {-1, -1}, "a->b": {-1, -1}, "gloo:all_reduce": {-1, -1}, "nccl:send 0->1048576": {-1, -1},
	} {
		if self, peer := Ends(name); [2]int{self, peer} != want {
			t.Errorf("%q: %d, %d, want %v", name, self, peer, want)
		}
	}
}
