package comm

import (
	"fmt"
	"strings"

	"github.com/sfstat/sfstat/trace"
)

// notes says how things were found, and what was not; unnumbered is why ranks are not numbered by a communicator.
func (r *Result) notes(unnumbered string) {
	var by [len(pairingNames)]int
	onlyLogged, onlySeen, exact := 0, 0, 0
	for i := range r.Ranks {
		k := &r.Ranks[i]
		by[k.Pairing]++
		if k.Log != None && k.Profile == None {
			onlyLogged++
		}
		if k.Log == None {
			onlySeen++
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
		r.note("processes of logs and exports were paired: %s", strings.Join(how, ", "))
	}
	r.apart()
	if exact > 0 {
		r.note("calls of %d of %d ranks are tied to their kernels by NCCL's own NVTX ranges, in which they were launched: nothing is guessed there", exact, len(r.Ranks))
	}
	logs, exports := r.Sources(trace.SourceNCCLLog), r.Sources(trace.SourceNsight)
	added := 0
	for i := range r.Calls {
		if r.kindOf(r.Calls[i].Process) == trace.SourceNsight {
			added++
		}
	}
	if added > 0 && logs > 0 {
		r.note("%d calls that the logs lack were taken from NVTX ranges", added)
	}
	if by[Doubtful] > 0 {
		r.note("no match of the %d processes that were not clearly paired is called certain", by[Doubtful])
	}
	switch {
	case exports+r.Sources(trace.SourceInspector) == 0:
		r.note("no export of Nsight Systems among the inputs: what was called is known, not when it ran or for how long")
	case len(r.Calls) == 0 && logs == 0:
		r.note("no debug log among the inputs, and no payloads in the exports: kernels are known, not sizes and communicators; nsys export --include-blobs=true adds what NCCL tells")
	case len(r.Calls) == 0:
		r.note("the logs have no calls: set NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,COLL,TUNING,GRAPH")
	default:
		if onlyLogged > 0 {
			r.note("%d processes logged and are in no export", onlyLogged)
		}
		if onlySeen > 0 && logs > 0 {
			r.note("%d processes of exports left no log", onlySeen)
		}
	}
	if unnumbered != "" {
		r.note("%s", unnumbered)
	}
	for _, c := range r.Clocks {
		if !c.Known {
			r.note("the clock of %s cannot be compared with the first: too few collectives in common", r.ProfileOf(c.Rank))
			break
		}
	}
}

// apart says that ranks have nothing to do with each other.
func (r *Result) apart() {
	const shown = 4
	var names []string
	sets := r.connected().several()
	if len(sets) < 2 {
		return
	}
	for _, ranks := range sets[:min(shown, len(sets))] {
		names = append(names, trace.RankList(ranks))
	}
	if len(sets) > shown {
		names = append(names, "…")
	}
	r.note("%d sets of ranks share no communicator, not even over others: %s. Give each job a folder of its own; if this is one job, the logs lack the communicators that join them",
		len(sets), strings.Join(names, "; "))
}
