package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/trace"
)

// Limits of what few replicas and steps can prove.
const (
	enoughReplicas = 3 // below, nobody can say which of two is unusual
	enoughSteps    = 5
)

// maxSmall suspects are listed of those that are too small to call.
const maxSmall = 5

// verdict ranks the theories and puts them into words.
func (j *opJudge) verdict() *RunVerdict {
	largest := int64(0)
	for _, t := range j.theories {
		largest = max(largest, t.Explained)
	}
	total := int64(0)
	for _, ns := range j.Replay.Recorded.PerStep {
		total += ns
	}
	for _, t := range j.theories {
		t.Gain = t.saved / max(1, j.base(t))
		t.Score = float64(t.Explained) / float64(max(1, total))
	}
	for _, t := range j.theories {
		j.trust(t)
	}
	slices.SortStableFunc(j.theories, func(a, b *theory) int {
		return cmp.Or(cmp.Compare(min(b.Confidence, Supported), min(a.Confidence, Supported)), cmp.Compare(b.Explained, a.Explained))
	})
	// The few largest of what is too small to call are enough.
	first := slices.IndexFunc(j.theories, func(t *theory) bool { return t.Confidence == Insufficient })
	if first >= 0 {
		j.theories = j.theories[:min(len(j.theories), first+maxSmall)]
	}
	v := &RunVerdict{Run: j.run, Operators: j.Operators}
	for _, t := range j.theories {
		v.Suspects = append(v.Suspects, t.Finding)
	}
	if len(v.Suspects) > 0 {
		v.Confidence = v.Suspects[0].Confidence
	}
	v.Headline = j.headline()
	v.Undecidable = j.undecidable()
	v.CapturePlan = j.plan()
	return v
}

// base is the step that a theory takes its savings from: as recorded for what
// is lost before operators start, without launch delays for all else.
func (j *opJudge) base(t *theory) float64 {
	if t.cause == causeIdle || t.cause == causeLaunch {
		return max(j.Replay.Recorded.Mean, t.saved)
	}
	return j.now
}

// called reports whether a theory explains enough to be called: by itself, or
// as one of several that are about as large and of one kind, or mask each
// other.
func (j *opJudge) called(t *theory) bool {
	own := j.share(t)
	if own >= j.gates.StaticGain {
		return true
	}
	largest, sum := 0.0, 0.0
	for _, o := range j.theories {
		if o.cause != t.cause && !(o.masked(len(j.Steps)) && t.masked(len(j.Steps))) {
			continue
		}
		largest = max(largest, j.share(o))
		if j.share(o) >= own/2 {
			sum += j.share(o)
		}
	}
	return sum >= j.gates.StaticGain && own >= accomplice*largest
}

// trust decides how far a theory may be called, and closes its evidence with
// the replay and with what a strong claim lacks.
func (j *opJudge) trust(t *theory) {
	if t.cause == causeWorker || t.cause == causeTransfer || t.cause == causeLink || t.cause == causeCollective || t.cause == causeLaunch || t.cause == causeHeavy {
		text := fmt.Sprintf("replay: mending it alone takes a step from %s to %s (%s less)", ms(int64(j.now)), ms(int64(j.now-t.saved)), percent(t.Gain))
		if t.cause == causeLaunch {
			text = fmt.Sprintf("replay: started when its peers start it, a step takes %s less (%s)", ms(int64(t.saved)), percent(t.Gain))
		}
		if t.masked(len(j.Steps)) && j.share(t) >= trivial {
			text += fmt.Sprintf("; others hold the step up too, and without all of them it takes %s", ms(int64(j.base(t)-t.joint)))
		}
		t.Evidence = append(t.Evidence, Said(text))
	}
	if !j.called(t) {
		t.Confidence = Insufficient
		t.Evidence = append(t.Evidence, Said(fmt.Sprintf("below what is called: %s of the step, the gate is %.0f %%",
			percent(j.share(t)), 100*j.gates.StaticGain)))
		return
	}
	t.Confidence = Strong
	for _, c := range j.lacks(t) {
		t.Confidence = min(t.Confidence, c.at)
		t.Evidence = append(t.Evidence, Said("not strong: "+c.why))
	}
}

