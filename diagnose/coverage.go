package diagnose

import (
	"slices"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/trace/stagename"
)

// coverage returns what the recordings show of each place of a step, in the order of the step: of the stages, by the
// test of the steps, and by entries of calls where these see into a stage in which ranks wait; of operators alone of the
// pipeline stages. Empty where only kernels of NCCL were judged: these have their questions.
func (j *judge) coverage() (out []answer.Coverage) {
	switch {
	case j.modelled != nil && len(j.windows) > 0:
		return j.stepCoverage()
	case j.entered != nil && len(j.windows) == 0 && j.entered.Step > 0:
		c := answer.Coverage{}
		for i := range j.entered.Places {
			c.Least = max(c.Least, j.entered.Places[i].Limit)
		}
		if c.Seen = c.Least > 0 && !j.clocksLost(); !c.Seen {
			c.Hides, c.Reason, c.Needs = j.entered.Step, answer.TooNoisy, answer.SourceRing
		}
		return []answer.Coverage{c}
	case j.operators != nil && len(j.windows) == 0:
		return slices.Clone(j.operators.Coverage)
	}
	return nil
}

// stepCoverage returns the coverage of the stages.
func (j *judge) stepCoverage() (out []answer.Coverage) {
	entered, kernels, lost := j.stagesSeen(), j.kernelsSee(), &j.modelled.Lost
	for _, l := range j.modelled.Limits {
		if !l.Known || j.modelled.Stages[l.Stage].Role == points.Wait { // nobody works in a recorded wait
			continue
		}
		c := answer.Coverage{Stage: j.stageName(l.Stage), Seen: l.Seen, Least: l.Reported}
		switch {
		case slices.Contains(entered, c.Stage) && j.ranksMissing():
			// The others enter in time and wait for one that has no record.
			c.Hides, c.Reason, c.Needs = j.waitedFor(c.Stage, l.MayHide), answer.RanksUnknown, answer.SourceAllRanks
			if len(j.entered.Missing) > 0 {
				c.Seen = c.Seen && !j.worthActing(c.Hides)
				break
			}
			if c.Hides = int64(j.partWithoutRanks() * float64(c.Hides)); !j.worthActing(c.Hides) { // all left entries, some of them not of all steps
				c = answer.Coverage{Stage: c.Stage, Seen: true, Least: j.minEntryDelay(c.Stage)}
			}
		case slices.Contains(entered, c.Stage):
			c.Seen, c.Least = true, j.minEntryDelay(c.Stage)
		case l.MayHide > 0 && j.hasNoEntries(c.Stage) && (!j.ranksMissing() || len(j.entered.Missing) == 0 && !j.worthActing(int64(j.partWithoutRanks()*float64(l.MayHide)))):
			c.Seen, c.Least = true, j.minEntryDelay("")
		case l.MayHide > 0 && kernels:
			c.Seen = true
		case l.MayHide > 0:
			c.Hides, c.Reason, c.Needs = j.boundByGrowth(c.Stage, l.MayHide+l.Rounded), answer.RanksMayWait, j.showsWaits(c.Stage)
			if slices.ContainsFunc(j.modelled.Points, func(p points.Point) bool { return p.Stage == l.Stage }) {
				c.Reason = answer.RanksWait
			}
		case len(entered) == 0 && j.isTooCoarse():
			c.Seen, c.Hides, c.Reason, c.Needs = false, max(j.modelled.Step, l.Rounded), answer.TooCoarse, answer.SourceDigits
		case len(entered) == 0 && !j.meetsInStage():
			c.Seen, c.Hides, c.Reason, c.Needs = false, j.modelled.Step, answer.NoMeeting, j.showsMeetings()
		case j.worthActing(l.Rounded) && len(entered) == 0:
			c.Seen, c.Hides, c.Reason, c.Needs = false, l.Rounded, answer.Rounded, answer.SourceDigits
		case j.worthActing(lost.Uneven[l.Stage]) && lost.Uneven[l.Stage] >= lost.Noise[l.Stage]:
			c.Seen, c.Hides, c.Reason, c.Needs = false, j.boundByGrowth(c.Stage, lost.Uneven[l.Stage]), answer.Uneven, answer.SourceBaseline
		case !l.Seen || j.worthActing(lost.Noise[l.Stage]): // no more hides than what was recorded costs, were all of it a delay
			c.Seen, c.Hides, c.Reason, c.Needs = false, min(lost.Noise[l.Stage], j.modelled.Step), answer.TooNoisy, answer.SourceMoreSteps
		}
		if at := slices.IndexFunc(out, func(have answer.Coverage) bool { return have.Stage == c.Stage }); at >= 0 {
			out[at] = mergeMicrosteps(out[at], c)
			continue
		}
		out = append(out, c)
	}
	if j.worthActing(lost.Spread) && len(entered) == 0 && !slices.ContainsFunc(out, func(c answer.Coverage) bool { return c.Reason == answer.TooNoisy }) {
		out = append(out, answer.Coverage{Hides: min(lost.Spread, j.modelled.Step), Reason: answer.Spread, Needs: answer.SourceArrivals})
	}
	if part := j.partWithoutRanks(); part >= j.minGain && len(entered) == 0 && !j.entriesSeeAll() {
		out = append(out, answer.Coverage{Hides: int64(part * float64(j.modelled.Step)), Reason: answer.RanksUnknown, Needs: answer.SourceAllRanks})
	}
	if len(out) > 0 && !j.placed.walled && !slices.ContainsFunc(out, func(c answer.Coverage) bool { return c.Stage == stagename.Whole || c.Stage == stagename.Residual }) {
		out = append(out, answer.Coverage{Stage: stagename.Residual, Hides: lost.Unclosed, Reason: answer.NotRecorded, Needs: answer.SourceWall})
	}
	return out
}

