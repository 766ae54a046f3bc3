package publish

import (
	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/frontier"
)

// Verdict is the run that most needs attention, then the others.
type Verdict struct {
	Schema  string   `json:"schema" doc:"name and version of this form"`
	MinGain *float64 `json:"min_gain" doc:"fraction of a step from which on a finding is large enough to act on"`
	Run
	Others    []Run                             `json:"other_runs" doc:"all runs but the first, in the order of the input"`
	Recurring *Evidence[evidence.RecurringHost] `json:"recurring_host" doc:"host that the late ranks of several runs are on; null: none"`
	Gates     Gates                             `json:"gates" doc:"thresholds that were used"`
}

// Run is the verdict on a run, with its sentence and the accounts behind it.
type Run struct {
	Said
	Name       string                           `json:"run" doc:"identity of the run"`
	Status     Name[answer.Status]              `json:"status" doc:"the answer in one word"`
	Confidence Name[evidence.Confidence]        `json:"confidence" doc:"certainty of the first finding"`
	Findings   []Finding                        `json:"findings" doc:"what may be acted on first, then what is uncertain, then what is small; within each by exposed time explained"`
	Together   *float64                         `json:"run_gain_together" doc:"part of the run that fixing every rank that is late for certain saves; null: not known, or there is one at most"`
	Limits     []Limit                          `json:"limits" doc:"how large a delay of one rank has to be to be reported, and where one may hide"`
	Coverage   []Coverage                       `json:"coverage" doc:"what the recording shows of each place of a step, in the order of the step; empty: of an operator trace, or of NCCL's kernels alone"`
	Latent     []LatentDifference               `json:"latent" doc:"ranks that differ from their peers by more than a margin, however little that costs, the surest first: no part of status, findings or exit code"`
	LatentTest *LatentTest                      `json:"latent_test" doc:"how that was tested; null: there was nothing to test"`
	Observed   []Evidence[evidence.Observation] `json:"observations" doc:"what is known of the run as a whole"`
	Undecided  []Undecided                      `json:"undecided" doc:"what the data cannot answer, each with what would"`
	Problems   []VerdictProblem                 `json:"problems" doc:"what was lost, skipped or refused"`
	Next       []Action                         `json:"next" doc:"what to do next, the most useful first"`
	Devices    []VerdictDevice                  `json:"devices" doc:"how the device of each rank spent its time; empty: not recorded"`
	Earlier    *Earlier                         `json:"earlier" doc:"of a run that goes on: what came before the windows that the verdict is on; null: nothing"`
	Windows    []Window                         `json:"windows" doc:"one for each window by the cut of the analysis, each followed by its role groups; of an operator trace one for the replicas of each pipeline stage"`
	Paper      []Window                         `json:"paper_windows" doc:"the same windows by the step cut without model fit, where that differs"`
}

// Said is a verdict in sentences.
type Said struct {
	Headline string `json:"headline" doc:"what delays the job and what fixing it saves, in two sentences at most"`
	Why      string `json:"why" doc:"what speaks for that, and how certain it is, in words; empty: nothing more is known"`
	Advice   string `json:"advice" doc:"what to do first, in words; next has it as values"`
}

