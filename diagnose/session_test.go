package diagnose

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/profile"
)

// windows runs a simulation to its end.
func windows(t testing.TB, s simulate.Spec) []*trace.Window {
	t.Helper()
	g, err := simulate.New(s)
	if err != nil {
		t.Fatal(err)
	}
	var out []*trace.Window
	for {
		w, err := g.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, w)
	}
}

func verdictOn(t testing.TB, ws ...*trace.Window) *Verdict {
	t.Helper()
	s := New(Options{})
	for _, w := range ws {
		if err := s.Add(w); err != nil {
			t.Fatal(err)
		}
	}
	return s.Verdict()
}

func spec(ranks, steps int, seed uint64, faults ...simulate.Fault) simulate.Spec {
	s := simulate.DefaultSpec()
	s.Ranks, s.Schedule.Steps, s.Seed, s.Faults = ranks, steps, seed, faults
	return s
}

// TestDeviceUnderAccumulation: in microsteps that do not synchronise (no_sync) the host waits in backward for what its device takes
// longer in forward. That is one claim, about forward, of no more than was injected; what the last microstep hides is
// the most that it may save. Backward that is slow by itself stays backward, and of both alike no stage is named.
func TestDeviceUnderAccumulation(t *testing.T) {
	judged := func(k int, seed uint64, faults ...simulate.Fault) *RunVerdict {
		s := spec(8, 60, seed, faults...)
		s.Accumulation = k
		for i := range s.Stages {
			for m := range s.Stages[i].SyncPoints {
				s.Stages[i].SyncPoints[m].LastMicrostep = s.Stages[i].PerMicrostep
			}
		}
		return &verdictOn(t, windows(t, s)...).Runs[0]
	}
	slow := func(family simulate.Family, ms float64) simulate.Fault {
		return simulate.Fault{Family: family, Delay: simulate.Millis(ms), Ranks: []int{3}}
	}
	for _, k := range []int{2, 4, 8} {
		for seed := range uint64(3) {
			v := judged(k, seed, slow(simulate.ForwardDevice, 120))
			f := v.Findings[0]
			if f.Rank == nil || *f.Rank != 3 || f.Stage != simulate.StageForward || f.Cause != CauseLate {
				t.Fatalf("%d microsteps, seed %d: %s", k, seed, show(f))
			}
			if _, ok := evidence.Find[evidence.DeviceTime](f.Evidence); !ok || f.RunAtMost < f.RunGain*1.05 || f.Saving().Kind != SavesUpTo {
				t.Errorf("%d microsteps: saves %v, at most %v, evidence %v", k, f.RunGain, f.RunAtMost, f.Evidence)
			}
			claimed := int64(0)
			for _, f := range v.Findings {
				if f.Kind == KindRank {
					claimed += f.Explained / int64(f.Struck.Of)
				}
			}
			if claimed > 120e6 || claimed < 120e6*int64(k-1)/int64(k)*9/10 {
				t.Errorf("%d microsteps: %d ns a step are claimed of 120 ms", k, claimed)
			}
		}
	}
	if f := judged(4, 0, slow(simulate.Backward, 120)).Findings[0]; *f.Rank != 3 || f.Stage != simulate.StageBackward {
		t.Errorf("slow in backward: %s", show(f))
	}
	if f := judged(4, 0, slow(simulate.ForwardDevice, 40), slow(simulate.Backward, 160)).Findings[0]; *f.Rank != 3 || f.Stage != simulate.StageBackward {
		t.Errorf("a little slow on the device: %s", show(f))
	}
	if f := judged(4, 0, slow(simulate.ForwardDevice, 90), slow(simulate.Backward, 90)).Findings[0]; *f.Rank != 3 || f.Stage != "" {
		t.Errorf("slow in both: %s", show(f))
	}
}