// worthActing reports whether a delay of a step is at least the least gain.
func (j *judge) worthActing(ns int64) bool {
	return float64(ns) >= j.minGain*float64(max(1, j.modelled.Step))
}

// meetsInStage reports whether the steps show a stage in which ranks wait for each other. The time in no stage is what
// they take less where they wait longer, and shows none by itself.
func (j *judge) meetsInStage() bool {
	return j.modelled.Within || slices.ContainsFunc(j.modelled.Points, func(p points.Point) bool { return j.modelled.Stages[p.Stage].Role != points.Rest })
}

// showsMeetings returns what would show where ranks wait for each other: entries of calls, and where these are too few, more steps.
func (j *judge) showsMeetings() answer.Source {
	if j.entered != nil && slices.ContainsFunc(j.entered.Places, func(p arrivals.Place) bool { return p.Repeats }) {
		return answer.SourceMoreSteps
	}
	return answer.SourceArrivals
}

// coarse is how many units of the clock the arrivals of ranks must differ by for the times to show where they wait:
// a stage's time is rounded by up to one, and so is what leads to it.
const coarse = 2

// isTooCoarse reports whether times are rounded to more than the ranks' arrivals differ by, so that they do not show where
// ranks wait for each other. Where that is named it need not be shown.
func (j *judge) isTooCoarse() bool {
	shown := slices.ContainsFunc(j.modelled.Points, func(p points.Point) bool { return p.Evidence == points.Named })
	return len(j.books) > 0 && !shown && j.books[0].resolution >= leastResolution && j.modelled.Skew < coarse*j.books[0].resolution
}

// leastResolution is how coarse times must be, ns, to be rounded by whoever wrote them: clocks are finer.
const leastResolution = 100_000

// partWithoutRanks returns the part of the run in which ranks of the job were not recorded.
func (j *judge) partWithoutRanks() float64 {
	without, whole := int64(0), int64(0)
	for _, w := range j.windows {
		if whole += w.Main.Makespan; len(w.Main.Quality.Missing) > 0 {
			without += w.Main.Makespan
		}
	}
	return float64(without) / float64(max(1, whole))
}

