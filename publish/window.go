package publish

import (
	"slices"

	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/trace/input"
)

// Windows is the document of all commands over windows.
type Windows[T any] struct {
	Schema   string    `json:"schema" doc:"name and version of this form"`
	Windows  []T       `json:"windows" doc:"one for each window and role group, in the order of the input"`
	Problems []Problem `json:"problems" doc:"inputs that were refused; the others were analysed"`
}

// Window is the account of one window over one set of ranks.
type Window struct {
	Run        string                `json:"run" doc:"identity of the run"`
	Window     int64                 `json:"window" doc:"number of the window in its run"`
	Cut        Name[frontier.Cut]    `json:"cut" doc:"where steps begin"`
	CutReason  string                `json:"cut_reason" doc:"one sentence: why this cut"`
	Group      *string               `json:"group" doc:"role group of these ranks; null for all ranks"`
	WorldSize  int                   `json:"world_size" doc:"ranks of the job"`
	Ranks      []int                 `json:"ranks" doc:"IDs of the ranks in this account, ascending"`
	Steps      int                   `json:"steps" doc:"steps of the cut; a sync cut has one less than was recorded"`
	FirstStep  int64                 `json:"first_step" doc:"index of the first step"`
	Makespan   int64                 `json:"makespan_ns" doc:"exposed makespan, summed over steps"`
	Stages     []Stage               `json:"stages" doc:"the stages, in the order of the cut"`
	Substages  []Stage               `json:"substages" doc:"the stages as recorded where accumulation expands them, else empty"`
	Routing    []string              `json:"routing_set" doc:"the smallest set of stages whose shares reach tau, largest first: where to look"`
	CoCritical []string              `json:"co_critical_stages" doc:"stages that cannot be told apart; only with the label co_critical"`
	Labels     []Name[labels.Label]  `json:"labels" doc:"what the evidence permits to say; docs/method-accounting.md explains each label"`
	Reasons    []Name[labels.Reason] `json:"downgrade_reasons" doc:"why no stronger label was given; docs/method-accounting.md explains each reason"`
	LeaderRank *int                  `json:"leader_rank" doc:"ID of the rank that leads most confident steps; null when none does"`
	Switches   int                   `json:"leader_switches" doc:"changes between consecutive confident leaders"`
	Leader     Leader                `json:"leader" doc:"the rank that is latest at the end of the leading stage"`
	Baselines  ByMethod[string]      `json:"baselines" doc:"the full ranking of stages by each comparison method, best first"`
	Candidates ByMethod[string]      `json:"baseline_candidates" doc:"the smallest set whose scores reach tau, by each method"`
	Scores     ByMethod[*float64]    `json:"baseline_scores" doc:"scores of the stages, normalised to sum 1, in the order of stages; empty when all are 0"`
	Quality    Quality               `json:"quality" doc:"how complete and how closed the input is"`
	SyncPoint  SyncPoint             `json:"sync_point" doc:"where the ranks synchronise"`
	ModelFit   Fit                   `json:"model_fit" doc:"the evidence that later wait is induced by the leading stage"`
	Culprits   []Culprit             `json:"culprits" doc:"ranks that others waited for, by descending explained_ns"`
	Saves      *float64              `json:"saves" doc:"part of the makespan that goes if no rank is late; null below the floor or without model fit"`
	Work       []int64               `json:"work_ns" doc:"time that each rank of ranks does not wait where ranks synchronise"`
	Device     *WindowDevice         `json:"device" doc:"device timers of a stage; null: none were recorded"`
}

