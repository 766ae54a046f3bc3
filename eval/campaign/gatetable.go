package campaign

import (
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/engine/frontier/gates"
)

// publishedGates are what the paper's text says of the values of its gates;
// its Table 13 has no other number left in our copy.
var publishedGates = map[string]string{
	"tau":           "0.70–0.90 tried",
	"tie_tolerance": "above 0.039",
}

// gateRow is one gate and why it has its default.
type gateRow struct {
	name  string
	value func(g *gates.Gates) string
	why   string
}

func share(of func(g *gates.Gates) float64) func(*gates.Gates) string {
	return func(g *gates.Gates) string { return fixed(of(g)) }
}

func length(of func(g *gates.Gates) gates.Nanoseconds) func(*gates.Gates) string {
	return func(g *gates.Gates) string {
		text, err := of(g).MarshalText()
		if err != nil {
			return none
		}
		return string(text)
	}
}

// gateRows are those of the paper's Table 13; docs/gates.md says the same.
var gateRows = []gateRow{
	{"tau", share(func(g *gates.Gates) float64 { return g.Tau }),
		"centre of the published sweep; below 0.85 the published candidate sets have size 2"},
	{"tie_tolerance", share(func(g *gates.Gates) float64 { return g.TieTolerance }),
		"published source differences of 0.039 and 0.024 lie below the default"},
	{"dominance_share_min", share(func(g *gates.Gates) float64 { return g.DominanceShare }),
		"τ/2: any routing set of one or two stages has such a lead"},
	{"static_gain_min", share(func(g *gates.Gates) float64 { return g.StaticGain }),
		"above the tie tolerance, below the exposed share of a 60 ms fault; the usual \"slow job\" threshold"},
	{"closure_residual_share_max", share(func(g *gates.Gates) float64 { return g.ClosureResidual }),
		"at most the tie tolerance, so the residual cannot overturn a lead"},
	{"overlap_error_share_max", share(func(g *gates.Gates) float64 { return g.OverlapError }),
		"a hundred times the timer noise of a 200 ms step"},
	{"missing_ranks_max", func(g *gates.Gates) string { return strconv.Itoa(g.MissingRanks) },
		"a frontier over some of the ranks is a different frontier"},
	{"event.ready_ratio_min", share(func(g *gates.Gates) float64 { return g.Event.ReadyRatio }),
		"one of five may be outstanding"},
	{"event.ready_samples_min", func(g *gates.Gates) string { return strconv.Itoa(g.Event.Samples) },
		"the smallest count for which one outstanding event meets 0.80"},
	{"event.high_share_min", share(func(g *gates.Gates) float64 { return g.Event.HighShare }),
		"a 120 ms forward of a 355 ms step is 0.34"},
	{"event.low_over_cpu_max", share(func(g *gates.Gates) float64 { return g.Event.LowOverWall }),
		"at most half of the host span is device work"},
	{"leader.gap_abs", length(func(g *gates.Gates) gates.Nanoseconds { return g.Leader.GapAbs }),
		"above step-time noise, far below a 12 ms fault"},
	{"leader.gap_rel", share(func(g *gates.Gates) float64 { return g.Leader.GapRel }),
		"above step-time noise, far below a 12 ms fault"},
	{"leader.switch_rate_max", share(func(g *gates.Gates) float64 { return g.Leader.SwitchRate }),
		"equally likely leaders change in at least half of the steps"},
	{"lag_share_min", share(func(g *gates.Gates) float64 { return g.LagShare }),
		"more than half"},
	{"denominator_floor", length(func(g *gates.Gates) gates.Nanoseconds { return g.DenominatorFloor }),
		"hundreds of steps take seconds"},
}

// gateTable is the gates in the shape of the paper's Table 13: the defaults of
// sfstat gates, and beside them what was scored with where that is another.
func gateTable(given gates.Gates) Table {
	t := Table{Title: "Gates: our defaults", Head: []string{"gate", "default", "paper", "why this value"}}
	g := gates.Default()
	var changed []string
	for _, row := range gateRows {
		published := publishedGates[row.name]
		if published == "" {
			published = none
		}
		t.Rows = append(t.Rows, []string{row.name, row.value(&g), published, row.why})
		if row.value(&given) != row.value(&g) {
			changed = append(changed, row.name+" "+row.value(&given))
		}
	}
	t.Notes = []string{"Where the paper's text leaves a number open, ours is what its results allow. As sfstat gates prints them; the gates of synchronisation points, which are ours alone, are left out."}
	if len(changed) > 0 {
		t.Notes = append(t.Notes, "These tables were made with others: "+strings.Join(changed, ", ")+".")
	}
	return t
}