// Finding is one answer: what delays whom, where, how much, how sure.
type Finding struct {
	Kind  Name[diagnose.Kind]  `json:"kind" doc:"what delays the job"`
	Cause Name[diagnose.Cause] `json:"cause" doc:"how it delays the job"`

	Rank      *int                 `json:"rank" doc:"global rank; null: not one rank, or not known which"`
	StandsFor []int                `json:"stands_for" doc:"ranks that a worker of an operator trace stands for, which rank names; null: that rank alone"`
	Host      *string              `json:"host" doc:"host of the rank, or the host that delays the job"`
	LocalRank *int                 `json:"local_rank" doc:"index of the rank on its host"`
	Role      *string              `json:"role" doc:"place of the rank in the layout"`
	Stage     *string              `json:"stage" doc:"stage with the delay; null: several, or not known"`
	Op        *string              `json:"op" doc:"operation with the delay, or at which the rank is waited for"`
	Seq       *int                 `json:"seq" doc:"instance of the operation in its step; null: all of them"`
	Group     *string              `json:"group" doc:"role group, process group or communicator"`
	Ranks     []int                `json:"ranks" doc:"ranks at the ends of a link, of a communicator, or late together"`
	Source    *evidence.SourceLine `json:"source_line" doc:"line of the program with the delay, or that enters the operation"`

	Confidence   Name[evidence.Confidence] `json:"confidence" doc:"how certain it is, whatever its size"`
	BelowMinGain bool                      `json:"below_min_gain" doc:"it is smaller than min_gain, however certain"`

	Gain      *float64 `json:"gain" doc:"part of the steps that it struck that fixing it alone saves"`
	RunGain   *float64 `json:"run_gain" doc:"part of the run that fixing it alone saves"`
	RunLow    *float64 `json:"run_gain_low" doc:"run_gain lies above it, at 90 %"`
	RunAtMost *float64 `json:"run_gain_at_most" doc:"run_gain lies below it, at 90 %: with what a stage in which ranks synchronise may hide, or with the other findings fixed before"`
	Struck    Struck   `json:"steps_struck" doc:"which steps it struck"`
	Step      int64    `json:"step_ns" doc:"length of a step that it struck"`
	Excess    int64    `json:"excess_ns" doc:"how much longer a step that it struck is than one without it"`
	Explained int64    `json:"explained_ns" doc:"exposed time that it explains, over all steps that it struck"`
	Score     *float64 `json:"score" doc:"explained_ns as a fraction of the windows that show it"`

	Evidence []Evidence[evidence.Observation] `json:"evidence" doc:"what speaks for it, the strongest first; then what a higher confidence lacks"`
	Windows  []int64                          `json:"windows" doc:"numbers of the windows that show it"`
}

// Struck is which steps a finding struck.
type Struck struct {
	Count   int                    `json:"count" doc:"steps that it struck"`
	Of      int                    `json:"of" doc:"steps that were compared"`
	First   *int64                 `json:"first" doc:"first of the steps that it struck, as recorded; null: not known"`
	Last    *int64                 `json:"last" doc:"last of them"`
	Pattern Name[diagnose.Pattern] `json:"pattern" doc:"how they lie in the run"`
	Period  *int                   `json:"period" doc:"how many steps lie from one that it struck to the next; null: not always as many"`
}

// Limit is what a delay of one rank has to be to be seen in a stage.
type Limit struct {
	Stage    string `json:"stage" doc:"stage of the delay; empty: before any collective"`
	Reported int64  `json:"reported_ns,omitempty" doc:"least delay in every step that would have been reported, ns a step; absent: none would have been, or the stage hides it"`
	MayHide  int64  `json:"may_hide_ns,omitempty" doc:"largest delay that may hide in it, ns a step; absent: it hides none"`
}

// Coverage is what the recording shows of a place of a step.
type Coverage struct {
	Stage  string               `json:"stage" doc:"place of the delay; empty: anywhere in a step"`
	Seen   bool                 `json:"seen" doc:"a delay of one rank there that saves min_gain is found"`
	Hides  int64                `json:"hides_ns" doc:"largest delay of one rank that the recording does not show, ns a step; 0: none, or not known"`
	Least  *int64               `json:"least_ns" doc:"least delay in every step that is found there, ns a step; null: none is"`
	Reason *Name[answer.Reason] `json:"reason" doc:"why it is not seen; null where it is"`
	Needs  *Name[answer.Source] `json:"needs" doc:"what would show it; null where it is seen"`
}