// TestEveryFamily: what each kind of fault must be called, by size of group.
// A delay inside a stage where ranks wait for each other shows on all alike.
func TestEveryFamily(t *testing.T) {
	named := map[simulate.Family]string{
		simulate.Data: simulate.StageData, simulate.ForwardHost: simulate.StageForward, simulate.ForwardDevice: simulate.StageForward,
		simulate.CallbackHost: simulate.StageCallbacks, simulate.OptimizerHost: simulate.StageOptimizer,
	}
	alike := map[simulate.Family]string{
		simulate.Backward: simulate.StageBackward, simulate.BackwardComm: simulate.StageBackward, simulate.CallbackSync: simulate.StageCallbacks,
	}
	for ranks, steps := range map[int]int{2: 160, 3: 60, 8: 40, 64: 40} {
		for seed := range uint64(3) {
			slow := int(seed*5+1) % ranks
			for family, stage := range named {
				t.Run(fmt.Sprintf("%s/ranks=%d/seed=%d", family, ranks, seed), func(t *testing.T) {
					v := verdictOn(t, windows(t, spec(ranks, steps, seed, simulate.Fault{Family: family, Delay: 120, Ranks: []int{slow}}))...)
					s := v.Findings[0]
					want := evidence.Strong
					if family == simulate.ForwardDevice {
						want = evidence.Supported
					}
					if s.Kind != KindRank || *s.Rank != slow || s.Stage != stage || s.Confidence != want {
						t.Errorf("suspect %v, want rank %d in %s, %s", show(s), slow, stage, want)
					}
					if s.Gain < 0.25 || s.Gain > 0.40 {
						t.Errorf("gain %.3f, a 120 ms delay of a 335 ms step is worth about 0.36", s.Gain)
					}
					if v.Status != answer.Straggler || s.Struck.Pattern != PatternConstant || s.Excess < 100e6 || s.Excess > 125e6 || math.Abs(s.Gain-s.RunGain) > 0.02 {
						t.Errorf("status %v, %v, excess %d, gain of the run %.3f", v.Status, s.Struck, s.Excess, s.RunGain)
					}
				})
			}
			for family, stage := range alike {
				t.Run(fmt.Sprintf("%s/ranks=%d/seed=%d", family, ranks, seed), func(t *testing.T) {
					v := verdictOn(t, windows(t, spec(ranks, steps, seed, simulate.Fault{Family: family, Delay: 180, Ranks: []int{slow}}))...)
					if v.Status != answer.Unseen || slices.ContainsFunc(v.Findings, func(f Finding) bool { return f.IsFlagged() }) {
						t.Errorf("status %v, findings %v", v.Status, v.Findings)
					}
					i := slices.IndexFunc(v.Limits, func(l answer.Limit) bool { return l.Stage == stage })
					if i < 0 || v.Limits[i].MayHide < 170e6 || v.Limits[i].Reported > 0 {
						t.Errorf("limits %+v: 180 ms hide in %s", v.Limits, stage)
					}
					at := slices.IndexFunc(v.Coverage, func(c answer.Coverage) bool { return c.Stage == stage })
					if at < 0 || v.Coverage[at].Seen || v.Coverage[at].Hides < 170e6 || v.Coverage[at].Reason != answer.RanksWait && v.Coverage[at].Reason != answer.RanksMayWait {
						t.Errorf("coverage %+v: %s does not show 180 ms", v.Coverage, stage)
					}
				})
			}
		}
	}
}

func show(s Finding) string {
	rank := "none"
	if s.Rank != nil {
		rank = fmt.Sprint(*s.Rank)
	}
	return fmt.Sprintf("{%v rank %s stage %q group %q gain %.3f %v}", s.Kind, rank, s.Stage, s.Group, s.Gain, s.Confidence)
}

// TestUsualBackwardMayHide: a delay may hide in a backward pass that takes no longer than twice the forward pass, and
// is called unlikely; a healthy run bounds it.
func TestUsualBackwardMayHide(t *testing.T) {
	healthy := windows(t, spec(8, 40, 1))
	v := verdictOn(t, healthy...)
	at := func(v *Verdict) int {
		return slices.IndexFunc(v.Undecided, func(u answer.Undecided) bool { return u.HidesRank() && u.Unlikely })
	}
	if i := at(v); v.Status != answer.Unseen || i < 0 || v.Undecided[i].Stage != simulate.StageBackward || v.Undecided[i].Hides < v.Undecided[i].Time*95/100 {
		t.Errorf("status %v, undecided %+v: all of %s may be a delay", v.Status, v.Undecided, simulate.StageBackward)
	}
	var sample frontier.Sample
	for _, w := range healthy {
		if err := sample.Add(w, []string{simulate.StageBackward}); err != nil {
			t.Fatal(err)
		}
	}
	s := New(Options{Baseline: &sample})
	for _, w := range windows(t, spec(8, 40, 2)) {
		if err := s.Add(w); err != nil {
			t.Fatal(err)
		}
	}
	if v := s.Verdict(); at(v) >= 0 || v.Status != answer.NoStraggler {
		t.Errorf("%v, undecided %+v beside a healthy run, which bounds what may hide", v.Status, v.Undecided)
	}
}

// TestNoFaultIsHealthy: nobody is flagged, and the status says that backward is not seen; a rank is surely
// slower, however little, at the rate of the test, 0.01.
func TestNoFaultIsHealthy(t *testing.T) {
	sure := 0
	for _, ranks := range []int{2, 8, 32} {
		for seed := range uint64(20) {
			v := verdictOn(t, windows(t, spec(ranks, 40, seed))...)
			for _, s := range v.Findings {
				if s.IsFlagged() {
					t.Errorf("%d ranks, seed %d: %v", ranks, seed, show(s))
				}
				if s.Confidence == evidence.Strong {
					sure++
				}
			}
			if v.Status != answer.Unseen {
				t.Errorf("%d ranks, seed %d: %v", ranks, seed, v.Status)
			}
			for _, w := range v.Windows {
				if w.Main.Strong() || w.Paper.Strong() {
					t.Errorf("%d ranks, seed %d: strong label among %v, %v", ranks, seed, w.Main.Labels, w.Paper.Labels)
				}
			}
		}
	}
	if sure > 3 {
		t.Errorf("%d of 60 healthy runs have a rank that is surely slower", sure)
	}
}

