package tables

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/internal/table"
	"go.yaml.in/yaml/v3"
)

// publishedGates are what the paper's text says of the values of its gates;
// its Table 13 has no other number left in our copy.
var publishedGates = map[string]string{
	"tau":           "0.70–0.90 tried",
	"tie_tolerance": "above 0.039",
}

// gateRows are those of the paper's Table 13, and why each has its default; docs/method-accounting.md
// says the same.
var gateRows = [][2]string{
	{"tau", "centre of the published sweep; below 0.85 the published candidate sets have size 2"},
	{"tie_tolerance", "published source differences of 0.039 and 0.024 lie below the default"},
	{"dominance_share_min", "τ/2: any routing set of one or two stages has such a lead"},
	{"static_gain_min", "above the tie tolerance, below the exposed share of a 60 ms fault; the usual \"slow job\" threshold"},
	{"closure_residual_share_max", "at most the tie tolerance, so the residual cannot overturn a lead"},
	{"overlap_error_share_max", "a hundred times the timer noise of a 200 ms step"},
	{"missing_ranks_max", "a frontier over some of the ranks is a different frontier"},
	{"event.ready_ratio_min", "one of five may be outstanding"},
	{"event.ready_samples_min", "the smallest count for which one outstanding event meets 0.80"},
	{"event.high_share_min", "a 120 ms forward of a 355 ms step is 0.34"},
	{"event.low_over_cpu_max", "at most half of the host span is device work"},
	{"leader.gap_abs", "above step-time noise, far below a 12 ms fault"},
	{"leader.gap_rel", "above step-time noise, far below a 12 ms fault"},
	{"leader.switch_rate_max", "equally likely leaders change in at least half of the steps"},
	{"lag_share_min", "more than half"},
	{"denominator_floor", "hundreds of steps take seconds"},
}

// gateValue is a gate by its key, as a table has it.
func gateValue(g gates.Gates, key string) string {
	var at yaml.Node
	if at.Encode(g) != nil {
		return none
	}
	for name := range strings.SplitSeq(key, ".") {
		i := slices.IndexFunc(at.Content, func(n *yaml.Node) bool { return n.Value == name })
		if i < 0 {
			return none
		}
		at = *at.Content[i+1]
	}
	if x, err := strconv.ParseFloat(at.Value, 64); err == nil && at.Tag == "!!float" {
		return fixed(x)
	}
	return at.Value
}

// gateTable is the gates in the shape of the paper's Table 13: the defaults of
// sfstat --print-gates, and beside them what was scored with where that is another.
func gateTable(given gates.Gates) *table.Table {
	t := &table.Table{Title: "Gates: our defaults", Columns: table.Words("gate", "default", "paper", "why this value")}
	g := gates.Default()
	var changed []string
	for _, row := range gateRows {
		key, value, now := row[0], gateValue(g, row[0]), gateValue(given, row[0])
		t.Add(table.Texts(key, value, cmp.Or(publishedGates[key], none), row[1])...)
		if now != value {
			changed = append(changed, key+" "+now)
		}
	}
	t.Notes = []string{"Where the paper's text leaves a number open, ours is what its results allow. As sfstat --print-gates prints them; the gates of synchronisation points, which are ours alone, are left out."}
	if len(changed) > 0 {
		t.Notes = append(t.Notes, "These tables were made with others: "+strings.Join(changed, ", ")+".")
	}
	return t
}
