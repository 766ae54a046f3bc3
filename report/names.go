package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/sfstat/sfstat/diagnose/opnames"
	"github.com/sfstat/sfstat/internal/table"
)

// namesJSON is the comparison of operators by name.
type namesJSON struct {
	Alpha       float64          `json:"alpha" doc:"family-wise error"`
	Tests       int              `json:"tests" doc:"tests that were made"`
	Differences []differenceJSON `json:"differences" doc:"operators that differ, the largest excess first"`
}

type differenceJSON struct {
	Rank         int          `json:"rank" doc:"the rank"`
	Stage        *string      `json:"stage" doc:"stage in which it was launched; null: any"`
	Op           string       `json:"op" doc:"whole name of the operator"`
	Kind         opnames.Kind `json:"kind" doc:"what it does"`
	Own          float64      `json:"own_ns" doc:"its time on the rank, a step"`
	Peers        float64      `json:"peers_ns" doc:"its time on the peers, a step, median"`
	Factor       *float64     `json:"factor" doc:"own_ns over peers_ns"`
	Launches     float64      `json:"launches" doc:"launches a step"`
	PeerLaunches float64      `json:"peer_launches" doc:"launches a step on the peers"`
	Waited       float64      `json:"waited_ns" doc:"part of own_ns that is wait"`
	Excess       float64      `json:"excess_ns" doc:"how much longer it takes, a step"`
	Steps        []int64      `json:"steps" doc:"steps in which it differs"`
	Tested       bool         `json:"tested" doc:"there are enough peers for a test"`
	Sure         bool         `json:"sure" doc:"the test finds that it takes longer"`
	Score        *float64     `json:"score" doc:"z-score; null: not tested"`
}

func namesFrom(r *opnames.Result) *namesJSON {
	if r == nil {
		return nil
	}
	out := &namesJSON{Alpha: r.Alpha, Tests: r.Tests, Differences: []differenceJSON{}}
	for _, d := range r.Differences {
		factor := d.Factor()
		out.Differences = append(out.Differences, differenceJSON{Rank: d.Rank, Stage: optionalString(d.Stage), Op: d.Name, Kind: d.Kind,
			Own: d.Own, Peers: d.Peers, Factor: &factor, Launches: d.Count, PeerLaunches: d.PeerCount,
			Waited: d.Waited, Excess: d.Excess(), Steps: d.Steps, Tested: d.Tested, Sure: d.Sure, Score: &d.Score})
	}
	return out
}

// nameBlocks are the operators that surely take longer on a rank than on its
// peers, or the largest differences of ranks that are too few for a test; at
// most so many, 0 is all.
func nameBlocks(r *opnames.Result, most int) document {
	if r == nil {
		return nil
	}
	found, text := r.Found(), ""
	rate := say("names rate", r)
	switch tested := slices.ContainsFunc(r.Differences, func(d opnames.Difference) bool { return d.Tested }); {
	case len(r.Differences) == 0:
		return document{heading("Operators by name"), prose("No two ranks do the same work: there is nobody to compare a rank with.")}
	case !tested:
		found = slices.DeleteFunc(slices.Clone(r.Differences), func(d opnames.Difference) bool { return d.Excess() <= 0 })
		text = "Fewer than three ranks do the same work, so that none can be said to be off; where one takes longer than the other:"
	case len(found) == 0:
		return document{heading("Operators by name"), prose(fmt.Sprintf("None takes significantly longer on a rank than on its peers; %s.", rate))}
	default:
		text = fmt.Sprintf("%s longer on a rank than on its peers; %s.", takeWords(len(found)), rate)
	}
	return document{heading("Operators by name"), prose(text), nameTable(found, most)}
}

// nameTable is a row for each difference.
func nameTable(found []opnames.Difference, most int) *table.Table {
	t := tableOf("name")
	for _, d := range found {
		factor := table.Cell{}
		if f := d.Factor(); !math.IsInf(f, 0) {
			factor = table.RealCell(f)
		}
		t.Row(d.Rank, opnames.Label(d.Name), d.Stage, factor, d.Peers, d.Own, d.Count, len(d.Steps), d.Excess())
	}
	if most > 0 {
		capped(t, most, "json")
	}
	return t.Tidy()
}

func takeWords(n int) string {
	if n == 1 {
		return "One takes significantly"
	}
	return table.Grouped(int64(n)) + " take significantly"
}
