package diagnose

import (
	"fmt"
	"slices"

	"github.com/sfstat/sfstat/engine/bandwidth"
	"github.com/sfstat/sfstat/traffic"
)

// undecidableTraffic is what the logs and kernels cannot tell, each with what would.
func undecidableTraffic(r *traffic.Result) (out []string) {
	if r.Speed.Result == nil || len(r.Exports) == 0 || len(r.Log.Calls) == 0 {
		return nil
	}
	var by [bandwidth.Slower + 1]map[int]bool
	for i := range r.Speed.Cells {
		c := &r.Speed.Cells[i]
		if c.Bound == bandwidth.ByLatency || c.Class < leastClass {
			continue
		}
		if by[c.Standing] == nil {
			by[c.Standing] = map[int]bool{}
		}
		by[c.Standing][c.Subject] = true
	}
	say := func(n int, format string, args ...any) {
		if n > 0 {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	n := len(by[bandwidth.Unmatched])
	say(n, "Whether %s slow: nothing of equal size does the same over the same kind of link. Compare with another job, or with nccl-tests.", areWord(n, "communicator or pair of ranks", "communicators and pairs of ranks"))
	n = len(by[bandwidth.TooFew])
	say(n, "Whether %s slow beside others: there are too few calls of equal size. Record more steps.", areWord(n, "communicator or pair of ranks", "communicators and pairs of ranks"))
	n = len(by[bandwidth.Blurred])
	say(n, "Whether %s slow beside others: the calls are shorter than what the clocks of the exports resolve.", areWord(n, "communicator or pair of ranks", "communicators and pairs of ranks"))
	n = absent(r)
	say(n, "What %s did: %s of communicators in the logs and left no log, or no export. A collective that a rank is missing from is not measured.", countedWord(n, "rank"), isAre(n))
	n = strangers(r)
	say(n, "What goes on between hosts where the clocks of %s do not compare with the first: fewer than 8 collectives in common. Record a stretch that all ranks take part in.", countedWord(n, "export"))
	n = r.Messages.Shared
	say(n, "How fast the single messages of kernels that serve several peers are (%s): such a kernel ends with the slowest.", countedWord(n, "message"))
	n = r.Messages.Lonely
	say(n, "How fast %s: the other side is not in the logs, or has another number of them.", messagesWord(n))
	return out
}

// leastClass is the smallest class of messages worth a word about bandwidth: 16 KiB.
const leastClass = 14

func areWord(n int, one, many string) string {
	if n == 1 {
		return "1 " + one + " is"
	}
	return fmt.Sprintf("%d %s are", n, many)
}

func isAre(n int) string {
	if n == 1 {
		return "it is"
	}
	return "they are"
}

func messagesWord(n int) string {
	if n == 1 {
		return "1 send or receive was"
	}
	return fmt.Sprintf("%d sends and receives were", n)
}

// absent is how many ranks communicators have that left no log, or that are in no export.
func absent(r *traffic.Result) int {
	most, there := 0, 0
	for i := range r.Communicators {
		c := &r.Communicators[i]
		if !c.Alone {
			most = max(most, c.NRanks-len(c.Ranks))
		}
	}
	for i := range r.Ranks {
		if r.Ranks[i].Process != traffic.None && r.Ranks[i].Export == traffic.None {
			there++
		}
	}
	return most + there
}

// strangers is how many exports have clocks that do not compare.
func strangers(r *traffic.Result) int {
	seen := map[int]bool{}
	for _, c := range r.Clocks {
		if !c.Known {
			seen[c.Export] = true
		}
	}
	return len(seen)
}

// communicationPlan says what to record next.
func communicationPlan(r *traffic.Result, s Suspect, partners []int) *CapturePlan {
	p := &CapturePlan{Window: -1, Steps: [2]int64{-1, -1}, Ranks: slices.Concat(s.Ranks, partners)}
	for i := range r.Communicators {
		if n := r.Communicators[i].Steps; n > 0 {
			p.Steps = [2]int64{0, int64(n - 1)}
			break
		}
	}
	switch s.Kind {
	case KindRank:
		p.Ranks = append(p.Ranks, besides(r, s.Ranks)...)
		p.Tool = "torch.profiler or nsys with --trace=cuda,nvtx,osrt, 3 to 5 steps"
		p.Why = fmt.Sprintf("to see what rank %d does between its collectives that a peer does not", s.Ranks[0])
	case KindEdge:
		p.Tool = "nccl-tests (sendrecv_perf, all_reduce_perf) between these ranks and between two that are fast, with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,GRAPH,NET; counters of the cards (ethtool -S, perfquery) or of NVLink (nvidia-smi nvlink -e)"
		p.Why = "to see whether the link is slow without the job too, and whether it counts errors or runs at a lower rate"
	default:
		p.Tool = "nccl-tests (sendrecv_perf) between each two neighbours of these ranks, with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,GRAPH,NET"
		p.Why = "to see which link of the communicator is slow: its collectives go as fast as the slowest"
	}
	return p
}

// besides is one rank that shares a communicator with a suspect and is none.
func besides(r *traffic.Result, ranks []int) []int {
	for i := range r.Communicators {
		c := &r.Communicators[i]
		if !slices.Contains(c.Ranks, ranks[0]) {
			continue
		}
		for _, k := range c.Ranks {
			if !slices.Contains(ranks, k) {
				return []int{k}
			}
		}
	}
	return nil
}
