package stagename

import "testing"

func TestSplit(t *testing.T) {
	cases := []struct {
		stage, base string
		micro       int
	}{
		{"data.next_wait@0", "data.next_wait", 0},
		{"model.fwd@12", "model.fwd", 12},
		{"a@b@3", "a@b", 3},
		{"plain", "plain", -1},
		{"x@", "x@", -1},
		{"@1", "@1", -1},
		{"x@+1", "x@+1", -1},
		{"x@-1", "x@-1", -1},
		{"x@1.5", "x@1.5", -1},
	}
	for _, c := range cases {
		if base, micro := Split(c.stage); base != c.base || micro != c.micro {
			t.Errorf("Split(%q) = %q, %d, want %q, %d", c.stage, base, micro, c.base, c.micro)
		}
	}
}

func TestKindOfCollectives(t *testing.T) {
	for name, want := range map[string]Kind{"grads.allreduce": Collective, "All_Reduce@1": Collective, "fsdp all-gather": Collective, "barrier": Collective, "ddp.grad_sync": Collective,
		"backward_allreduce": Backward, "forward.all_gather": Forward, "clip_all_reduce…adam": Other, "bwd#1…all_reduce": Other, "all_gather#1…all_reduce": Collective, "bwd@1…3": Backward, "asynchronous": Other, "reduce_lr": Other, "gather_metrics": Other} {
		if got := KindOf(name); got != want {
			t.Errorf("%s is %d, want %d", name, got, want)
		}
	}
}
