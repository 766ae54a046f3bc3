package publish

import (
	"github.com/sfstat/sfstat/diagnose/operators"
	"github.com/sfstat/sfstat/diagnose/opnames"
	"github.com/sfstat/sfstat/engine/zscore"
)

// Outliers are the operators of a trace that ran unlike themselves on other ranks: sfstat zscore.
type Outliers struct {
	Trace
	Method    Name[zscore.Method] `json:"method" doc:"the method that was asked for"`
	Alpha     *float64            `json:"alpha" doc:"chance that a healthy operator instance is flagged"`
	Instances int                 `json:"instances" doc:"operator instances that were judged"`
	Expected  *float64            `json:"expected" doc:"instances that would be flagged were all healthy; null for methods without an error rate"`
	Outliers  []Outlier           `json:"outliers" doc:"the outliers: sure ones first, then by descending effect over the window"`
	Workers   []Excess            `json:"workers" doc:"workers with outliers, by descending excess_ns"`
	Series    []Series            `json:"series" doc:"how every quantity of every operator was judged"`
	Names     *NamesResult        `json:"names" doc:"operators by name, stage and rank, of a profiler's trace; null for others"`
}

// Outlier is one flagged value.
type Outlier struct {
	Worker
	Op        string                `json:"op" doc:"name of the operator"`
	Seq       *int                  `json:"seq" doc:"its ordinal in the step; null for all of the name together, their durations added up"`
	Step      *int64                `json:"step" doc:"index of the step; null where it is off in the whole window"`
	Quantity  Name[zscore.Quantity] `json:"quantity" doc:"what is off: a start is late above 0, a wait is that of a late member below 0"`
	Effect    int64                 `json:"effect_ns" doc:"deviation from the median of the peers; of the whole window its median over the steps"`
	Score     *float64              `json:"score" doc:"signed score; null where it is infinite, because the peers do not vary at all"`
	Threshold *float64              `json:"threshold" doc:"threshold that the score passed"`
	P         *float64              `json:"p" doc:"two-sided chance of such a score; null for methods that have none"`
	Sure      bool                  `json:"sure" doc:"still flagged when the error rate is that of the whole analysis"`
}

// Excess is what is held against one worker.
type Excess struct {
	Worker
	Outliers int   `json:"outliers" doc:"number of its outliers"`
	Sure     int   `json:"sure" doc:"number of its sure outliers"`
	Excess   int64 `json:"excess_ns" doc:"how much longer than its peers' its flagged durations and transfers are, over all steps; of every name the instances or the total, whichever is more"`
}

// Series is how a quantity of an operator was judged.
type Series struct {
	Op        string                `json:"op" doc:"name of the operator"`
	PP        *int                  `json:"pp" doc:"pipeline stage; null for all of them together"`
	Seq       *int                  `json:"seq" doc:"ordinal in the step; null for all of the name together"`
	Quantity  Name[zscore.Quantity] `json:"quantity" doc:"what was compared"`
	Peers     int                   `json:"peers" doc:"replicas with a value"`
	Steps     int                   `json:"steps" doc:"steps with values"`
	Method    Name[zscore.Method]   `json:"method" doc:"the method used; another than asked for where that was impossible"`
	Log       bool                  `json:"logarithm" doc:"logarithms were compared"`
	Sigma     *float64              `json:"sigma" doc:"spread, in nanoseconds or of the logarithm; 0 for methods that see one step"`
	Freedom   *float64              `json:"freedom" doc:"degrees of freedom of sigma; 0 for methods that see one step"`
	Threshold *float64              `json:"threshold" doc:"score that flags in one step with all peers; 0: there is none"`
	Sure      *float64              `json:"sure_threshold" doc:"score that flags in the whole analysis; 0: there is none"`
	Doubts    []Name[zscore.Doubt]  `json:"doubts" doc:"why the series is undecided or to be read with care"`
}

// NamesResult is how the operators of a trace compare by name.
type NamesResult struct {
	Alpha       *float64     `json:"alpha" doc:"family-wise error"`
	Tests       int          `json:"tests" doc:"tests that were made"`
	Differences []Difference `json:"differences" doc:"operators that differ, the largest excess first"`
}

