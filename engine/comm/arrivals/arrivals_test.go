package arrivals

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/sync"
	"github.com/sfstat/sfstat/internal/draws"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// gainful returns the claims that save 2 % or more of the steps that they struck.
func gainful(r *Result) []claim.Claim {
	return slices.DeleteFunc(slices.Clone(r.Late), func(l claim.Claim) bool { return l.StruckGain(r.End-r.Begin) < 0.02 })
}

// No rank of a job without a fault costs others as much as a tenth, whatever
// its size, clocks and ring.
func TestHealthyJobs(t *testing.T) {
	jobs, named, small := 0, 0, 0
	for seed := range uint64(draws.Of(t, 10, 30)) {
		for _, ranks := range []int{2, 3, 4, 8, 16, 64} {
			for _, perHost := range []int{0, 1, 4, 64} {
				if ranks == 64 && seed%5 != 0 {
					continue
				}
				s := synthetic{seed: seed, ranks: ranks, steps: 12 + int(seed)%3*24, buckets: 1 + int(seed)%4, barrier: seed%2 == 0,
					jitter: []float64{0.3, 2, 8}[seed%3], skew: []float64{0, 5, 500}[seed/3%3], perHost: perHost, ring: int(seed) % 5 * 17}
				r := s.job().Analyze(Options{})
				jobs++
				for _, l := range r.Late {
					small++
					if l.StruckGain(r.End-r.Begin) >= 0.1 {
						named++
						t.Errorf("%+v: rank %d, gain %.3f, delay %d, p %.2g", s, l.Rank(), l.StruckGain(r.End-r.Begin), l.Entered.Delay, l.P)
					}
				}
				if len(r.Mismatches) > 0 || r.Hang != nil {
					t.Errorf("%+v: %+v %+v", s, r.Mismatches, r.Hang)
				}
			}
		}
	}
	t.Logf("%d jobs, %d ranks at or above a tenth, %d below", jobs, named, small-named)
	if small*20 > jobs {
		t.Errorf("%d ranks in %d jobs are late beyond chance, expected few at a level of 1 %%", small, jobs)
	}
}

// TestLatestRank: the rank that is last at every point is told with how often, by the delay that was planted; of healthy
// ranks none is; where clocks are not known to less than it is late, nothing is tested.
func TestLatestRank(t *testing.T) {
	base := synthetic{seed: 7, ranks: 8, steps: 40, buckets: 1, jitter: 0.3, perHost: 8, delay: 50, late: []int{5}}
	r := base.job().Analyze(Options{})
	if l := r.Latest; l.Rank != 5 || l.N != l.Of || l.N < 38 || !l.Significant() || l.Behind < 49*ms || l.Behind > 51*ms {
		t.Errorf("%+v, want rank 5 last at every point by 50 ms", l)
	}
	healthy := base
	healthy.delay = 0
	if l := healthy.job().Analyze(Options{}).Latest; l.Rank < 0 || l.Significant() {
		t.Errorf("%+v of healthy ranks, want a test that is not significant", l)
	}
	apart := base
	apart.perHost, apart.skew = 1, 500
	r = apart.job().Analyze(Options{})
	unknown := slices.ContainsFunc(r.Clocks, func(c sync.Clock) bool { return c.HalfWidth < 0 || c.HalfWidth >= 50*ms })
	if l := r.Latest; unknown != (l.Rank < 0) {
		t.Errorf("%+v with clocks %+v", l, r.Clocks)
	}
}

