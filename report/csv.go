package report

import (
	"fmt"

	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/engine/frontier"
)

// findingCSV has one row per finding; a run without findings has none.
var findingCSV = itemsOf[runsJSON]("runs.findings",
	"run status kind cause rank host local_rank role stage op seq group confidence below_min_gain gain run_gain run_gain_at_most "+
		"struck_count=steps_struck.count struck_of=steps_struck.of struck_first=steps_struck.first struck_last=steps_struck.last pattern=steps_struck.pattern "+
		"excess_ns explained_ns score windows evidence")

func findingRows(v *diagnose.Verdict) *csvTable { return findingCSV.of(runsOf(v)) }

// stageCSV has one row per window, group and stage. A window whose stages
// could not be used has one row without stage.
var stageCSV = itemsOf[windowsJSON[windowJSON]]("windows.stages?",
	"run window group cut world_size ranks first_step steps makespan_ns labels downgrade_reasons leader_rank leader_switches "+
		"closure_residual_share=quality.closure_residual_share overlap_error_share=quality.overlap_error_share "+
		"missing_ranks=quality.missing_ranks gather_ok=quality.gather_ok "+
		"stage=name advance_ns share gain sync_gain max_share mean_share latest_ranks lag_ns lag_increase_ns gap_ns synchronises wait_ns saves "+
		"routing_set co_critical_stages")

func stageRows(results []*frontier.Result) *csvTable {
	return stageCSV.of(windowsJSON[windowJSON]{each(results, windowFrom)})
}

// strs are the names of values that name themselves; never nil.
func strs[T fmt.Stringer](v []T) []string { return each(v, T.String) }