// Stage is the account of one stage.
type Stage struct {
	Name        string   `json:"name" doc:"name of the stage; accumulation-indexed stages are grouped under their common name, except in substages"`
	Advance     int64    `json:"advance_ns" doc:"exposed time: how far the stage moves the frontier, summed over steps. The advances of the stages add up to makespan_ns exactly"`
	Share       *float64 `json:"share" doc:"advance_ns ÷ makespan_ns, 0 to 1; null where the makespan is at or below the denominator floor"`
	Gain        *float64 `json:"gain" doc:"part of the makespan saved if the stage were clipped to its baseline and nothing else changed, 0 to 1; null as share, or without a baseline"`
	SyncGain    *float64 `json:"sync_gain" doc:"the same when the waits that the stage induces in others go with it; null without model-fit evidence"`
	MaxShare    *float64 `json:"max_share" doc:"the share that sums of the largest duration over ranks would give; null as share"`
	MeanShare   *float64 `json:"mean_share" doc:"the share that sums of the mean duration over ranks would give; null as share"`
	Latest      []int    `json:"latest_ranks" doc:"IDs of the ranks that are latest at the end of the stage over the window, within the leader tolerance"`
	Lag         int64    `json:"lag_ns" doc:"sum over steps of the latest arrival less the median arrival at the end of the stage"`
	LagIncrease int64    `json:"lag_increase_ns" doc:"sum over steps of what this stage adds to that lag, where it adds"`
	Gap         int64    `json:"gap_ns" doc:"sum over steps of the latest arrival less the second latest; 0 for one rank"`
	Syncs       bool     `json:"synchronises" doc:"the ranks synchronise in this stage: a rank that arrives later waits less"`
	Wait        int64    `json:"wait_ns" doc:"mean time that ranks wait in this stage for the last one, summed over steps; 0 where they do not synchronise"`
}

// Leader is who is latest at the end of the leading stage.
type Leader struct {
	Stage     *string  `json:"stage" doc:"the leading stage; null when none leads"`
	Steps     int      `json:"steps" doc:"steps in which leader_rank is surely the latest"`
	Confident int      `json:"confident" doc:"steps in which one rank is surely the latest"`
	Rate      *float64 `json:"rate" doc:"leader switches per consecutive pair of confident steps, 0 to 1; null with fewer than two"`
}

// ByMethod is a list for each comparison method; all five are always there.
type ByMethod[T any] struct {
	StageMax    []T `json:"stage_max" doc:"by the sum over steps of the largest duration over ranks"`
	StageMean   []T `json:"stage_mean" doc:"by the sum over steps of the mean duration over ranks"`
	Spread      []T `json:"spread" doc:"by the sum over steps of the largest duration less the median"`
	SlowestRank []T `json:"slowest_rank" doc:"by the durations on each step's slowest rank"`
	Rank0       []T `json:"rank0" doc:"by the durations on the lowest rank"`
}

// Quality says how complete and how closed the input is.
type Quality struct {
	ClosureResidual *float64 `json:"closure_residual_share" doc:"part of the wall time that no stage covers, on the worst rank, 0 to 1"`
	OverlapError    *float64 `json:"overlap_error_share" doc:"part by which stages exceed the wall time, on the worst rank"`
	MissingRanks    int      `json:"missing_ranks" doc:"number of ranks that did not report"`
	Missing         []Range  `json:"missing_rank_ranges" doc:"their IDs, as the first and the last of each range, ascending"`
	GatherOK        bool     `json:"gather_ok" doc:"the recorder gathered the window from all ranks"`
	SchemaOK        bool     `json:"schema_ok" doc:"all ranks recorded the same stages"`
	Wall            bool     `json:"wall" doc:"wall time was recorded"`
	Notes           []string `json:"notes" doc:"what is incomplete, as sentences"`
}

// SyncPoint is where the ranks synchronise.
type SyncPoint struct {
	At          *string               `json:"at" doc:"the stage at whose end the sync cut cuts; null when none is clear"`
	Evidence    Name[points.Evidence] `json:"evidence" doc:"how it is known: by the slope (shown), by the name of the stage (likely), by the caller (named), or not (unknown)"`
	WithinPeers bool                  `json:"within_peers" doc:"ranks of equal role synchronise, ranks of different roles do not"`
	Skew        int64                 `json:"skew_ns" doc:"how far apart the ranks' clocks or starts are at the first step"`
	Drift       *float64              `json:"drift_ppm" doc:"largest drift between two ranks, parts per million"`
	Boundaries  []Boundary            `json:"boundaries" doc:"the evidence for every recorded stage; empty with too few steps or ranks"`
}

