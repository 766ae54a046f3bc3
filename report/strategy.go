package report

import (
	"strings"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/parallel"
)

// strategyWords returns the job's strategy in a sentence with its evidence, "" where no communicator has a known kind.
func strategyWords(r *comm.Result) string {
	var names, why []string
	experts := ""
	for _, d := range comm.Strategy(r) {
		if d.Kind == parallel.ExpertParallel { // its ranks are those of data parallelism, once more
			experts = ", with " + sayDimension(&d)
		} else {
			names = append(names, sayDimension(&d))
		}
		why = append(why, sayWhyDimension(&d))
	}
	switch {
	case len(why) == 0:
		return ""
	case len(names) == 0:
		experts = strings.TrimPrefix(experts, ", with ")
	}
	return "Strategy: " + strings.Join(names, " × ") + experts + ". " + strings.Join(why, "; ") + "."
}