// lack is a reason why a theory is not strong, and how far it still may be
// trusted.
type lack struct {
	at  Confidence
	why string
}

func (j *opJudge) lacks(t *theory) []lack {
	var out []lack
	say := func(holds bool, at Confidence, why string) {
		if holds {
			out = append(out, lack{at, why})
		}
	}
	few := countedWord(j.Replicas, "replica") + ": who of so few is unusual cannot be said, only who is slower"
	switch t.cause {
	case causeWorker:
		w := t.workers[0]
		say(j.Replicas < enoughReplicas, Supported, few)
		say(!t.proof.slow() && (j.Replicas >= enoughReplicas || j.asUneven(w)), Ambiguous, "no test tells it from chance and uneven microbatches")
		say(t.proof.few && !t.proof.level, Supported, "so few workers do not show what workers differ by")
		// Two slow steps are surely there; whether they are what the step
		// loses is another question.
		few := !t.proof.level && !t.proof.few && t.proof.every == 0 && !t.proof.overall
		say(t.proof.slow() && few && 2*t.proof.excess < t.Explained, Supported, "the operators that are surely long are the smaller part of what it explains")
		charged, _, makespan := j.charged(w)
		agree := j.rhythm(w) != "" || j.blamed(w) || float64(charged) >= j.gates.StaticGain*float64(makespan)
		say(!agree && j.Replicas >= enoughReplicas, Supported, "neither rhythm nor blame nor frontier confirms it")
	case causeTransfer:
		say(j.Replicas < enoughReplicas, Supported, few)
		say(j.Replicas >= enoughReplicas && !j.blamed(t.workers[0]) && !j.blamed(t.workers[1]), Supported, "walks of blame do not end at these transfers")
	case causeLink:
		say(true, Supported, "stages may send different amounts by design: sizes are not in the trace")
	case causeCollective:
		say(true, Supported, "stages may move different amounts by design: sizes are not in the trace")
	case causeLaunch:
		say(!t.confirmed && j.Replicas >= enoughReplicas, Ambiguous, "neither blame nor an outlier test confirms it")
		say(true, Supported, "what an operator waits for need not be in the trace")
	case causeIdle:
		say(true, Supported, "whether the host, data loading or work that was not recorded is behind it cannot be told")
	case causeHeavy:
		say(j.Replicas < enoughReplicas, Supported, countedWord(j.Replicas, "replica")+": a heavy stage and slow ranks on it look the same")
		say(j.Passes == nil, Supported, "stages run different passes, so that they were not tested")
		say(j.Replicas >= enoughReplicas && !j.surelyHeavy(t.stage), Ambiguous, "the test does not tell it from how workers differ")
	case causeUneven:
		const sure = 0.5
		say(j.v.Grid.Stages < 2, Supported, "one pipeline stage: whether other stages see the same microbatches as long cannot be told")
		say(*j.Passes.Shared.Directions < sure, Supported, "forward and backward of a microbatch are related only weakly")
	case causeRandom:
		say(true, Ambiguous, "noise, shared hosts and data that only one direction depends on look the same")
	case causeRotating:
		say(len(t.workers) < 2, Ambiguous, "no outlier test speaks against two workers or more")
	}
	say(len(j.Steps) < enoughSteps, Supported, countedWord(len(j.Steps), "step")+" cannot show what is chance")
	return out
}

// asUneven reports whether a worker is slow by no more than microbatches of
// uneven length make workers differ in one step.
func (j *opJudge) asUneven(w int) bool {
	if !j.shared() {
		return false
	}
	s := j.Passes.Shared
	differ := math.Sqrt(2/float64(max(1, j.microbatches))) * math.Log1p(s.Spread)
	return math.Log(j.Passes.Workers[w].Factor) < 3*differ
}