// LatentDifference is how a rank differs from its peers in what it works by itself.
type LatentDifference struct {
	Rank       int                       `json:"rank" doc:"global rank"`
	Host       *string                   `json:"host" doc:"host of the rank"`
	Peer       *int                      `json:"peer" doc:"the only other rank, which may as well be the one that differs; null: there are several"`
	Stages     []LatentExcess            `json:"stages" doc:"where, the largest first"`
	Sum        bool                      `json:"sum" doc:"it differs in the sum of these stages, and in none by itself"`
	Confidence Name[evidence.Confidence] `json:"confidence" doc:"supported or strong: distribution and waits, or walks of blame, agree; ambiguous: the distribution alone shows it"`
	Slower     bool                      `json:"slower" doc:"by more than the margin; false: it varies more"`
	Level      int64                     `json:"level_ns" doc:"own work beyond the median of its peers, ns a step, mean of the middle half of the steps"`
	Total      int64                     `json:"total_ns" doc:"the same over all stages before the same synchronisation point"`
	Share      *float64                  `json:"level_share" doc:"level_ns as a part of a step"`
	D          *float64                  `json:"d" doc:"largest weighted departure of the distributions beyond the margin (K-S)"`
	P          *float64                  `json:"p" doc:"chance that distribution and waits of any rank of a healthy run differ so, held against a sixth of 0.05"`
	Alone      *float64                  `json:"p_distribution" doc:"the same of the distribution alone"`
	Blame      *float64                  `json:"p_waits" doc:"chance that waits lead to any rank so often; null: nobody waits"`
	Last       int                       `json:"last" doc:"steps in which it is last even less the margin, ranks compared with levels taken off"`
	Of         int                       `json:"of" doc:"steps in which that was looked at; 0: nobody waits"`
	Places     []LatentPlace             `json:"places" doc:"the distributions that d is of, from the least time to the longest"`
	Together   bool                      `json:"together" doc:"places are of all stages before the same synchronisation point together; false: of the first of stages"`
	Quarters   []LatentQuarter           `json:"quarters" doc:"last and of by quarters of the steps, in order; empty: nobody waits"`
	Walks      *int                      `json:"walks" doc:"of an operator trace: walks of blame that end there; null: of no such trace"`
	Symptoms   *int                      `json:"symptoms" doc:"likewise: walks in all"`
	Saves      *float64                  `json:"saves" doc:"likewise: part of a step that a replay saves in which the worker is as fast as its peers"`
	Named      bool                      `json:"named" doc:"a finding says that the rank is late, and has this as evidence"`
}

// LatentPlace is a time at which the distributions of a rank and of its peers are compared.
type LatentPlace struct {
	Beyond int64    `json:"beyond_ns" doc:"own work beyond the usual, ns a step"`
	Peers  *float64 `json:"peers" doc:"share of steps in which a peer takes longer than that, levels taken off, median of the peers"`
	Rank   *float64 `json:"rank" doc:"the same of the rank, less the margin"`
	D      *float64 `json:"d" doc:"rank less peers, weighted; where it is largest the distributions depart the most"`
}

// LatentQuarter is a quarter of the steps.
type LatentQuarter struct {
	Last int `json:"last" doc:"steps in which the rank is last even less the margin"`
	Of   int `json:"of" doc:"steps in which that was looked at"`
}

// LatentExcess is what a rank takes in a stage beyond its peers.
type LatentExcess struct {
	Stage string `json:"stage" doc:"the stage; of an operator trace the kind of operators, empty: those that are short"`
	Late  bool   `json:"late" doc:"these operators start so much later than the peers' once all that they wait for has ended"`
	Time  int64  `json:"excess_ns" doc:"beyond the median of its peers, ns a step"`
}

// LatentTest is how latent differences were tested.
type LatentTest struct {
	Refused  *Name[answer.Refusal] `json:"refused" doc:"why nothing was tested; null: it was"`
	Screened bool                  `json:"screened" doc:"nobody's level comes near the margin, and nobody varies much more than others: nothing was drawn"`
	Steps    int                   `json:"steps" doc:"steps from one synchronisation point to the next"`
	Margin   int64                 `json:"margin_ns" doc:"that a difference has to exceed: 1 % of a step, or twice the resolution of the clock"`
	Tau      *float64              `json:"correlation_steps" doc:"steps that count as one independent step; null: it was not needed"`
	Block    int                   `json:"block_steps" doc:"steps of a block, which the test hands to ranks at random; 0: none were needed"`
	Blocks   int                   `json:"blocks" doc:"number of blocks"`
}

// Undecided is a question that the data leave open.
type Undecided struct {
	Question Name[answer.Question]        `json:"question" doc:"the question"`
	Stage    string                       `json:"stage,omitempty" doc:"stage that it is about"`
	Hides    int64                        `json:"hides_ns,omitempty" doc:"largest delay that may hide there, ns a step; absent: not known"`
	Unlikely bool                         `json:"unlikely,omitempty" doc:"the stage takes no longer than it needs, so that a delay in it is unlikely, not excluded"`
	Time     int64                        `json:"stage_ns,omitempty" doc:"length of the stage, ns a step"`
	Step     int64                        `json:"step_ns,omitempty" doc:"length of a step, ns"`
	N        int                          `json:"n,omitempty" doc:"what the question counts"`
	Ranks    []int                        `json:"ranks,omitempty" doc:"ranks that the question is about"`
	Needs    Name[answer.Source]          `json:"needs,omitempty" doc:"what would answer it"`
	Name     string                       `json:"name,omitempty" doc:"name of what the question is about, where it is no stage"`
	Share    *float64                     `json:"share,omitempty" doc:"part of the step, or of the other link's bandwidth"`
	About    []Evidence[evidence.Subject] `json:"about,omitempty" doc:"links and communicators that the question is about"`
}

