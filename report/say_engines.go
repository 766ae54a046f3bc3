package report

import (
	"fmt"
	"math"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/diagnose/opnames"
	"github.com/sfstat/sfstat/engine/blame"
	"github.com/sfstat/sfstat/engine/ks"
	"github.com/sfstat/sfstat/engine/whatif"
	"github.com/sfstat/sfstat/engine/zscore"
	"github.com/sfstat/sfstat/internal/table"
)

// What each engine makes of an operator trace, and how it was read.

// crew is the workers of an operator trace.
type crew struct {
	run              string
	steps            []int64
	workers, all     int // recorded, and by the layout
	replicas, stages int
	alike            bool // stage times of ranks that do the same work
}

// sayTrace returns "AR · 44 steps from 16 to 1238 · 16 workers, dp 4 × pp 4".
func sayTrace(c *crew) string {
	text := ""
	if c.run != "" {
		text = c.run + " · "
	}
	switch n := len(c.steps); n {
	case 0:
	case 1:
		text += fmt.Sprintf("step %d", c.steps[0])
	default:
		text += fmt.Sprintf("%s from %d to %d", table.Counted(n, "step"), c.steps[0], c.steps[n-1])
	}
	switch {
	case c.alike:
		return text + " · " + table.Counted(c.workers, "rank")
	case c.all > c.workers:
		return text + fmt.Sprintf(" · %d of %d workers, dp %d × pp %d", c.workers, c.all, c.replicas, c.stages)
	}
	return text + fmt.Sprintf(" · %s, dp %d × pp %d", table.Counted(c.workers, "worker"), c.replicas, c.stages)
}

func sayAligned(offset int64) string {
	return fmt.Sprintf("Clocks were aligned at the last operator of every step that all ranks take part in; one was off by %s", length(offset))
}

// sayBlame states where most walks end; rank is that of the first culprit.
func sayBlame(w *operators.Walks, rank int) string {
	in, symptoms := table.Counted(len(w.Steps), "step"), table.Counted(w.Symptoms, "symptom")
	switch {
	case w.Symptoms == 0:
		return fmt.Sprintf("In %s no operator started late enough, compared with its peers, to begin a walk.", in)
	case len(w.Culprits) == 0:
		return fmt.Sprintf("%s in %s cannot be traced back: nothing that they waited for was late or long.", symptoms, in)
	}
	c := &w.Culprits[0]
	text := fmt.Sprintf("%s of %s in %s lead to %s of rank %d (%v).", table.Grouped(int64(c.Symptoms)), symptoms, in, c.Op, rank, c.Kind)
	if w.Unexplained > 0 {
		text += fmt.Sprintf(" %s cannot be traced back.", table.Grouped(int64(w.Unexplained)))
	}
	return text
}

func sayBlameRule(o blame.Options) string {
	rule := "the predecessors that ended last"
	if o.Semantics == blame.Literal {
		rule = "every predecessor, as the paper's text has it"
	}
	return fmt.Sprintf("Walks follow %s; times closer than %s count as equal", rule, length(o.Tie))
}

func sayBlameFlags(alpha float64) string {
	return fmt.Sprintf("Operators are late or long by sfstat zscore, at an error rate of %s per operator instance", table.Percent(alpha))
}

// completionFinding is whose operators complete at other times than their peers'.
type completionFinding struct {
	late, early []int
	tested      int
	discovery   float64
	undecided   string // why nobody was tested; "": some were
}

func sayCompletions(c *completionFinding) string {
	found := table.Percent(c.discovery)
	switch {
	case c.undecided != "":
		return fmt.Sprintf("Undecided: %s.", c.undecided)
	case len(c.late)+len(c.early) == 0:
		return fmt.Sprintf("No worker stands out: the completion times of %s are not shown to differ at a false-discovery rate of %s.", table.Counted(c.tested, "worker"), found)
	}
	text := fmt.Sprintf("Found at a false-discovery rate of %s:", found)
	switch len(c.late) {
	case 0:
	case 1:
		text += fmt.Sprintf(" %s completes its operators later than its peers", ranksWord(c.late))
	default:
		text += fmt.Sprintf(" %s complete their operators later than their peers", ranksWord(c.late))
	}
	if len(c.late) > 0 && len(c.early) > 0 {
		text += ";"
	}
	switch len(c.early) {
	case 0:
	case 1:
		text += fmt.Sprintf(" %s completes its operators earlier than its peers", ranksWord(c.early))
	default:
		text += fmt.Sprintf(" %s complete their operators earlier than their peers", ranksWord(c.early))
	}
	return text + "."
}