func TestSmallDelayIsSureAndSmall(t *testing.T) {
	for seed := range uint64(5) {
		v := verdictOn(t, windows(t, spec(8, 40, seed, simulate.Fault{Family: simulate.Data, Delay: 12, Ranks: []int{3}}))...)
		s := v.Findings[0]
		if s.Kind != KindRank || *s.Rank != 3 || s.Stage != simulate.StageData || s.Confidence != evidence.Strong || !s.BelowMinGain || s.IsFlagged() {
			t.Errorf("seed %d: %v", seed, show(s))
		}
	}
}

func TestIntermittentFault(t *testing.T) {
	v := verdictOn(t, windows(t, spec(8, 80, 2, simulate.Fault{Family: simulate.CallbackHost, Delay: 900, Ranks: []int{6}, When: simulate.When{Every: 10}}))...)
	s := v.Findings[0]
	if s.Kind != KindRank || *s.Rank != 6 || s.Stage != simulate.StageCallbacks || s.Confidence != evidence.Strong {
		t.Errorf("suspect %v", show(s))
	}
	if s.Struck.Pattern != PatternPeriodic || s.Struck.Period != 10 || s.Struck.Count < 7 || s.Struck.Count > 8 || s.Excess < 850e6 || s.Excess > 920e6 {
		t.Errorf("900 ms in every tenth of 80 steps: %d ns in %+v", s.Excess, s.Struck)
	}
}

func TestSeveralStragglersShareTheTime(t *testing.T) {
	v := verdictOn(t, windows(t, spec(8, 60, 4, simulate.Fault{Family: simulate.Data, Delay: 120, Ranks: []int{1, 6}}))...)
	if len(v.Findings) < 2 {
		t.Fatalf("suspects %v", v.Findings)
	}
	var ranks []int
	for _, s := range v.Findings[:2] {
		ranks = append(ranks, *s.Rank)
		if s.Stage != simulate.StageData || s.Confidence < evidence.Supported {
			t.Errorf("suspect %v", show(s))
		}
	}
	slices.Sort(ranks)
	if !slices.Equal(ranks, []int{1, 6}) {
		t.Errorf("ranks %v, want 1 and 6", ranks)
	}
	if a, b := v.Findings[0].Explained, v.Findings[1].Explained; float64(b) < 0.8*float64(a) {
		t.Errorf("equal stragglers are charged %d and %d ns", a, b)
	}
}

func TestManyEqualStragglersAreCalledTogether(t *testing.T) {
	v := verdictOn(t, windows(t, spec(32, 60, 4, simulate.Fault{Family: simulate.Data, Delay: 120, Ranks: []int{1, 9, 17, 30}}))...)
	for i, s := range v.Findings[:4] {
		if s.Kind != KindRank || s.Stage != simulate.StageData || s.Confidence != evidence.Strong {
			t.Errorf("suspect %d: %v", i, show(s))
		}
	}
	if v.Together < 0.3 {
		t.Errorf("fixing all four saves %.3f", v.Together)
	}
}

func TestSlowHost(t *testing.T) {
	s := spec(32, 60, 4)
	s.Work = []simulate.WorkFactor{{Ranks: []int{8, 9, 10, 11, 12, 13, 14, 15}, Factor: 1.5}}
	v := verdictOn(t, windows(t, s)...)
	first := v.Findings[0]
	if first.Kind != KindHost || first.Host != "node1" || first.Confidence < evidence.Supported {
		t.Errorf("suspect %v", show(first))
	}
}

// TestShortWindowsOfSlowHost: half of the ranks are late in too few steps of a short
// window to exclude chance. All windows together name their host and its whole cost, as
// one window of all steps does.
func TestShortWindowsOfSlowHost(t *testing.T) {
	for seed := range uint64(10) {
		s := spec(4, 60, seed, simulate.Fault{Family: simulate.CallbackHost, Delay: 82, Ranks: []int{2, 3}})
		s.RanksPerHost = 2
		whole := verdictOn(t, windows(t, s)...).Runs[0].Findings
		s.Schedule.Windows, s.Schedule.Steps = 6, 10
		parts := verdictOn(t, windows(t, s)...).Runs[0].Findings
		if len(whole) != 1 || len(parts) != 1 {
			t.Fatalf("seed %d: %d suspects in one window, %d in six, want one", seed, len(whole), len(parts))
		}
		if a, b := whole[0], parts[0]; b.Kind != KindHost || a.Host != b.Host || b.RunGain < 0.95*a.RunGain || b.RunGain > 1.05*a.RunGain {
			t.Errorf("seed %d: one window %s, %.3f; six %s, %.3f", seed, show(a), a.RunGain, show(b), b.RunGain)
		}
	}
}

func TestRankSlowAllOver(t *testing.T) {
	s := spec(8, 60, 4)
	s.Work = []simulate.WorkFactor{{Ranks: []int{3}, Factor: 1.5}}
	v := verdictOn(t, windows(t, s)...)
	first := v.Findings[0]
	if first.Kind != KindRank || *first.Rank != 3 || first.Confidence < evidence.Supported || first.Stage != "" {
		t.Errorf("suspect %v", show(first))
	}
}

