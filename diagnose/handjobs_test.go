package diagnose

import (
	"fmt"
	"math"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/trace"
)

// longer makes a stage of some ranks longer, ms, in some steps; nil: in all. Rank −1 is all ranks.
type longer struct {
	ranks []int
	stage int
	ms    int64
	on    func(step int) bool
}

// handStages are those of jobs by hand: ranks wait for the last at the end of backward.
var handStages = []string{"data.next_wait", "model.fwd_loss_cpu_wall", "model.backward_cpu_wall", "optim.step_cpu_wall"}

const (
	handRanks, handSteps, handFirst = 4, 40, 100
	msec                            = 1_000_000
)

// handWork returns what a rank does itself in the stages of a step, ns: 10 ms of data, 50 of forward, 5 of the optimizer, and what the
// faults add. Of backward it is what comes beside the transfer of 40 ms.
func handWork(step, rank int, faults []longer) (own [4]int64) {
	own = [4]int64{10 * msec, 50 * msec, 0, 5 * msec}
	for _, f := range faults {
		if (f.on == nil || f.on(step)) && (slices.Contains(f.ranks, rank) || slices.Contains(f.ranks, -1)) {
			own[f.stage] += f.ms * msec
		}
	}
	return own
}

// handJob returns such a job of four ranks on two hosts, in windows of so many steps, numbered from 100 on.
func handJob(per int, faults ...longer) (out []trace.Recording) {
	for first := 0; first < handSteps; first += per {
		w := &trace.Window{Run: "hand", WorldSize: handRanks, FirstStep: int64(handFirst + first), Index: int64(first / per), Schema: trace.Schema{Stages: handStages}}
		for r := range handRanks {
			w.Ranks = append(w.Ranks, trace.Rank{ID: r, Host: fmt.Sprintf("host%d", r/2), LocalRank: r % 2})
		}
		for step := first; step < min(first+per, handSteps); step++ {
			last := int64(0)
			for r := range handRanks {
				own := handWork(step, r, faults)
				last = max(last, own[0]+own[1]+own[2])
			}
			for k := range handStages {
				for r := range handRanks {
					own := handWork(step, r, faults)
					if k == 2 {
						own[2] = last - own[0] - own[1] + 40*msec
					}
					w.Durations = append(w.Durations, own[k])
				}
			}
			for r := range handRanks {
				w.Wall = append(w.Wall, last+40*msec+handWork(step, r, faults)[3])
			}
		}
		out = append(out, w)
	}
	return out
}

// handLength returns how long the steps of such a job take together, ns, of those in which something holds: the last rank's work, the
// transfer and the optimizer.
func handLength(on func(step int) bool, faults ...longer) (sum float64) {
	for step := range handSteps {
		if on != nil && !on(step) {
			continue
		}
		last := int64(0)
		for r := range handRanks {
			own := handWork(step, r, faults)
			last = max(last, own[0]+own[1]+own[2])
		}
		sum += float64(last + 45*msec)
	}
	return sum
}

func (f *longer) struck(step int) bool { return f.on == nil || f.on(step) }

// of returns the whole verdict on a job by hand whose synchronising stage is named.
func ofHand(t *testing.T, per int, faults ...longer) *RunVerdict {
	t.Helper()
	return judged(t, Options{Frontier: frontier.Options{SyncAfter: handStages[2]}}, handJob(per, faults...)...)
}