// Boundary is a stage at whose end the ranks may synchronise, and the evidence.
type Boundary struct {
	Stage  string   `json:"stage" doc:"name of the stage"`
	Slope  *float64 `json:"slope" doc:"slope of the stage's duration on the rank's arrival: -1 where a rank that arrives later waits less by as much, 0 where ranks run on freely"`
	Low    *float64 `json:"slope_low" doc:"lower end of its interval"`
	High   *float64 `json:"slope_high" doc:"upper end of its interval"`
	Syncs  bool     `json:"synchronises" doc:"all ranks synchronise here, by that interval"`
	Within string   `json:"within" doc:"axes of the layout along which sets of ranks synchronise here among themselves, such as tp; empty otherwise"`
}

// Fit is the evidence that later wait is induced by the leading stage.
type Fit struct {
	Mode  Name[frontier.FitMode] `json:"mode" doc:"who says that wait is induced: the window itself (auto), nobody (none), or the caller (given)"`
	Holds bool                   `json:"holds" doc:"later wait is taken as induced by the leading stage"`
	Why   string                 `json:"why" doc:"why, in one sentence"`
}

// Culprit is a rank that others waited for because of one stage.
type Culprit struct {
	Rank      int      `json:"rank" doc:"ID of the rank"`
	Stage     string   `json:"stage" doc:"name of the stage"`
	Explained int64    `json:"explained_ns" doc:"exposed time charged to this rank and stage; every nanosecond for which the group waited is charged once"`
	Gain      *float64 `json:"gain" doc:"part of the makespan saved if this rank's stage were at its peers' median"`
	Excess    int64    `json:"excess_ns" doc:"mean over the steps in which it was late of its duration over its peers' median"`
	Steps     int      `json:"steps" doc:"steps in which it was late because of this stage"`
	Of        int      `json:"of" doc:"steps in which any rank was late because of this stage"`
	P         *float64 `json:"p" doc:"bound on the chance of this when all ranks are alike, corrected for ranks and stages, 0 to 1"`
}

// WindowDevice is what a device-event channel says about the stage that it times.
type WindowDevice struct {
	Channel     string   `json:"channel" doc:"name of the channel"`
	Stages      []string `json:"stages" doc:"the stages that it times"`
	Sampled     int      `json:"sampled" doc:"samples taken"`
	Ready       int      `json:"ready" doc:"samples whose event had completed"`
	SideStreams bool     `json:"side_streams" doc:"work runs on streams that the events do not cover"`
	Share       *float64 `json:"share" doc:"event time ÷ exposed step, on the rank with the longest stage"`
	OverWall    *float64 `json:"over_wall" doc:"event time ÷ host wall time of the stage, same rank"`
	Rank        int      `json:"rank" doc:"ID of the rank with the longest stage"`
	Time        *float64 `json:"time_ns" doc:"its mean device time"`
	Wall        *float64 `json:"wall_ns" doc:"its mean host wall time over the same steps"`
	Peers       *float64 `json:"peers_ns" doc:"median over the other ranks of their mean device time"`
	Excess      *float64 `json:"excess_ns" doc:"time_ns less peers_ns"`
}

// WindowWords word what accounts say in values alone.
type WindowWords struct {
	Cut func(*frontier.Result) string // why an account has its cut
	Fit func(frontier.Fit) string     // why later wait is, or is not, charged to the leading stage
}

// WindowsOf returns the document of accounts.
func WindowsOf(results []*frontier.Result, problems []Problem, words WindowWords) Windows[Window] {
	return Windows[Window]{"sfstat.frontier/1", convert(results, func(r *frontier.Result) Window { return windowOf(r, words) }), list(problems)}
}

