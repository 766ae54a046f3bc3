package arrivals

import (
	"slices"
	"strings"

	"github.com/sfstat/sfstat/engine/sync"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
	"github.com/sfstat/sfstat/trace/stagename"
)

// Transfer is what follows the last entry of a stage's last call: no entry shows
// whether the transfer itself is slow there.
type Transfer struct {
	Stage string
	// Time from the last entry to the end of the stage, nanoseconds of a step,
	// mean. Where the beginning of steps was not recorded it is the most that the
	// entries leave.
	Time int64
	// Wait is the same where calls that hand over less than others may take longer, as where a member has no record: the
	// recorded ones wait for it then.
	Wait int64
}

// transfers returns those of all stages in which calls are entered, using the
// timelines.
func (s *strikes) transfers(lines []fitted) (out []Transfer) {
	of, waits := map[string][]int64{}, map[string][]int64{}
	proceeds := s.proceeds(lines)
	for i := range lines {
		l := &lines[i]
		tails, slack := s.tails(l, proceeds)
		for k, t := range tails {
			if t.steps < sync.Enough {
				continue
			}
			name := stagename.Residual
			if k < len(l.stages) {
				name = l.stages[k]
			}
			of[name] = append(of[name], (t.sum+t.steps*slack)/int64(len(l.steps)))
			waits[name] = append(waits[name], (t.wait+t.steps*slack)/int64(len(l.steps)))
		}
	}
	for stage, times := range of {
		out = append(out, Transfer{stage, robust.Lower(times), robust.Lower(waits[stage])})
	}
	slices.SortFunc(out, func(a, b Transfer) int { return strings.Compare(a.Stage, b.Stage) })
	return out
}

// ending sums the time after the last entry of a stage, over the steps that have one.
type ending struct {
	sum, steps int64
	wait       int64      // the sum as it is read, in no other stage's bounds
	early      int64      // steps in which the rank left the stage before the last entry
	last       []transfer // the calls that were entered last, each once
}

// transfer is what a call hands over: an operation in a group, of so many elements of the rank; negative: not known.
type transfer struct {
	op       nccl.Op
	group    int32
	elements int64
}

// transferOf returns what the call of a point hands over.
func (s *strikes) transferOf(point int32) transfer {
	e := s.Points[point].Entries[0]
	out := transfer{s.KindOf(e).Op, s.Call(e).Group, -1}
	if t := s.KindOf(e).Tensors; t != nil {
		out.elements = comms.Elements(t.InSizes)
	}
	return out
}

// add adds a step whose last call was released so long before its stage ended.
func (t *ending) add(left int64, last transfer) {
	t.steps++
	t.sum, t.wait = t.sum+max(0, left), t.wait+max(0, left)
	if left < 0 {
		t.early++
	}
	if !slices.Contains(t.last, last) {
		t.last = append(t.last, last)
	}
}

// mostEarly is the part of the steps in which a rank may leave a stage before the last entry where it waits in it: of recorded
// jobs it does in up to 0.07 of them, by clocks, and in 0.22 or more of those in which it does not wait.
const mostEarly = 0.1

// bound shortens what follows the last call of a stage to what follows that of another in which the rank waits, if that
// hands over as much or more in the same group: a call that hands over less takes no longer.
func bound(tails []ending) {
	within := func(small, large []transfer) bool {
		return len(small) > 0 && len(large) > 0 && !slices.ContainsFunc(small, func(a transfer) bool {
			return a.elements < 0 || slices.ContainsFunc(large, func(b transfer) bool { return b.op != a.op || b.group != a.group || b.elements < a.elements })
		})
	}
	for k := range tails {
		t := &tails[k]
		for _, by := range tails {
			if by.steps >= sync.Enough && float64(by.early) <= mostEarly*float64(by.steps) && within(t.last, by.last) {
				t.sum = min(t.sum, by.sum*t.steps/by.steps)
			}
		}
	}
}

// tails returns the tails of the stages of one rank, then of the time outside of them, and by how much the timeline may lie
// later than it was fitted: no call is entered before its stage begins. Outside of the stages a loop may do many calls with
// work of its own between them: a transfer there lasts at most until the first of its ranks proceeds.
func (s *strikes) tails(l *fitted, proceeds map[int32]int64) (tails []ending, slack int64) {
	S := len(l.stages)
	tails = make([]ending, S+1)
	after := make([][]int64, S) // first entry after the beginning of the stage
	calls := s.calls(s.ByRank[l.rank])
	for t := range l.steps {
		end := l.begin[t]
		for k := range S {
			begin := end
			end += l.durations[t*S+k]
			for len(calls) > 0 && calls[0].enter < begin {
				calls = calls[1:]
			}
			if len(calls) == 0 || calls[0].enter > end {
				continue
			}
			after[k] = append(after[k], calls[0].enter-begin)
			last, of := begin, calls[0].point
			for ; len(calls) > 0 && calls[0].enter <= end; calls = calls[1:] {
				if calls[0].release >= last {
					last, of = calls[0].release, calls[0].point
				}
			}
			tails[k].add(end-last, s.transferOf(of))
		}
		if t+1 == len(l.steps) || !l.exact || len(calls) == 0 || calls[0].enter >= l.begin[t+1] {
			continue
		}
		rest := int64(0)
		for _, c := range calls {
			if c.enter >= l.begin[t+1] {
				break
			}
			if until, ok := proceeds[c.point]; ok {
				rest += max(0, until-c.release)
			}
		}
		tails[S].steps++
		tails[S].sum, tails[S].wait = tails[S].sum+rest, tails[S].wait+rest
	}
	bound(tails[:S])
	if l.exact {
		return tails, 0
	}
	slack = -1
	for k := range after {
		if len(after[k]) < sync.Enough {
			continue
		}
		if early := robust.Select(after[k], (len(after[k])-1)/20); slack < 0 || early < slack {
			slack = early
		}
	}
	return tails, max(0, slack)
}

// proceeds returns when the first rank after each point enters its next call, or begins its next step; of a message at the
// latest when it was received.
func (s *strikes) proceeds(lines []fitted) map[int32]int64 {
	out := map[int32]int64{}
	for i := range lines {
		l := &lines[i]
		if !l.exact {
			continue
		}
		calls := s.calls(s.ByRank[l.rank])
		for k, c := range calls {
			next, _ := slices.BinarySearch(l.begin, c.enter+1)
			if next == len(l.begin) {
				break
			}
			until := l.begin[next]
			if k+1 < len(calls) {
				until = min(until, calls[k+1].enter)
			}
			if e := (sync.Entry{Process: int32(s.ByRank[l.rank]), Call: int32(k)}); s.IsReceive(e) && s.Call(e).Held > 0 {
				until = min(until, c.enter+s.Call(e).Held)
			}
			if have, ok := out[c.point]; !ok || until < have {
				out[c.point] = until
			}
		}
	}
	return out
}

// timedCall is a call of a rank.
type timedCall struct {
	visit
	point int32
}

// calls returns the calls of a rank, in the order of time.
func (s *strikes) calls(rank int) []timedCall {
	out := make([]timedCall, len(s.Ranks[rank].Calls))
	for i := range out {
		e, p := sync.Nth(rank, i), s.Of[rank][i]
		out[i] = timedCall{visit{s.Time(e), max(s.Time(e), s.Release[p])}, p}
	}
	return out
}