// handJobs are jobs by hand, and the faults that each finding is about.
var handJobs = map[string]struct {
	faults []longer
	want   []handFinding
	status answer.Status
}{
	"a rank": {[]longer{{[]int{2}, 1, 40, nil}}, []handFinding{{KindRank, CauseLate, []int{2}, []int{0}, PatternConstant, 0}}, answer.Straggler},
	"two ranks, one of which hides the other": {[]longer{{[]int{1}, 1, 40, nil}, {[]int{3}, 0, 30, nil}},
		[]handFinding{{KindRank, CauseLate, []int{1}, []int{0}, PatternConstant, 0}, {KindRank, CauseLate, []int{3}, []int{1}, PatternConstant, 0}}, answer.Straggler},
	"at every fifth step": {[]longer{{[]int{2}, 1, 200, func(step int) bool { return step%5 == 3 }}}, []handFinding{{KindRank, CauseLate, []int{2}, []int{0}, PatternPeriodic, 5}}, answer.Straggler},
	"for ten steps":       {[]longer{{[]int{2}, 1, 100, func(step int) bool { return step >= 10 && step < 20 }}}, []handFinding{{KindRank, CauseLate, []int{2}, []int{0}, PatternWindow, 0}}, answer.Straggler},
	"now and then":        {[]longer{{[]int{2}, 0, 100, func(step int) bool { return step*7%11 < 3 }}}, []handFinding{{KindRank, CauseLate, []int{2}, []int{0}, PatternIntermittent, 0}}, answer.Straggler},
	"from a step on":      {[]longer{{[]int{3}, 0, 100, func(step int) bool { return step >= 24 }}}, []handFinding{{KindRank, CauseLate, []int{3}, []int{0}, PatternWindow, 0}}, answer.Straggler},
	"a host":              {[]longer{{[]int{2, 3}, 1, 60, nil}}, []handFinding{{KindHost, CauseLate, []int{2, 3}, []int{0}, PatternConstant, 0}}, answer.Straggler},
	"the transfer, in four steps": {[]longer{{[]int{-1}, 2, 300, func(step int) bool { return step == 7 || step == 18 || step == 21 || step == 33 }}},
		[]handFinding{{KindStage, CauseSlowSteps, nil, []int{0}, PatternIntermittent, 0}}, answer.Unseen},
	"the transfer, at every eighth step": {[]longer{{[]int{-1}, 2, 300, func(step int) bool { return step%8 == 5 }}}, []handFinding{{KindStage, CausePeriodic, nil, []int{0}, PatternPeriodic, 8}}, answer.SlowEverywhere},
	"the transfer, from a step on":       {[]longer{{[]int{-1}, 2, 60, func(step int) bool { return step >= 20 }}}, []handFinding{{KindStage, CauseRegression, nil, []int{0}, PatternWindow, 0}}, answer.SlowEverywhere},
	"a rank by less than the least gain": {[]longer{{[]int{2}, 1, 8, nil}}, []handFinding{{KindRank, CauseLate, []int{2}, []int{0}, PatternConstant, 0}}, answer.Unseen},
}

// handFinding is what a finding on a job by hand says.
type handFinding struct {
	kind    Kind
	cause   Cause
	ranks   []int
	of      []int // faults that it is about
	pattern Pattern
	period  int
}

// TestHandCosts: what the findings of jobs by hand cost is how much longer the steps are than those of the same job without the fault,
// exactly: alone, with the others fixed before, in the steps that it strikes.
func TestHandCosts(t *testing.T) {
	for name, c := range handJobs {
		for _, per := range []int{40, 20, 8} {
			t.Run(fmt.Sprint(name, " in windows of ", per), func(t *testing.T) {
				v := ofHand(t, per, c.faults...)
				if v.Status != c.status || len(v.Findings) != len(c.want) {
					t.Fatalf("%q, want %v and %d findings", inShort(v), c.status, len(c.want))
				}
				for i, w := range c.want {
					f := v.Findings[i]
					fault := c.faults[w.of[0]]
					all, clean := handLength(nil, c.faults...), handLength(nil)
					rest := slices.Delete(slices.Clone(c.faults), w.of[0], w.of[0]+1)
					saved := all - handLength(nil, rest...)
					struckSteps := []int{}
					for step := range handSteps {
						if fault.struck(step) {
							struckSteps = append(struckSteps, step)
						}
					}
					n := float64(len(struckSteps))
					charged := int64(n) * fault.ms * msec
					if w.kind == KindHost {
						charged *= 2 // of both ranks
					}
					struckNow := handLength(fault.struck, c.faults...)
					want := Cost{Excess: fault.ms * msec, Step: int64(struckNow / n), Explained: charged, Score: float64(charged) / all, RunGain: saved / all, After: 1 - clean/handLength(nil, fault),
						Struck: Struck{Count: int(n), Of: handSteps, First: int64(handFirst + struckSteps[0]), Last: int64(handFirst + struckSteps[len(struckSteps)-1]), Pattern: w.pattern, Period: w.period}}
					want.Gain, want.RunLow, want.RunAtMost = min(1, saved/struckNow), want.RunGain, max(want.RunGain, want.After)
					if w.cause == CauseLate { // no replay is better than half a per cent
						want.RunLow, want.RunAtMost = 0.995*want.RunGain, max(1.005*want.RunGain, want.After)
					}
					near := gocmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })
					if diff := gocmp.Diff(want, f.Cost, near); diff != "" {
						t.Errorf("finding %d: %s", i, diff)
					}
					if got := (&f).lateRanks(); w.ranks != nil && !slices.Equal(got, w.ranks) || f.Kind != w.kind || f.Cause != w.cause || f.Stage != handStages[fault.stage] || f.BelowMinGain != (want.RunAtMost < 0.1) {
						t.Errorf("%s, want %v, %v of %v", findingInShort(&f), w.kind, w.cause, w.ranks)
					}
					if host := f.Host; len(w.ranks) > 0 && host != fmt.Sprintf("host%d", w.ranks[0]/2) || w.kind == KindRank && *f.LocalRank != w.ranks[0]%2 {
						t.Errorf("on %q", host)
					}
					var shown []int64
					for _, step := range struckSteps {
						if at := int64(step / per); !slices.Contains(shown, at) {
							shown = append(shown, at)
						}
					}
					if !slices.Equal(f.Windows, shown) || v.Windows[f.Detail].Main.Window != shown[0] {
						t.Errorf("shown in windows %v, detail %d, want %v", f.Windows, f.Detail, shown)
					}
					checkHandEvidence(t, &f, &fault, struckSteps, w)
				}
			})
		}
	}
}

