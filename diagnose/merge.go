package diagnose

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/delay"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/health"
)

// The merge table: how what each recording of a run claims becomes one verdict. A rule takes claims and returns
// claims, or takes open questions and returns open questions; it reads what the recordings show and changes none
// of it. Rules apply from top to bottom, whatever the order in which recordings were read. A verdict is put
// together once, from what the last rule returns.

// claimRules are the rules for claims.
var claimRules = []struct {
	says  string
	apply func(*judge, []Finding) []Finding
}{
	{"a rank that steps and operators find late is one claim", (*judge).joinOperators},
	{"a rank that steps and a profiler's traces of them find late is one claim", (*judge).joinTraces},
	{"a rank that steps and NCCL's kernels find late is one claim", (*judge).joinKernels},
	{"who waits behind a slow link is its victim", (*judge).doubtVictims},
	{"all ranks are charged with what is left when late ranks are taken out", (*judge).chargeRest},
	{"all ranks are not slower because one is not recorded any more", (*judge).doubtWithoutRanks},
	{"a rank that steps and entries of calls find late is one claim", (*judge).joinEntries},
	{"who enters last beyond chance, though nobody is seen to wait, may be late where nobody else is", (*judge).addUnawaited},
	{"ranks that enter no call late by themselves are not late with others", (*judge).leaveOutPunctual},
	{"behind messages that nobody recorded no rank is named", (*judge).doubtBehindMessages},
	{"the distributions and waits of the same steps are evidence, or name another rank instead", (*judge).heedLatent},
	{"a call that a rank never entered, or that ranks entered differently, is a claim", (*judge).addHang},
	{"what a rank saves that waits for what comes at its own pace is an upper bound", (*judge).boundPaced},
	{"certain claims that are worth acting on together count", (*judge).countTogether},
	{"what may be acted on comes first, then the larger saving", (*judge).order},
	{"the operators and the line that a rank is late in, and its probes, are evidence", (*judge).addEvidence},
}

// questionRules are the rules for what is left open, behind the claims.
var questionRules = []struct {
	says  string
	apply func(*judge, []Finding, []answer.Undecided) []answer.Undecided
}{
	{"who is late in a stage is known where operators or kernels name the first claim, or kernels find nobody", (*judge).closeNamed},
	{"entries show who is late in a stage, unless the ranks that entered it last have no record", (*judge).closeEntered},
	{"a rank without a record may be late by a whole step", (*judge).askMissing},
	{"what follows the last entry may be a slow transfer", (*judge).askTransfer},
	{"what looks late may be a clock that is off", (*judge).askClock},
	{"ranks that exchange messages alone cannot be compared", (*judge).askRoles},
	{"who a late rank waited for has no record", (*judge).askInherited},
	{"waits in messages that nobody recorded are not known", (*judge).askMessages},
	{"a stage in which all ranks synchronise may hide all of its time", (*judge).hideWhole},
}

// merge returns the verdict: claims and questions by the table, and what follows from them.
func (j *judge) merge(monitoring []*health.Record) RunVerdict {
	claims := j.claims()
	for _, r := range claimRules {
		claims = r.apply(j, claims)
	}
	open := j.questions()
	for _, r := range questionRules {
		open = r.apply(j, claims, open)
	}
	problems := j.runProblems()
	status := j.status(claims, open, problems)
	observed := dropClaimed(j.observations(status), claims)
	next := j.next(status, claims, open, problems)
	seen := j.observeMonitoring(monitoring, status, claims)
	return RunVerdict{
		Run: j.name, MinGain: j.minGain, Status: status, Confidence: confidenceOf(claims),
		Findings: seen.addTo(claims), Together: j.joint(), Limits: j.limitsLeft(), Coverage: j.coverage(), Latent: j.latent(claims),
		Observed: slices.Concat(observed, seen.observed), Undecided: open,
		Problems: slices.Concat(problems, seen.problems), Next: seen.first(next),
		Devices: j.devices, Earlier: j.earlier, Windows: j.windows, Operators: j.operatorsSeen(), Communications: j.communicationsAlone(), Traffic: j.traffic,
	}
}

