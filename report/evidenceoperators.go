package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/internal/table"
)

// witness is what another recording of the run says of a finding.
func witness(e evidence.Witness) string {
	if !e.Agrees {
		return nothingWitnessed(e)
	}
	switch e.Source {
	case evidence.FromArrivals:
		return "entries of collectives agree"
	case evidence.FromNCCL:
		return "calls and kernels of NCCL agree"
	}
	recording, where := "operator trace", ""
	if e.Source == evidence.FromProfiler {
		recording = "profiler's traces"
	}
	switch {
	case e.Op != "":
		where = " in " + e.Op
	case e.Stage != "":
		where = " in " + stageWord(e.Stage)
	}
	return fmt.Sprintf("the %s agree%s: the rank is late%s in %s too, by %s of a %s step (%s)", recording, singularS(e.Source == evidence.FromOperators), where,
		counted(e.Steps, "step"), length(float64(e.Excess)), length(float64(e.Step)), e.Confidence)
}

func nothingWitnessed(e evidence.Witness) string {
	if e.Source == evidence.FromOperators {
		return fmt.Sprintf("operator trace: no worker, stage or operator stands out among %s of %s in %s (%d–%d)",
			counted(e.Operators, "operator"), counted(e.Ranks, "worker"), counted(e.Steps, "step"), e.First, e.Last)
	}
	return "calls and kernels of NCCL: no rank is repeatedly the last to enter, and no link or communicator is significantly slower than its peers"
}

// singularS ends the verb of a subject that is one.
func singularS(one bool) string {
	if one {
		return "s"
	}
	return ""
}

func passTimes(e evidence.PassTimes) string {
	chance := ""
	if e.Between != nil {
		chance = "; workers of this job differ by " + about(*e.Between)
	}
	if e.P != nil {
		chance += "; " + pValue(*e.P)
	}
	if e.Stage == nil {
		return fmt.Sprintf("forward and backward compute takes %s the median of %s, step by step%s", table.Times(e.Factor), counted(e.Peers, "peer"), chance)
	}
	which := fmt.Sprintf("number %d of %d", *e.Stage, e.Peers+1)
	if *e.Stage == e.Peers {
		which = fmt.Sprintf("the last of %d", e.Peers+1)
	}
	text := fmt.Sprintf("forward and backward compute of pp=%d (%s) takes %s the median of the other stages%s", *e.Stage, which, table.Times(e.Factor), chance)
	if e.Even > 0 {
		text += fmt.Sprintf("; replay: with the same work divided evenly over the stages, a step takes %s instead of %s (%s less)",
			length(float64(e.Even)), length(float64(e.Step)), about(1-share(e.Even, e.Step)))
	}
	return text
}

// outliers counts operators that are significantly longer than on the peers.
func outliers(e evidence.Outliers) string {
	switch {
	case len(e.Between) == 2:
		return fmt.Sprintf("pooled outliers: of %s from rank %d to rank %d, %d are significantly longer over the whole window than between the same stages of other replicas, %d in single steps, by up to %s, waiting not counted",
			e.Op, e.Between[0], e.Between[1], e.Whole, e.Steps, length(float64(e.Worst)))
	case len(e.Ranks) > 0:
		return "pooled outliers: significantly long in some step on " + someRanks(e.Ranks)
	}
	var parts []string
	if e.Whole > 0 {
		parts = append(parts, counted(e.Whole, "operator")+" over the whole window")
	}
	if e.Steps > 0 {
		parts = append(parts, counted(e.Steps, "instance")+" in single steps")
	}
	return fmt.Sprintf("pooled outliers: significantly longer than on its peers: %s; family-wise error %s", cmp.Or(strings.Join(parts, ", "), "none"), percentOf(e.Alpha))
}

func frontierCharge(e evidence.FrontierCharge) string {
	return fmt.Sprintf("frontier over the replicas of %s: %s of the exposed time is charged to it, most in %s", e.Peers, about(e.Share), e.Stage)
}

// replayWords say what a step would take without what a finding is about.
func replayWords(r evidence.StepReplay) string {
	saved := length(float64(r.Saved))
	switch r.Without {
	case evidence.WithoutUnevenness:
		if r.Op != "" {
			return fmt.Sprintf("replay: with every %s as long as the median of the replicas', a step takes %s less", r.Op, saved)
		}
		return fmt.Sprintf("replay: with every forward and backward compute of a stage as long as their mean (the same work in all), a step takes %s less", saved)
	}
	text := fmt.Sprintf("replay: fixing it alone cuts a step from %s to %s", length(float64(r.Step)), length(float64(r.Step-r.Saved)))
	if r.Without == evidence.WithoutLateStart {
		text = fmt.Sprintf("replay: started when its peers start it, a step takes %s less", saved)
	}
	text += fmt.Sprintf(" (%s)", about(share(r.Saved, r.Step)))
	if r.Masked {
		text += fmt.Sprintf("; others hold the step up too: without all of them it takes %s", length(float64(r.Step-r.Joint)))
	}
	return text
}