// Late ranks are found where they lose their time, and nobody else.
func TestLateRanks(t *testing.T) {
	base := synthetic{seed: 7, ranks: 8, steps: 40, buckets: 3, barrier: true, jitter: 2, perHost: 8, delay: 50, late: []int{5}, frames: true}
	edit := func(f func(*synthetic)) synthetic { s := base; f(&s); return s }
	for name, s := range map[string]synthetic{
		"before the first bucket": base,
		"between buckets":         edit(func(s *synthetic) { s.at = 2 }),
		"before the barrier":      edit(func(s *synthetic) { s.at = -1 }),
		"without frames":          edit(func(s *synthetic) { s.at, s.frames = 1, false }),
		"two ranks":               edit(func(s *synthetic) { s.late, s.at = []int{1, 6}, 1 }),
		"half of the ranks":       edit(func(s *synthetic) { s.late, s.at, s.ranks, s.perHost = []int{0, 2}, 1, 4, 4 }),
		"of two":                  edit(func(s *synthetic) { s.ranks, s.late = 2, []int{1} }),
		"every fifth step":        edit(func(s *synthetic) { s.every, s.delay, s.steps = 5, 200, 60 }),
		"a short ring":            edit(func(s *synthetic) { s.ring, s.at = 30, 1 }),
		"clocks 20 ms apart":      edit(func(s *synthetic) { s.skew, s.perHost, s.at = 20, 1, 1 }),
		"clocks 5 s apart":        edit(func(s *synthetic) { s.skew, s.perHost, s.at = 5000, 1, 1 }),
		"hosts not known":         edit(func(s *synthetic) { s.perHost, s.at = 0, 1 }),
		"a plain loop":            edit(func(s *synthetic) { s.barrier, s.buckets, s.at = false, 2, 1 }),
	} {
		t.Run(name, func(t *testing.T) {
			r := s.job().Analyze(Options{})
			var ranks []int
			for _, l := range r.Late {
				ranks = append(ranks, l.Rank())
				p := r.Places[l.Entered.Place]
				if math.Abs(float64(l.Entered.Delay)/ms-s.delay) > 6 {
					t.Errorf("own delay %.1f ms, planted %.0f", float64(l.Entered.Delay)/ms, s.delay)
				}
				if line := p.Line.String(); s.frames && line != map[bool]string{true: "train.py:71", false: "train.py:66"}[s.at < 0] {
					t.Errorf("from line %s", line)
				}
				struck := s.delay / (r.stepMS() + 0)
				if s.every == 0 && math.Abs(r.Joint-struck) > 0.06 {
					t.Errorf("gain %.3f of %d ranks, the delay is %.3f of a step", r.Joint, len(r.Late), struck)
				}
			}
			slices.Sort(ranks)
			if !slices.Equal(ranks, s.late) {
				t.Errorf("late: %v, planted %v", ranks, s.late)
			}
		})
	}
}

// Of two ranks, one always late and work noisy, the other is not late because
// it waits: the barrier ends what they differ by. By chance it may be in one job of twenty.
func TestAlwaysLateAmongNoise(t *testing.T) {
	var named []claim.Claim
	for seed := range uint64(20) {
		s := synthetic{seed: seed, ranks: 2, steps: 40, buckets: 2, barrier: true, jitter: 1, loud: 25, perHost: 2, delay: 52, late: []int{0}, at: -1}
		for _, l := range s.job().Analyze(Options{}).Late {
			if l.Rank() != 0 {
				named = append(named, l)
			}
		}
	}
	if len(named) > 1 || len(named) == 1 && named[0].Certainty >= claim.Strong {
		t.Errorf("%+v", named)
	}
}

// A rank that loses time before two calls of a step loses the sum of both, in
// one step.
func TestLateTwiceInAStep(t *testing.T) {
	for _, every := range []int{1, 5} {
		s := synthetic{seed: 7, ranks: 8, steps: 60, buckets: 3, barrier: true, jitter: 2, perHost: 8, delay: 30, late: []int{5}, at: 1, twice: true, every: every}
		r := s.job().Analyze(Options{})
		if len(r.Late) != 1 {
			t.Fatalf("%+v", r.Late)
		}
		l := r.Late[0]
		if math.Abs(float64(l.Size)/ms-60) > 6 || math.Abs(float64(l.Steps.Count)-60/float64(every)) > 2 || math.Abs(float64(l.Steps.Of)-60) > 2 {
			t.Errorf("%.1f ms in %d of %d steps, expected 60 in %d of 60", float64(l.Size)/ms, l.Steps.Count, l.Steps.Of, 60/every)
		}
		if want := 60 * ms / float64(l.Length); math.Abs(l.StruckGain(r.End-r.Begin)-want) > 0.06 || math.Abs(l.Saves.Alone-want/float64(every)) > 0.06 {
			t.Errorf("every %d: gain %.3f of the steps, %.3f of the run, expected %.3f of the steps", every, l.StruckGain(r.End-r.Begin), l.Saves.Alone, want)
		}
	}
}

