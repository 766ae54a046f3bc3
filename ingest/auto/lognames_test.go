package auto

import (
	"testing"
)

// TestNumbersInLogNames: the number in a log's name is a rank's where a word says so, or the logs of a job are numbered from 0 on.
func TestNumbersInLogNames(t *testing.T) {
	for _, c := range []struct {
		paths []string
		want  []int
	}{
		{[]string{"job/slurm-33812.out"}, []int{-1}},
		{[]string{"job/train_v2.log"}, []int{-1}},
		{[]string{"job/rank3.log"}, []int{3}},
		{[]string{"job/workerlog.3"}, []int{3}},
		{[]string{"job/3/stdout.log"}, []int{-1}},
		{[]string{"001/train.log"}, []int{-1}},
		{[]string{"rank_3/train.log"}, []int{3}},
		{[]string{"job/0/stdout.log", "job/1/stdout.log"}, []int{0, 1}},
		{[]string{"job/log_0.txt", "job/log_1.txt", "job/log_3.txt"}, []int{0, 1, 3}},
		{[]string{"job/slurm-33812.out", "job/slurm-33813.out"}, []int{-1, -1}},
	} {
		u := &unit{r: &Reader{}}
		for _, p := range c.paths {
			u.inputs = append(u.inputs, &Input{Path: p})
		}
		for i, l := range u.inputs {
			if rank, _ := u.rankOf(l); rank != c.want[i] {
				t.Errorf("%s of %d: rank %d, want %d", l.Path, len(c.paths), rank, c.want[i])
			}
		}
	}
}