// share is a as a fraction of b; 0 of nothing.
func share(a, b int64) float64 { return float64(a) / float64(max(1, b)) }

// operatorTimesWords say in which operators a worker is slow.
func operatorTimesWords(e evidence.OperatorTimes) string {
	if len(e.In) == 0 {
		return "takes longer than its peers"
	}
	first := e.In[0]
	where := first.Op
	if first.Seq != nil && len(e.In) == 1 {
		where = fmt.Sprintf("%s number %d of the step", first.Op, *first.Seq)
	}
	amount, unit := times(first)
	text := fmt.Sprintf("takes %s%s in %s", amount, unit, where)
	for _, x := range e.In[1:] {
		amount, _ := times(x)
		text += fmt.Sprintf(" and %s in %s", amount, x.Op)
	}
	return text
}

// times is "2.50 times" and " as long as its peers".
func times(x evidence.OpTime) (amount, than string) {
	own, peers := length(float64(x.Own)), length(float64(x.Peers))
	f := float64(x.Own) / float64(max(1, x.Peers))
	switch {
	case x.Peers <= 0:
		return own + " where its peers take nothing", ""
	case f >= 100:
		return fmt.Sprintf("%s where its peers take %s", own, peers), ""
	case f >= 1.1:
		return strings.TrimSuffix(table.Times(f), " ×") + " times", " as long as its peers"
	}
	return about(f-1) + " longer", " than its peers"
}

func completionWords(e evidence.CompletionTimes) string {
	when := length(float64(e.Later)) + " late"
	if e.Later < 0 {
		when = length(float64(-e.Later)) + " early"
	}
	text := fmt.Sprintf("K-S: its completion-time distribution departs from its peers' (S %s, q %s, %s on average)", hundredths(e.S), probability(e.Q), when)
	if len(e.Others) > 0 {
		text += "; so does that of " + someOf(nounOf(e.Workers), e.Others)
	}
	return text
}

func blameWords(e evidence.BlameWalks) string {
	if e.Gap {
		return fmt.Sprintf("blame: %d of %d walks back from late operators end there, behind operators that were on time", e.End, e.Symptoms)
	}
	text := fmt.Sprintf("blame: %d of %d walks back from late operators end here, in %s", e.End, e.Symptoms, e.Op)
	if len(e.Victims) > 0 {
		text += "; its victims are " + someOf(nounOf(e.Workers), e.Victims)
	}
	return text
}

func transferTimes(e evidence.TransferTimes) string {
	switch {
	case len(e.Between) == 2:
		return fmt.Sprintf("transfer times: %s from %s %d to %s %d takes %s as long as in the other replicas, waiting not counted; %s",
			e.Op, nounOf(e.Workers), e.Between[0], nounOf(e.Workers), e.Between[1], table.Times(e.Factor), pValue(e.P))
	case e.To != "":
		return fmt.Sprintf("transfer times: %s from %s to %s takes %s as long as between the other stages, in all replicas alike, waiting not counted", e.Op, e.Stage, e.To, table.Times(e.Factor))
	}
	return fmt.Sprintf("transfer times: %s takes %s as long on the replicas of %s as on the median of the other stages, waiting not counted", e.Op, table.Times(e.Factor), e.Stage)
}

func launchDelay(e evidence.LaunchDelay) string {
	text := fmt.Sprintf("launch delays: %s %d starts %s later behind all that it waits for than the median of its peers does, by %s a step", nounOf(e.Workers), e.Rank, e.Op, length(float64(e.Delay)))
	if e.Outlier {
		text += "; pooled outliers: its start is significantly late"
	}
	return text
}

// microbatches says how the passes of a microbatch vary together.
func microbatches(e evidence.MicrobatchCorrelation) string {
	parts := []string{fmt.Sprintf("forward and backward compute varies by %s", about(e.Spread))}
	if e.Directions != nil {
		parts = append(parts, fmt.Sprintf("forward and backward of a microbatch together: correlation %s, p ≤ %s (permutation)", hundredths(*e.Directions), probability(e.PDirections)))
	}
	if e.Stages != nil {
		parts = append(parts, fmt.Sprintf("a microbatch on neighbouring stages: correlation %s, p ≤ %s", hundredths(*e.Stages), probability(e.PStages)))
	}
	return strings.Join(parts, "; ")
}