// checkHandEvidence compares what speaks for a finding with what its fault did.
func checkHandEvidence(t *testing.T, f *Finding, fault *longer, struck []int, w handFinding) {
	t.Helper()
	n := len(struck)
	if w.cause == CauseLate {
		last, _ := evidence.Find[evidence.LastToArrive](f.Evidence)
		want := evidence.LastToArrive{Rank: w.ranks[0], Stage: f.Stage, N: n, Of: n, Excess: fault.ms * msec, P: last.P}
		if w.kind == KindHost {
			want.Ranks = w.ranks
		}
		if f.RunGain == 0 {
			want.N = 0 // behind another
		}
		if diff := gocmp.Diff(want, last); diff != "" || !(last.P > 0 && last.P <= 0.01) || last.P != f.P {
			t.Errorf("P = %v: %s", f.P, diff)
		}
		replay, _ := evidence.Find[evidence.Replay](f.Evidence)
		if !slices.Equal(replay.Ranks, w.ranks) || replay.Saves != f.RunGain || replay.Charged != f.Score {
			t.Errorf("%+v", replay)
		}
		if e, _ := evidence.Find[evidence.SyncPoint](f.Evidence); e.Stage != handStages[2] {
			t.Errorf("%+v", e)
		}
		if e, together := evidence.Find[evidence.LateTogether](f.Evidence); together != (w.kind == KindHost) || together && (!slices.Equal(e.Ranks, w.ranks) || e.Host != f.Host || e.Gain != f.Gain || e.RunGain != f.RunGain) {
			t.Errorf("%v, %+v", together, e)
		}
		return
	}
	slow, _ := evidence.Find[evidence.SlowSteps](f.Evidence)
	usual := int64(105 * msec)
	want := evidence.SlowSteps{N: n, Of: handSteps, Factor: 1 + float64(fault.ms*msec)/float64(usual), Excess: fault.ms * msec, First: f.Struck.First, Last: f.Struck.Last}
	if diff := gocmp.Diff(want, slow); diff != "" {
		t.Error(diff)
	}
	longer, changed := evidence.Find[evidence.Slower](f.Evidence)
	if changed != (w.cause == CauseRegression) || changed && longer != (evidence.Slower{Stage: f.Stage, Steps: [2]int64{120, 139}, BaseSteps: [2]int64{100, 119}, Time: 100 * msec, BaseTime: 40 * msec}) {
		t.Errorf("%v, %+v", changed, longer)
	}
}

