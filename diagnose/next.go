package diagnose

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/stagename"
)

// next returns what to do, the most useful first.
func (j *judge) next(status answer.Status, claims []Finding, open []answer.Undecided, problems []answer.Problem) []answer.Action {
	if a, ok := complete(status, problems); ok {
		return []answer.Action{a}
	}
	var out []answer.Action
	switch {
	case status == answer.TooLittleData && j.short():
		out = []answer.Action{{Action: answer.TurnOn, With: answer.SourceSteps}}
	case len(claims) > 0 && status > answer.Unseen:
		out = j.actions(&claims[0])
	}
	if status == answer.TooLittleData {
		out = append(out, j.lookAtOne()...)
	}
	if with := doubtful(problems); with != "" {
		out = slices.Insert(out, 0, answer.Action{Action: answer.TurnOn, With: with})
	}
	found := len(out)
	for _, u := range open {
		if (status == answer.Unseen || status == answer.UndecidedRun || status == answer.TooLittleData) && u.Needs != "" && !slices.ContainsFunc(out, func(a answer.Action) bool { return a.With == u.Needs }) {
			a := answer.Action{Action: answer.TurnOn, With: u.Needs}
			if u.Stage != "" {
				a.Stages = []string{u.Stage}
			}
			out = append(out, a)
		}
	}
	if status == answer.Unseen {
		out = append(out, j.coverageActions(out)...)
	}
	if len(claims) > 0 && claims[0].Confidence < evidence.Ambiguous && messagesHide(open) {
		out = append(out[found:], out[:found]...) // who is late comes before why
	}
	out = append(out, j.sourceNext(status, claims)...)
	if len(claims) > 0 {
		out = reading(&claims[0], out)
	}
	return dedupeActions(out)
}

// dedupeActions returns the actions without those that an earlier one does already.
func dedupeActions(all []answer.Action) (out []answer.Action) {
	for _, a := range all {
		if !slices.ContainsFunc(out, func(b answer.Action) bool {
			return a.Action == b.Action && a.With == b.With && slices.Equal(a.Ranks, b.Ranks) && slices.Equal(a.Stages, b.Stages)
		}) {
			out = append(out, a)
		}
	}
	return out
}

// coverageActions returns what would show the places that hide most, beside what is to be done already.
func (j *judge) coverageActions(done []answer.Action) (out []answer.Action) {
	places := slices.DeleteFunc(j.coverage(), func(c answer.Coverage) bool { return c.Seen || c.Hides == 0 })
	slices.SortStableFunc(places, func(a, b answer.Coverage) int { return cmp.Compare(b.Hides, a.Hides) })
	for _, c := range places {
		if with := func(a answer.Action) bool { return a.With == c.Needs }; !slices.ContainsFunc(done, with) && !slices.ContainsFunc(out, with) {
			out = append(out, answer.Action{Action: answer.TurnOn, With: c.Needs, Stages: []string{c.Stage}})
		}
	}
	return out
}

// sourceNext returns what to do about the first claim by the recording that makes it.
func (j *judge) sourceNext(status answer.Status, claims []Finding) (out []answer.Action) {
	var first Finding
	if len(claims) > 0 {
		first = claims[0]
	}
	switch {
	case len(j.windows) == 0 && j.operators != nil && !(j.heard != nil && first.isCommunicationOnly()):
		out = j.operators.Next
	case j.heard != nil && (!j.joinsKernels() || first.isCommunicationOnly() && (first.Rank == nil || first.Stage == "")):
		out = j.heard.Next
	case first.source == evidence.FromOperators:
		out = j.operators.Next
	case first.source == evidence.FromProfiler:
		out = j.tracesNext()
	}
	if status > answer.Unseen && slices.ContainsFunc(first.Evidence, isArrival) {
		out = slices.Concat(out, arrivalActions(&first, j.entered))
	}
	if _, described := evidence.Find[evidence.LaunchedOperators](first.Evidence); described && first.source == evidence.FromArrivals {
		out = stacksFor(out, *first.Rank)
	}
	return out
}

// spoiling are the problems of a recording that leave nothing to be said about it, by what it lacks then.
var spoiling = []struct {
	problem answer.ProblemKind
	lacks   ShortageKind
	with    answer.Source // what makes it whole
}{
	{answer.StagesDiffer, UnlikeStages, answer.SourceSameStages},
	{answer.StageContains, NestedStages, answer.SourceFlatStages},
	{answer.StagesDisordered, DisorderedStages, answer.SourceStageOrder},
	{answer.RanksMissing, RanksMissing, answer.SourceAllRanks},
}

// complete returns what makes a recording whole that nothing can be said about.
func complete(status answer.Status, problems []answer.Problem) (a answer.Action, ok bool) {
	if status != answer.TooLittleData {
		return a, false
	}
	for _, c := range spoiling {
		if i := slices.IndexFunc(problems, func(p answer.Problem) bool { return p.Problem == c.problem }); i >= 0 {
			return answer.Action{Action: answer.TurnOn, With: c.with, Ranks: problems[i].Ranks.IDs()}, true
		}
	}
	return a, false
}

