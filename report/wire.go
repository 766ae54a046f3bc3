package report

import (
	"github.com/sfstat/sfstat/engine/frontier"
)

// The structs of this file are the JSON of a window. Their names and types are
// a contract, which sfstat schema prints.

// windowsJSON is the JSON of all commands over windows.
type windowsJSON[T any] struct {
	Windows []T `json:"windows" doc:"one for each window and role group, in the order of the input"`
}

type windowJSON struct {
	*frontier.Result
	CutReason  string            `json:"cut_reason" before:"group" doc:"one sentence: why this cut"`
	Routing    []string          `json:"routing_set" before:"labels" doc:"the smallest set of stages whose shares reach tau, largest first: where to look"`
	CoCritical []string          `json:"co_critical_stages" before:"labels" doc:"stages that cannot be told apart; only with the label co_critical"`
	Leader     leaderJSON        `json:"leader" before:"quality" doc:"the rank that is latest at the end of the leading stage"`
	Baselines  byMethod[string]  `json:"baselines" before:"quality" doc:"the full ranking of stages by each comparison method, best first"`
	Candidates byMethod[string]  `json:"baseline_candidates" before:"quality" doc:"the smallest set whose scores reach tau, by each method"`
	Scores     byMethod[float64] `json:"baseline_scores" before:"quality" doc:"scores of the stages, normalised to sum 1, in the order of stages; empty when all are 0"`
	ModelFit   fitJSON           `json:"model_fit" before:"saves" doc:"the evidence that later wait is induced by the leading stage"`
	Culprits   []culpritJSON     `json:"culprits" before:"saves" doc:"ranks that others waited for, by descending explained_ns"`
}

type problemJSON struct {
	Path  string `json:"path" doc:"the input"`
	Error string `json:"error" doc:"place and reason"`
}

type leaderJSON struct {
	Stage     *string  `json:"stage" doc:"the leading stage; null when none leads"`
	Steps     int      `json:"steps" doc:"steps in which leader_rank is surely the latest"`
	Confident int      `json:"confident" doc:"steps in which one rank is surely the latest"`
	Rate      *float64 `json:"rate" doc:"leader switches per consecutive pair of confident steps, 0 to 1; null with fewer than two"`
}

// byMethod is a list for each comparison method; all five are always there.
type byMethod[T any] struct {
	StageMax    []T `json:"stage_max" doc:"by the sum over steps of the largest duration over ranks"`
	StageMean   []T `json:"stage_mean" doc:"by the sum over steps of the mean duration over ranks"`
	Spread      []T `json:"spread" doc:"by the sum over steps of the largest duration less the median"`
	SlowestRank []T `json:"slowest_rank" doc:"by the durations on each step's slowest rank"`
	Rank0       []T `json:"rank0" doc:"by the durations on the lowest rank"`
}

type fitJSON struct {
	Mode  frontier.FitMode `json:"mode" doc:"who says that wait is induced: the window itself (auto), nobody (none), or the caller (given)"`
	Holds bool             `json:"holds" doc:"later wait is taken as induced by the leading stage"`
	Why   string           `json:"why" doc:"why, in one sentence"`
}

type culpritJSON struct {
	Rank      int     `json:"rank" doc:"ID of the rank"`
	Stage     string  `json:"stage" doc:"name of the stage"`
	Explained int64   `json:"explained_ns" doc:"exposed time charged to this rank and stage; every nanosecond for which the group waited is charged once"`
	Gain      float64 `json:"gain" doc:"part of the makespan saved if this rank's stage were at its peers' median"`
	Excess    int64   `json:"excess_ns" doc:"mean over the steps in which it was late of its duration over its peers' median"`
	Steps     int     `json:"steps" doc:"steps in which it was late because of this stage"`
	Of        int     `json:"of" doc:"steps in which any rank was late because of this stage"`
	P         float64 `json:"p" doc:"bound on the chance of this when all ranks are alike, corrected for ranks and stages, 0 to 1"`
}

func windowFrom(r *frontier.Result) windowJSON {
	names := func(stages []int) []string { return stageNames(r, stages) }
	return windowJSON{
		Result: r, CutReason: cutReason(r), Routing: names(r.Routing), CoCritical: names(r.CoCritical), Leader: leaderOf(r),
		Baselines:  eachMethod(r, func(o frontier.Ordering) []string { return names(o.Ranking) }),
		Candidates: eachMethod(r, func(o frontier.Ordering) []string { return names(o.Candidates) }),
		Scores:     eachMethod(r, func(o frontier.Ordering) []float64 { return o.Scores }),
		ModelFit:   fitJSON{r.ModelFit.Mode, r.ModelFit.Holds, fitReason(r.ModelFit)},
		Culprits:   culpritsOf(r, r.Culprits),
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

func eachMethod[T any](r *frontier.Result, of func(frontier.Ordering) []T) byMethod[T] {
	get := func(m frontier.Method) []T {
		for _, o := range r.Baselines {
			if o.Method == m {
				return of(o)
			}
		}
		return []T{}
	}
	return byMethod[T]{get(frontier.StageMax), get(frontier.StageMean), get(frontier.Spread), get(frontier.SlowestRank), get(frontier.Rank0)}
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
