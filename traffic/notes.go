package traffic

import (
	"fmt"
	"strings"

	"github.com/sfstat/sfstat/trace"
)

// notes says how things were found, and what was not.
func (a *assembly) notes() {
	sortMatches(a.r.Matches)
	var by [len(pairingNames)]int
	logs, traces, exact := 0, 0, 0
	for i := range a.r.Ranks {
		k := &a.r.Ranks[i]
		by[k.Pairing]++
		if k.Logged && k.Export == None {
			logs++
		}
		if !k.Logged {
			traces++
		}
		if k.Join == ByNVTX {
			exact++
		}
	}
	var how []string
	for p := ByPID; int(p) < len(by); p++ {
		if by[p] > 0 {
			how = append(how, fmt.Sprintf("%d by %v", by[p], p))
		}
	}
	if len(how) > 0 {
		a.note("processes of logs and exports were paired: %s", strings.Join(how, ", "))
	}
	a.apart()
	if exact > 0 {
		a.note("calls of %d of %d ranks are tied to their kernels by NCCL's own NVTX ranges, in which they were launched: nothing is guessed there", exact, len(a.r.Ranks))
	}
	if told := len(a.in.Log.Calls) - a.toldFrom; told > 0 && len(a.in.LogNames) > 0 && a.dumped == 0 {
		a.note("%d calls that the logs lack were taken from NVTX ranges", told)
	}
	if by[Doubtful] > 0 {
		a.note("no match of the %d processes that were not clearly paired is called certain", by[Doubtful])
	}
	switch {
	case len(a.in.Exports) == 0:
		a.note("no export of Nsight Systems among the inputs: what was called is known, not when it ran or for how long")
	case len(a.in.Log.Calls) == 0 && len(a.in.LogNames) == 0:
		a.note("no debug log among the inputs, and no payloads in the exports: kernels are known, not sizes and communicators; nsys export --include-blobs=true adds what NCCL tells")
	case len(a.in.Log.Calls) == 0:
		a.note("the logs have no calls: set NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,COLL,TUNING,GRAPH")
	default:
		if logs > 0 {
			a.note("%d processes logged and are in no export", logs)
		}
		if traces > 0 && len(a.in.LogNames) > 0 {
			a.note("%d processes of exports left no log", traces)
		}
	}
	if a.ranked != "" {
		a.note("%s", a.ranked)
	}
	for _, c := range a.r.Clocks {
		if !c.Known {
			a.note("the clock of %s cannot be compared with the first: too few collectives in common", a.in.Names[c.Export])
			break
		}
	}
}

// apart says that ranks have nothing to do with each other.
func (a *assembly) apart() {
	const shown = 4
	var names []string
	sets := a.parties().several()
	if len(sets) < 2 {
		return
	}
	for _, ranks := range sets[:min(shown, len(sets))] {
		names = append(names, trace.RankList(ranks))
	}
	if len(sets) > shown {
		names = append(names, "…")
	}
	a.note("%d sets of ranks share no communicator, not even over others: %s. Give each job a folder of its own; if this is one job, the logs lack the communicators that join them",
		len(sets), strings.Join(names, "; "))
}