// VerdictProblem is something that was lost, skipped or refused.
type VerdictProblem struct {
	Problem answer.ProblemKind `json:"problem" doc:"what happened: a name of sfstat, or of a reader's note"`
	Path    string             `json:"path,omitempty" doc:"the input"`
	Window  *int64             `json:"window,omitempty" doc:"number of the window"`
	Ranks   []Range            `json:"rank_ranges,omitempty" doc:"ranks, as the first and the last of each range"`
	Steps   *[2]int64          `json:"steps,omitempty" doc:"first and last step it is about"`
	N       int                `json:"n,omitempty" doc:"how many it is about"`
	Of      int                `json:"of,omitempty" doc:"out of how many"`
	Times   *[4]int64          `json:"times_ns,omitempty" doc:"first and last reading, then begin and end of the run; ns since 1970"`
	Text    string             `json:"text,omitempty" doc:"what the reader says"`
	Stage   string             `json:"stage,omitempty" doc:"stage of a value that was set aside"`
	Size    int64              `json:"size_ns,omitempty" doc:"by which that value is too large"`
}

func verdictProblemOf(p answer.Problem) VerdictProblem {
	return VerdictProblem{p.Problem, p.Path, p.Window, p.Ranks, p.Steps, p.N, p.Of, p.Times, p.Text, p.Stage, p.Size}
}

// Action is something to do next.
type Action struct {
	Action    Name[answer.ActionKind]       `json:"action" doc:"what to do"`
	Host      string                        `json:"host,omitempty" doc:"on which host"`
	Ranks     []int                         `json:"ranks,omitempty" doc:"on which ranks"`
	Peers     []int                         `json:"peers,omitempty" doc:"ranks to profile as well, to compare with"`
	Workers   []VerdictWorker               `json:"workers,omitempty" doc:"which ranks these stand for, of an operator trace whose workers stand for several"`
	Stages    []string                      `json:"stages,omitempty" doc:"in which stages"`
	Steps     *[2]int64                     `json:"steps,omitempty" doc:"first and last step to look at, as recorded"`
	Window    *int64                        `json:"window,omitempty" doc:"number of the window to look at"`
	With      Name[answer.Source]           `json:"with,omitempty" doc:"what to look with, or to turn on"`
	Line      *evidence.SourceLine          `json:"source_line,omitempty" doc:"line of the program to look at"`
	Monitored *Evidence[evidence.Monitored] `json:"monitored,omitempty" doc:"quantity in which a GPU or host differed"`
	Reported  *Evidence[evidence.Reported]  `json:"reported,omitempty" doc:"what the kernel of a host reported"`
}

// VerdictWorker of an operator trace stands for several ranks.
type VerdictWorker struct {
	Worker    int   `json:"worker" doc:"the rank that names it"`
	StandsFor []int `json:"stands_for" doc:"the ranks that it stands for"`
}

// VerdictDevice is how the device of a rank spent its time, as shares of that time.
type VerdictDevice struct {
	Rank          int      `json:"rank" doc:"global rank"`
	Span          int64    `json:"span_ns" doc:"from the first work on the device in these steps to the last"`
	Compute       *float64 `json:"compute_share" doc:"kernels that do not communicate run; null: the device did nothing, here and below"`
	Communication *float64 `json:"communication_share" doc:"communication runs, covered by compute or not"`
	Memory        *float64 `json:"memory_share" doc:"copies and fills run, covered or not"`
	Idle          *float64 `json:"idle_share" doc:"nothing runs"`
	Exposed       *float64 `json:"exposed_communication_share" doc:"communication runs and no compute"`
	OfComm        *float64 `json:"exposed_part_of_communication" doc:"part of communication that no compute covers; null: there is none"`
	Unlike        []string `json:"unlike_peers" doc:"shares that are unlike those of the ranks of the same role: p < 1 % over all comparisons of the run"`
}

