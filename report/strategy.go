package report

import (
	"fmt"
	"strings"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/parallel"
)

// strategyWords is the job's strategy in a sentence with its evidence, "" where no communicator has a known kind.
func strategyWords(r *comm.Result) string {
	var names, why []string
	experts := ""
	for _, d := range comm.Strategy(r) {
		if d.Kind == parallel.ExpertParallel { // its ranks are those of data parallelism, once more
			experts = ", with " + dimensionWords(d)
		} else {
			names = append(names, dimensionWords(d))
		}
		why = append(why, fmt.Sprintf("%v by %s of %s, %s", d.Kind, counted(d.Groups, "group"), counted(d.Ranks, "rank"), opsWords(d)))
	}
	switch {
	case len(why) == 0:
		return ""
	case len(names) == 0:
		experts = strings.TrimPrefix(experts, ", with ")
	}
	return "Strategy: " + strings.Join(names, " × ") + experts + ". " + strings.Join(why, "; ") + "."
}

// dimensionWords is "TP 4 with sequence parallelism".
func dimensionWords(d comm.Dimension) string {
	name := d.Kind.String()
	if d.Ranks > 0 {
		name += fmt.Sprintf(" %d", d.Ranks)
	}
	switch d.Variant {
	case comm.SplitSequences:
		name += " with sequence parallelism"
	case comm.ShardedOptimizer:
		name += " with a sharded optimizer (ZeRO-1 or 2)"
	case comm.ShardedAll:
		name += " with sharded parameters (ZeRO-3, FSDP)"
	}
	return name
}

// opsWords is "AllReduce 8 a step".
func opsWords(d comm.Dimension) string {
	var parts []string
	for _, o := range d.Ops {
		if d.Steps > 0 {
			parts = append(parts, fmt.Sprintf("%v %.3g", o.Op, float64(o.Calls)/float64(d.Steps)))
		} else {
			parts = append(parts, fmt.Sprintf("%v %d", o.Op, o.Calls))
		}
	}
	text := strings.Join(parts, ", ")
	if d.Steps > 0 {
		text += " a step"
	}
	return text
}
