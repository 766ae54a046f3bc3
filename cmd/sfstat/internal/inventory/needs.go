package inventory

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/trace"
)

// needs are what analyses ask for and a recording lacks.
type needs []Need

// lacks adds one where that holds.
func (n *needs) lacks(holds bool, analysis, format string, args ...any) {
	if holds {
		*n = append(*n, Need{analysis, fmt.Sprintf(format, args...)})
	}
}

// needs lists what analyses ask for and the run lacks, the most far-reaching
// first. Its operators may be among the traces.
func (r *Run) needs(traces []*Trace) []Need {
	var out needs
	out.lacks(r.Reporting[1] < 2, "which rank is slow", "one rank reported: there is nobody to compare it with")
	out.lacks(len(r.missing) > 0, "strong labels, routing", "some windows lack ranks %s", r.Missing)
	out.lacks(r.failed, "strong labels, routing", "a recorder could not gather some windows")
	out.lacks(r.Wall < r.Windows, "residual, closure check, carried cut", "%s no wall time", fraction(r.Windows-r.Wall, r.Windows))
	out.lacks(!r.declared(), "label likely_sync_wait, role groups", "no roles are declared")
	out.lacks(!r.device() && !r.onDevice(), "device or host, forward labels", "no device-event channel times a stage")
	out.lacks(len(r.StageLists) > 1, "comparison across windows", "%d stage lists", len(r.StageLists))
	traced := slices.ContainsFunc(traces, func(t *Trace) bool { return t.Run == r.Run })
	out.lacks(!traced, "which operator", "windows hold stages; operators need a profiler trace")
	return out
}

func fraction(n, of int) string {
	if n == of {
		return "the windows have"
	}
	return fmt.Sprintf("%d of %d windows have", n, of)
}

// declared reports whether every rank has a role.
func (r *Run) declared() bool {
	return !slices.ContainsFunc(slices.Collect(maps.Values(r.ranks)), func(rank trace.Rank) bool { return len(rank.Role) == 0 })
}

// device reports whether some channel times a stage and has a ready sample.
func (r *Run) device() bool {
	return slices.ContainsFunc(r.Side, func(c Channel) bool { return len(c.Times) > 0 && c.Ready > 0 })
}

// onDevice reports whether stages are measured on the device themselves.
func (r *Run) onDevice() bool {
	isDevice := func(name string) bool { return strings.HasSuffix(name, "_device") }
	return slices.ContainsFunc(r.StageLists, func(l StageList) bool { return slices.ContainsFunc(l.Stages, isDevice) })
}
