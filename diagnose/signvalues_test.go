package diagnose

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/engine/blame"
	"github.com/sfstat/sfstat/engine/claim"
	"github.com/sfstat/sfstat/engine/microbatch"
	"github.com/sfstat/sfstat/engine/zscore"
	"github.com/sfstat/sfstat/trace"
)

// TestStartsLate: a late start is sure where the worker starts one of these operators later for certain, or waits shorter in it.
func TestStartsLate(t *testing.T) {
	late := &theory{workers: []int{3}, Claim: claim.Claim{Operation: claim.Operation{Op: "forward-compute", Seqs: []int{2, 5}}}}
	outlier := func(worker int, effect int64, sure bool) zscore.Outlier {
		return zscore.Outlier{Worker: worker, Effect: effect, Sure: sure}
	}
	for name, c := range map[string]struct {
		quantity zscore.Quantity
		op       operators.Operator
		outlier  zscore.Outlier
		want     bool
	}{
		"later":                {zscore.Start, operators.Operator{Name: "forward-compute", Seq: 5}, outlier(3, 7, true), true},
		"earlier":              {zscore.Start, operators.Operator{Name: "forward-compute", Seq: 5}, outlier(3, -7, true), false},
		"waits shorter":        {zscore.Wait, operators.Operator{Name: "forward-compute", Seq: 2}, outlier(3, -7, true), true},
		"waits longer":         {zscore.Wait, operators.Operator{Name: "forward-compute", Seq: 2}, outlier(3, 7, true), false},
		"takes less":           {zscore.Duration, operators.Operator{Name: "forward-compute", Seq: 2}, outlier(3, -7, true), false},
		"takes longer":         {zscore.Duration, operators.Operator{Name: "forward-compute", Seq: 2}, outlier(3, 7, true), false},
		"not for certain":      {zscore.Start, operators.Operator{Name: "forward-compute", Seq: 5}, outlier(3, 7, false), false},
		"another worker":       {zscore.Start, operators.Operator{Name: "forward-compute", Seq: 5}, outlier(2, 7, true), false},
		"another operator":     {zscore.Start, operators.Operator{Name: "backward-compute", Seq: 5}, outlier(3, 7, true), false},
		"another one of these": {zscore.Start, operators.Operator{Name: "forward-compute", Seq: 4}, outlier(3, 7, true), false},
	} {
		j := &opJudge{Operators: &Operators{Outliers: &zscore.Result{Outliers: []zscore.Outlier{c.outlier}}}, series: []zscore.Series{{Op: 1, Quantity: c.quantity}}, ops: []operators.Operator{{}, c.op}}
		j.Outliers.Outliers[0].Series = 0
		if got := j.startsLate(late); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestWalksToGaps: a walk confirms a late start where a tenth of all walks or more end behind that operator of that worker.
func TestWalksToGaps(t *testing.T) {
	late := &theory{workers: []int{3}, Claim: claim.Claim{Operation: claim.Operation{Op: "forward-compute"}}}
	for name, c := range map[string]struct {
		walk operators.Culprit
		want bool
	}{
		"a gap":            {operators.Culprit{Kind: blame.Gap, Worker: 3, Op: "forward-compute", Symptoms: 4}, true},
		"a source":         {operators.Culprit{Kind: blame.Source, Worker: 3, Op: "forward-compute", Symptoms: 4}, true},
		"a long operator":  {operators.Culprit{Kind: blame.LongOp, Worker: 3, Op: "forward-compute", Symptoms: 40}, false},
		"another worker":   {operators.Culprit{Kind: blame.Gap, Worker: 2, Op: "forward-compute", Symptoms: 40}, false},
		"another operator": {operators.Culprit{Kind: blame.Gap, Worker: 3, Op: "backward-compute", Symptoms: 40}, false},
		"too few":          {operators.Culprit{Kind: blame.Gap, Worker: 3, Op: "forward-compute", Symptoms: 3}, false},
	} {
		j := &opJudge{Operators: &Operators{Walks: &operators.Walks{Symptoms: 40, Culprits: []operators.Culprit{{Kind: blame.LongOp}, c.walk}}}}
		if got := j.walkToGap(late); (got != nil) != c.want || c.want && got != &j.Walks.Culprits[1] {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestConfirmed: another engine confirms a worker by its completion times, or by a third of all walks.
func TestConfirmed(t *testing.T) {
	for name, c := range map[string]struct {
		departs             bool
		walks, all          int
		blamed, isConfirmed bool
	}{
		"nothing": {false, 0, 0, false, false}, "completion times": {true, 0, 9, false, true}, "a third of the walks": {false, 3, 9, true, true}, "fewer": {false, 2, 9, false, false}, "both": {true, 9, 9, true, true},
	} {
		j := &opJudge{Operators: &Operators{Signs: &operators.Signs{Symptoms: c.all, Ranks: []operators.RankSigns{{}, {Departs: c.departs, Walks: c.walks}}}}}
		if j.isBlamed(1) != c.blamed || j.confirmedBy(1) != c.isConfirmed || j.isBlamed(0) || j.confirmedBy(0) {
			t.Errorf("%s: blamed %v, confirmed %v", name, j.isBlamed(1), j.confirmedBy(1))
		}
	}
}

// TestAgainstAWorker: what each engine says of a worker, and of nobody else.
func TestAgainstAWorker(t *testing.T) {
	j := &opJudge{Operators: &Operators{Replicas: 4, Workers: []trace.Rank{{ID: 10}, {ID: 11}, {ID: 12}, {ID: 13}}, Outliers: &zscore.Result{Alpha: 0.01}, Passes: &microbatch.Result{Workers: make([]microbatch.Level, 4)},
		Signs: &operators.Signs{Symptoms: 9, Ranks: []operators.RankSigns{{Rank: 10}, {Rank: 11, Departs: true, S: 0.4, Q: 1e-3, Later: 5, Whole: 2, Steps: 7, Walks: 6}, {Rank: 12, Departs: true}, {Rank: 13, Departs: true}}},
		Walks: &operators.Walks{Symptoms: 9, Culprits: []operators.Culprit{{Kind: blame.Gap, Worker: 1, Op: "x"}, {Kind: blame.LongOp, Worker: 2, Op: "y"}, {Kind: blame.LongOp, Worker: 1, Op: "z", Victims: []int{3, 0}}}}}}
	j.Passes.Workers[1].Factor, j.Passes.Workers[0].Factor = 1.5, 1.02
	p := 1e-4
	want := []evidence.Observation{evidence.PassTimes{Factor: 1.5, Peers: 3, P: &p}, evidence.Outliers{Whole: 2, Steps: 7, Alpha: 0.01}, evidence.CompletionTimes{S: 0.4, Q: 1e-3, Later: 5, Others: []int{12, 13}},
		evidence.BlameWalks{End: 6, Symptoms: 9, Op: "z", Victims: []int{10, 13}}}
	if diff := gocmp.Diff(want, j.listEvidence(1, p)); diff != "" {
		t.Error(diff)
	}
	if got := j.listEvidence(0, p); got != nil {
		t.Errorf("of a worker of which nothing is known: %+v", got)
	}
	if got := j.listEvidence(2, p); len(got) != 2 {
		t.Errorf("%+v, want completion times and walks", got)
	}
}

// TestOperatorClaimsAreNotJoined: the operator behind a rank is no claim on a rank, which another recording may make too or deny.
func TestOperatorClaimsAreNotJoined(t *testing.T) {
	operator := claimed(2, "forward", 0.1, evidence.Strong)
	operator.Kind, operator.Cause = KindOp, CauseOperator
	denied := 0
	got := stepsOf().join([]Finding{operator, allRanks(CauseSlowSteps, "data", 0.2)}, testimony{late: []Finding{claimed(2, "forward", 0.3, evidence.Strong)},
		agrees: func(*Finding) evidence.Witness { return evidence.Witness{Source: evidence.FromArrivals} }, denies: func(f Finding) Finding { denied++; return f }})
	if len(got) != 3 || denied != 0 {
		t.Fatalf("%d claims, %d denied, want three and none", len(got), denied)
	}
	for _, f := range got {
		if _, asked := evidence.WitnessOf(f.Evidence, evidence.FromArrivals); asked {
			t.Errorf("%s was joined", findingInShort(&f))
		}
	}
}

// TestStartUpIsNotJoined: what made a rank's first steps longer is not what entries find it late by in the others. Both are told.
func TestStartUpIsNotJoined(t *testing.T) {
	start := claimed(1, "forward", 0.03, evidence.Supported)
	start.Cause, start.Struck = CauseStartUp, Struck{Count: 1, Of: 50, Pattern: PatternWindow}
	late := claimed(1, "data", 0.3, evidence.Strong)
	got := stepsOf().join([]Finding{start}, testimony{late: []Finding{late}, agrees: func(*Finding) evidence.Witness { return evidence.Witness{Source: evidence.FromArrivals} }})
	if len(got) != 2 || got[0].Cause != CauseLate || got[0].Stage != "data" || got[0].RunGain != 0.3 {
		t.Fatalf("%d claims, the first %s; want the late rank, then the start-up", len(got), findingInShort(&got[0]))
	}
	if diff := gocmp.Diff(start.Cost, got[1].Cost); diff != "" {
		t.Error(diff)
	}
}