// A call of every fifth step makes five steps one: a rank that is late in each of them,
// or its clock, hides several times what it is late by.
func TestClockOrDelayOfSeveralSteps(t *testing.T) {
	for seed := range uint64(4) {
		s := synthetic{seed: seed, ranks: 2, steps: 60, buckets: 1, barrier: true, rarely: 5, jitter: 1, delay: 40, late: []int{1}}
		r := s.job().Analyze(Options{})
		if named := slices.ContainsFunc(r.Late, func(l claim.Claim) bool { return l.Rank() == 1 }); !named && float64(r.MayHide.Delay) < 3.5*40*ms {
			t.Errorf("seed %d: %.1f ms of a step of %.1f ms may be hidden, expected 140 or more: %+v", seed, float64(r.MayHide.Delay)/ms, r.stepMS(), r.Late)
		}
	}
}

func (r *Result) stepMS() float64 { return float64(r.Step) / ms }

// Where all places but one tell nothing of a clock, a delay and an offset look alike:
// no rank is called late, and nobody may take the job for healthy. A job whose clocks
// agree hides nothing.
func TestClockOrDelay(t *testing.T) {
	for seed := range uint64(4) {
		for buckets := 1; buckets <= 3; buckets++ {
			for name, skew := range map[string]float64{"agree": 0, "20 ms apart": 20, "5 s apart": 5000} {
				t.Run(fmt.Sprintf("seed %d, %d buckets, clocks %s", seed, buckets, name), func(t *testing.T) {
					s := synthetic{seed: seed, ranks: 4, steps: 40, buckets: buckets, jitter: 1, skew: skew}
					if r := s.job().Analyze(Options{}); len(r.Late) > 0 || skew == 0 && r.MayHide.Delay > r.Step/10 {
						t.Errorf("nobody is late: %+v, hidden %+v", r.Late, r.MayHide)
					}
					s.delay, s.late = 50, []int{2}
					if r := s.job().Analyze(Options{}); len(r.Late) > 0 || r.MayHide.Delay < r.Step/10 || len(r.MayHide.Ranks) > 0 && !slices.Contains(r.MayHide.Ranks, 2) {
						t.Errorf("rank 2 is late: %+v, hidden %+v of %d", r.Late, r.MayHide, r.Step)
					}
					if s.barrier = true; skew > 100 {
						if r := s.job().Analyze(Options{}); len(r.Late) != 1 || r.Late[0].Rank() != 2 {
							t.Errorf("with another place: %+v", r.Late)
						}
					}
					s.barrier, s.perHost = false, 4
					if r := s.job().Analyze(Options{}); len(r.Late) != 1 || r.Late[0].Rank() != 2 {
						t.Errorf("on one host: %+v", r.Late)
					}
				})
			}
		}
	}
}

// The end of a job that stands still.
func TestHang(t *testing.T) {
	s := synthetic{seed: 1, ranks: 4, steps: 6, buckets: 1, jitter: 1, perHost: 4, frames: true}
	j := s.job()
	for r := range j.Ranks {
		calls := j.Ranks[r].Calls
		if r == 2 {
			j.Ranks[r].Calls = calls[:5]
			continue
		}
		calls[5].State = comms.Started
	}
	h := j.Analyze(Options{}).Hang
	if h == nil || len(h.Groups) != 1 {
		t.Fatalf("%+v", h)
	}
	b := h.Groups[0]
	if !slices.Equal(b.Waiting, []int{0, 1, 3}) || b.Seq != 6 || b.Line.String() != "train.py:66" || b.Line.Call != "backward" ||
		len(b.Missing) != 1 || b.Missing[0].Rank != 2 || b.Missing[0].Seq != 5 || b.Missing[0].Host != "node0" {
		t.Errorf("%+v", b)
	}
}