// claims returns what the steps claim; of a run without windows what its operators do, without these NCCL's kernels, and else what entries of
// calls do of all ranks alike.
func (j *judge) claims() []Finding {
	switch {
	case len(j.windows) > 0:
		out := make([]Finding, 0, len(j.found))
		for _, f := range j.found {
			out = append(out, *f)
		}
		return j.order(out)
	case j.operators != nil:
		return slices.Clone(j.operators.Findings)
	case j.heard != nil:
		return slices.Clone(j.heard.Findings)
	case j.entered != nil:
		return j.enteredAlike(j.entered)
	}
	return nil
}

// confidenceOf returns the certainty of the first claim.
func confidenceOf(claims []Finding) evidence.Confidence {
	if len(claims) == 0 {
		return evidence.Insufficient
	}
	return claims[0].Confidence
}

// order returns the claims by what may be acted on, and within that by what fixing them saves. A hang comes
// before all; where somebody is named for certain, uneven work comes behind, and so does what a few traced steps show
// and all steps do not, or what may be chance and leaves nothing undecided; the operator that explains a claim comes behind it.
func (j *judge) order(claims []Finding) []Finding {
	named := slices.ContainsFunc(claims, func(f Finding) bool { return f.IsFlagged() && f.Cause.status() == answer.Straggler })
	behind := func(f *Finding) int {
		switch {
		case named && f.Cause.status() == answer.ImbalanceRun:
			return 2
		case f.deniedBySteps(), f.Cause == CauseLate && f.P > gates.Supported && !f.perhaps():
			return 1
		}
		return 0
	}
	explains := func(o, f *Finding) bool {
		return o.Cause == CauseOperator && f.Cause != CauseOperator && indexOfRank([]Finding{*o}, f) == 0 && o.Stage == f.Stage
	}
	out := slices.Clone(claims)
	slices.SortStableFunc(out, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.weight(), a.weight()), cmp.Compare(behind(&a), behind(&b)), compareWeight(&a, &b))
	})
	for i := 0; i < len(out); i++ {
		at := slices.IndexFunc(out[i+1:], func(f Finding) bool { return explains(&out[i], &f) })
		if at < 0 || i > 0 && explains(&out[i], &out[i-1]) {
			continue
		}
		o := out[i]
		out = slices.Insert(slices.Delete(out, i, i+1), i+at+1, o)
		i--
	}
	return out
}

// compareWeight orders findings that may be acted on first, then those large enough, then by certainty, and within
// each by what fixing them saves and by what they explain.
func compareWeight(a, b *Finding) int {
	return cmp.Or(cmp.Compare(b.weight(), a.weight()), cmp.Compare(b.saving(), a.saving()), cmp.Compare(b.Explained, a.Explained))
}

func (f *Finding) weight() int {
	switch {
	case f.Cause.status() == answer.Hang:
		return 4
	case f.IsFlagged():
		return 3
	case !f.BelowMinGain && f.Confidence > evidence.Insufficient:
		return 2
	case f.Confidence >= evidence.Supported:
		return 1
	}
	return 0
}

// deniedBySteps reports whether operators or a profiler's traces alone claim a finding, of the steps that they were
// recorded in, and all steps show others.
func (f *Finding) deniedBySteps() bool {
	if f.source != evidence.FromOperators && f.source != evidence.FromProfiler {
		return false
	}
	_, denied := evidence.FindIf(f.Evidence, func(l evidence.Lack) bool { return l.Reason == evidence.SourcesDisagree })
	return denied
}

// saving returns the part of the run that fixing a finding saves: alone, or with others fixed before it if that
// is more.
func (f *Finding) saving() float64 {
	if f.source == evidence.FromOperators {
		return max(f.Score, f.RunGain) // replay divides what several save together
	}
	return max(f.RunGain, f.After)
}