// TestVictimsAreNotBlamed: an early rank, and two ranks of which one is late
// after the synchronisation point, look alike in averages.
func TestVictimsAreNotBlamed(t *testing.T) {
	for seed := range uint64(20) {
		s := spec(2, 120, seed, simulate.Fault{Family: simulate.CallbackHost, Delay: 120, Ranks: []int{1}})
		for i := range s.Stages {
			s.Stages[i].Work.SD = 0.2 * s.Stages[i].Work.Mean
			s.Stages[i].Work.Shape = simulate.Normal
		}
		v := verdictOn(t, windows(t, s)...)
		for _, x := range v.Findings {
			if x.IsFlagged() && (x.Rank == nil || *x.Rank != 1) {
				t.Errorf("two ranks, seed %d: %v", seed, show(x))
			}
		}
		for _, ranks := range []int{3, 4, 8} {
			s := spec(ranks, 60, seed)
			s.Stages[3].Work = simulate.Dist{Mean: 100, SD: 2, Shape: simulate.Normal}
			s.Work = []simulate.WorkFactor{{Ranks: []int{1}, Stages: []string{simulate.StageCallbacks}, Factor: 0.1}}
			v := verdictOn(t, windows(t, s)...)
			for _, x := range v.Findings {
				if x.IsFlagged() && x.Rank != nil && *x.Rank == 1 {
					t.Errorf("the only early rank of %d, seed %d: %v", ranks, seed, show(x))
				}
			}
		}
	}
}

func TestShortWindow(t *testing.T) {
	for _, steps := range []int{2, 4, 6} {
		v := verdictOn(t, windows(t, spec(8, steps, 3, simulate.Fault{Family: simulate.Data, Delay: 120, Ranks: []int{3}}))...)
		if len(v.Findings) == 0 {
			t.Errorf("%d steps: no finding", steps)
			continue
		}
		s := v.Findings[0]
		if s.Kind != KindRank || *s.Rank != 3 || s.Stage != simulate.StageData || s.Confidence == evidence.Strong || s.Confidence == evidence.Insufficient {
			t.Errorf("%d steps: suspect %v", steps, show(s))
		}
	}
}

func TestNamedSyncPointInAShortWindow(t *testing.T) {
	s := New(Options{Frontier: frontier.Options{SyncAfter: simulate.StageBackward}})
	for _, w := range windows(t, spec(8, 4, 1, simulate.Fault{Family: simulate.Data, Delay: 120, Ranks: []int{3}})) {
		if err := s.Add(w); err != nil {
			t.Fatal(err)
		}
	}
	if first := s.Verdict().Findings[0]; first.Kind != KindRank || *first.Rank != 3 {
		t.Errorf("suspect %v", show(first))
	}
}

func TestLateByTurns(t *testing.T) {
	s := spec(8, 64, 3)
	for r := range 8 {
		s.Faults = append(s.Faults, simulate.Fault{Family: simulate.Data, Delay: 120, Ranks: []int{r}, When: simulate.When{From: int64(r), Every: 8}})
	}
	v := verdictOn(t, windows(t, s)...)
	if first := v.Findings[0]; first.Kind != KindWorkload || first.Stage != simulate.StageData || first.Confidence != evidence.Supported {
		t.Errorf("suspect %v", show(first))
	}
}

// TestLateByTurnsOfAnySize: in each step, or each stretch of steps, another rank is late, by another size: work that
// varies. It costs what it costs however the sizes lie, and is no all-clear.
func TestLateByTurnsOfAnySize(t *testing.T) {
	for _, stretch := range []int64{1, 12} {
		rng := rand.New(rand.NewPCG(5, uint64(stretch)))
		s, late := spec(8, 96, 3), 0
		for step := range int64(96) {
			if step%stretch == 0 {
				late = (late + 1 + rng.IntN(7)) % 8
			}
			s.Faults = append(s.Faults, simulate.Fault{Family: simulate.ForwardHost, Delay: simulate.Millis(30 + 90*rng.Float64()), Ranks: []int{late}, When: simulate.When{From: step, Until: step + 1}})
		}
		v := verdictOn(t, windows(t, s)...)
		if len(v.Findings) == 0 || v.Findings[0].Kind != KindWorkload || v.Findings[0].Stage != simulate.StageForward || v.Findings[0].Confidence < evidence.Supported {
			t.Errorf("late in turns of %d steps: %s, %v", stretch, v.Status, v.Findings)
		}
	}
}

func TestPipelineRanksSynchroniseWithinTheirRole(t *testing.T) {
	s := spec(8, 60, 3, simulate.Fault{Family: simulate.ForwardHost, Delay: 120, Ranks: []int{3}})
	s.Layout = []simulate.Axis{{Name: "dp", Size: 4}, {Name: "pp", Size: 2}}
	s.Stages[2].SyncPoints[0].Across = []string{"dp"}
	v := verdictOn(t, windows(t, s)...)
	first := v.Findings[0]
	if first.Kind != KindRank || *first.Rank != 3 || first.Stage != simulate.StageForward || first.Confidence != evidence.Supported {
		t.Errorf("suspect %v", show(first))
	}
}

