package profiler

import "testing"

// TestCommunicationRanges: kernels of unknown names communicate where their thread called a collective when it launched them, unless
// a kernel among them says by its name that it does; those of other threads, times and groups of one rank do not.
func TestCommunicationRanges(t *testing.T) {
	const nccl = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)"
	for name, tt := range map[string]struct {
		call    Call
		other   string // kernel launched in the range beside "dispatch"
		launch  int64
		thread  int64
		comm    int64 // µs that communicate, of 40
		handing bool
	}{
		"a wrapper":                   {call: Call{Name: wrapper}, launch: 12, thread: 1, comm: 30},
		"a backend's call":            {call: Call{Name: "nccl:all_to_all"}, launch: 12, thread: 1, comm: 30},
		"an operator that hands over": {call: Call{Name: "c10d::alltoall_"}, launch: 12, thread: 1, comm: 30, handing: true},
		"another library's":           {call: Call{Name: "vllm::all_reduce"}, launch: 12, thread: 1, comm: 30, handing: true},
		"its way and form":            {call: Call{Name: "symm_mem::multimem_all_reduce_"}, launch: 12, thread: 1, comm: 30, handing: true},
		"an annotation":               {call: Call{Name: "All-to-All"}, launch: 12, thread: 1, comm: 30, handing: true},
		"a plain word":                {call: Call{Name: "communication"}, launch: 12, thread: 1, comm: 30, handing: true},
		"beside a name, annotated":    {call: Call{Name: "comm"}, launch: 12, thread: 1, other: nccl, comm: 10, handing: true},
		"that computes too":           {call: Call{Name: "symm_mem::fused_all_gather_matmul"}, launch: 12, thread: 1, handing: true},
		"that makes communicators":    {call: Call{Name: "init_comm"}, launch: 12, thread: 1, handing: true},
		"at its end":                  {call: Call{Name: wrapper}, launch: 20, thread: 1, comm: 30},
		"after it":                    {call: Call{Name: wrapper}, launch: 21, thread: 1},
		"on another thread":           {call: Call{Name: wrapper}, launch: 12, thread: 2},
		"beside one with a name":      {call: Call{Name: wrapper}, launch: 12, thread: 1, other: nccl, comm: 10},
		"in a group of one":           {call: Call{Name: wrapper, Size: 1}, launch: 12, thread: 1},
		"no collective":               {call: Call{Name: "loss:all_reduce_it"}, launch: 12, thread: 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFeed().on(1, "ProfilerStep#0", 0, 100).on(1, "forward", 0, 50)
			c := tt.call
			c.Thread, c.Start, c.End, c.Seq, c.Bytes, c.Self, c.Peer = 1, 10*us, 20*us, -1, -1, -1, -1
			switch id := f.b.Name([]byte(c.Name)); {
			case tt.handing && f.b.IsDispatch(id):
				f.b.Dispatch(id, 1, c.Start, c.End)
			case c.Name == wrapper:
				f.b.Call(c)
			case f.b.Matters(id):
				f.b.Range(id, 1, c.Start, c.End)
			}
			f.b.Launch(tt.thread, 7, tt.launch*us, LaunchesOne)
			id := f.b.Name([]byte("void fancy::dispatch<4>(int*)"))
			f.b.Work(Work{Name: id, Queue: 1, Start: 30 * us, End: 60 * us, Correlation: 7, Kind: f.b.KindOf(id)})
			if tt.other != "" {
				f = f.kernel(tt.other, 2, 15, 60, 70)
			}
			r := f.finish()
			if got := r.Steps[0].Time.Communication; got != tt.comm*us {
				t.Errorf("%d µs communicate, expected %d", got/us, tt.comm)
			}
			want := 0
			if tt.comm > 0 {
				want = 1
			}
			if len(r.Comm.Calls) != want {
				t.Errorf("%d calls, expected %d", len(r.Comm.Calls), want)
			}
		})
	}
}