// joint returns the part of the run that fixing every rank that is late for certain saves; 0: not known, or there
// is one at most.
func (j *judge) joint() (part float64) {
	if m := j.modelled; m != nil {
		late := 0
		for i := range m.Claims {
			if f := &m.Claims[i]; f.Cause == claim.Late && f.Certainty >= claim.Supported {
				late++
			}
		}
		if late > 1 {
			part = m.Joint
		}
	}
	if j.entered != nil && len(j.entered.Late) > 1 {
		part = max(part, j.entered.Joint)
	}
	return part
}

// countTogether marks claims that are certain, and together worth acting on: delays of [leastTold] or more, of
// fewer than half of the ranks or of one host of several.
func (j *judge) countTogether(claims []Finding) []Finding {
	joint, ranks, small := j.joint(), map[int]bool{}, false
	hosts := map[string]bool{}
	counts := func(f *Finding) bool {
		return f.Confidence >= evidence.Supported && f.Cause == CauseLate && f.Who().Kind != AllRanks && f.delayPart() >= leastTold
	}
	for i := range claims {
		f := &claims[i]
		switch {
		case counts(f):
			small = small || f.BelowMinGain
			hosts[f.Host] = true
			for _, r := range f.lateRanks() {
				ranks[r] = true
			}
		case f.Confidence >= evidence.Supported && f.Cause == CauseLate:
			joint -= f.delayPart()
		}
	}
	_, unknown := hosts[""]
	oneHost := len(hosts) == 1 && !unknown && len(j.placed.hosts) > 1 // not all ranks are on
	if !small || joint < j.minGain || 2*len(ranks) >= j.ranksSeen() && !oneHost {
		return claims
	}
	out := slices.Clone(claims)
	for i := range out {
		out[i].Jointly = counts(&out[i])
	}
	return out
}

// delayPart returns the delay of a claim as a part of the steps that were compared.
func (f *Finding) delayPart() float64 {
	if f.Step == 0 {
		return 0
	}
	return f.Struck.rate() * float64(f.Excess) / float64(f.Step)
}

// lateRanks returns the ranks that a claim says are late.
func (f *Finding) lateRanks() []int {
	if f.Rank != nil {
		return []int{*f.Rank}
	}
	return f.Ranks
}

// ranksSeen returns how many ranks were recorded.
func (j *judge) ranksSeen() (n int) {
	for _, w := range j.windows {
		n = max(n, len(w.Main.Ranks))
	}
	if j.entered != nil {
		n = max(n, len(j.entered.Ranks))
	}
	return n
}

// runProblems returns what was lost of the run.
func (j *judge) runProblems() []answer.Problem {
	out := slices.Concat(j.problems(), j.noted, j.recordingErrors())
	if r := j.entered; r != nil && len(r.Missing) > 0 && !(r.Hang != nil && r.Hang.Groups[0].GaveUp) {
		said := slices.ContainsFunc(out, func(p answer.Problem) bool {
			return p.Problem == answer.RanksMissing && !slices.ContainsFunc(r.Missing, func(id int) bool { return !p.Ranks.Has(id) })
		})
		if !said {
			out = append(out, answer.Problem{Problem: answer.DumpsMissing, Ranks: trace.RankSetOf(r.Missing), N: len(r.Missing), Of: len(r.Missing) + len(r.Ranks)})
		}
	}
	return out
}

// observations returns what is known of the run as a whole.
func (j *judge) observations(status answer.Status) []evidence.Observation {
	out := j.searchResults(status)
	if len(j.windows) > 0 && j.operators != nil && len(flaggedFindings(j.operators.Findings)) == 0 {
		out = append(out, tracedSteps(j.operators.Operators))
	}
	if j.joinsKernels() && len(j.heard.Findings) == 0 && j.traffic.Speed.Compared > 0 {
		out = append(out, evidence.Witness{Source: evidence.FromNCCL})
	}
	return out
}