// Dumps of a job that goes on are no hang: they were written within some steps of
// the last calls, or at different times, or the rank has whole steps after them.
func TestDumpedInMidStep(t *testing.T) {
	s := synthetic{seed: 1, ranks: 4, steps: 20, buckets: 1, jitter: 1, perHost: 4, frames: true}
	job := func() *Job { // rank 2 has not entered the last call
		j := s.job()
		for r := range j.Ranks {
			calls := j.Ranks[r].Calls
			if calls[19].State = comms.Started; r == 2 {
				j.Ranks[r].Calls = calls[:19]
			}
		}
		return j
	}
	last := sync.Newest(&job().Ranks[0])
	for name, c := range map[string]struct {
		edit func(*Job)
		hang bool
	}{
		"nothing is known":         {func(*Job) {}, true},
		"written a minute later":   {func(j *Job) { j.Ranks[2].Written = last + 60_000*ms }, true},
		"written 50 ms later":      {func(j *Job) { j.Ranks[2].Written = last + 50*ms }, false},
		"others 50 ms later":       {func(j *Job) { j.Ranks[0].Written = last + 50*ms }, true},
		"written before its calls": {func(j *Job) { j.Ranks[2].Written = last - 60_000*ms }, true},
		"dumped two steps earlier": {func(j *Job) {
			j.Ranks[2].Calls = j.Ranks[2].Calls[:17]
			j.Ranks[0].Written = last + 50*ms
		}, false},
		"steps after that": {func(j *Job) {
			w := &trace.Window{WorldSize: 4, Schema: trace.Schema{Stages: []string{"work"}}, Ranks: []trace.Rank{{ID: 2}},
				Durations: []int64{100 * ms, 100 * ms, 100 * ms}, Epochs: []int64{last}}
			j.AddWindow(w)
		}, false},
		"steps before that": {func(j *Job) {
			w := &trace.Window{WorldSize: 4, Schema: trace.Schema{Stages: []string{"work"}}, Ranks: []trace.Rank{{ID: 2}},
				Durations: []int64{100 * ms, 100 * ms, 100 * ms}, Epochs: []int64{last - 350*ms}}
			j.AddWindow(w)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			j := job()
			c.edit(j)
			r := j.Analyze(Options{})
			if (r.Hang != nil) != c.hang {
				t.Errorf("hang %+v", r.Hang)
			}
			if len(r.Late) > 0 {
				t.Errorf("late %+v", r.Late)
			}
		})
	}
}

// A record of one rank that was dumped twice is one rank.
func TestDumpedTwice(t *testing.T) {
	s := synthetic{seed: 1, ranks: 3, steps: 20, buckets: 2, jitter: 1, perHost: 4}
	j := s.job()
	s.ring = 12
	again := s.job()
	for _, r := range again.Ranks {
		j.Merge(r)
	}
	for _, r := range j.Ranks {
		if len(r.Calls) != 40 || r.Lost != 0 {
			t.Errorf("rank %d: %d calls, %d lost", r.ID, len(r.Calls), r.Lost)
		}
	}
}

func TestMismatch(t *testing.T) {
	s := synthetic{seed: 1, ranks: 3, steps: 6, buckets: 2, jitter: 1, perHost: 4}
	j := s.job()
	k := j.Kinds[j.Ranks[1].Calls[7].Kind]
	k.Tensors = &comms.Tensors{InSizes: [][]int64{{7}}}
	j.Kinds = append(j.Kinds, k)
	j.Ranks[1].Calls[7].Kind = int32(len(j.Kinds) - 1)
	m := j.Analyze(Options{}).Mismatches
	if len(m) != 1 || m[0].Difference != DifferentSizes || m[0].Seq != 8 || !slices.Equal(m[0].Sides[1].Ranks, []int{1}) {
		t.Errorf("%+v", m)
	}
}