// tensorParallel is 4 ranks wide in tp: ranks synchronise across tp in forward, and in
// backward across everything, or across tp and then across dp.
func tensorParallel(dp int, seed uint64, inTwo bool, f simulate.Fault) simulate.Spec {
	s := spec(4*dp, 120, seed, f)
	s.Layout = []simulate.Axis{{Name: "tp", Size: 4}, {Name: "dp", Size: dp}}
	all := s.Stages[2].SyncPoints[0]
	across := func(axis string) simulate.SyncPoint {
		m := all
		m.Across = []string{axis}
		return m
	}
	s.Stages[1].SyncPoints = []simulate.SyncPoint{across("tp")}
	if inTwo {
		s.Stages[2].SyncPoints = []simulate.SyncPoint{across("tp"), across("dp")}
	}
	return s
}

// TestTensorParallelGroupsSynchroniseOnTheWay: who waits in forward for a slow rank
// arrives late at backward without being slow.
func TestTensorParallelGroupsSynchroniseOnTheWay(t *testing.T) {
	for _, dp := range []int{2, 8} {
		for _, family := range []simulate.Family{simulate.Data, simulate.CallbackHost, simulate.OptimizerHost} {
			for seed := range uint64(6) {
				s := tensorParallel(dp, seed/2, seed%2 == 1, simulate.Fault{Family: family, Delay: 120, Ranks: []int{3}})
				v := verdictOn(t, windows(t, s)...)
				first := v.Findings[0]
				if first.Kind != KindRank || *first.Rank != 3 || first.Confidence < evidence.Supported {
					t.Errorf("%v, tp 4 × dp %d, seed %d: suspect %v", family, dp, seed, show(first))
				}
				for _, x := range v.Findings[1:] {
					if x.IsFlagged() {
						t.Errorf("%v, tp 4 × dp %d, seed %d: also %v", family, dp, seed, show(x))
					}
				}
			}
		}
	}
}

func TestSlowTensorParallelGroup(t *testing.T) {
	for seed := range uint64(6) {
		s := tensorParallel(4, seed/2, seed%2 == 1, simulate.Fault{Family: simulate.ForwardHost, Delay: 120, Ranks: []int{3}})
		v := verdictOn(t, windows(t, s)...)
		if first := v.Findings[0]; first.Kind != KindGroup || first.Group != "dp=0" || first.Stage != simulate.StageForward || first.Confidence < evidence.Supported {
			t.Errorf("seed %d: suspect %v, status %v", seed, show(first), v.Status)
		}
	}
}

// TestNoisyHealthyRuns: with ranks late by turns from noise alone, much may be
// lost, but nobody is to blame.
func TestNoisyHealthyRuns(t *testing.T) {
	for seed := range uint64(20) {
		s := spec(16, 20, seed)
		for i := range s.Stages {
			s.Stages[i].Work.SD = 0.56 * s.Stages[i].Work.Mean
			s.Stages[i].Work.Shape = simulate.Exponential
		}
		v := verdictOn(t, windows(t, s)...)
		for _, x := range v.Findings {
			if x.Kind == KindRank && x.IsFlagged() {
				t.Errorf("seed %d: %v", seed, show(x))
			}
		}
		if w := v.Windows[0]; w.Main.Strong() || w.Paper != nil && w.Paper.Strong() {
			t.Errorf("seed %d: strong label among %v", seed, w.Main.Labels)
		}
	}
}

// TestSeldomInEveryWindow: one slow step in each of many short windows is chance
// in each, and the same rank in all of them is not; another rank in each is.
func TestSeldomInEveryWindow(t *testing.T) {
	for _, same := range []bool{true, false} {
		s := spec(4, 10, 7)
		s.Schedule.Windows = 10
		for w := range 10 {
			rank := 1
			if !same {
				rank = w % 4
			}
			s.Faults = append(s.Faults, simulate.Fault{Family: simulate.ForwardHost, Delay: 400, Ranks: []int{rank}, When: simulate.When{From: int64(10*w + 5), Every: 1000}})
		}
		called := 0
		for _, x := range verdictOn(t, windows(t, s)...).Findings {
			if x.Kind == KindRank && x.IsFlagged() {
				called++
				if *x.Rank != 1 {
					t.Errorf("same %v: %v", same, show(x))
				}
			}
		}
		if same != (called == 1) {
			t.Errorf("same %v: %d ranks called", same, called)
		}
	}
}

// TestCallbackThatComesAndGoes: the same stage in a window with the fault and
// in windows without is evidence, though all ranks look alike.
func TestGrowthBetweenWindows(t *testing.T) {
	s := spec(8, 40, 5, simulate.Fault{Family: simulate.CallbackSync, Delay: 120, Ranks: []int{1}, Windows: []int{1}})
	s.Schedule.Windows = 3
	v := verdictOn(t, windows(t, s)...)
	first := v.Findings[0]
	if first.Kind != KindStage || first.Stage != simulate.StageCallbacks || first.Confidence != evidence.Supported || !slices.Equal(first.Windows, []int64{1}) {
		t.Errorf("suspect %v in windows %v", show(first), first.Windows)
	}
}

