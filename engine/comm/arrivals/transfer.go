package arrivals

import (
	"slices"
	"strings"

	"github.com/sfstat/sfstat/engine/sync"
	"github.com/sfstat/sfstat/internal/robust"
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
}

// transfers returns those of all stages in which calls are entered, using the
// timelines.
func (s *strikes) transfers(lines []fitted) (out []Transfer) {
	of := map[string][]int64{}
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
		}
	}
	for stage, times := range of {
		out = append(out, Transfer{stage, robust.Lower(times)})
	}
	slices.SortFunc(out, func(a, b Transfer) int { return strings.Compare(a.Stage, b.Stage) })
	return out
}

// ending sums the time after the last entry of a stage, over the steps that have one.
type ending struct{ sum, steps int64 }

// tails are those of the stages of one rank, then that of the time outside of them, and by how much the
// timeline may lie later than it was fitted: no call is entered before its stage begins. Outside of the
// stages a loop may do many calls with work of its own between them: a transfer there lasts at most until the
// first of its ranks proceeds.
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
			last := begin
			for ; len(calls) > 0 && calls[0].enter <= end; calls = calls[1:] {
				last = max(last, calls[0].release)
			}
			tails[k].steps++
			tails[k].sum += max(0, end-last)
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
		tails[S].sum += rest
	}
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

// proceeds is when the first rank after each point enters its next call, or begins its next step; of a
// message at the latest when it was received.
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

// calls are those of a rank, in the order of time.
func (s *strikes) calls(rank int) []timedCall {
	out := make([]timedCall, len(s.Ranks[rank].Calls))
	for i := range out {
		e, p := sync.Nth(rank, i), s.Of[rank][i]
		out[i] = timedCall{visit{s.At(e), max(s.At(e), s.Release[p])}, p}
	}
	return out
}