func ExampleJob_Analyze() {
	s := synthetic{seed: 7, ranks: 4, steps: 30, buckets: 2, jitter: 1, perHost: 4, delay: 40, late: []int{3}, at: 1, frames: true}
	r := s.job().Analyze(Options{})
	l := r.Late[0]
	p := r.Places[l.Entered.Place]
	fmt.Printf("rank %d is last to enter %d of %d: %.0f ms of its own before %s (%s)\n", l.Rank(), l.Entered.Last, l.Entered.Points, float64(l.Entered.Delay)/ms, p.Line, p.Line.Call)
	// Output: rank 3 is last to enter 30 of 30: 40 ms of its own before train.py:66 (backward)
}

// A rank that is always late at the only collective of a step is late: ranks that
// wait for nobody would drift apart. Seeds differ in whether the scatter alone shows it.
func TestOneCallAStep(t *testing.T) {
	for _, jitter := range []float64{0.3, 2, 8} {
		for seed := range uint64(20) {
			s := synthetic{seed: seed, ranks: 3, steps: 57, buckets: 1, jitter: jitter, perHost: 3, delay: 50, late: []int{1}, frames: true}
			if r := s.job().Analyze(Options{}); len(r.Late) != 1 || r.Late[0].Rank() != 1 {
				t.Errorf("jitter %g, seed %d: late %+v, want rank 1", jitter, seed, r.Late)
			}
		}
	}
}

// A few profiled steps of a job on CPUs name the rank that is late in all of them,
// at the error rate that is asked for.
func TestProfiledOnHosts(t *testing.T) {
	const jobs = 200
	for _, ranks := range []int{2, 3, 8} {
		innocent, named := 0, 0
		for seed := range uint64(jobs) {
			s := synthetic{seed: seed, ranks: ranks, steps: 10, buckets: 2, jitter: 2, perHost: ranks, profiled: true}
			innocent += len(s.job().Analyze(Options{}).Late)
			s.delay, s.late, s.at = 30, []int{1}, 1
			if late := s.job().Analyze(Options{}).Late; len(late) == 1 && late[0].Rank() == 1 {
				named++
			}
		}
		t.Logf("%d ranks: named in %d of %d jobs, %d named in healthy ones", ranks, named, jobs, innocent)
		if innocent > 8 { // 2 expected at a level of 0.01; more than 8 in 4 of 10,000 cases
			t.Errorf("%d ranks: %d named in %d healthy jobs", ranks, innocent, jobs)
		}
		if ranks > 2 && named < jobs*9/10 {
			t.Errorf("%d ranks: named in %d of %d jobs", ranks, named, jobs)
		}
	}
}

// TestLateBeforeBothBuckets: a rank that loses as much before each of two calls that nobody waits for until the end is
// named with both, whichever it is: that others wait for the last of them explains the next step, and not that they
// wait for the first, although the rank then seems to differ from them by less.
func TestLateBeforeBothBuckets(t *testing.T) {
	for late := range 4 {
		for seed := range uint64(5) {
			s := synthetic{seed: seed, ranks: 8, steps: 20, buckets: 2, jitter: 2, perHost: 8, profiled: true, delay: 90, late: []int{late}, twice: true}
			r := s.job().Analyze(Options{})
			if len(r.Late) != 1 || r.Late[0].Rank() != late || math.Abs(float64(r.Late[0].Size)/ms-180) > 10 {
				t.Errorf("seed %d: late %+v, want rank %d by 180 ms", seed, r.Late, late)
			}
		}
	}
}

