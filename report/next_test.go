package report

import (
	"testing"

	"github.com/sfstat/sfstat/diagnose/answer"
)

// TestProfiled: whom to profile because they are late, and whom to compare with, are told apart.
func TestProfiled(t *testing.T) {
	workers := []answer.Worker{{Worker: 6, StandsFor: []int{24, 25, 26, 27}}, {Worker: 2, StandsFor: []int{8, 9, 10, 11}}}
	for _, c := range []struct {
		a    answer.Action
		want string
	}{
		{answer.Action{Ranks: []int{2}, Peers: []int{0, 4}}, "profile rank 2, and ranks 0 and 4 to compare, for five steps (torch.profiler or nsys)"},
		{answer.Action{Ranks: []int{2, 3}, Peers: []int{0}}, "profile ranks 2 and 3, and rank 0 to compare, for five steps (torch.profiler or nsys)"},
		{answer.Action{Ranks: []int{0, 2, 4}}, "profile ranks 0, 2 and 4 for five steps (torch.profiler or nsys)"},
		{answer.Action{Ranks: []int{6}, Peers: []int{2}, Workers: workers}, "profile worker 6 (ranks 24–27), and worker 2 (ranks 8–11) to compare, for five steps (torch.profiler or nsys)"},
	} {
		c.a.Action = answer.Profile
		if got := actionWords(c.a); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
