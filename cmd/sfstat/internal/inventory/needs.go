package inventory

import (
	"fmt"
	"slices"
	"strings"
)

// needs lists what analyses ask for and the run lacks, the most far-reaching
// first. Its operators may be among the traces.
func (r *Run) needs(traces []*Trace) []Need {
	var out []Need
	lacks := func(holds bool, analysis, format string, args ...any) {
		if holds {
			out = append(out, Need{analysis, fmt.Sprintf(format, args...)})
		}
	}
	lacks(r.Reporting[1] < 2, "which rank is slow", "one rank reported: there is nobody to compare it with")
	lacks(len(r.missing) > 0, "strong labels, routing", "some windows lack ranks %s", r.Missing)
	lacks(r.failed, "strong labels, routing", "a recorder could not gather some windows")
	lacks(r.Wall < r.Windows, "residual, closure check, carried cut", "%s no wall time", fraction(r.Windows-r.Wall, r.Windows))
	lacks(!r.declared(), "label likely_sync_wait, role groups", "no roles are declared")
	lacks(!r.device() && !r.onDevice(), "device or host, forward labels", "no device-event channel times a stage")
	lacks(len(r.StageLists) > 1, "comparison across windows", "%d stage lists", len(r.StageLists))
	traced := slices.ContainsFunc(traces, func(t *Trace) bool { return t.Run == r.Run })
	lacks(!traced, "which operator", "windows hold stages; operators need a profiler trace")
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
	for _, rank := range r.ranks {
		if len(rank.Role) == 0 {
			return false
		}
	}
	return true
}

// device reports whether some channel times a stage and has a ready sample.
func (r *Run) device() bool {
	for _, c := range r.Side {
		if len(c.Times) > 0 && c.Ready > 0 {
			return true
		}
	}
	return false
}

// onDevice reports whether stages are measured on the device themselves.
func (r *Run) onDevice() bool {
	for _, l := range r.StageLists {
		if slices.ContainsFunc(l.Stages, func(name string) bool { return strings.HasSuffix(name, "_device") }) {
			return true
		}
	}
	return false
}