// sayCompletionBasis states how completion times were compared.
func sayCompletionBasis(r *ks.Result) bullets {
	clock, against := "first start of the trace", "all others; the test is against the replicas of its pipeline stage"
	if r.Clock == ks.Folded {
		clock = "start of each step"
	}
	if r.Against == ks.Peers {
		against = "the other replicas of its pipeline stage"
	}
	b := bullets{
		fmt.Sprintf("Completions are counted in windows of %s, %s of which are occupied", length(r.Window), table.Grouped(int64(r.Points))),
		fmt.Sprintf("Times count from the %s", clock),
		fmt.Sprintf("Each worker is compared with %s", against),
	}
	if r.Replicates > 0 {
		within := "steps"
		if len(r.Blocks) > 0 {
			within = "blocks of " + sayBlocks(r)
		}
		b = append(b, fmt.Sprintf("Test: at most %s permutations within %s, seed %d", table.Grouped(int64(r.Replicates)), within, r.Seed))
	}
	return b
}

func sayBlocks(r *ks.Result) string {
	first, some := &r.Blocks[0], ""
	if len(r.Blocks) > 1 {
		some = " or so"
	}
	return fmt.Sprintf("%s%s (noise stays correlated over %s)", table.Counted(first.Length, "step"), some, table.Number(first.Tau))
}

// sayFlagged states how many operator instances are outliers, and how many of them mean nothing.
func sayFlagged(r *zscore.Result, series, certain int) string {
	text := fmt.Sprintf("%s in %s (%s series)", table.Counted(len(r.Outliers), "outlier"), table.Counted(r.Instances, "operator instance"), table.Grouped(int64(series)))
	expected := r.ExpectedFlags()
	switch {
	case expected == nil && len(r.Outliers) == 0:
		return text + "."
	case expected == nil:
		return text + ". The method has no error rate, so it is not known how many of them are chance."
	}
	remain := "none remains"
	if certain > 0 {
		remain = table.Grouped(int64(certain)) + " remain"
	}
	return text + fmt.Sprintf("; %s at the error rate of the whole analysis. If all workers were healthy, about %s would be flagged.", remain, table.Counted(round(*expected), "instance"))
}

// sayFlagging states how series were judged: other is how many by another method than was asked for, logs in how many
// logarithms were compared.
func sayFlagging(r *zscore.Result, series, other, logs int) bullets {
	rate, all := "it has no error rate", table.Grouped(int64(series))
	if r.ExpectedFlags() != nil {
		rate = fmt.Sprintf("a healthy operator instance is flagged with probability %s", table.Percent(r.Alpha))
	}
	b := bullets{fmt.Sprintf("Method %v; %s", r.Method, rate)}
	if logs > 0 {
		b = append(b, fmt.Sprintf("Logarithms were compared in %s of %s series", table.Grouped(int64(logs)), all))
	}
	if other > 0 {
		b = append(b, fmt.Sprintf("Another method than asked for was used in %s of %s series", table.Grouped(int64(other)), all))
	}
	return b
}

func sayNameRate(r *opnames.Result) string {
	return fmt.Sprintf("the chance that a healthy job has any is at most %s, over all %s names and stages", table.Percent(r.Alpha), table.Grouped(int64(r.Tests)))
}

func sayWhatIf(r *whatif.Result) string {
	return fmt.Sprintf("Uneven work makes a step %s times as long as it would be with all durations ideal; launch delays make it %s times as long.",
		hundredths(r.Slowdown.Overall), table.Decimals(r.Launch.Overall, 3))
}

// sayWhatIfBasis states what ideal means, and how well the replay fits.
func sayWhatIfBasis(r *whatif.Result, ideal whatif.Ideal, suspected bool) bullets {
	over := "all replicas, stages and steps"
	if ideal == whatif.IdealOverPeers {
		over = "the replicas and steps of its stage"
	}
	b := bullets{
		fmt.Sprintf("Ideal is the mean over %s; for communication the median", over),
		fmt.Sprintf("Replaying what was recorded reproduces each step to within %s", table.Percent(r.Misfit)),
		fmt.Sprintf("Worst workers, by the estimate of the study: %s", ranksWord(r.TopRanks)),
	}
	if suspected {
		b = append(b, "Fixes overlap: a worker is also in a stage and in a replica")
	}
	return b
}