// Earlier is what a run had before the windows that its verdict is on.
type Earlier struct {
	First   int64 `json:"first_step" doc:"first step, as recorded"`
	Last    int64 `json:"last_step" doc:"last step, as recorded"`
	Windows int   `json:"windows" doc:"number of windows"`
	Steps   int   `json:"steps" doc:"number of steps"`
}

// Worded words what results say in values alone.
type Worded struct {
	Verdict func(*diagnose.RunVerdict) Said
	WindowWords
}

// refused is the kind of problem that an input was not read.
const refused answer.ProblemKind = "input_refused"

// VerdictOf returns the document of a verdict.
func VerdictOf(v *diagnose.Verdict, problems []Problem, words Worded) Verdict {
	out := Verdict{Schema: "sfstat.verdict/4", MinGain: number(v.MinGain), Run: RunOf(&v.RunVerdict, words), Others: []Run{},
		Recurring: evidenceOf(v.Recurring), Gates: gatesOf(&v.Gates)}
	for _, p := range problems {
		out.Problems = append(out.Problems, VerdictProblem{Problem: refused, Path: p.Path, Text: p.Error})
	}
	for i := range v.Runs {
		if i != v.First {
			out.Others = append(out.Others, RunOf(&v.Runs[i], words))
		}
	}
	return out
}

// RunOf returns the verdict on a run.
func RunOf(v *diagnose.RunVerdict, words Worded) Run {
	out := Run{Said: words.Verdict(v), Name: v.Run, Status: nameOf(v.Status), Confidence: nameOf(v.Confidence),
		Findings: convert(v.Findings, findingOf), Together: nonZeroNumber(v.Together), Observed: evidenceList(v.Observed),
		Limits:   convert(v.Limits, func(l answer.Limit) Limit { return Limit(l) }),
		Coverage: convert(v.Coverage, coverageOf),
		Latent:   latentOf(v.Latent), LatentTest: latentTestOf(v.Latent),
		Undecided: convert(v.Undecided, undecidedOf), Problems: convert(v.Problems, verdictProblemOf),
		Next: convert(v.Next, actionOf), Devices: convert(v.Devices, deviceOf), Windows: []Window{}, Paper: []Window{}}
	if v.Earlier != nil {
		earlier := Earlier(*v.Earlier)
		out.Earlier = &earlier
	}
	for _, w := range v.Windows {
		out.Windows = append(out.Windows, windowOf(w.Main, words.WindowWords))
		for _, g := range w.Groups {
			out.Windows = append(out.Windows, windowOf(g, words.WindowWords))
		}
		if w.Paper != nil {
			out.Paper = append(out.Paper, windowOf(w.Paper, words.WindowWords))
		}
	}
	if o := v.Operators; o != nil && len(v.Windows) == 0 {
		out.Windows = convert(o.Accounts, func(a *frontier.Result) Window { return windowOf(a, words.WindowWords) })
	}
	return out
}

func findingOf(f diagnose.Finding) Finding {
	out := Finding{Kind: nameOf(f.Kind), Cause: nameOf(f.Cause),
		Rank: f.Rank, StandsFor: list(f.StandsFor), Host: nonZero(f.Host), LocalRank: f.LocalRank, Role: nonZero(f.Role), Stage: nonZero(f.Stage),
		Op: nonZero(f.Op), Seq: f.Seq, Group: nonZero(f.Group), Ranks: list(f.Ranks), Source: f.Source,
		Confidence: nameOf(f.Confidence), BelowMinGain: f.BelowMinGain,
		Gain: number(f.Gain), RunGain: number(f.RunGain), RunLow: nonZeroNumber(f.RunLow), RunAtMost: number(f.RunAtMost), Struck: struckOf(f.Struck),
		Step: f.Step, Excess: f.Excess, Explained: f.Explained, Score: number(f.Score),
		Evidence: evidenceList(f.Evidence), Windows: list(f.Windows)}
	return out
}