// headline is one sentence for someone tired.
func (j *opJudge) headline() string {
	if slices.ContainsFunc(j.Notes, func(n trace.Note) bool { return n.Kind == trace.NoteMissingRanks }) {
		text := j.sentence()
		return "Incomplete data: " + strings.ToLower(text[:1]) + text[1:]
	}
	return j.sentence()
}

func (j *opJudge) sentence() string {
	step := ms(int64(j.Replay.Recorded.Mean))
	if len(j.theories) == 0 {
		return fmt.Sprintf("No worker, stage or operation stands out: a step takes %s, and with all operators as long as is usual for their kind %s.",
			step, ms(int64(j.Replay.Ideal.Mean)))
	}
	t := j.theories[0]
	if t.Confidence == Insufficient {
		return fmt.Sprintf("Nothing that this trace can call: the most is that %s, which costs %s of a %s step (the gate is %.0f %%).",
			t.say, percent(j.share(t)), step, 100*j.gates.StaticGain)
	}
	say := t.say
	same := j.alike(t)
	if len(same) > 1 {
		say = fmt.Sprintf("ranks %s each take longer than their peers for the same work", listed(same))
	}
	adverb := map[Confidence]string{Supported: "Probably ", Ambiguous: "Possibly "}[t.Confidence]
	if adverb == "" {
		say = strings.ToUpper(say[:1]) + say[1:]
	}
	text := adverb + say + ". " + j.bought(t, len(same) > 1)
	if len(j.theories) > 1 && len(same) < 2 && j.theories[1].Confidence >= Supported {
		text += fmt.Sprintf(" Second: %s (%s).", j.theories[1].say, percent(j.share(j.theories[1])))
	}
	return text
}

// bought says what mending a theory buys: it alone, all that are alike, or,
// where others mask it, it and the others.
func (j *opJudge) bought(t *theory, alike bool) string {
	saved, it, base := t.saved, "Mended", j.base(t)
	switch {
	case alike:
		saved, it = t.joint, "All of them mended"
	case t.masked(len(j.Steps)):
		return fmt.Sprintf("Mended alone, a step would take %s instead of %s (%s less), since others hold it up too; without all of them, %s (%s less).",
			ms(int64(base-saved)), ms(int64(base)), percent(saved/max(1, base)), ms(int64(base-t.joint)), percent(t.joint/max(1, base)))
	case t.cause == causeUneven || t.cause == causeRandom:
		it = "Evened out"
	case t.cause == causeIdle:
		return fmt.Sprintf("Without that, a step would take %s instead of %s (%s less).",
			ms(int64(base-saved)), ms(int64(base)), percent(saved/max(1, base)))
	case t.cause == causeHeavy:
		it = "As fast as the others"
	}
	if recorded := j.Replay.Recorded.Mean; math.Abs(recorded-base) > trivial*recorded {
		it += ", and but for late starts"
	}
	return fmt.Sprintf("%s, a step would take %s instead of %s: %s less, %.3g times as fast.", it,
		ms(int64(base-saved)), ms(int64(base)), percent(saved/max(1, base)), base/max(1, base-saved))
}

// alike are the ranks of the workers that are called with a theory for being
// slow together, ascending.
func (j *opJudge) alike(t *theory) []int {
	if t.cause != causeWorker || !t.masked(len(j.Steps)) {
		return nil
	}
	var ids []int
	for _, o := range j.theories {
		if o.cause == causeWorker && o.Confidence >= Ambiguous && o.Explained*2 >= t.Explained {
			ids = append(ids, *o.Rank)
		}
	}
	slices.Sort(ids)
	return ids
}

