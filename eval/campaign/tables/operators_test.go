package tables

import (
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/eval/campaign"
)

// TestOperatorCampaign: a worker, a start and a link that cost a tenth of a step are found by verdict and by walks, in a
// healthy job nobody is named; a run has one row, in which what only windows have is empty.
func TestOperatorCampaign(t *testing.T) {
	const text = `name: ops
groups:
  - name: o
    seeds: [1]
    delays_ms: [500]
    operators: {faults: [none, slow-worker, late-start, slow-edge], layouts: [4x2], microbatches: 6, steps: 20}
`
	s, err := campaign.ParseSpec("ops.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	execute(t, dir, s)
	e, err := Open(nil, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	head := rowHead()
	for _, r := range e.score.Runs {
		want := rankRight
		if r.healthy() {
			want = rankNone
		}
		if r.Verdict.Answer != want || r.Second.Blame.Answer != want || r.Verdict.StageRight == r.healthy() || r.Ranks != 8 {
			t.Errorf("%s: of %d ranks; verdict %+v, blame %+v, expected %s", r.Run, r.Ranks, r.Verdict, r.Second.Blame, want)
		}
		rows := r.rows()
		if len(rows) != 1 {
			t.Fatalf("%s: %d rows", r.Run, len(rows))
		}
		for i, cell := range rows[0] {
			ofWindow := head[i] == "window" || i > slices.Index(head, "fault") && i < slices.Index(head, "suspect")
			if (cell == "") != ofWindow && (ofWindow || strings.HasSuffix(head[i], "answer") || head[i] == "family") {
				t.Errorf("%s: %s is %q", r.Run, head[i], cell)
			}
		}
	}
	made, err := e.Tables()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(made, func(a Artifact) bool { return a.Name == "groups" })
	if row := made[i].Table.Records()[0]; row[1] != "none, slow-worker, late-start, slow-edge" || row[5] != "0" {
		t.Errorf("groups: %v", row)
	}
}