// ranksMissing reports whether ranks of the job left no recording.
func (j *judge) ranksMissing() bool {
	return len(j.entered.Missing) > 0 || slices.ContainsFunc(j.windows, func(w Window) bool { return len(w.Main.Quality.Missing) > 0 })
}

// waitedFor returns how long recorded ranks wait in a stage for one that has no record, at most, ns a step: from their last entry on where
// entries tell, else so much.
func (j *judge) waitedFor(stage string, hides int64) int64 {
	for _, t := range j.entered.Transfers {
		if t.Stage == stage {
			return t.Wait
		}
	}
	return hides
}

// kernelsSee reports whether kernels of NCCL show who enters collectives late, and that nobody does: then nobody is late
// where ranks wait.
func (j *judge) kernelsSee() bool {
	if !j.joinsKernels() || len(j.heard.Findings) > 0 || j.traffic.Speed.Compared == 0 {
		return false
	}
	c := j.heard.Communications
	return c != nil && c.excludes() == excludesAll
}

// mergeMicrosteps returns the coverage of a stage of which two microsteps were recorded: it is seen if both are, and a
// rank may be late in each.
func mergeMicrosteps(a, b answer.Coverage) answer.Coverage {
	out := a
	if a.Seen {
		out = b
	}
	out.Hides, out.Least = a.Hides+b.Hides, max(a.Least, b.Least)
	return out
}

// minEntryDelay returns the least delay that entries of calls in a stage show, ns a step; "": in any.
func (j *judge) minEntryDelay(stage string) (least int64) {
	for i := range j.entered.Places {
		if p := &j.entered.Places[i]; (stage == "" || p.Stage == stage) && p.Repeats {
			least = max(least, p.Limit)
		}
	}
	return least
}

// showsWaits returns what would show who is late in a stage in which all ranks wait.
func (j *judge) showsWaits(stage string) answer.Source {
	switch {
	case j.entered != nil && j.entersIn(stage):
		return answer.SourceRing
	case len(j.launched) > 0:
		return answer.SourceOperators
	}
	return answer.SourceArrivals
}

// entersIn reports whether calls are entered in a stage.
func (j *judge) entersIn(stage string) bool {
	for i := range j.entered.Places {
		if j.entered.Places[i].Stage == stage {
			return true
		}
	}
	return false
}

// boundByGrowth returns what may hide in a stage beside a baseline: no more than it has grown by since.
func (j *judge) boundByGrowth(stage string, hides int64) int64 {
	if d, compared := j.differences[stage]; compared {
		return min(hides, max(0, int64(d.High)))
	}
	return hides
}

// hiddenTime returns how much of a step may be the delay of one rank that the recordings do not show, ns. What hides
// where ranks wait, or in rounded times, adds up, since one rank may be late in all of these places, and so does what is lost in noise; of the
// rest the largest counts.
func hiddenTime(coverage []answer.Coverage) int64 {
	waits, noise, rest := int64(0), int64(0), int64(0)
	for _, c := range coverage {
		switch c.Reason {
		case answer.RanksWait, answer.RanksMayWait, answer.RanksUnknown, answer.Rounded:
			waits += c.Hides
		case answer.TooNoisy:
			noise += c.Hides
		default:
			rest = max(rest, c.Hides)
		}
	}
	return max(waits, noise, rest)
}

// hidesDelay reports whether a delay worth acting on may be where the recordings do not show one.
func (j *judge) hidesDelay(coverage []answer.Coverage) bool {
	step := int64(0)
	switch {
	case j.modelled != nil && len(j.windows) > 0:
		step = j.modelled.Step
	case j.entered != nil:
		step = j.entered.Step
	}
	return len(coverage) > 0 && float64(hiddenTime(coverage)) >= j.minGain*float64(max(1, step))
}