// undecidable lists what the trace cannot tell, with what would.
func (j *opJudge) undecidable() []string {
	var out []string
	say := func(holds bool, text string) {
		if holds {
			out = append(out, text)
		}
	}
	say(j.Replicas == 1, "Which rank is slow: with one replica no rank has a peer that does the same work. Stages are compared, and a heavy stage looks like a slow rank.")
	say(j.Replicas == 2, "Which of two replicas is unusual: the slower one holds up the other, and that is all that two can show.")
	missing := false
	for _, n := range j.Notes {
		say(n.Kind == trace.NoteMissingRanks, "What the ranks that recorded nothing do to the others: "+n.Text+". Record all ranks.")
		missing = missing || n.Kind == trace.NoteMissingRanks
	}
	say(j.unlinked(), "Which stage holds up which: the trace has no sends and receives between the pipeline stages. Record them.")
	say(len(j.Steps) < enoughSteps, fmt.Sprintf("What is chance: there are %s. Record %d or more.", countedWord(len(j.Steps), "step"), enoughSteps))
	local := slices.ContainsFunc(j.theories, func(t *theory) bool { return t.cause <= causeTransfer && t.Confidence >= Ambiguous })
	say(local && j.Layout.TP > 1, fmt.Sprintf("Which of the %d tensor-parallel ranks of a worker: the trace has one line for all of them. Record each.", j.Layout.TP))
	if share, err := j.network(); err == nil {
		say(share >= j.gates.StaticGain && !missing, fmt.Sprintf("Whether the network is slow for everyone: %s of the step goes when transfers take no time, and there is nothing to compare that with. Give sizes, or NCCL logs.", percent(share)))
	}
	return out
}

// network is the part of a step that goes when transfers take no time, with
// what is named already mended.
func (j *opJudge) network() (float64, error) {
	var named []*theory
	for _, t := range j.theories {
		if t.mend != nil && j.share(t) >= trivial {
			named = append(named, t)
		}
	}
	with, err := j.step(mends(named, nil)...)
	if err != nil {
		return 0, err
	}
	free, err := j.step(append(mends(named, nil), j.freeCommunication())...)
	return (with - free) / max(1, j.now), err
}

// freeCommunication makes all transfers take no time.
func (j *opJudge) freeCommunication() remedy {
	return func(cost, _ []int64) {
		for n := range j.class {
			if !j.priced.local(n) {
				clear(cost[n*j.v.Grid.Lanes() : (n+1)*j.v.Grid.Lanes()])
			}
		}
	}
}

// plan says what a heavy profiler should record next.
func (j *opJudge) plan() *CapturePlan {
	if len(j.theories) == 0 {
		return nil
	}
	t := j.theories[0]
	p := &CapturePlan{Window: -1, Steps: [2]int64{j.Steps[0], j.Steps[len(j.Steps)-1]}, Tool: "torch.profiler or nsys, 3 to 5 steps like these"}
	var all []int
	for _, r := range j.Workers {
		all = append(all, r.ID)
	}
	if t.Stage != "" {
		p.Stages = []string{t.Stage}
	}
	switch {
	case len(t.workers) > 0 && t.cause <= causeLaunch:
		stage := j.v.Stage(t.workers[0])
		var own, peers []int
		for _, w := range t.workers {
			own = append(own, j.Workers[w].ID)
		}
		for d := range j.Replicas {
			peers = append(peers, j.Workers[stage*j.Replicas+d].ID)
		}
		p.Ranks = append(own, sample(peers, 2, own)...)
		p.Why = fmt.Sprintf("to see which kernels or host calls make rank %d differ, beside peers that do the same work", own[0])
	case t.cause == causeHeavy:
		var members []int
		for w, r := range j.Workers {
			if j.stageName(j.v.Stage(w)) == t.Stage {
				members = append(members, r.ID)
			}
		}
		p.Ranks = append(sample(members, 1, nil), sample(all, 1, members)...)
		p.Why = "to see what the stage computes that the others do not"
	case t.cause == causeIdle || t.cause == causeRotating:
		p.Ranks = sample(all, 4, nil)
		p.Why = "to see what the host does before these operators, and in them"
	default:
		p.Ranks = sample(all, 4, nil)
		p.Why = "to see what differs between short and long passes: record the lengths of the microbatches beside them"
	}
	return p
}
