package profiler

import (
	"math/rand/v2"
	"testing"

	"github.com/sfstat/sfstat/trace/profile"
)

// TestIdleReasons: the time before a kernel is charged to what the kernel waited for.
func TestIdleReasons(t *testing.T) {
	for name, tt := range map[string]struct {
		launch int64 // of the second kernel, which runs from 60 to 70 behind one that ends at 20
		data   bool  // the host is in a stage of data from 25 to 35
		synced int64 // the host waits for the device until then; 0: never
		silent bool  // nothing says what launched the second kernel
		want   profile.IdleTimes
	}{
		"the host is late":         {launch: 50, want: profile.IdleTimes{Host: 30, Launched: 10}},
		"it was launched before":   {launch: 10, want: profile.IdleTimes{Launched: 40}},
		"the host waited for it":   {launch: 50, synced: 21, want: profile.IdleTimes{Synchronised: 30, Launched: 10}},
		"the host waited before":   {launch: 50, synced: -5, want: profile.IdleTimes{Host: 30, Launched: 10}},
		"the host waited for data": {launch: 50, data: true, want: profile.IdleTimes{Data: 10, Host: 20, Launched: 10}},
		"both":                     {launch: 50, data: true, synced: 21, want: profile.IdleTimes{Data: 10, Synchronised: 20, Launched: 10}},
		"nothing tells":            {silent: true, want: profile.IdleTimes{Unknown: 40}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFeed().on(1, "ProfilerStep#0", 0, 100).kernel("A", 1, 0, 0, 20)
			if tt.data {
				f = f.on(1, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 25, 35)
			}
			if tt.synced != 0 {
				f.b.AddSynchronisation(min(10, tt.synced-5)*us, tt.synced*us)
			}
			if tt.silent {
				f.b.Work(Work{Name: f.b.Name([]byte("B")), Queue: 1, Start: 60 * us, End: 70 * us})
			} else {
				f = f.kernel("B", 1, tt.launch, 60, 70)
			}
			r := f.finish()
			got := r.Steps[0].Idling
			got.Host -= 30 * us // behind the last kernel
			want := profile.IdleTimes{Data: tt.want.Data * us, Synchronised: tt.want.Synchronised * us, Host: tt.want.Host * us, Launched: tt.want.Launched * us, Unknown: tt.want.Unknown * us}
			if got != want {
				t.Errorf("got %+v, expected %+v", got, want)
			}
		})
	}
}

// TestIdleReasonsAddUp: the reasons are all of the idle time of every step, whatever ran.
func TestIdleReasonsAddUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		f := newFeed()
		for s := range int64(4) {
			f = f.on(1, "ProfilerStep#"+itoa(s), 100*s, 100*s+100)
		}
		for range 1 + rng.IntN(30) {
			launch := rng.Int64N(400)
			start := launch + rng.Int64N(60)
			f = f.kernel([]string{"A", "Memcpy", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)"}[rng.IntN(3)], rng.Int64N(3), launch, start, start+rng.Int64N(40))
			f.b.AddSynchronisation(launch*us, (launch+rng.Int64N(20))*us)
		}
		for _, s := range f.finish().Steps {
			i := s.Idling
			if sum := i.Data + i.Synchronised + i.Host + i.Launched + i.Unknown; s.Time != nil && sum != s.Time.Idle {
				t.Fatalf("reasons are %d ns of %d: %+v, %+v", sum, s.Time.Idle, i, s.Time)
			}
		}
	}
}