// TestOneClockOfAHost: ranks that their recorder numbers apart on one host have one clock, however they are apart; of
// containers that have their name from one image each has the number 0, and its own clock.
func TestOneClockOfAHost(t *testing.T) {
	for name, c := range map[string]struct {
		local  func(int) int
		clocks int
	}{
		"numbered":   {func(r int) int { return r }, 1},
		"containers": {func(int) int { return 0 }, 3},
		"not known":  {func(int) int { return -1 }, 3},
	} {
		s := synthetic{seed: 3, ranks: 3, steps: 40, buckets: 1, jitter: 1, perHost: 3}
		j := s.job()
		j.Hosts, j.Locals = map[int]string{}, map[int]int{}
		for r := range j.Ranks {
			j.Hosts[r], j.Locals[r] = "node0", c.local(r)
			for i := range j.Ranks[r].Calls { // each is 3 s further off than the one before
				j.Ranks[r].Calls[i].Enter += int64(r) * 3000 * ms
			}
		}
		if r := j.Analyze(Options{}); len(r.Clocks) != c.clocks {
			t.Errorf("%s: %d clocks, want %d", name, len(r.Clocks), c.clocks)
		}
	}
}

// TestLastAndNotWaitedFor: who enters last at every point of calls of which no wait shows is told as one who may be
// late; ranks that enter in any order are not.
func TestLastAndNotWaitedFor(t *testing.T) {
	job := func(late int) *Job { // ranks keep their distance, waiting for one another somewhere between the calls
		rng := rand.New(rand.NewPCG(9, 9))
		j := synthetic{seed: 3, ranks: 3, steps: 30, buckets: 1, jitter: 1, perHost: 3}.job()
		for i := range j.Ranks[0].Calls {
			for r := range j.Ranks {
				at := float64(100*i) + 2*rng.NormFloat64()
				if r == late {
					at += 40
				}
				j.Ranks[r].Calls[i].Enter = int64(at * ms)
			}
		}
		return j
	}
	if r := job(1).Analyze(Options{}); len(r.Late) == 0 && (r.Unawaited == nil || r.Unawaited.Rank() != 1 || r.Unawaited.Saves.AtMost < 0.35) {
		t.Errorf("late %+v, unawaited %+v, want rank 1 by 40 of 100 ms", r.Late, r.Unawaited)
	}
	if r := job(-1).Analyze(Options{}); r.Unawaited != nil {
		t.Errorf("nobody is last: %+v", r.Unawaited)
	}
}

// A short ring shows of no delay that it is none, a longer one does.
func TestLimit(t *testing.T) {
	for ring, want := range map[int]bool{5: false, 40: true} {
		r := synthetic{seed: 3, ranks: 8, steps: 60, buckets: 1, jitter: 2, perHost: 8, ring: ring}.job().Analyze(Options{})
		if len(r.Places) != 1 || (r.Places[0].Limit > 0) != want {
			t.Errorf("a ring of %d: %+v, want a limit %v", ring, r.Places, want)
		}
	}
}

// A delay in every step shows amid noise as large as it is, and one now and then
// beyond small ones that all ranks have.
func TestLevels(t *testing.T) {
	for name, s := range map[string]synthetic{
		"as large as the noise": {ranks: 8, steps: 44, buckets: 2, barrier: true, jitter: 1, loud: 25, perHost: 8, delay: 40, late: []int{6, 7}, frames: true},
		"now and then":          {ranks: 4, steps: 60, buckets: 2, barrier: true, jitter: 0.05, loud: 4, perHost: 4, delay: 80, late: []int{3}, every: 7, frames: true},
	} {
		t.Run(name, func(t *testing.T) {
			for s.seed = range uint64(10) {
				var late []int
				for _, l := range s.job().Analyze(Options{}).Late {
					late = append(late, l.Rank())
				}
				if slices.Sort(late); !slices.Equal(late, s.late) {
					t.Errorf("seed %d: late %v, planted %v", s.seed, late, s.late)
				}
			}
		})
	}
}

