package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/diagnose/opnames"
	"github.com/sfstat/sfstat/internal/table"
)

// Sentences about the evidence of operators, of profiles and of operator traces: without a full stop.

func sayWitness(e evidence.Witness) string {
	if !e.Agrees {
		if e.Source == evidence.FromOperators {
			return fmt.Sprintf("operator trace: nothing found among %s of %s in %s (%d–%d)",
				table.Counted(e.Operators, "operator"), table.Counted(e.Ranks, "worker"), table.Counted(e.Steps, "step"), e.First, e.Last)
		}
		return "calls and kernels of NCCL: " + nothingByCalls
	}
	who := "the operator trace agrees"
	switch e.Source {
	case evidence.FromArrivals:
		return "entries of collectives agree"
	case evidence.FromNCCL:
		return "calls and kernels of NCCL agree"
	case evidence.FromProfiler:
		who = "the profiler's traces agree"
	}
	where := ""
	if e.Op != "" {
		where = " in " + e.Op
	} else if e.Stage != "" {
		where = " in " + stageWord(e.Stage)
	}
	return fmt.Sprintf("%s: the rank is late%s in %s too, by %s of a %s step (%v)", who, where, table.Counted(e.Steps, "step"), length(e.Excess), length(e.Step), e.Confidence)
}

const nothingByCalls = "no rank is repeatedly the last to enter, and no link or communicator is significantly slower than its peers"

func sayLaunchedOperators(e evidence.LaunchedOperators) string {
	if e.Rank != nil {
		return "operators: " + sayLaunchedByRank(e)
	}
	text := fmt.Sprintf("operators that all role groups launch as often: %d of %d take significantly longer in %s than in the others (median), by %s a step", e.N, e.Of, e.Group, length(e.Excess))
	if e.First != nil {
		text += "; first " + sayOperatorDifference(*e.First)
	}
	return text
}

// sayLongestOperators states which operators, or functions, of the only rank take longest.
func sayLongestOperators(e evidence.LongestOperators) string {
	noun := "operator"
	if e.Functions {
		noun = "function"
	}
	var list []string
	for i, o := range e.Operators {
		text := fmt.Sprintf("%s %s", opnames.Label(o.Op), length(o.Time))
		if i == 0 {
			text += " a step"
		}
		text += " (" + timesWord(o.Count)
		if o.Stage != "" {
			text += ", " + bareStage(o.Stage)
		}
		list = append(list, text+")")
	}
	text := strings.Join(list, ", ")
	if e.Names > len(e.Operators) {
		text += fmt.Sprintf("; all %s together %s", table.Counted(e.Names, noun), length(e.Time))
	}
	return text
}

// timesWord writes how often something happens in a step: "once", "27 times".
func timesWord(n float64) string {
	switch {
	case n < 0.95:
		return "not in every step"
	case n < 1.5:
		return "once"
	}
	return table.Grouped(int64(math.Round(n))) + " times"
}

func sayLaunchedByRank(e evidence.LaunchedOperators) string {
	rank, where := *e.Rank, "all its stages"
	if e.Stage != "" {
		where = stageWord(e.Stage)
	}
	switch {
	case e.Of == 0:
		return fmt.Sprintf("rank %d launched nothing on its device in %s: what it is late in there is its host's", rank, where)
	case e.N == 0 && !e.Tested:
		return fmt.Sprintf("what rank %d launched in %s takes %s a step on its device, %s on its peers (too few for a test)", rank, where, length(e.Own), length(e.Peers))
	case e.N == 0:
		return fmt.Sprintf("none that rank %d launched in %s takes significantly longer than on its peers (%s a step together, %s there): the time goes between operators, or on the host",
			rank, where, length(e.Own), length(e.Peers))
	}
	which, take := fmt.Sprintf("%d of the %d", e.N, e.Of), "take"
	if e.Of == 1 {
		which = "the only one"
	} else if e.N == e.Of {
		which = fmt.Sprintf("all %d", e.Of)
	}
	if e.N == 1 {
		take = "takes"
	}
	text := fmt.Sprintf("%s that rank %d launched in %s %s significantly longer than on its peers, by %s a step", which, rank, where, take, length(e.Excess))
	if e.DeviceWide {
		text += fmt.Sprintf(", all by much the same factor (%s to %s): its device is slow there, not one operator", hundredths(e.Low), hundredths(e.High))
	}
	if !e.Late {
		text += ", and it is not late for that by more than chance"
	}
	return text
}

