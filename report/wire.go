package report

import (
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/frontier/cut"
	"github.com/sfstat/sfstat/engine/frontier/fit"
	"github.com/sfstat/sfstat/engine/frontier/labels"
	"github.com/sfstat/sfstat/engine/frontier/ranking"
)

// The structs of this file are the JSON of a window. Their names and types are
// a contract: docs/schema has the schemas, docs/output.md the meanings.

// windowsJSON is the JSON of all commands over windows.
type windowsJSON[T any] struct {
	Windows []T `json:"windows"`
}

type windowJSON struct {
	Run       string  `json:"run"`
	Window    int64   `json:"window"`
	Cut       cut.Cut `json:"cut"`
	CutReason string  `json:"cut_reason"`
	Group     *string `json:"group"`
	WorldSize int     `json:"world_size"`
	Ranks     []int   `json:"ranks"`
	Steps     int     `json:"steps"`
	FirstStep int64   `json:"first_step"`
	Makespan  int64   `json:"makespan_ns"`

	Stages    []frontier.Stage `json:"stages"`
	Substages []frontier.Stage `json:"substages"`

	Routing    []string        `json:"routing_set"`
	CoCritical []string        `json:"co_critical_stages"`
	Labels     []labels.Label  `json:"labels"`
	Reasons    []labels.Reason `json:"downgrade_reasons"`

	LeaderRank     *int       `json:"leader_rank"`
	LeaderSwitches int        `json:"leader_switches"`
	Leader         leaderJSON `json:"leader"`

	Baselines  byMethod[string]  `json:"baselines"`
	Candidates byMethod[string]  `json:"baseline_candidates"`
	Scores     byMethod[float64] `json:"baseline_scores"`

	Quality   qualityJSON        `json:"quality"`
	SyncPoint frontier.SyncPoint `json:"meeting"`
	ModelFit  fitJSON            `json:"model_fit"`
	Culprits  []culpritJSON      `json:"culprits"`
	Late      []culpritJSON      `json:"late_ranks"`
	Saves     *float64           `json:"mend"`
	Work      []int64            `json:"work_ns"`
	Device    *frontier.Device   `json:"device"`
}

type problemJSON struct {
	Path  string `json:"path"`
	Error string `json:"error"`
}

type leaderJSON struct {
	Stage     *string  `json:"stage"`
	Steps     int      `json:"steps"`
	Confident int      `json:"confident"`
	Rate      *float64 `json:"rate"`
}

// byMethod is a list for each comparison method; all five are always there.
type byMethod[T any] struct {
	StageMax    []T `json:"stage_max"`
	StageMean   []T `json:"stage_mean"`
	Spread      []T `json:"spread"`
	SlowestRank []T `json:"slowest_rank"`
	Rank0       []T `json:"rank0"`
}

type qualityJSON struct {
	ClosureResidual float64  `json:"closure_residual_share"`
	OverlapError    float64  `json:"overlap_error_share"`
	MissingRanks    int      `json:"missing_ranks"`
	MissingIDs      []int    `json:"missing_rank_ids"`
	GatherOK        bool     `json:"gather_ok"`
	SchemaOK        bool     `json:"schema_ok"`
	Wall            bool     `json:"wall"`
	Notes           []string `json:"notes"`
}

type fitJSON struct {
	Mode  fit.Mode `json:"mode"`
	Holds bool     `json:"holds"`
	Why   string   `json:"why"`
}

type culpritJSON struct {
	Rank      int     `json:"rank"`
	Stage     string  `json:"stage"`
	Explained int64   `json:"explained_ns"`
	Gain      float64 `json:"gain"`
	Excess    int64   `json:"excess_ns"`
	Steps     int     `json:"steps"`
	Of        int     `json:"of"`
	P         float64 `json:"p"`
}

func windowFrom(r *frontier.Result) windowJSON {
	names := func(stages []int) []string { return stageNames(r, stages) }
	return windowJSON{
		Run: r.Run, Window: r.Window, Cut: r.Cut, CutReason: cutReason(r), Group: optionalString(r.Group),
		WorldSize: r.WorldSize, Ranks: r.Ranks, Steps: r.Steps, FirstStep: r.FirstStep, Makespan: r.Makespan,
		Stages: r.Stages, Substages: r.Substages,
		Routing: names(r.Routing), CoCritical: names(r.CoCritical), Labels: r.Labels, Reasons: r.Reasons,
		LeaderRank: r.Leader.Rank, LeaderSwitches: r.Leader.Switches, Leader: leaderOf(r),
		Baselines:  eachMethod(r, func(o ranking.Ordering) []string { return names(o.Ranking) }),
		Candidates: eachMethod(r, func(o ranking.Ordering) []string { return names(o.Candidates) }),
		Scores:     eachMethod(r, func(o ranking.Ordering) []float64 { return o.Scores }),
		Quality:    qualityOf(r.Quality), SyncPoint: r.SyncPoint,
		ModelFit: fitJSON{r.ModelFit.Mode, r.ModelFit.Holds, fitReason(r.ModelFit)},
		Culprits: culpritsOf(r, r.Culprits), Late: culpritsOf(r, r.Late), Saves: r.Saves, Work: r.Work, Device: r.Device,
	}
}

func leaderOf(r *frontier.Result) leaderJSON {
	l := r.Leader
	out := leaderJSON{Steps: l.Steps, Confident: l.Confident, Rate: l.Rate}
	if l.Stage >= 0 && l.Stage < len(r.Stages) {
		out.Stage = &r.Stages[l.Stage].Name
	}
	return out
}

func eachMethod[T any](r *frontier.Result, of func(ranking.Ordering) []T) byMethod[T] {
	get := func(m ranking.Method) []T {
		for _, o := range r.Baselines {
			if o.Method == m {
				return of(o)
			}
		}
		return []T{}
	}
	return byMethod[T]{get(ranking.StageMax), get(ranking.StageMean), get(ranking.Spread), get(ranking.SlowestRank), get(ranking.Rank0)}
}

func qualityOf(q frontier.Quality) qualityJSON {
	return qualityJSON{q.ClosureResidual, q.OverlapError, len(q.Missing), q.Missing,
		q.GatherOK, q.SchemaOK, q.Wall, texts(q.Notes)}
}

func culpritsOf(r *frontier.Result, culprits []frontier.Culprit) []culpritJSON {
	return each(culprits, func(c frontier.Culprit) culpritJSON {
		return culpritJSON{c.Rank, r.Stages[c.Stage].Name, c.Explained, c.Gain, c.Excess, c.Steps, c.Of, c.P}
	})
}

// problemsOf are the refused inputs for JSON.
func problemsOf(problems []Problem) []problemJSON {
	return each(problems, func(p Problem) problemJSON { return problemJSON{p.Path, p.Reason()} })
}