// doubtful returns what to correct in a table before anything that rests on it, "" for nothing:
// times that may be in another unit, stages in an order in which no step runs them.
func doubtful(problems []answer.Problem) answer.Source {
	switch {
	case problemText(problems, answer.StagesDisordered) != "":
		return answer.SourceStageOrder
	case problemText(problems, answer.ProblemKind(input.NoteUnitDoubt.String())) != "":
		return answer.SourceUnits
	}
	return ""
}

// messagesHide reports whether ranks may have waited for each other in sends and
// receives that nobody recorded.
func messagesHide(open []answer.Undecided) bool {
	return slices.ContainsFunc(open, func(u answer.Undecided) bool { return u.Question == answer.MessagesNotRecorded && u.Hides > 0 })
}

// actions returns the actions for a finding.
func (j *judge) actions(f *Finding) []answer.Action {
	if len(f.Windows) == 0 {
		return nil
	}
	w := j.windows[f.Detail].Main
	ranks := w.Ranks
	if turns, ok := evidence.Find[evidence.LateIntermittently](f.Evidence); ok && !turns.Even {
		ranks = slices.Sorted(slices.Values(turns.Late[:min(mostSampled, len(turns.Late))]))
	}
	base := answer.Action{Steps: &[2]int64{w.FirstStep, w.LastStep()}}
	if len(j.windows) > 1 {
		base.Window = &w.Window
	}
	if f.Stage != "" {
		base.Stages = []string{f.Stage}
	}
	do := func(kind answer.ActionKind, with answer.Source, ranks ...int) answer.Action {
		a := base
		a.Action, a.With, a.Ranks, a.Host = kind, with, ranks, f.Host
		return a
	}
	kind := stagename.KindOf(f.Stage)
	switch {
	case f.Cause == CauseHost:
		return []answer.Action{do(answer.Profile, answer.SourceStacks, sample(w.Ranks, 1, nil)...)}
	case f.Kind == KindRank:
		return rankActions(f, w.Ranks, do)
	case f.Kind == KindHost:
		peers := sample(w.Ranks, 1, f.Ranks)
		return []answer.Action{do(answer.InspectHost, answer.SourceDevice), do(answer.Profile, answer.SourceProfiler, sample(f.Ranks, 1, nil)...).AddPeers(peers)}
	case f.Kind == KindGroup:
		if f.Cause == CauseLate {
			return []answer.Action{do(answer.Profile, answer.SourceProfiler, sample(f.Ranks, 2, nil)...).AddPeers(sample(w.Ranks, 2, f.Ranks))}
		}
		return []answer.Action{do(answer.Profile, answer.SourceProfiler, sample(w.Ranks, 4, nil)...)}
	case kind == stagename.Data:
		return []answer.Action{do(answer.CheckLoader, answer.SourceLoader), do(answer.SampleStack, answer.SourcePySpy, sample(ranks, 2, nil)...)}
	case kind == stagename.Callbacks || kind == stagename.Optimizer || f.Cause == CauseSlowSteps:
		return []answer.Action{do(answer.SampleStack, answer.SourcePySpy, sample(ranks, 2, nil)...)}
	case len(j.launched) > 0:
		return []answer.Action{{Action: answer.Compare, With: answer.SourceOperators, Stages: base.Stages}}
	}
	return []answer.Action{do(answer.Profile, answer.SourceProfiler, sample(ranks, mostSampled, nil)...)}
}

// mostSampled is how many ranks are profiled where none is singled out.
const mostSampled = 4

// rankActions returns the actions for one late rank: its host's stacks where it does Python, its kernels where it computes, its
// host where it is slow all over.
func rankActions(f *Finding, all []int, do func(answer.ActionKind, answer.Source, ...int) answer.Action) []answer.Action {
	rank := *f.Rank
	profile := do(answer.Profile, answer.SourceProfiler, rank).AddPeers(sample(all, 2, append([]int{rank}, f.Ranks...)))
	host := do(answer.InspectHost, answer.SourceDevice, rank)
	launched, known := evidence.Find[evidence.LaunchedOperators](f.Evidence)
	switch kind := stagename.KindOf(f.Stage); {
	case known && launched.Of > 0 && (launched.N > 0 || !launched.Tested): // they say why it is late: there is no need to record them
		return []answer.Action{host}
	case known:
		return []answer.Action{do(answer.SampleStack, answer.SourceStacks, rank)}
	case kind == stagename.Data:
		return []answer.Action{do(answer.SampleStack, answer.SourcePySpy, rank), do(answer.CheckLoader, answer.SourceLoader, rank)}
	case f.Stage == "" || f.Cause == CauseDevice:
		return []answer.Action{host, profile}
	case kind == stagename.Forward || kind == stagename.Backward:
		return []answer.Action{profile, host}
	}
	return []answer.Action{do(answer.SampleStack, answer.SourcePySpy, rank), profile}
}

// sample picks up to n ranks spread evenly, leaving some out.
func sample(ranks []int, n int, without []int) []int {
	rest := slices.DeleteFunc(slices.Clone(ranks), func(r int) bool { return slices.Contains(without, r) })
	if len(rest) <= n {
		return rest
	}
	out := make([]int, 0, n)
	for k := range n {
		out = append(out, rest[k*len(rest)/n])
	}
	return out
}

// timePerStep returns the time that a finding explains of each compared step, ns.
func (f *Finding) timePerStep() int64 { return f.Explained / int64(max(1, f.Struck.Of)) }