func struckOf(s diagnose.Struck) Struck {
	out := Struck{Count: s.Count, Of: s.Of, Pattern: nameOf(s.Pattern), Period: nonZero(s.Period)}
	if s.Count != 0 {
		out.First, out.Last = nonNegative(s.First), nonNegative(s.Last)
	}
	return out
}

func coverageOf(c answer.Coverage) Coverage {
	out := Coverage{Stage: c.Stage, Seen: c.Seen, Hides: c.Hides, Least: nonZero(c.Least)}
	if !c.Seen {
		reason, needs := Name[answer.Reason](c.Reason), Name[answer.Source](c.Needs)
		out.Reason, out.Needs = &reason, &needs
	}
	return out
}

func latentOf(l *answer.Latent) []LatentDifference {
	if l == nil {
		return []LatentDifference{}
	}
	return convert(l.Differences, func(d answer.Difference) LatentDifference {
		out := LatentDifference{Rank: d.Rank, Host: nonZero(d.Host), Peer: d.Peer, Stages: convert(d.Stages, func(x answer.Excess) LatentExcess { return LatentExcess(x) }), Sum: d.Sum,
			Confidence: nameOf(d.Confidence), Slower: d.Slower(), Level: d.Level, Total: d.Total, Share: number(float64(d.Level) / float64(max(1, l.Step))),
			D: number(d.D), P: number(d.P), Alone: number(d.Alone), Last: d.Last, Of: d.Of, Named: d.Named, Together: d.Together,
			Places: convert(d.Places, func(p claim.Place) LatentPlace {
				return LatentPlace{p.Beyond, number(p.Peers), number(p.Rank), number(p.D)}
			}),
			Quarters: convert(d.Quarters, func(q claim.Quarter) LatentQuarter { return LatentQuarter(q) })}
		if d.Of > 0 {
			out.Blame = number(d.Blame)
		}
		if l.Walked {
			out.Walks, out.Symptoms, out.Saves = &d.Walks, &d.Symptoms, number(d.Saves)
		}
		return out
	})
}

func latentTestOf(l *answer.Latent) *LatentTest {
	if l == nil {
		return nil
	}
	out := LatentTest{Screened: l.Screened, Steps: l.Steps, Margin: l.Margin, Tau: nonZeroNumber(l.Tau), Block: l.Block, Blocks: l.Blocks}
	if l.Refused != "" {
		refused := Name[answer.Refusal](l.Refused)
		out.Refused = &refused
	}
	return &out
}

func undecidedOf(u answer.Undecided) Undecided {
	return Undecided{Name[answer.Question](u.Question), u.Stage, u.Hides, u.Unlikely, u.Time, u.Step, u.N, u.Ranks, Name[answer.Source](u.Needs),
		u.Name, nonZeroNumber(u.Share), evidenceList(u.About)}
}

func actionOf(a answer.Action) Action {
	return Action{Name[answer.ActionKind](a.Action), a.Host, a.Ranks, a.Peers,
		convert(a.Workers, func(w answer.Worker) VerdictWorker { return VerdictWorker{w.Worker, list(w.StandsFor)} }), a.Stages, a.Steps, a.Window,
		Name[answer.Source](a.With), a.Line, evidenceOf(a.Monitored), evidenceOf(a.Reported)}
}

func deviceOf(d diagnose.Device) VerdictDevice {
	return VerdictDevice{d.Rank, d.Span, number(d.Compute), number(d.Communication), number(d.Memory), number(d.Idle), number(d.Exposed), number(d.OfComm), list(d.Unlike)}
}

// FindingRows returns a row for each finding of runs.
func FindingRows(runs []Run) *Rows {
	r := rowsUnder("run status kind cause rank host local_rank role stage op seq group confidence below_min_gain gain run_gain run_gain_at_most " +
		"struck_count struck_of struck_first struck_last pattern excess_ns explained_ns score windows evidence")
	for _, v := range runs {
		for _, f := range v.Findings {
			s := f.Struck
			r.add(v.Name, v.Status, f.Kind, f.Cause, f.Rank, f.Host, f.LocalRank, f.Role, f.Stage, f.Op, f.Seq, f.Group, f.Confidence, f.BelowMinGain,
				f.Gain, f.RunGain, f.RunAtMost, s.Count, s.Of, s.First, s.Last, s.Pattern, f.Excess, f.Explained, f.Score, f.Windows, f.Evidence)
		}
	}
	return r
}
