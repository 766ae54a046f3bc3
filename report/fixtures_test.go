package report

import (
	"errors"
	"fmt"
	"math"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// The verdicts that the tests render are built by hand: report must not care
// where a verdict comes from.

const ms = int64(1e6)

var stageList = []string{"data.next_wait", "model.fwd_loss_cpu_wall", "model.backward_cpu_wall", "callbacks.cpu_wall",
	"optim.step_cpu_wall", "step.other_cpu_wall"}

func ptr[T any](v T) *T { return &v }

func ranksTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// window is 120 steps of 8 ranks with the given advances per step in tenths of
// a millisecond; the largest leads.
func window(run string, index int64, tenths ...int64) *frontier.Result {
	r := &frontier.Result{Run: run, Window: index, FirstStep: 20 + 120*index, Steps: 120, WorldSize: 8, Ranks: ranksTo(8),
		Cut: frontier.CutStep, CutReason: frontier.CutUnknownGaps}
	for _, t := range tenths {
		r.Makespan += 120 * t * ms / 10
	}
	for i, t := range tenths {
		advance := 120 * t * ms / 10
		share := float64(advance) / float64(r.Makespan)
		r.Stages = append(r.Stages, frontier.Stage{Name: stageList[i], Advance: advance, Share: &share, Gain: ptr(0.0),
			MaxShare: ptr(share * 0.9), MeanShare: ptr(share * 0.8), Latest: ranksTo(8), Lag: advance / 50, LagIncrease: advance / 60, Gap: advance / 100})
		if advance > r.Stages[r.Leader.Stage].Advance {
			r.Leader.Stage = i
		}
	}
	r.Labels = []labels.Label{labels.FrontierAccounting}
	r.Routing = []int{r.Leader.Stage}
	r.Quality = frontier.Quality{ClosureResidual: 0.004, Wall: true, GatherOK: true, SchemaOK: true}
	r.SyncPoint.At = -1
	r.ModelFit = frontier.Fit{Mode: frontier.FitAuto, Why: frontier.FitNoSync}
	return r
}

func accuse(r *frontier.Result, stage, rank int, gain float64) {
	s := &r.Stages[stage]
	s.Gain, s.SyncGain, s.Latest = ptr(0.012), ptr(gain), []int{rank}
	r.Leader = frontier.Leader{Stage: stage, Rank: ptr(rank), Steps: 118, Confident: 119, Switches: 2, Rate: ptr(2.0 / 118)}
	r.Culprits = []claim.Claim{{Ranks: []int{rank}, Parts: []claim.Part{{Stage: stage, Size: 119 * ms, Charged: s.Lag * 40}}, Size: 119 * ms, Saves: claim.Exact(gain), Steps: claim.Struck{Count: 118, Of: 119}, P: 3.2e-14}}
}

// single makes a verdict of one run.
func single(rv diagnose.RunVerdict) *diagnose.Verdict {
	rv.MinGain = 0.1
	return &diagnose.Verdict{RunVerdict: rv, Runs: []diagnose.RunVerdict{rv}, Thresholds: diagnose.Thresholds{Gates: gates.Default()}}
}

// strongWindow has a host callback of rank 5 that costs 120 ms a step, by the
// sync cut and by the paper's.
func strongWindow() diagnose.Window {
	main := window("job-42", 0, 158, 603, 1020, 1266, 143, 9)
	accuse(main, 3, 5, 0.372)
	main.Cut, main.CutReason = frontier.CutSync, frontier.CutAtSyncPoint
	main.Steps = 119
	main.Stages[2].Syncs, main.Stages[2].Wait = true, 104*119*ms
	main.Labels = []labels.Label{labels.FrontierAccounting, labels.SyncWaitDependent, labels.LikelySyncWait}
	main.Routing = []int{3, 2, 1}
	main.ModelFit = frontier.Fit{Mode: frontier.FitAuto, Holds: true,
		Why: frontier.FitInduced, Stage: stageList[3], Gain: 0.372}
	main.SyncPoint = frontier.SyncPoint{Evidence: points.Shown, At: 2, Name: stageList[2], Skew: 81000, Drift: 0.4, Boundaries: []frontier.Boundary{
		{Name: stageList[1], Point: points.Point{Stage: 1, Slope: -0.02, Low: -0.09, High: 0.06}},
		{Name: stageList[2], Point: points.Point{Stage: 2, Slope: -0.98, Low: -1.01, High: -0.94}, Syncs: true},
	}}
	saves := 0.38
	main.Saves = &saves
	main.Baselines = baselines()
	paper := window("job-42", 0, 158, 603, 2196, 101, 132, 10)
	paper.Labels = append(paper.Labels, labels.CoCritical)
	paper.Reasons = []labels.Reason{labels.LowGainNoModelFit}
	paper.Routing, paper.CoCritical = []int{2, 1}, []int{2}
	return diagnose.Window{Main: main, Paper: paper}
}

func baselines() []frontier.Ordering {
	scores := []float64{0.05, 0.19, 0.62, 0.08, 0.05, 0.01}
	var out []frontier.Ordering
	for m := frontier.StageMax; m <= frontier.Rank0; m++ {
		out = append(out, frontier.Ordering{Method: m, Scores: scores, Ranking: []int{2, 1, 3, 0, 4, 5}, Candidates: []int{2, 1}})
	}
	out[2] = frontier.Ordering{Method: frontier.Spread, Ranking: []int{0, 1, 2, 3, 4, 5}, Candidates: []int{}}
	return out
}

func strongRun() diagnose.RunVerdict {
	return diagnose.RunVerdict{Run: "job-42", Status: answer.Straggler, Confidence: evidence.Strong,
		Findings: []diagnose.Finding{
			{Kind: diagnose.KindRank, Cause: diagnose.CauseLate,
				Place: diagnose.Place{Rank: ptr(5), Host: "node0", LocalRank: ptr(5), Stage: "callbacks.cpu_wall"},
				Cost: diagnose.Cost{Excess: 119 * ms, Step: 323 * ms, Score: 0.372, Explained: 14161 * ms, Gain: 0.372, RunGain: 0.372,
					Struck: diagnose.Struck{Count: 118, Of: 119, First: 20, Last: 138, Pattern: diagnose.PatternConstant}},
				Confidence: evidence.Strong, Windows: []int64{0}, Evidence: []evidence.Observation{
					evidence.LastToArrive{Rank: 5, Stage: "callbacks.cpu_wall", N: 118, Of: 119, Excess: 119 * ms, P: 1e-13},
					evidence.Replay{Ranks: []int{5}, Saves: 0.372, Charged: 0.37},
					evidence.SyncPoint{Stage: "model.backward_cpu_wall", By: "slope", Slope: 0.99, Low: 0.95, High: 1.03}}},
			{Kind: diagnose.KindRank, Cause: diagnose.CauseLate, Place: diagnose.Place{Rank: ptr(2), Stage: "model.fwd_loss_cpu_wall"},
				Cost: diagnose.Cost{Excess: 3 * ms, Step: 207 * ms, Score: 0.011, Explained: 402 * ms, Gain: 0.011, RunGain: 0.011,
					Struck: diagnose.Struck{Count: 1, Of: 119, First: 20, Last: 138, Pattern: diagnose.PatternIntermittent}},
				Confidence: evidence.Ambiguous, BelowMinGain: true, Windows: []int64{0}, Evidence: []evidence.Observation{
					evidence.LastToArrive{Rank: 2, Stage: "model.fwd_loss_cpu_wall", N: 1, Of: 1, Excess: 3 * ms, P: 0.2},
					evidence.Lack{Reason: evidence.FewOccurrences, AtMost: evidence.Ambiguous, P: 0.2}}},
		},
		Undecided: []answer.Undecided{{Question: answer.RankHidden, Stage: "model.backward_cpu_wall", Hides: 40 * ms, Time: 102 * ms, Step: 323 * ms, Needs: answer.SourceArrivals}},
		Next: []answer.Action{{Action: answer.SampleStack, Host: "node0", Ranks: []int{5}, Stages: []string{"callbacks.cpu_wall"}, With: answer.SourcePySpy},
			{Action: answer.Profile, Ranks: []int{5}, Peers: []int{0, 3}, Steps: &[2]int64{20, 138}, With: answer.SourceProfiler}},
		Windows: []diagnose.Window{strongWindow()}}
}

func strongCase() *diagnose.Verdict { return single(strongRun()) }

func stageOnlyCase() *diagnose.Verdict {
	w := window("job-43", 0, 158, 603, 2420, 21, 143, 9)
	w.Stages[2].Gain, w.Stages[2].Syncs = ptr(0.214), true
	w.Labels = append(w.Labels, labels.DirectExposure, labels.ForwardHostOverheadSuspected)
	w.Device = &frontier.Device{Channel: "model.fwd_loss_cuda_event_ms", Stages: []int{1}, Names: []string{w.Stages[1].Name}, Rank: 3, Time: 11.2e6, Wall: 60.3e6, Peers: 11e6, Excess: 0.2e6,
		Events: labels.Events{Sampled: 12, Ready: 12, Share: 0.03, OverWall: 0.19}}
	w.Routing = []int{2}
	return single(diagnose.RunVerdict{Run: "job-43", Status: answer.SlowEverywhere, Confidence: evidence.Supported,
		Findings: []diagnose.Finding{{Kind: diagnose.KindStage, Cause: diagnose.CauseSlowSteps, Place: diagnose.Place{Stage: "model.backward_cpu_wall"},
			Cost: diagnose.Cost{Excess: 430 * ms, Step: 633 * ms, Score: 0.214, Explained: 8600 * ms, Gain: 0.68, RunGain: 0.214,
				Struck: diagnose.Struck{Count: 20, Of: 119, First: 20, Last: 138, Pattern: diagnose.PatternIntermittent}},
			Confidence: evidence.Supported, Windows: []int64{0}, Evidence: []evidence.Observation{
				evidence.Lack{Reason: evidence.SeveralCauses, AtMost: evidence.Supported}}}},
		Windows: []diagnose.Window{{Main: w}}})
}

func nothingCase() *diagnose.Verdict {
	w := window("job-44", 0, 158, 603, 1210, 21, 143, 9)
	w.Labels, w.Reasons = append(w.Labels, labels.CoCritical), []labels.Reason{labels.LowGainNoModelFit}
	w.Routing, w.CoCritical = []int{2, 1}, []int{2}
	return single(diagnose.RunVerdict{Run: "job-44", Status: answer.NoStraggler,
		Observed: []evidence.Observation{evidence.NobodyLate{Ranks: 8, Steps: 119, Skew: 400_000, Step: 207 * ms,
			Last: &evidence.LastMostOften{Rank: 5, N: 21, Of: 119, Behind: 410_000, P: 0.62}}},
		Limits:   []answer.Limit{{Stage: "data.next_wait", Reported: 21 * ms}},
		Coverage: []answer.Coverage{{Stage: "data.next_wait", Seen: true, Least: 21 * ms}},
		Windows:  []diagnose.Window{{Main: w}}})
}

func unseenCase() *diagnose.Verdict {
	rv := nothingCase().RunVerdict
	rv.Status, rv.Limits = answer.Unseen, append(rv.Limits, answer.Limit{Stage: "model.backward_cpu_wall", MayHide: 102 * ms})
	rv.Coverage = append(rv.Coverage, answer.Coverage{Stage: "model.fwd_loss_cpu_wall", Hides: 70 * ms, Least: 70 * ms, Reason: answer.TooNoisy, Needs: answer.SourceMoreSteps},
		answer.Coverage{Stage: "model.backward_cpu_wall", Hides: 102 * ms, Reason: answer.RanksWait, Needs: answer.SourceArrivals},
		answer.Coverage{Stage: "step.other_cpu_wall", Reason: answer.NotRecorded, Needs: answer.SourceWall})
	rv.Next = []answer.Action{{Action: answer.TurnOn, With: answer.SourceArrivals, Stages: []string{"model.backward_cpu_wall"}}}
	rv.Latent = &answer.Latent{Steps: 119, Margin: 2_070_000, Step: 207 * ms, Tau: 1.4, Block: 3, Blocks: 39, Differences: []answer.Difference{
		{Rank: 5, P: 1e-7, Confidence: evidence.Strong, Difference: claim.Difference{Sum: true, Level: 8 * ms, Total: 8 * ms, D: 3.1, Alone: 1e-7, Blame: 0.002, Last: 88, Of: 119, Together: true,
			Places:   []claim.Place{{Beyond: -2 * ms, Peers: 0.98, Rank: 1, D: 0.14}, {Beyond: 2 * ms, Peers: 0.02, Rank: 0.45, D: 3.1}},
			Quarters: []claim.Quarter{{Last: 22, Of: 30}, {Last: 20, Of: 30}, {Last: 25, Of: 30}, {Last: 21, Of: 29}}},
			Stages: []answer.Excess{{Stage: "model.fwd_loss_cpu_wall", Time: 5 * ms}, {Stage: "data.next_wait", Time: 3 * ms}}},
		{Rank: 2, P: 0.4, Confidence: evidence.Ambiguous, Difference: claim.Difference{Level: 40_000, Margin: 2_070_000, Total: 40_000, D: 1.9, Alone: 0.003, Blame: 0.4, Last: 14, Of: 119},
			Stages: []answer.Excess{{Stage: "data.next_wait", Time: 40_000}}}}}
	return single(rv)
}

func severalRunsCase() *diagnose.Verdict {
	quiet, stage, strong := unseenCase().RunVerdict, stageOnlyCase().RunVerdict, strongRun()
	many := strongRun()
	many.Run, many.Status, many.Confidence = "a-run-with-a-rather-long-name-r128-s7", answer.UndecidedRun, evidence.Ambiguous
	many.Findings = []diagnose.Finding{{Kind: diagnose.KindOp, Place: diagnose.Place{Rank: ptr(113), Op: "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", Stage: "model.backward_cpu_wall"}, Cost: diagnose.Cost{Explained: 210 * ms, Gain: 0.031}, Confidence: evidence.Ambiguous}}
	return &diagnose.Verdict{RunVerdict: strong, Runs: []diagnose.RunVerdict{quiet, stage, strong, many}, Thresholds: diagnose.Thresholds{Gates: gates.Default()}}
}

func severalWindowsCase() *diagnose.Verdict {
	rv := strongRun()
	rv.Windows, rv.Findings[0].Windows = nil, nil
	for i := range int64(12) {
		w := window("job-42", i, 158, 603, 1020+10*i, 101, 143, 9)
		w.Labels, w.Reasons = append(w.Labels, labels.CoCritical), []labels.Reason{labels.LowGainNoModelFit}
		if i%5 == 2 {
			w = strongWindow().Main
			w.Window, w.FirstStep = i, 20+120*i
			rv.Findings[0].Windows = append(rv.Findings[0].Windows, i)
		}
		rv.Windows = append(rv.Windows, diagnose.Window{Main: w})
	}
	return single(rv)
}

func manyWindowsCase() *diagnose.Verdict {
	rv := nothingCase().RunVerdict
	rv.Windows = nil
	for i := range int64(1000) {
		rv.Windows = append(rv.Windows, diagnose.Window{Main: window("job-44", i, 158, 603, 1210, 21, 143, 9)})
	}
	return single(rv)
}

func groupsCase() *diagnose.Verdict {
	main := window("pipeline", 0, 158, 603, 1420, 21, 143, 9)
	main.Labels, main.Reasons, main.Routing = append(main.Labels, labels.RoleAwareNeeded), []labels.Reason{labels.RoleMix}, nil
	main.Leader = frontier.Leader{Stage: -1}
	w := diagnose.Window{Main: main}
	for g := range 2 {
		r := window("pipeline", 0, 158, 603+int64(700*g), 520, 21, 143, 9)
		r.Group, r.Ranks = fmt.Sprintf("pp=%d", g), []int{4 * g, 4*g + 1, 4*g + 2, 4*g + 3}
		for i := range r.Stages {
			r.Stages[i].Latest = r.Ranks
		}
		w.Groups = append(w.Groups, r)
	}
	accuse(w.Groups[1], 1, 6, 0.31)
	w.Groups[1].Labels = append(w.Groups[1].Labels, labels.SyncWaitDependent, labels.LikelySyncWait)
	return single(diagnose.RunVerdict{Run: "pipeline", Status: answer.Straggler, Confidence: evidence.Strong,
		Findings: []diagnose.Finding{{Kind: diagnose.KindRank, Cause: diagnose.CauseLate, Place: diagnose.Place{Rank: ptr(6), Group: "pp=1", Stage: "model.fwd_loss_cpu_wall"},
			Cost: diagnose.Cost{Excess: 70 * ms, Step: 226 * ms, Score: 0.31, Explained: 8400 * ms, Gain: 0.31, RunGain: 0.31,
				Struck: diagnose.Struck{Count: 119, Of: 119, First: 20, Last: 138, Pattern: diagnose.PatternConstant}},
			Confidence: evidence.Strong, Windows: []int64{0}, Evidence: []evidence.Observation{
				evidence.LastToArrive{Rank: 6, Stage: "model.fwd_loss_cpu_wall", N: 117, Of: 120, Excess: 70 * ms, P: 1e-9}}}},
		Windows: []diagnose.Window{w}})
}

func oneRankCase() *diagnose.Verdict {
	w := window("laptop", 0, 158, 603, 1420, 21, 143, 9)
	w.WorldSize, w.Ranks = 1, []int{0}
	for i := range w.Stages {
		w.Stages[i].Latest, w.Stages[i].Lag, w.Stages[i].LagIncrease, w.Stages[i].Gap = []int{0}, 0, 0, 0
	}
	w.Reasons = []labels.Reason{labels.SingleRank}
	return single(diagnose.RunVerdict{Run: "laptop", Status: answer.TooLittleData,
		Undecided: []answer.Undecided{{Question: answer.RanksNotRecorded, Needs: answer.SourceAllRanks}}, Windows: []diagnose.Window{{Main: w}}})
}

func belowFloorCase() *diagnose.Verdict {
	w := window("tiny", 0, 1, 2, 3)
	w.Steps, w.FirstStep, w.Makespan = 2, 0, 0
	for i := range w.Stages {
		s := &w.Stages[i]
		s.Advance = int64(1+i) * 137413
		s.Share, s.Gain, s.MaxShare, s.MeanShare = nil, nil, nil, nil
		w.Makespan += s.Advance
	}
	w.Reasons, w.Routing, w.Leader = []labels.Reason{labels.DenominatorBelowFloor}, nil, frontier.Leader{Stage: -1}
	return single(diagnose.RunVerdict{Run: "tiny",
		Windows: []diagnose.Window{{Main: w}}})
}

func telemetryCase() *diagnose.Verdict {
	w := window("job-45", 4, 158, 603, 1420, 21, 143, 9)
	w.Ranks, w.Routing, w.Leader = []int{0, 1, 2, 4, 5, 6}, nil, frontier.Leader{Stage: -1}
	w.Quality = frontier.Quality{ClosureResidual: 0.081, OverlapError: 0.002, Wall: true, Missing: trace.RankSetOf([]int{3, 7}), SchemaOK: true,
		Notes: []input.Note{{Kind: input.NoteMissingRanks, Text: "2 of 8 ranks did not report steps 500 to 619: 3,7"},
			{Kind: input.NoteRecorder, Text: "the recorder could not gather the window on rank 0"}}}
	for i := range w.Stages {
		w.Stages[i].Latest = []int{0, 2, 5, 6}
	}
	w.Labels = append(w.Labels, labels.TelemetryLimited)
	w.Reasons = []labels.Reason{labels.ClosureResidual, labels.GatherFailed, labels.MissingRanks}
	empty := window("job-45", 5)
	empty.Steps, empty.Ranks, empty.Routing = 0, nil, nil
	empty.Leader = frontier.Leader{Stage: -1}
	empty.Labels, empty.Reasons = []labels.Label{labels.TelemetryLimited}, []labels.Reason{labels.VectorUnusable}
	return single(diagnose.RunVerdict{Run: "job-45", Confidence: evidence.Insufficient,
		Problems:  []answer.Problem{{Problem: answer.RanksMissing, Window: ptr(int64(4)), Ranks: trace.RankSetOf([]int{3, 7}), Steps: &[2]int64{500, 619}, N: 2, Of: 8}},
		Undecided: []answer.Undecided{{Question: answer.SyncPointUnknown, N: 120, Needs: answer.SourceMoreSteps}},
		Windows:   []diagnose.Window{{Main: w}, {Main: empty}}})
}

// hostile are names that try to steer a terminal, a page or a spreadsheet.
const (
	hostileRun   = "=cmd|'/c calc'!A1\x1b[2J\x1b]0;owned\x07"
	hostileStage = "a|b`c`\n<img src=x onerror=alert(1)>\u202etxt.exe \xff\xfe @everyone [x](javascript:y) 数据加载等待数据加载等待"
)

func hostileCase() *diagnose.Verdict {
	rv := strongRun()
	rv.Run = hostileRun
	rv.Findings[0].Stage, rv.Findings[0].Host = hostileStage, "\x9b31m and \u0085 and \u2028 too"
	rv.Findings[0].Evidence = []evidence.Observation{evidence.LastToArrive{Rank: 5, Stage: hostileStage, N: 1, Of: 2, P: math.NaN()}}
	rv.Findings[0].Score, rv.Findings[1].Gain = math.NaN(), math.Inf(1)
	rv.Next[0].Stages = []string{hostileStage}
	for _, r := range []*frontier.Result{rv.Windows[0].Main, rv.Windows[0].Paper} {
		r.Run, r.Stages[3].Name = hostileRun, hostileStage
		r.Stages[4].MaxShare, r.Quality.OverlapError = ptr(math.NaN()), math.Inf(1)
		r.Quality.Notes = []input.Note{{Kind: input.NoteRecorder, Text: "note of " + hostileRun}}
	}
	return single(rv)
}

func emptyCase() *diagnose.Verdict {
	return &diagnose.Verdict{Thresholds: diagnose.Thresholds{Gates: gates.Default()}}
}

var verdictCases = []struct {
	name string
	make func() *diagnose.Verdict
}{
	{"strong", strongCase}, {"stage-only", stageOnlyCase}, {"nothing", nothingCase}, {"unseen", unseenCase}, {"several-runs", severalRunsCase},
	{"several-windows", severalWindowsCase}, {"groups", groupsCase}, {"one-rank", oneRankCase}, {"below-floor", belowFloorCase},
	{"telemetry-limited", telemetryCase}, {"hostile", hostileCase}, {"empty", emptyCase},
}

// results are the frontiers that "sfstat frontier" would have for a verdict.
func results(v *diagnose.Verdict) []*frontier.Result {
	var out []*frontier.Result
	for _, r := range v.All() {
		for _, w := range r.Windows {
			out = append(append(out, w.Main), w.Groups...)
		}
	}
	return out
}

func testProblems() []Problem {
	return []Problem{
		{Path: "logs/rank-3.jsonl", Err: input.At(input.Pos{File: "logs/rank-3.jsonl", Line: 812},
			input.Bad(input.ErrNegative, "durations_ns[4][2] is -17; expected 0 or more, check the clock of rank 3"))},
		{Path: "core.12345", Err: errors.New("no reader knows this content; expected packets, a window archive or a trace")},
	}
}