func windowOf(r *frontier.Result, words WindowWords) Window {
	names := func(stages []int) []string { return convert(stages, func(s int) string { return r.Stages[s].Name }) }
	return Window{
		Run: r.Run, Window: r.Window, Cut: nameOf(r.Cut), CutReason: words.Cut(r), Group: nonZero(r.Group), WorldSize: r.WorldSize,
		Ranks: list(r.Ranks), Steps: r.Steps, FirstStep: r.FirstStep, Makespan: r.Makespan,
		Stages: convert(r.Stages, stageOf), Substages: convert(r.Substages, stageOf), Routing: names(r.Routing), CoCritical: names(r.CoCritical),
		Labels: convert(r.Labels, nameOf[labels.Label]), Reasons: convert(r.Reasons, nameOf[labels.Reason]),
		LeaderRank: r.Leader.Rank, Switches: r.Leader.Switches, Leader: leaderOf(r),
		Baselines:  byMethod(r, func(o frontier.Ordering) []string { return names(o.Ranking) }),
		Candidates: byMethod(r, func(o frontier.Ordering) []string { return names(o.Candidates) }),
		Scores:     byMethod(r, func(o frontier.Ordering) []*float64 { return convert(o.Scores, number) }),
		Quality:    qualityOf(&r.Quality), SyncPoint: syncPointOf(&r.SyncPoint),
		ModelFit: Fit{nameOf(r.ModelFit.Mode), r.ModelFit.Holds, words.Fit(r.ModelFit)},
		Culprits: convert(r.Culprits, func(c claim.Claim) Culprit {
			return Culprit{c.Rank(), r.Stages[c.Parts[0].Stage].Name, c.Charged(), number(c.Saves.Alone), c.Size, c.Steps.Count, c.Steps.Of, number(c.P)}
		}),
		Saves: finite(r.Saves), Work: list(r.Work), Device: windowDeviceOf(r.Device),
	}
}

func stageOf(s frontier.Stage) Stage {
	return Stage{s.Name, s.Advance, finite(s.Share), finite(s.Gain), finite(s.SyncGain), finite(s.MaxShare), finite(s.MeanShare), list(s.Latest),
		s.Lag, s.LagIncrease, s.Gap, s.Syncs, s.Wait}
}

func leaderOf(r *frontier.Result) Leader {
	l := r.Leader
	out := Leader{Steps: l.Steps, Confident: l.Confident, Rate: finite(l.Rate)}
	if l.Stage >= 0 && l.Stage < len(r.Stages) {
		out.Stage = &r.Stages[l.Stage].Name
	}
	return out
}

func byMethod[T any](r *frontier.Result, of func(frontier.Ordering) []T) ByMethod[T] {
	get := func(m frontier.Method) []T {
		for _, o := range r.Baselines {
			if o.Method == m {
				return of(o)
			}
		}
		return []T{}
	}
	return ByMethod[T]{get(frontier.StageMax), get(frontier.StageMean), get(frontier.Spread), get(frontier.SlowestRank), get(frontier.Rank0)}
}

func qualityOf(q *frontier.Quality) Quality {
	return Quality{number(q.ClosureResidual), number(q.OverlapError), q.Missing.Len(), list(q.Missing), q.GatherOK, q.SchemaOK, q.Wall,
		convert(q.Notes, func(n input.Note) string { return n.Text })}
}

func syncPointOf(p *frontier.SyncPoint) SyncPoint {
	return SyncPoint{nonZero(p.Name), nameOf(p.Evidence), p.WithinPeers, p.Skew, number(p.Drift), convert(p.Boundaries, func(b frontier.Boundary) Boundary {
		return Boundary{b.Name, number(b.Slope), number(b.Low), number(b.High), b.Syncs, b.Within}
	})}
}

func windowDeviceOf(d *frontier.Device) *WindowDevice {
	if d == nil {
		return nil
	}
	return &WindowDevice{d.Channel, list(d.Names), d.Sampled, d.Ready, d.SideStreams, number(d.Share), number(d.OverWall),
		d.Rank, number(d.Time), number(d.Wall), number(d.Peers), number(d.Excess)}
}

// StageRows returns a row for each stage of each window.
func StageRows(windows []Window) *Rows {
	r := rowsUnder("run window group cut world_size ranks first_step steps makespan_ns labels downgrade_reasons leader_rank leader_switches " +
		"closure_residual_share overlap_error_share missing_ranks gather_ok stage advance_ns share gain sync_gain max_share mean_share " +
		"latest_ranks lag_ns lag_increase_ns gap_ns synchronises wait_ns window_saves routing_set co_critical_stages")
	for _, w := range windows {
		before := []any{w.Run, w.Window, w.Group, w.Cut, w.WorldSize, w.Ranks, w.FirstStep, w.Steps, w.Makespan, w.Labels, w.Reasons, w.LeaderRank, w.Switches,
			w.Quality.ClosureResidual, w.Quality.OverlapError, w.Quality.MissingRanks, w.Quality.GatherOK}
		after := []any{w.Saves, w.Routing, w.CoCritical}
		for _, s := range w.Stages {
			r.add(slices.Concat(before, []any{s.Name, s.Advance, s.Share, s.Gain, s.SyncGain, s.MaxShare, s.MeanShare, s.Latest, s.Lag, s.LagIncrease, s.Gap, s.Syncs, s.Wait}, after)...)
		}
		if len(w.Stages) == 0 {
			r.add(slices.Concat(before, make([]any, 13), after)...)
		}
	}
	return r
}