func sayOperatorDifference(e evidence.OperatorDifference) string {
	factor, some := "", ""
	if e.Peers > 0 {
		factor = table.Times(ratio(e.Own, e.Peers)) + " its peers "
	}
	if e.Steps < e.Of {
		some = fmt.Sprintf(" in %d of %d steps", e.Steps, e.Of)
	}
	text := fmt.Sprintf("%s: %s(%s → %s a step%s), ", opnames.Label(e.Op), factor, length(e.Peers), length(e.Own), some)
	switch {
	case math.Abs(e.Count-e.PeerCount) >= 0.5:
		text += fmt.Sprintf("launched %s times a step, %s on its peers: it has other work there", table.Number(e.Count), table.Number(e.PeerCount))
	case e.Count >= 1.5:
		text += fmt.Sprintf("%s a step of %s instead of %s each", table.Number(e.Count), length(float64(e.Own)/e.Count), length(float64(e.Peers)/e.Count))
	default:
		text += table.Number(e.Count) + " a step"
	}
	if e.All != 0 {
		text += fmt.Sprintf("; %s of the %s", length(e.Excess), length(e.All))
	}
	return text
}

func sayCollectiveWait(e evidence.CollectiveWait) string {
	return fmt.Sprintf("collectives: %s a step on peers (median), %s of it waiting for rank %d; %s on rank %d, %s of it waiting",
		length(e.Peers), length(e.PeersWaited), e.Rank, length(e.Own), e.Rank, length(e.OwnWaited))
}

func saySpentIn(e evidence.SpentIn) string {
	return fmt.Sprintf("it spends %s a step in %s, %s on its peers, in %s that were profiled", length(e.Own), sourceWord(&e.Source), length(e.Peers), table.Counted(e.Steps, "step"))
}

func sayStepReplay(e evidence.StepReplay) string {
	if e.Without == evidence.WithoutUnevenness {
		what := "forward and backward compute of a stage as long as their mean (the same work in all)"
		if e.Op != "" {
			what = e.Op + " as long as the median of the replicas'"
		}
		return fmt.Sprintf("replay: with every %s, a step takes %s less", what, length(e.Saved))
	}
	what := fmt.Sprintf("fixing it alone cuts a step from %s to %s", length(e.Step), length(e.Step-e.Saved))
	if e.Without == evidence.WithoutLateStart {
		what = fmt.Sprintf("started when its peers start it, a step takes %s less", length(e.Saved))
	}
	text := fmt.Sprintf("replay: %s (%s)", what, fraction(share(e.Saved, e.Step)))
	if e.Masked {
		text += fmt.Sprintf("; others hold the step up too: without all of them it takes %s", length(e.Step-e.Joint))
	}
	return text
}

func sayOperatorTimes(e evidence.OperatorTimes) string {
	if len(e.In) == 0 {
		return "takes longer than its peers"
	}
	first := &e.In[0]
	text := "takes " + sayTimesAsLong(first)
	switch factor := ratio(first.Own, first.Peers); {
	case first.Peers <= 0, factor >= 100:
	case factor >= 1.1:
		text += " as long as its peers"
	default:
		text += " than its peers"
	}
	text += " in " + first.Op
	if first.Seq != nil && len(e.In) == 1 {
		text += fmt.Sprintf(" number %d of the step", *first.Seq)
	}
	for i := range e.In[1:] {
		x := &e.In[i+1]
		text += fmt.Sprintf(" and %s in %s", sayTimesAsLong(x), x.Op)
	}
	return text
}

func sayTimesAsLong(x *evidence.OpTime) string {
	switch factor := ratio(x.Own, x.Peers); {
	case x.Peers <= 0:
		return length(x.Own) + " where its peers take nothing"
	case factor >= 100:
		return fmt.Sprintf("%s where its peers take %s", length(x.Own), length(x.Peers))
	case factor >= 1.1:
		return hundredths(factor) + " times"
	default:
		return fraction(factor-1) + " longer"
	}
}

