package report

import (
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/volume"
	"github.com/sfstat/sfstat/trace"
)

// modelBlocks is what was communicated beside what the model says; nothing without a model.
func modelBlocks(r *comm.Result) document {
	if len(r.Accounts) == 0 {
		return nil
	}
	t := tableOf("model")
	for _, g := range volume.Alike(r.Accounts) {
		a := &r.Accounts[g[0]]
		ranks := make([]int, len(g))
		for i, n := range g {
			ranks[i] = r.Ranks[r.Accounts[n].Rank].Rank
		}
		for i := range a.Rows {
			x := &a.Rows[i]
			if max(x.Observed.Logged, x.Theory.Logged) < a.Theory.Logged/1000 {
				continue
			}
			expected := "–"
			if x.Theory.Logged > 0 {
				expected = Size(int64(x.Theory.Logged))
			}
			t.Row(trace.RankList(ranks), x.For(), x.Op.String(), expected, Size(int64(x.Observed.Logged)), x.Ratio, x.Count, x.Size)
		}
	}
	return section("Volumes beside the model", t.Tidy(), prose(say("bubble", r.Accounts[0])))
}

type accountJSON struct {
	Rank   int          `json:"rank" doc:"rank of the job"`
	Bubble float64      `json:"bubble_fraction" doc:"time in which pipeline stages idle while the pipeline fills and drains, over that in which they compute, by the model; 0 without a pipeline"`
	Rows   []volumeJSON `json:"rows" doc:"by dimension and operation, what accounts for most bytes first"`
}

type volumeJSON struct {
	Dimension    string  `json:"dimension" enum:"other DP TP PP EP CP EDP" doc:"what it is communicated for"`
	Op           string  `json:"op" doc:"operation"`
	Expected     float64 `json:"expected_bytes" doc:"what the model says, as logged; 0 where no formula is for it"`
	ExpectedSent float64 `json:"expected_sent_bytes" doc:"what of that leaves the rank on a ring"`
	Observed     float64 `json:"observed_bytes" doc:"what the rank called, as logged"`
	Sent         float64 `json:"observed_sent_bytes" doc:"what of that leaves the rank on a ring"`
	Ratio        float64 `json:"ratio" doc:"observed over expected bytes, as logged: calls_ratio times size_ratio; null where nothing is expected"`
	Count        float64 `json:"calls_ratio" doc:"observed over expected calls"`
	Size         float64 `json:"size_ratio" doc:"observed over expected mean size"`
}

func accountsOf(r *comm.Result) []accountJSON {
	out := []accountJSON{}
	for i := range r.Accounts {
		a := &r.Accounts[i]
		j := accountJSON{Rank: r.Ranks[a.Rank].Rank, Bubble: a.Bubble, Rows: []volumeJSON{}}
		for k := range a.Rows {
			x := &a.Rows[k]
			j.Rows = append(j.Rows, volumeJSON{Dimension: x.For(), Op: x.Op.String(), Expected: x.Theory.Logged, ExpectedSent: x.Theory.Sent,
				Observed: x.Observed.Logged, Sent: x.Observed.Sent, Ratio: x.Ratio, Count: x.Count, Size: x.Size})
		}
		out = append(out, j)
	}
	return out
}