// Gates are the thresholds that turn an account into labels.
type Gates struct {
	Tau              *float64          `json:"tau" doc:"cumulative share that the routing set must reach, above 0 and at most 1"`
	TieTolerance     *float64          `json:"tie_tolerance" doc:"shares or gains this close are a tie"`
	DominanceShare   *float64          `json:"dominance_share_min" doc:"share from which a strong label may name a stage"`
	StaticGain       *float64          `json:"static_gain_min" doc:"gain from which fixing counts"`
	ClosureResidual  *float64          `json:"closure_residual_share_max" doc:"largest share of wall time that no stage covers, on the worst rank"`
	OverlapError     *float64          `json:"overlap_error_share_max" doc:"largest share by which stages exceed wall time, on the worst rank"`
	MissingRanks     int               `json:"missing_ranks_max" doc:"most ranks that may be missing"`
	Event            Event             `json:"event" doc:"when a device-event channel may be used"`
	Leader           GatesLeader       `json:"leader" doc:"when one rank is surely the latest"`
	LagShare         *float64          `json:"lag_share_min" doc:"least part of the advance that must be lag: one rank pulls away"`
	DenominatorFloor gates.Nanoseconds `json:"denominator_floor" doc:"makespan of a window up to which shares are null"`
	SyncPoint        GatesSyncPoint    `json:"meeting" doc:"when a stage is one where ranks synchronise"`
}

// Event decide whether a device-event channel may be used.
type Event struct {
	ReadyRatio  *float64 `json:"ready_ratio_min" doc:"least share of samples that are ready"`
	Samples     int      `json:"ready_samples_min" doc:"least number of ready samples"`
	HighShare   *float64 `json:"high_share_min" doc:"share of the exposed step from which event time is long"`
	LowOverWall *float64 `json:"low_over_cpu_max" doc:"largest ratio of event time to host wall time at which the host is to blame"`
}

// GatesLeader decide when one rank is surely the latest.
type GatesLeader struct {
	GapAbs     gates.Nanoseconds `json:"gap_abs" doc:"least gap to the second rank"`
	GapRel     *float64          `json:"gap_rel" doc:"the same as a part of the frontier"`
	SwitchRate *float64          `json:"switch_rate_max" doc:"switch rate from which the leader is not one rank"`
}

// GatesSyncPoint decide when a stage is one in which the ranks synchronise.
type GatesSyncPoint struct {
	Slope        *float64 `json:"slope_max" doc:"largest slope of duration on arrival that the interval may reach; -1: a perfect synchronisation point, 0: none"`
	Confidence   *float64 `json:"confidence" doc:"confidence of that interval, two-sided"`
	Significance *float64 `json:"significance" doc:"level of the test that one rank is late too often, corrected for ranks and stages"`
}

func gatesOf(g *gates.Gates) Gates {
	return Gates{number(g.Tau), number(g.TieTolerance), number(g.DominanceShare), number(g.StaticGain), number(g.ClosureResidual), number(g.OverlapError), g.MissingRanks,
		Event{number(g.Event.ReadyRatio), g.Event.Samples, number(g.Event.HighShare), number(g.Event.LowOverWall)},
		GatesLeader{g.Leader.GapAbs, number(g.Leader.GapRel), number(g.Leader.SwitchRate)},
		number(g.LagShare), g.DenominatorFloor,
		GatesSyncPoint{number(g.SyncPoint.Slope), number(g.SyncPoint.Confidence), number(g.SyncPoint.Significance)}}
}