// TestGrowthOfOneRank: a stage that grows on one of two ranks is not slow on all, though
// nobody is charged where no synchronisation point is shown.
func TestGrowthOfOneRank(t *testing.T) {
	for seed := range uint64(10) {
		s := spec(2, 10, seed, simulate.Fault{Family: simulate.OptimizerHost, Delay: 120, Ranks: []int{1}, Windows: []int{2}})
		s.Schedule.Windows = 3
		ws := windows(t, s)
		for _, w := range ws {
			w.Wall = nil
			w.Schema.Stages = slices.Clone(w.Schema.Stages)
			for i, name := range w.Schema.Stages { // no name tells where ranks synchronise
				w.Schema.Stages[i] = strings.Replace(name, "backward", "compute", 1)
			}
		}
		v := verdictOn(t, ws...)
		if i := slices.IndexFunc(v.Findings, func(f Finding) bool { return f.Cause == CauseRegression }); i >= 0 {
			t.Errorf("seed %d: suspect %v", seed, show(v.Findings[i]))
		}
	}
}

// TestGrowthBetweenGaps: with two synchronisation points in a step, windows of one
// run that do not follow each other are cut at the same one, and compare.
func TestGrowthBetweenGaps(t *testing.T) {
	for seed := range uint64(12) {
		s := spec(8, 100, seed, simulate.Fault{Family: simulate.CallbackSync, Delay: 120, Ranks: []int{1}, Windows: []int{1}})
		s.Schedule.Windows, s.Schedule.Gap = 3, 10
		v := verdictOn(t, windows(t, s)...)
		if w := v.Windows; w[1].Main.SyncPoint.Name != w[0].Main.SyncPoint.Name || w[1].Main.SyncPoint.Name != w[2].Main.SyncPoint.Name {
			t.Errorf("seed %d: windows cut at %s, %s and %s", seed, w[0].Main.SyncPoint.Name, w[1].Main.SyncPoint.Name, w[2].Main.SyncPoint.Name)
		}
		first := v.Findings[0]
		if first.Kind != KindStage || first.Stage != simulate.StageCallbacks || first.Confidence != evidence.Supported || !slices.Equal(first.Windows, []int64{1}) {
			t.Errorf("seed %d: suspect %v in windows %v", seed, show(first), first.Windows)
		}
	}
}

// TestSlowStepsOnAllRanks: one rank spends 400 ms in every tenth callback, and
// all wait for it there. The callbacks are 4 % of a usual step, so that another
// stage is charged most; but only the callbacks have something to fix.
func TestSlowStepsOnAllRanks(t *testing.T) {
	for seed := range uint64(3) {
		for _, delay := range []simulate.Millis{400, 1200} { // with 1200 they are charged most
			v := verdictOn(t, windows(t, spec(8, 100, seed, simulate.Fault{Family: simulate.CallbackSync, Delay: delay, Ranks: []int{3}, When: simulate.When{Every: 10}}))...)
			first := v.Findings[0]
			if first.Kind != KindStage || first.Stage != simulate.StageCallbacks || first.Confidence != evidence.Supported {
				t.Errorf("%v ms, seed %d: suspect %v", delay, seed, show(first))
			}
			added := float64(delay) / 10
			if want := added / (222 + added); math.Abs(first.RunGain-want) > 0.03 || math.Abs(first.Gain-float64(delay)/(222+float64(delay))) > 0.05 {
				t.Errorf("%v ms, seed %d: fixing saves %.3f of the run, %.3f was put in; %.3f of the slow steps", delay, seed, first.RunGain, want, first.Gain)
			}
		}
	}
}

// TestStruckSteps: a fault that held in some windows only is not told as one of
// the whole run.
func TestStruckSteps(t *testing.T) {
	for _, c := range []struct {
		in      []int
		pattern Pattern
	}{{[]int{1}, PatternWindow}, {[]int{0, 1, 3}, PatternIntermittent}, {[]int{0, 1, 2, 3}, PatternConstant}} {
		s := spec(8, 40, 5, simulate.Fault{Family: simulate.Data, Delay: 120, Ranks: []int{2}, Windows: c.in})
		s.Schedule.Windows = 4
		f := verdictOn(t, windows(t, s)...).Findings[0]
		if f.Struck.Pattern != c.pattern || f.Struck.Count < 38*len(c.in) || f.Struck.Count > 40*len(c.in) {
			t.Errorf("fault in windows %v: %+v", c.in, f.Struck)
		}
		if want := f.Gain * float64(len(c.in)) * 335 / (4*215 + float64(len(c.in))*120); math.Abs(f.RunGain-want) > 0.03 {
			t.Errorf("fault in windows %v: gain %.3f there, %.3f of the run", c.in, f.Gain, f.RunGain)
		}
	}
}