// Difference is an operator of one rank beside its peers.
type Difference struct {
	Rank      int                `json:"rank" doc:"the rank"`
	Stage     *string            `json:"stage" doc:"stage in which it was launched; null: any"`
	Name      string             `json:"op" doc:"whole name of the operator"`
	Kind      Name[opnames.Kind] `json:"kind" doc:"what it does"`
	Own       *float64           `json:"own_ns" doc:"its time on the rank, a step"`
	Peers     *float64           `json:"peers_ns" doc:"its time on the peers, a step, median"`
	Factor    *float64           `json:"factor" doc:"own_ns over peers_ns"`
	Count     *float64           `json:"launches" doc:"launches a step"`
	PeerCount *float64           `json:"peer_launches" doc:"launches a step on the peers"`
	Waited    *float64           `json:"waited_ns" doc:"part of own_ns that is wait"`
	Excess    *float64           `json:"excess_ns" doc:"how much longer it takes, a step"`
	Steps     []int64            `json:"steps" doc:"steps in which it differs"`
	Tested    bool               `json:"tested" doc:"there are enough peers for a test"`
	Sure      bool               `json:"sure" doc:"the test finds that it takes longer"`
	Score     *float64           `json:"score" doc:"z-score; null: not tested"`
}

// Judged is an analysis of the operators of a trace.
type Judged struct {
	Series    []zscore.Series
	Operators []operators.Operator // of the series
	*zscore.Result
	Suspects []operators.Suspect // workers with outliers, worst first
	Names    *opnames.Result     // of a profiler's trace, its operators by name; else nil
}

// OutliersOf returns the outliers of a trace.
func OutliersOf(v *operators.View, j *Judged) Outliers {
	out := Outliers{Trace: TraceOf(v), Method: nameOf(j.Method), Alpha: number(j.Alpha), Instances: j.Instances, Expected: finite(j.ExpectedFlags()),
		Outliers: convert(j.Outliers, func(o zscore.Outlier) Outlier { return outlierOf(v, j, &o) }),
		Workers: convert(j.Suspects, func(s operators.Suspect) Excess {
			return Excess{WorkerOf(v, s.Worker), s.Outliers, s.Sure, s.Excess}
		}), Series: []Series{}}
	for i, r := range j.Result.Series {
		s := j.Series[i]
		op := j.Operators[s.Op]
		out.Series = append(out.Series, Series{op.Name, nonNegative(op.Stage), seqOf(op), nameOf(s.Quantity), r.Peers, r.Steps, nameOf(r.Method), r.Log,
			number(r.Sigma), number(r.Freedom), number(r.Threshold), number(r.Sure), convert(r.Doubts, nameOf[zscore.Doubt])})
	}
	if n := j.Names; n != nil {
		out.Names = &NamesResult{number(n.Alpha), n.Tests, convert(n.Differences, differenceOf)}
	}
	return out
}

func outlierOf(v *operators.View, j *Judged, o *zscore.Outlier) Outlier {
	s := j.Series[o.Series]
	op := j.Operators[s.Op]
	out := Outlier{Worker: WorkerOf(v, o.Worker), Op: op.Name, Seq: seqOf(op), Quantity: nameOf(s.Quantity), Effect: o.Effect, Score: number(o.Score),
		Threshold: number(o.Threshold), P: finite(o.P), Sure: o.Sure}
	if o.Step != zscore.EveryStep {
		out.Step = &v.Steps()[o.Step]
	}
	return out
}

// seqOf returns the ordinal of an operator in its step, nil for all of the name together.
func seqOf(op operators.Operator) *int {
	if op.Seq == operators.Total {
		return nil
	}
	return &op.Seq
}

func differenceOf(d opnames.Difference) Difference {
	return Difference{d.Rank, nonZero(d.Stage), d.Name, nameOf(d.Kind), number(d.Own), number(d.Peers), number(d.Factor()), number(d.Count), number(d.PeerCount),
		number(d.Waited), number(d.Excess()), list(d.Steps), d.Tested, d.Sure, number(d.Score)}
}

// OutlierRows returns a row for each outlier.
func OutlierRows(traces []Outliers) *Rows {
	r := rowsUnder("run rank dp pp op seq step quantity effect_ns score threshold p sure")
	for _, t := range traces {
		for _, o := range t.Outliers {
			r.add(t.Run, o.Rank, o.DP, o.PP, o.Op, o.Seq, o.Step, o.Quantity, o.Effect, o.Score, o.Threshold, o.P, o.Sure)
		}
	}
	return r
}
