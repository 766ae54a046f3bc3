package tables

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/diagnose/answer"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/internal/table"
)

// TestRateSecond: K-S names every rank that differs, the hybrid those that blame confirms; one innocent rank is wrong,
// and where nothing was tested nothing is right or wrong.
func TestRateSecond(t *testing.T) {
	c := &runCase{Hidden: []hiddenRank{{2, "a"}, {5, "b"}}}
	differs := func(rank int, sure evidence.Confidence) answer.Difference {
		return answer.Difference{Rank: rank, Confidence: sure}
	}
	ofTwo := differs(2, evidence.Strong)
	ofTwo.Peer = new(0)
	is := func(a rankAnswer, ranks ...int) differing { return differing{ranks, a} }
	for _, test := range []struct {
		name       string
		found      *answer.Latent
		ks, hybrid differing
	}{
		{"nothing to test", nil, is(rankNotJudged), is(rankNotJudged)},
		{"refused", &answer.Latent{Refused: answer.TooFewBlocks, Differences: []answer.Difference{ofTwo}}, is(rankNotJudged), is(rankNotJudged)},
		{"screened", &answer.Latent{Screened: true}, is(rankNone), is(rankNone)},
		{"K-S alone", &answer.Latent{Differences: []answer.Difference{differs(2, evidence.Ambiguous)}}, is(rankRight, 2), is(rankNone)},
		{"blame too", &answer.Latent{Differences: []answer.Difference{differs(5, evidence.Strong), differs(2, evidence.Supported)}},
			is(rankRight, 5, 2), is(rankRight, 5, 2)},
		{"an innocent by K-S", &answer.Latent{Differences: []answer.Difference{differs(2, evidence.Supported), differs(3, evidence.Ambiguous)}},
			is(rankWrong, 2, 3), is(rankRight, 2)},
		{"an innocent first", &answer.Latent{Differences: []answer.Difference{differs(3, evidence.Strong), differs(2, evidence.Supported)}},
			is(rankWrong, 3, 2), is(rankWrong, 3, 2)},
		{"two ranks", &answer.Latent{Differences: []answer.Difference{ofTwo}}, is(rankUndecidable, 2), is(rankUndecidable, 2)},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(secondStage{test.ks, test.hybrid, is(rankNotJudged), is(rankNotJudged)}, rateSecond(c, test.found, &stagewise{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestHealthySecondStage: ranks named in healthy runs count among those that were judged.
func TestHealthySecondStage(t *testing.T) {
	healthy := func(ks, hybrid differing) *scoredRun {
		return &scoredRun{Second: secondStage{KS: ks, Hybrid: hybrid, Outliers: ks, Blame: hybrid}, Windows: []scoredWindow{{}}}
	}
	quiet, refused := differing{Answer: rankNone}, differing{Answer: rankNotJudged}
	named := differing{[]int{1}, rankWrong}
	made := (&Score{Runs: []*scoredRun{healthy(quiet, quiet), healthy(named, quiet), healthy(named, named), healthy(refused, refused)}}).healthyTable()
	if got := lastCells(made, "K-S"); got != "2/3 1/3 2/3 1/3" {
		t.Errorf("K-S, hybrid, z-scores and blame name ranks in %q, expected 2/3 1/3 2/3 1/3", got)
	}
}

// TestSecondStageInRows: where the two differ, each stands in its own cells.
func TestSecondStageInRows(t *testing.T) {
	r := run(6, 0.1, verdict{}, routing{})
	r.Windows[0].Methods = make([]routing, len(methodNames())-1)
	r.Second = secondStage{differing{[]int{3, 1}, rankWrong}, differing{[]int{3}, rankRight}, differing{nil, rankNone}, differing{[]int{2}, rankWrong}}
	at := slices.Index(rowHead(), "ks_ranks")
	if diff := cmp.Diff([]string{"3 1", "wrong", "3", "right", "", "none", "2", "wrong"}, r.rows()[0][at:]); diff != "" {
		t.Errorf("%v (-want +got):\n%s", rowHead()[at:], diff)
	}
}

// lastCells returns the cells of the first row from a head on.
func lastCells(made *table.Table, head string) string {
	return strings.Join(made.Records()[0][slices.Index(made.Heads(), head):], " ")
}

// TestLatentSizes: of a step of 206 ms a delay of 1 ms lies below the margin of 1 %, and nobody is named; one of 6 ms is
// found by both forms of the second stage, and is too small for the verdict to call. Each method has its line, and each
// row its answers.
func TestLatentSizes(t *testing.T) {
	s := specOf(t, "../specs/latent.yaml")
	g := &s.Groups[0]
	g.Families, g.Seeds, g.Delays = []simulate.Family{simulate.Data, simulate.NoFault}, []uint64{0, 1, 2}, []simulate.Millis{1, 6}
	dir := t.TempDir()
	execute(t, dir, s)
	e, err := Open(nil, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	of := map[simulate.Millis]struct {
		ks     rankAnswer
		listed bool
	}{0: {rankNone, false}, 1: {rankNone, false}, 6: {rankRight, true}}
	at := slices.Index(rowHead(), "ks_ranks")
	for _, r := range e.score.Runs {
		want := of[r.Delay]
		ranks := ""
		if want.listed {
			ranks = record(r.Hidden[0].Rank)
		}
		cells := r.rows()[0][at : at+4]
		if diff := cmp.Diff([]string{ranks, string(want.ks), ranks, string(want.ks)}, cells); diff != "" || r.Verdict.Named {
			t.Errorf("%s: called %v, second stage (-want +got):\n%s", r.Run, r.Verdict.Named, diff)
		}
	}
	chart := detectability(e.score.curves(), &curve{Ranks: 8})
	got := map[string][2]float64{}
	for _, l := range chart.Panels[0].Lines {
		got[l.Name] = [2]float64{l.Points[0].Y, l.Points[1].Y}
	}
	if diff := cmp.Diff(map[string][2]float64{"frontier, top-2": {0, 0}, "z-scores": {1, 1}, "blame": {1. / 3, 1}, "K-S": {0, 1}, "hybrid": {0, 1}, "verdict": {0, 0}}, got); diff != "" {
		t.Errorf("rates at 1 and 6 ms (-want +got):\n%s", diff)
	}
}

// TestSecondStageOnCurves: of four runs K-S is right in two and wrong in one, the hybrid right in one and wrong in none.
func TestSecondStageOnCurves(t *testing.T) {
	var s Score
	for _, answers := range [][2]rankAnswer{{rankRight, rankRight}, {rankRight, rankNone}, {rankWrong, rankNone}, {rankNotJudged, rankNotJudged}} {
		r := run(6, 0.1, verdict{}, routing{})
		ks, hybrid := differing{Answer: answers[0]}, differing{Answer: answers[1]}
		r.Second = secondStage{KS: ks, Hybrid: hybrid, Outliers: hybrid, Blame: ks}
		s.Runs = append(s.Runs, r)
	}
	p := s.curves()[0].Points[0]
	for f, want := range map[finding]int{foundKS: 2, foundHybrid: 1, misroutedKS: 1, misroutedHybrid: 0, foundOutliers: 1, foundBlame: 2, misroutedOutliers: 0, misroutedBlame: 1} {
		if got := p.Rates[f]; got.K != want || got.N != 4 {
			t.Errorf("%v: %d of %d, expected %d of 4", f, got.K, got.N, want)
		}
	}
}