func sayOperatorTrace(o *diagnose.Operators) string {
	return fmt.Sprintf("%s in %s (%d–%d)", table.Counted(o.Ops, "operator"), table.Counted(len(o.Steps), "step"), o.Steps[0], o.Steps[len(o.Steps)-1])
}

func sayReplayed(r *whatif.Result) string {
	return fmt.Sprintf("%s without launch delays, %s with every operator as long as its peers: slowdown S = %s", length(r.NoDelay.Mean), length(r.Ideal.Mean), table.Times(r.Slowdown.Overall))
}

// sayLatent states how a rank differs from its peers by less than a delay is found by.
func sayLatent(l *answer.Latent, d *answer.Difference) string {
	text := workerName(d.Rank, d.Role, d.StandsFor)
	level := fmt.Sprintf("%s a step (%s)", length(d.Level), fraction(share(d.Level, l.Step)))
	peers := "its peers"
	if d.Peer != nil {
		peers = fmt.Sprintf("%s %d", nounOf(d.StandsFor != nil), *d.Peer)
	}
	if !d.Sum && len(d.Stages) > 0 && d.Stages[0].Late && d.Stages[0].Stage != "" {
		text += fmt.Sprintf(" starts %s %s later than %s once all that it waits for has ended,", d.Stages[0].Stage, level, peers)
	} else {
		if d.Slower() {
			text += fmt.Sprintf(" works %s longer than %s", level, peers)
		} else {
			text += " varies more from step to step than " + peers
		}
		text += sayLatentWhere(d)
	}
	text += " and is waited for, " + pValue(d.P)
	if d.Symptoms != 0 {
		text += fmt.Sprintf("; %d of %s of blame end there", d.Walks, table.Counted(d.Symptoms, "walk"))
		switch {
		case !d.Slower():
		case d.Saves < 0.0005:
			text += "; were it as fast as its peers, a step would be no shorter"
		default:
			text += fmt.Sprintf("; were it as fast as its peers, a step would be %s shorter", fraction(d.Saves))
		}
	}
	if d.Peer != nil {
		text += "; of two ranks either may be the unusual one"
	}
	return text
}

// sayLatentWhere states in which stages a rank differs, and whether by more over all of them.
func sayLatentWhere(d *answer.Difference) string {
	where := each(d.Stages, DiffersIn)
	switch {
	case d.Sum && len(where) > 4:
		return fmt.Sprintf(" over %s together, in none of them by itself,", table.Counted(len(where), "stage"))
	case d.Sum:
		return fmt.Sprintf(" over %s together, in none of them by itself,", andList(each(where, stageWord)))
	}
	text := " in " + stageWord(where[0])
	switch {
	case !d.Slower() || d.Total <= d.Level*5/4:
	case d.Symptoms != 0:
		text += fmt.Sprintf(", %s in all its operators,", length(d.Total))
	default:
		text += fmt.Sprintf(", %s over all stages,", length(d.Total))
	}
	return text
}

// sayLatentTest states how it was tested who differs, or why that was not.
func sayLatentTest(l *answer.Latent) string {
	switch {
	case l.Refused == answer.TooFewSteps:
		return fmt.Sprintf("Not tested: %s too few to tell how long noise stays correlated.", countIs(l.Steps, "step"))
	case l.Refused == answer.TooFewBlocks:
		return fmt.Sprintf("Not tested: noise stays correlated over %s, so that %s make %s, and 8 are needed.",
			table.Counted(round(l.Tau), "step"), table.Counted(l.Steps, "step"), table.Counted(l.Blocks, "independent block"))
	case l.Screened:
		return fmt.Sprintf("Nobody's own work comes near %s of a step beyond the peers', and nobody's varies much more.", percentOf(math.Round(1000*share(l.Margin, l.Step))/1000))
	}
	who, method := "Nobody", "waits"
	if len(l.Differences) > 0 {
		who = "Who"
	}
	if l.Walked {
		method = "walks of blame"
	}
	return fmt.Sprintf("%s works more than %s a step longer than the peers, by distributions (K-S) and %s: %d blocks of %s.", who, length(l.Margin), method, l.Blocks, table.Counted(l.Block, "step"))
}
