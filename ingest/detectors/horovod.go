package detectors

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/health"
	"github.com/sfstat/sfstat/trace/input"
)

// Horovod's timeline (HOROVOD_TIMELINE) has, for each tensor, a bar NEGOTIATE_… with a tick when each rank was ready, named by the rank, on the clock of
// rank 0:
//
//	{"ph": "B", "name": "NEGOTIATE_ALLREDUCE", "ts": 10, "pid": 3},
//	{"ph": "X", "name": "1", "ts": 12, "pid": 3, "dur": 0},
//	{"ph": "E", "ts": 14, "pid": 3},
//
// Horovod does not close the array while the job runs.

// tick is an event of a timeline, as far as it is needed.
type tick struct {
	Phase string  `json:"ph"`
	Name  string  `json:"name"`
	At    float64 `json:"ts"`
	PID   int64   `json:"pid"`
}

// negotiation is who was ready for a tensor, in order.
type negotiation struct {
	open  bool
	ranks []int
	at    []float64
}

// lastCount is how often a rank was ready last, and how long after the rank before it, µs.
type lastCount struct {
	times int
	after []float64
}

// timeline reads who was ready last in each negotiation. A tensor has one open at a time.
func timeline(src io.Reader, name string, _ ingest.Limits) ([]health.Event, error) {
	d := json.NewDecoder(src)
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return nil, input.At(input.Pos{File: name}, input.Bad(input.ErrFormat, "no timeline of Horovod: it begins with no array"))
	}
	open, last, ranks, all := map[int64]*negotiation{}, map[int]*lastCount{}, map[int]bool{}, 0
	for d.More() {
		var t tick
		if err := d.Decode(&t); err != nil {
			break // cut off where the job was killed
		}
		n := open[t.PID]
		switch {
		case t.Phase == "B" && strings.HasPrefix(t.Name, "NEGOTIATE_"):
			if n == nil {
				if len(open) == 1<<20 {
					return nil, input.At(input.Pos{File: name}, input.Bad(input.ErrTooLarge, "more than %d tensors", 1<<20))
				}
				n = &negotiation{}
				open[t.PID] = n
			}
			n.open, n.ranks, n.at = true, n.ranks[:0], n.at[:0]
		case n == nil || !n.open:
		case t.Phase == "E":
			if n.open = false; len(n.ranks) > 1 {
				all++
				n.count(last)
			}
		case t.Phase == "X" || t.Phase == "i":
			if rank, err := strconv.Atoi(t.Name); err == nil && rank >= 0 && rank < trace.MaxRanks && len(n.ranks) < trace.MaxRanks {
				n.ranks, n.at, ranks[rank] = append(n.ranks, rank), append(n.at, t.At), true
			}
		}
	}
	if all == 0 {
		return nil, input.At(input.Pos{File: name}, input.Bad(input.ErrMissing, "a timeline of Horovod without a negotiation of two ranks or more: record a few steps with HOROVOD_TIMELINE=FILE"))
	}
	return []health.Event{lastInNegotiations(last, len(ranks), all)}, nil
}

// count counts who was last in a negotiation that ended.
func (n *negotiation) count(last map[int]*lastCount) {
	at := 0
	for i := range n.at {
		if n.at[i] > n.at[at] {
			at = i
		}
	}
	others := slices.Delete(slices.Clone(n.at), at, at+1)
	slices.Sort(others)
	l := last[n.ranks[at]]
	if l == nil {
		l = &lastCount{}
		last[n.ranks[at]] = l
	}
	l.times++
	l.after = append(l.after, n.at[at]-others[len(others)/2])
}

// muchMore is how many times as often as by chance a rank must be last to be named.
const muchMore = 3

// lastInNegotiations concludes who is ready last.
func lastInNegotiations(last map[int]*lastCount, ranks, all int) health.Event {
	worst := -1
	for _, rank := range slices.Sorted(maps.Keys(last)) {
		if worst < 0 || last[rank].times > last[worst].times {
			worst = rank
		}
	}
	l := last[worst]
	slices.Sort(l.after)
	after := time.Duration(l.after[len(l.after)/2] * float64(time.Microsecond))
	if share := float64(l.times) / float64(all); share < min(0.9, muchMore/float64(ranks)) || all < 8 {
		return conclusion(fmt.Sprintf("by Horovod's timeline none of %d ranks is ready last in most of %d negotiations: rank %d is in %d", ranks, all, worst, l.times), "")
	}
	return conclusion(fmt.Sprintf("by Horovod's timeline rank %d of %d is ready last in %d of %d negotiations, %v after the others (medians)", worst, ranks, l.times, all, after.Round(10*time.Microsecond)), "", worst)
}
