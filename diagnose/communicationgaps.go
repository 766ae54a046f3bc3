package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/engine/bandwidth"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/traffic"
)

// undecidableTraffic is what the logs and kernels cannot tell, each with what would.
func undecidableTraffic(r *traffic.Result) (out []string) {
	if r.Speed.Result == nil || len(r.Exports) == 0 || len(r.Log.Calls) == 0 {
		return nil
	}
	say := func(n int, format string, args ...any) {
		if n > 0 {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	list := subjectsThat(r, bandwidth.Unmatched)
	n := len(list)
	say(n, "Whether %s slow: nothing of equal size does the same over the same kind of link. Compare with another job, or with nccl-tests.", theyAre(r, list))
	list = subjectsThat(r, bandwidth.TooFew)
	n = len(list)
	say(n, "Whether %s slow beside others: there are too few calls of equal size. Record more steps.", theyAre(r, list))
	list = subjectsThat(r, bandwidth.Blurred)
	n = len(list)
	say(n, "Whether %s slow beside others: the calls are shorter than what the clocks of the exports resolve.", theyAre(r, list))
	for _, s := range r.Undecided() {
		x := spoken{r: r, Suspect: s}
		say(1, "Which of two is as it should be: %s reaches %s of the bandwidth of the only other like it.", theName(r, s.Subjects[0]), percent(x.cell().Bus/s.Worst.Bus))
	}
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

// unsuspected is the answer where there is no suspect.
func unsuspected(r *traffic.Result) string {
	met := slices.ContainsFunc(r.Collectives, func(c traffic.Collective) bool { return c.Certain && c.Whole(r) })
	switch {
	case met && (r.Timeless || r.Sampled):
		return lastComer(r)
	case met || len(r.Transfers) > 0:
		return "Nothing stands out: no rank makes the others wait again and again, and no link or communicator is surely slower than those that do the same."
	case len(r.Matches) > 0:
		return fmt.Sprintf("%s of %s were found with their kernels, none of which can be held against those of other ranks.",
			countedWord(len(r.Matches), "call"), countedWord(len(r.Ranks), "rank"))
	case len(r.Log.Calls) > 0:
		return fmt.Sprintf("%s of %s on %s; nothing tells when they ran.", countedWord(len(r.Log.Calls), "call"), countedWord(len(r.Ranks), "rank"),
			countedWord(len(r.Communicators), "communicator"))
	case len(r.Exports) == 0:
		return fmt.Sprintf("No calls in %s: NCCL logs them with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,COLL,TUNING,GRAPH.", countedWord(len(r.LogNames), "log"))
	}
	kernels := 0
	for _, x := range r.Exports {
		for i := range x.Processes {
			kernels += len(x.Processes[i].Kernels)
		}
	}
	return fmt.Sprintf("%s of NCCL on %s; no call of a log was paired with them.", countedWord(kernels, "kernel"), countedWord(len(r.Ranks), "rank"))
}

// lastComer is who comes last most, where dumps of NCCL's Inspector do not tell what came before.
func lastComer(r *traffic.Result) string {
	all, _ := r.Lateness()
	worst := slices.MaxFunc(all, func(x, y traffic.Lateness) int { return cmp.Compare(x.Caused, y.Caused) })
	k := &r.Ranks[worst.Rank]
	return fmt.Sprintf("Rank %d (%s) comes last to %d of %s, which costs the others most; whether of itself the dumps do not tell.",
		k.Rank, k.Host, worst.Last, countedWord(worst.Met, "collective"))
}

// leastClass is the smallest class of messages worth a word about bandwidth: 16 KiB.
const leastClass = 14

// subjectsThat is the communicators and pairs of ranks all of whose calls that carry data stand so beside peers.
func subjectsThat(r *traffic.Result, standing bandwidth.Standing) (list []int) {
	var other []int
	for i := range r.Speed.Cells {
		c := &r.Speed.Cells[i]
		if c.Bound == bandwidth.ByLatency || c.Class < leastClass {
			continue
		}
		if c.Standing != standing {
			other = append(other, c.Subject)
		} else if !slices.Contains(list, c.Subject) {
			list = append(list, c.Subject)
		}
	}
	return slices.DeleteFunc(list, func(s int) bool { return slices.Contains(other, s) })
}

// mostNamed is how many communicators or pairs a sentence names.
const mostNamed = 3

// theyAre names subjects, or says how many they are, with the verb.
func theyAre(r *traffic.Result, list []int) string {
	switch {
	case len(list) == 0:
		return ""
	case len(list) > mostNamed:
		return fmt.Sprintf("%d communicators and pairs of ranks are", len(list))
	}
	var names []string
	for _, s := range list {
		names = append(names, theName(r, s))
	}
	if len(names) == 1 {
		return names[0] + " is"
	}
	return strings.Join(names[:max(len(names)-1, 0)], ", ") + " or " + names[len(names)-1] + " is"
}

// theName names a communicator or pair of ranks.
func theName(r *traffic.Result, subject int) string {
	if p, ok := r.PairOf(subject); ok {
		return fmt.Sprintf("the link of ranks %d and %d", r.Ranks[p.Low].Rank, r.Ranks[p.High].Rank)
	}
	c := &r.Communicators[subject]
	kind := "communicator"
	if c.Kind != traffic.UnknownKind {
		kind = c.Kind.String() + " communicator"
	}
	return fmt.Sprintf("the %s of ranks %s", kind, trace.RankList(c.Ranks))
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
func communicationPlan(r *traffic.Result, s Finding, partners []int) *CapturePlan {
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