func TestRoleGroups(t *testing.T) {
	s := spec(8, 40, 6)
	s.Layout = []simulate.Axis{{Name: "dp", Size: 4}, {Name: "pp", Size: 2}}
	s.Work = []simulate.WorkFactor{{Where: map[string]int{"pp": 1}, Factor: 1.4,
		Stages: []string{simulate.StageData, simulate.StageForward, simulate.StageCallbacks, simulate.StageOptimizer}}}
	v := verdictOn(t, windows(t, s)...)
	if first := v.Findings[0]; first.Kind != KindGroup || first.Group != "pp=1" || first.Confidence >= evidence.Supported {
		t.Errorf("suspect %v", show(first))
	}
	w := v.Windows[0]
	if !slices.Contains(w.Main.Labels, labels.RoleAwareNeeded) || len(w.Main.Routing) != 0 || len(w.Groups) != 2 {
		t.Errorf("labels %v, routing %v, %d groups", w.Main.Labels, w.Main.Routing, len(w.Groups))
	}
	for _, g := range w.Groups {
		if len(g.Ranks) != 4 || g.Strong() || slices.Contains(g.Labels, labels.RoleAwareNeeded) || slices.Contains(g.Labels, labels.TelemetryLimited) {
			t.Errorf("group %s: ranks %v labels %v", g.Group, g.Ranks, g.Labels)
		}
	}

	// A straggler among its peers is still found, and not called strongly.
	s.Faults = []simulate.Fault{{Family: simulate.Data, Delay: 120, Ranks: []int{5}}}
	v = verdictOn(t, windows(t, s)...)
	if first := v.Findings[0]; first.Kind != KindRank || *first.Rank != 5 || first.Confidence != evidence.Supported {
		t.Errorf("suspect %v", show(first))
	}
}

func TestOneRankClaimsNothing(t *testing.T) {
	v := verdictOn(t, windows(t, spec(1, 20, 1))...)
	if len(v.Findings) != 0 || v.Status != answer.TooLittleData {
		t.Errorf("%d suspects, status %v", len(v.Findings), v.Status)
	}
}

// TestOneRankWithDevice: what is known of the only rank is how its device spent
// whole steps.
func TestOneRankWithDevice(t *testing.T) {
	w := windows(t, spec(1, 20, 1))[0]
	of := func(run string, s ...profile.DeviceStep) *profile.DeviceTimes {
		return &profile.DeviceTimes{Run: run, Ranks: []profile.DeviceRank{{Steps: s}}}
	}
	step := profile.DeviceStep{Categories: profile.Categories{End: 100, First: 40, Last: 95, Compute: 43, Communication: 20, Idle: 45, ExposedComm: 12}}
	for name, tt := range map[string]struct {
		d    *profile.DeviceTimes
		want *evidence.DeviceShares
	}{
		"its own":       {of(w.Run, step), &evidence.DeviceShares{Compute: 0.43, Communication: 0.2, Exposed: 0.12, Idle: 0.45}},
		"another run's": {of("other", step), nil},
		"no length":     {of(w.Run, profile.DeviceStep{}), nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(Options{})
			if err := s.Add(w); err != nil {
				t.Fatal(err)
			}
			if err := s.Add(tt.d); err != nil {
				t.Fatal(err)
			}
			v := s.Verdict()
			got, ok := evidence.Find[evidence.DeviceShares](v.Observed)
			if ok != (tt.want != nil) || ok && got != *tt.want || len(v.Findings) != 0 || v.Status != answer.TooLittleData {
				t.Errorf("observed %+v, %d suspects, status %v", v.Observed, len(v.Findings), v.Status)
			}
		})
	}
}

func TestMissingRankWithholdsStrength(t *testing.T) {
	w := windows(t, spec(8, 40, 1, simulate.Fault{Family: simulate.Data, Delay: 120, Ranks: []int{2}}))[0]
	part := w.Select([]int{0, 1, 2, 3, 4, 5, 7})
	v := verdictOn(t, part)
	if s := v.Findings[0]; *s.Rank != 2 || s.Confidence != evidence.Supported {
		t.Errorf("suspect %v", show(s))
	}
	if p := v.Problems[0]; p.Problem != answer.RanksMissing || !slices.Equal(p.Ranks.IDs(), []int{6}) || p.Of != 8 {
		t.Errorf("problems %+v", v.Problems)
	}
	other := *w.Select([]int{0})
	other.FirstStep, other.Index, other.Side = w.FirstStep+int64(w.Steps()), w.Index+1, nil
	missing := 0
	for _, p := range verdictOn(t, part, &other).Problems {
		if p.Problem == answer.RanksMissing {
			missing += p.N
		}
	}
	if missing != 1+7 {
		t.Errorf("%d ranks missing in two windows, expected 1 and 7", missing)
	}
}

func TestWindowsAreCompared(t *testing.T) {
	s := spec(4, 20, 1)
	s.Schedule.Windows = 2
	ws := windows(t, s)
	twice := *ws[1]
	twice.FirstStep, twice.WorldSize, twice.Side = ws[0].FirstStep+10, 5, nil
	v := verdictOn(t, ws[0], &twice)
	for _, want := range []answer.ProblemKind{answer.WorldChanges, answer.StepsTwice} {
		if !slices.ContainsFunc(v.Problems, func(p answer.Problem) bool { return p.Problem == want }) {
			t.Errorf("problems %+v, none is %s", v.Problems, want)
		}
	}
}

// TestWithoutWallTime: the straggler is still found, and not called strongly.
func TestWithoutWallTime(t *testing.T) {
	w := windows(t, spec(8, 60, 1, simulate.Fault{Family: simulate.Data, Delay: 120, Ranks: []int{5}}))[0]
	w.Wall = nil
	v := verdictOn(t, w)
	if first := v.Findings[0]; first.Kind != KindRank || *first.Rank != 5 || first.Confidence != evidence.Supported {
		t.Errorf("suspect %v", show(first))
	}
}