func sayPassTimes(e evidence.PassTimes) string {
	text := "forward and backward compute"
	if e.Stage == nil {
		text += fmt.Sprintf(" takes %s the median of %s, step by step", table.Times(e.Factor), table.Counted(e.Peers, "peer"))
	} else {
		number := fmt.Sprintf("number %d", *e.Stage)
		if *e.Stage == e.Peers {
			number = "the last"
		}
		text += fmt.Sprintf(" of pp=%d (%s of %d) takes %s the median of the other stages", *e.Stage, number, e.Peers+1, table.Times(e.Factor))
	}
	if e.Between != nil {
		text += "; workers of this job differ by " + fraction(*e.Between)
	}
	if e.P != nil {
		text += "; " + pValue(*e.P)
	}
	if e.Stage != nil && e.Even > 0 {
		text += fmt.Sprintf("; replay: with the same work divided evenly over the stages, a step takes %s instead of %s (%s less)", length(e.Even), length(e.Step), fraction(1-share(e.Even, e.Step)))
	}
	return text
}

func sayOutliers(e evidence.Outliers) string {
	text := "pooled outliers: significantly longer than on its peers:"
	if e.Whole > 0 {
		text += fmt.Sprintf(" %s over the whole window", table.Counted(e.Whole, "operator"))
		if e.Steps > 0 {
			text += ","
		}
	}
	if e.Steps > 0 {
		text += fmt.Sprintf(" %s in single steps", table.Counted(e.Steps, "instance"))
	} else if e.Whole <= 0 {
		text += " none"
	}
	return text + "; family-wise error " + percentOf(e.Alpha)
}

func sayCompletionTimes(e evidence.CompletionTimes) string {
	shift := length(e.Later) + " late"
	if e.Later < 0 {
		shift = length(-e.Later) + " early"
	}
	text := fmt.Sprintf("K-S: its completion-time distribution departs from its peers' (S %s, q %s, %s on average)", hundredths(e.S), probability(e.Q), shift)
	if len(e.Others) > 0 {
		text += "; so does that of " + workersWord(nounOf(e.Workers), e.Others)
	}
	return text
}

func sayBlameWalks(e evidence.BlameWalks) string {
	text := fmt.Sprintf("blame: %d of %d walks back from late operators end", e.End, e.Symptoms)
	if e.Gap {
		return text + " there, behind operators that were on time"
	}
	text += " here, in " + e.Op
	if len(e.Victims) > 0 {
		text += "; its victims are " + workersWord(nounOf(e.Workers), e.Victims)
	}
	return text
}

func sayTransferTimes(e evidence.TransferTimes) string {
	factor := table.Times(e.Factor)
	switch {
	case len(e.Between) == 2:
		noun := nounOf(e.Workers)
		return fmt.Sprintf("transfer times: %s from %s %d to %s %d takes %s as long as in the other replicas, waiting not counted; %s",
			e.Op, noun, e.Between[0], noun, e.Between[1], factor, pValue(e.P))
	case e.To != "":
		return fmt.Sprintf("transfer times: %s from %s to %s takes %s as long as between the other stages, in all replicas alike, waiting not counted", e.Op, e.Stage, e.To, factor)
	}
	return fmt.Sprintf("transfer times: %s takes %s as long on the replicas of %s as on the median of the other stages, waiting not counted", e.Op, factor, e.Stage)
}

func sayLaunchDelay(e evidence.LaunchDelay) string {
	text := fmt.Sprintf("launch delays: %s %d starts %s later behind all that it waits for than the median of its peers does, by %s a step", nounOf(e.Workers), e.Rank, e.Op, length(e.Delay))
	if e.Outlier {
		text += "; pooled outliers: its start is significantly late"
	}
	return text
}

func sayMicrobatchCorrelation(e evidence.MicrobatchCorrelation) string {
	text := "forward and backward compute varies by " + fraction(e.Spread)
	if e.Directions != nil {
		text += fmt.Sprintf("; forward and backward of a microbatch together: correlation %s, p ≤ %s (permutation)", hundredths(*e.Directions), probability(e.PDirections))
	}
	if e.Stages != nil {
		text += fmt.Sprintf("; a microbatch on neighbouring stages: correlation %s, p ≤ %s", hundredths(*e.Stages), probability(e.PStages))
	}
	return text
}