// TestHandCoverage: in jobs by hand every stage but the synchronising one is seen. The least delay found there is a ninth of a step without
// what was found, and 15 % more; what hides in the other is the time in it.
func TestHandCoverage(t *testing.T) {
	for name, c := range handJobs {
		v := ofHand(t, 20, c.faults...)
		clean := 105.0
		if c.want[0].cause != CauseLate { // not a rank's: it is in the steps still
			clean = handLength(nil, c.faults...) / handSteps / msec
		}
		var stages []string
		for i, l := range v.Coverage {
			stages = append(stages, l.Stage)
			want := answer.Coverage{Stage: l.Stage, Seen: true, Least: l.Least}
			if near := float64(l.Least) / msec / (clean / 9 * 1.15); l.Stage == handStages[2] {
				want = answer.Coverage{Stage: l.Stage, Hides: int64((clean - 65) * msec), Reason: answer.RanksWait, Needs: answer.SourceArrivals}
			} else if near < 0.95 || near > 1.01 {
				t.Errorf("%s: %v ms found in %s, want a ninth of %v and 15 %% more", name, l.Least/msec, l.Stage, clean)
			}
			if l != want || v.Limits[i] != (answer.Limit{Stage: l.Stage, Reported: want.Least, MayHide: want.Hides}) {
				t.Errorf("%s: %+v, limit %+v, want %+v", name, l, v.Limits[i], want)
			}
		}
		if !slices.Equal(stages, append(slices.Clone(handStages), "step.other_cpu_wall")) {
			t.Errorf("%s: stages %q", name, stages)
		}
	}
}

// TestHandNext: what to do about findings of jobs by hand, in which steps, on which ranks, beside which.
func TestHandNext(t *testing.T) {
	steps := [2]int64{100, 118}
	window := int64(0)
	action := func(kind answer.ActionKind, with answer.Source, host, stage string, ranks, peers []int) answer.Action {
		return answer.Action{Action: kind, With: with, Host: host, Stages: []string{stage}, Ranks: ranks, Peers: peers, Steps: &steps, Window: &window}
	}
	for name, want := range map[string][]answer.Action{
		"a rank":                             {action(answer.Profile, answer.SourceProfiler, "host1", handStages[1], []int{2}, []int{0, 1}), action(answer.InspectHost, answer.SourceDevice, "host1", handStages[1], []int{2}, nil)},
		"now and then":                       {action(answer.SampleStack, answer.SourcePySpy, "host1", handStages[0], []int{2}, nil), action(answer.CheckLoader, answer.SourceLoader, "host1", handStages[0], []int{2}, nil)},
		"a host":                             {action(answer.InspectHost, answer.SourceDevice, "host1", handStages[1], nil, nil), action(answer.Profile, answer.SourceProfiler, "host1", handStages[1], []int{2}, []int{0})},
		"the transfer, at every eighth step": {action(answer.Profile, answer.SourceProfiler, "", handStages[2], []int{0, 1, 2, 3}, nil)},
		"the transfer, in four steps":        {{Action: answer.TurnOn, With: answer.SourceArrivals, Stages: []string{handStages[2]}}},
	} {
		if diff := gocmp.Diff(want, ofHand(t, 20, handJobs[name].faults...).Next); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestGoesOn: in a run that goes on, a delay that lasts to the last step counts by the steps since it began, when it has lasted for
// long enough; in one that has ended, or when the delay has, it counts by all steps.
func TestGoesOn(t *testing.T) {
	for name, c := range map[string]struct {
		from, to int
		goesOn   bool
		status   answer.Status
	}{
		"lasts":           {handSteps - leastLasting, handSteps, true, answer.Straggler},
		"the run ended":   {handSteps - leastLasting, handSteps, false, answer.Unseen},
		"a step too few":  {handSteps - leastLasting + 1, handSteps, true, answer.Unseen},
		"the delay ended": {handSteps - leastLasting - 5, handSteps - 5, true, answer.Unseen},
	} {
		o := Options{Frontier: frontier.Options{SyncAfter: handStages[2]}, GoesOn: c.goesOn}
		v := judged(t, o, handJob(10, longer{[]int{2}, 1, 22, func(step int) bool { return step >= c.from && step < c.to }})...)
		if v.Status != c.status || len(v.Findings) == 0 || v.Findings[0].Rank == nil || *v.Findings[0].Rank != 2 {
			t.Errorf("%s: %v, %+v, expected %v and rank 2", name, v.Status, v.Findings, c.status)
		}
	}
}