// A rank that is late in one half of a record only is late from one step to another.
func TestLateForAWhile(t *testing.T) {
	first := synthetic{seed: 3, ranks: 4, steps: 30, buckets: 2, barrier: true, jitter: 1, perHost: 4, delay: 40, late: []int{2}, frames: true}
	j := first.job()
	first.delay, first.seed = 0, 4
	later := first.job()
	from := sync.Newest(&j.Ranks[0]) + 100*ms
	for r := range j.Ranks {
		seq := j.Ranks[r].Calls[len(j.Ranks[r].Calls)-1].Seq
		for _, c := range later.Ranks[r].Calls {
			c.Enter += from
			c.Seq += seq
			j.Ranks[r].Calls = append(j.Ranks[r].Calls, c)
		}
	}
	late := j.Analyze(Options{}).Late
	if len(late) != 1 || late[0].Rank() != 2 || late[0].Steps.Pattern != claim.Span || late[0].Steps.Last > 30 {
		t.Errorf("%+v", late)
	}
}

// A rank whose number is between those of recorded ranks has no record, even where no
// group tells its members.
func TestUnrecorded(t *testing.T) {
	s := synthetic{seed: 1, ranks: 6, steps: 20, buckets: 2, barrier: true, jitter: 1, perHost: 6}
	j := s.job()
	j.Ranks = slices.Delete(j.Ranks, 3, 4)
	delete(j.ByRank, 3)
	for g := range j.Groups {
		j.Groups[g].Members = nil
	}
	if got := j.Analyze(Options{}).Missing; !slices.Equal(got, []int{3}) {
		t.Errorf("missing %v, expected rank 3", got)
	}
}

// Nobody lists the members of the default group, and the last rank has no record: the
// sizes of an all-gather say how many there are.
func TestUnrecordedLast(t *testing.T) {
	s := synthetic{seed: 1, ranks: 6, steps: 20, buckets: 2, barrier: true, jitter: 1, perHost: 6}
	j := s.job()
	for g := range j.Groups {
		j.Groups[g].Members, j.Groups[g].Desc = nil, "default_pg"
	}
	for k := range j.Kinds {
		j.Kinds[k].Op, j.Kinds[k].Tensors = nccl.AllGather, &comms.Tensors{InSizes: [][]int64{{2}}, OutSizes: [][]int64{{8, 2}}}
	}
	r := j.Analyze(Options{})
	if !slices.Equal(r.Missing, []int{6, 7}) || len(r.Mismatches) > 0 {
		t.Errorf("missing %v, expected ranks 6 and 7; mismatches %+v", r.Missing, r.Mismatches)
	}
}

// All that have a record wait, and one has none: a hang, unless their records were
// written soon after, in the middle of a step.
func TestHangOfUnrecorded(t *testing.T) {
	for written, hang := range map[int64]bool{0: true, 50 * ms: false, 60_000 * ms: true} {
		s := synthetic{seed: 1, ranks: 4, steps: 20, buckets: 1, jitter: 1, perHost: 4, frames: true}
		j := s.job()
		for r := range j.Ranks {
			calls := j.Ranks[r].Calls
			if calls[len(calls)-1].State = comms.Started; written > 0 {
				j.Ranks[r].Written = sync.Newest(&j.Ranks[r]) + written
			}
		}
		j.Ranks = slices.Delete(j.Ranks, 2, 3)
		delete(j.ByRank, 2)
		r := j.Analyze(Options{})
		if (r.Hang != nil) != hang || r.MidStep == hang {
			t.Fatalf("written %d ns later: hang %+v, in the middle of a step %v", written, r.Hang, r.MidStep)
		}
		if hang && (len(r.Hang.Groups[0].Missing) != 1 || r.Hang.Groups[0].Missing[0].Rank != 2 || r.Hang.Groups[0].Missing[0].Dump != NoDump) {
			t.Errorf("%+v", r.Hang.Groups[0])
		}
	}
}