func TestUndeclaredRolesThatDiffer(t *testing.T) {
	s := spec(8, 40, 6)
	s.Work = []simulate.WorkFactor{{Ranks: []int{4, 5, 6, 7}, Factor: 1.4,
		Stages: []string{simulate.StageData, simulate.StageForward, simulate.StageCallbacks, simulate.StageOptimizer}}}
	w := windows(t, s)[0]
	for r := range w.Ranks {
		w.Ranks[r].Role = nil
	}
	v := verdictOn(t, w)
	if given := v.Windows[0].Main.Labels; !slices.Contains(given, labels.RoleAwareNeeded) {
		t.Errorf("labels %v", given)
	}
	for _, x := range v.Findings {
		if x.Confidence == evidence.Strong {
			t.Errorf("suspect %v", show(x))
		}
	}
}

func TestNothingAdded(t *testing.T) {
	if v := New(Options{}).Verdict(); len(v.Findings) != 0 || len(v.Runs) != 0 {
		t.Errorf("verdict on nothing: %+v", v)
	}
}

// TestTooLittleDecides: what is large and uncertain is no answer of data that exclude
// nothing; what is certain is.
func TestTooLittleDecides(t *testing.T) {
	for name, c := range map[string]struct {
		confidence evidence.Confidence
		can        exclusion
		want       answer.Status
	}{
		"uncertain, of too few steps": {evidence.Ambiguous, excludesNothing, answer.TooLittleData},
		"uncertain, of enough":        {evidence.Ambiguous, excludesAll, answer.ImbalanceRun},
		"certain, of too few":         {evidence.Strong, excludesNothing, answer.ImbalanceRun},
	} {
		t.Run(name, func(t *testing.T) {
			claims := []Finding{{Kind: KindWorkload, Cause: CauseTurns, Confidence: c.confidence, Cost: Cost{Score: 0.3}}}
			if got := statusOf(claims, nil, c.can); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// TestWorseByAllThatIsLate: of two runs that are alike, that one is first in which all late ranks save more together.
func TestWorseByAllThatIsLate(t *testing.T) {
	late := func(score, together float64) *RunVerdict {
		return &RunVerdict{Status: answer.Straggler, Confidence: evidence.Strong, Together: together, Findings: []Finding{{Cause: CauseLate, Confidence: evidence.Strong, Cost: Cost{Score: score}}}}
	}
	if a, b := late(0.06, 0.15), late(0.12, 0); !worse(a, b) || worse(b, a) {
		t.Error("the run with more late ranks is not first")
	}
}

// TestChangingRanks: a run in which other ranks take part in each window is looked at in stretches of no more
// durations than others.
func TestChangingRanks(t *testing.T) {
	one := &series{length: stretchDurations}
	wide := func(id int) windowPart {
		return windowPart{Window: trace.Window{Schema: trace.Schema{Stages: []string{"a"}}, Ranks: []trace.Rank{{ID: id}}, Durations: []int64{1}}}
	}
	n := 0
	for ; !one.outgrows(wide(n)); n++ {
		if one.take(wide(n)); n > stretchDurations {
			t.Fatal("a stretch of any number of ranks")
		}
	}
	if cells := (n + 1) * (n + 1); cells <= stretchDurations || n*n > stretchDurations {
		t.Errorf("a stretch of %d steps and ranks, at most %d durations", n, stretchDurations)
	}
	if same := wide(n - 1); (&series{}).outgrows(same) {
		t.Error("a stretch of one window is too wide")
	}
}

// TestStageListsKept: of a run with another list of stages in each window the lists with most steps are kept.
func TestStageListsKept(t *testing.T) {
	s := &steps{}
	for i := range 3 * mostLists {
		w := windowPart{Window: trace.Window{Schema: trace.Schema{Stages: []string{fmt.Sprint(i)}}, Ranks: []trace.Rank{{ID: 0}}, Durations: []int64{1}}}
		w.of = &heldWindow{w: &w.Window, release: dropTimes}
		if s.add(w); i == 0 {
			s.add(w)
		}
	}
	if n := len(s.series); n != mostLists {
		t.Errorf("%d lists are kept, want %d", n, mostLists)
	}
	if first := s.series[0]; first.total != 2 || first.open[0].Schema.Stages[0] != "0" {
		t.Errorf("the list with most steps has gone: %v", first.open)
	}
}

// TestMostRuns: what is judged together is bounded, by a number that no table of a real job has.
func TestMostRuns(t *testing.T) {
	s := New(Options{})
	for i := range mostRuns {
		s.runs = append(s.runs, &run{name: fmt.Sprint(i)})
	}
	w := &trace.Window{Run: "0", WorldSize: 1, Ranks: []trace.Rank{{ID: 0}}, Schema: trace.Schema{Stages: []string{"a"}}, Durations: []int64{1}}
	if err := s.Add(w); err != nil {
		t.Errorf("a window of a run that is known: %v", err)
	}
	w.Run = "one more"
	if err := s.Add(w); !errors.Is(err, input.ErrTooLarge) || !strings.Contains(err.Error(), "sfstat batch") {
		t.Errorf("one run more: %v", err)
	}
}