// searchResults returns what was looked at, where no straggler is claimed, and what is known of the steps beside that.
func (j *judge) searchResults(status answer.Status) []evidence.Observation {
	var one []evidence.Observation
	if e, ok := j.singleRank(); ok {
		one = append(one, e)
	}
	if j.alone != nil {
		return append(one, *j.alone)
	}
	if one != nil {
		return one
	}
	if len(j.windows) == 0 && j.entered != nil {
		return []evidence.Observation{searchSummary(j.entered)}
	}
	e := evidence.NobodyLate{}
	for _, w := range j.windows {
		m := w.Main
		e.Ranks = max(e.Ranks, len(m.Ranks))
		e.Steps += m.Steps
		e.Step += m.Makespan
	}
	if e.Steps == 0 {
		return nil
	}
	e.Step /= int64(e.Steps)
	if m := j.modelled; m != nil {
		// Medians: one value that is none says nothing of the others.
		e.Step, e.Skew, e.Last = cmp.Or(m.Step, e.Step), m.Skew, lastMostOften(m.Latest)
		if e.Last != nil {
			e.Last.Rank = j.placed.ranks[e.Last.Rank]
		}
		if e.Last != nil && !e.Last.Significant && j.hearsLatent() {
			e.Last = nil // one is waited for, though the count of its turns does not show it
		}
	}
	// Entries show who is last within a stage too.
	if j.entered != nil && j.entered.Latest.Significant() && (e.Last == nil || !e.Last.Significant) {
		e.Last = lastMostOften(j.entered.Latest.Latest)
	}
	var out []evidence.Observation
	if status != answer.Straggler {
		out = append(out, e)
	}
	out = append(out, j.inputBound()...)
	out = append(out, j.between.evidence(j.entered)...)
	if len(j.found) == 0 {
		out = append(out, j.harmless(trivial/2*float64(e.Step))...)
	}
	return out
}

// lastMostOften returns the rank that is last most often; nil where nothing was tested.
func lastMostOften(l delay.Latest) *evidence.LastMostOften {
	if l.Rank < 0 {
		return nil
	}
	return &evidence.LastMostOften{Rank: l.Rank, N: l.N, Of: l.Of, Behind: l.Behind, P: l.P, Significant: l.Significant()}
}

// addEvidence returns the claims with what speaks for them in operators, lines of the program and probes, and with
// the most that they save.
func (j *judge) addEvidence(claims []Finding) []Finding {
	out := slices.Clone(claims)
	for i := range out {
		f := &out[i]
		f.RunAtMost = max(f.RunAtMost, f.RunGain)
		if j.entered != nil {
			f.Evidence = append(slices.Clip(f.Evidence), j.launchedBy(f)...)
		}
		if e, ok := j.line(f); ok {
			f.Evidence = slices.Insert(slices.Clone(f.Evidence), min(1, len(f.Evidence)), evidence.Observation(e))
			f.Source = &e.Source
		}
		if probes := j.probes(f); len(probes) > 0 {
			f.Evidence = insertBeside(f.Evidence, probes, nil)
		}
	}
	return out
}

// doubtWithoutRanks doubts that all ranks are slower where those steps are the ones in which not all ranks were recorded:
// the others may wait for one of these.
func (j *judge) doubtWithoutRanks(claims []Finding) []Finding {
	out := slices.Clone(claims)
	if !slices.ContainsFunc(j.windows, func(w Window) bool { return len(w.Main.Quality.Missing) == 0 }) {
		return out
	}
	for i := range out {
		f := &out[i]
		if f.Cause != CauseRegression && f.Cause != CauseSlowSteps && f.Cause != CausePeriodic || f.Rank != nil {
			continue
		}
		complete, without := 0, 0
		for _, w := range j.windows {
			from, to := max(f.Struck.First, w.Main.FirstStep), min(f.Struck.Last, w.Main.LastStep())
			if n := int(max(0, to-from+1)); len(w.Main.Quality.Missing) > 0 {
				without += n
			} else {
				complete += n
			}
		}
		f.lackIf(without > 0 && complete < without/10, evidence.Lack{Reason: evidence.Incomplete, AtMost: evidence.Ambiguous})
	}
	return out
}