// Ranks that wait for long are a hang, whatever the record of the last member shows: one that leaves open how far
// it got names the rank as one that may be missing, and two such records name nobody.
func TestHangWithoutProof(t *testing.T) {
	of := func(e comms.Extent) func(r *sync.Rank) {
		return func(r *sync.Rank) { r.Calls, r.Extent = r.Calls[:len(r.Calls)-5], e }
	}
	for dump, change := range map[Dump]func(r *sync.Rank){OlderDump: of(comms.Whole), CutDump: of(comms.CutOff), DamagedDump: of(comms.Damaged),
		EmptyDump: func(r *sync.Rank) { r.Calls, r.Extent = nil, comms.NoEntries },
		LostDump:  func(r *sync.Rank) { r.Calls, r.Lost = nil, 20 }} {
		for _, changed := range [][]int{{2}, {1, 2}} {
			s := synthetic{seed: 1, ranks: 4, steps: 20, buckets: 1, jitter: 1, perHost: 4, frames: true}
			j := s.job()
			for i := range j.Ranks {
				r := &j.Ranks[i]
				r.Calls[len(r.Calls)-1].State, r.Written = comms.Started, sync.Newest(r)+60_000*ms
				if slices.Contains(changed, r.ID) {
					change(r)
				}
			}
			h := j.Analyze(Options{}).Hang
			switch {
			case h == nil:
				t.Errorf("%v of ranks %v: no hang", dump, changed)
			case len(changed) == 1 && (len(h.Groups[0].Missing) != 1 || h.Roots()[0].Rank != 2 || !h.Roots()[0].May || h.Roots()[0].Dump != dump):
				t.Errorf("%v: %+v, expected rank 2 as one that may be missing", dump, h.Groups[0])
			case len(changed) == 2 && (len(h.Roots()) > 0 || !slices.Equal(h.Groups[0].Unknown, changed)):
				t.Errorf("%v of two: %+v, expected nobody named", dump, h.Groups[0])
			}
		}
	}
}

// What a record counts shows that a rank did not enter, also where its entries are lost.
func TestHangByStatus(t *testing.T) {
	for enqueued, roots := range map[int64]int{19: 1, 20: 0} {
		s := synthetic{seed: 1, ranks: 4, steps: 20, buckets: 1, jitter: 1, perHost: 4, frames: true}
		j := s.job()
		for i := range j.Ranks {
			r := &j.Ranks[i]
			r.Calls[19].State, r.Written = comms.Started, sync.Newest(r)+60_000*ms
			if i == 2 {
				r.Calls, r.Extent, r.Progress[int(r.Calls[0].Group)] = r.Calls[:5], comms.CutOff, sync.Progress{Enqueued: enqueued, Completed: 19}
			}
		}
		h := j.Analyze(Options{}).Hang
		if (h != nil) != (roots > 0) || h != nil && (len(h.Roots()) != roots || h.Roots()[0].May || h.Roots()[0].Seq != enqueued) {
			t.Errorf("counted %d: %+v", enqueued, h)
		}
	}
}

// Ranks of one host whose clocks are not one, as of containers with one name: the late
// rank is found, or it is left open, and never one whose clock is off.
func TestClocksWithinHost(t *testing.T) {
	for _, off := range []int64{-3000 * ms, 3000 * ms} {
		for seed := range uint64(5) {
			s := synthetic{seed: seed, ranks: 8, steps: 40, buckets: 3, barrier: true, jitter: 2, perHost: 8, delay: 50, late: []int{5}, frames: true}
			j := s.job()
			for i := range j.Ranks[7].Calls {
				j.Ranks[7].Calls[i].Enter += off
			}
			if r := j.Analyze(Options{}); len(r.Late) != 1 || r.Late[0].Rank() != 5 {
				t.Errorf("seed %d, off by %d: late %+v, hidden %+v", seed, off, r.Late, r.MayHide)
			}
		}
	}
}
