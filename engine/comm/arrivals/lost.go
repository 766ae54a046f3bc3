package arrivals

import (
	"slices"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/stagename"
)

// lostIn is the stage in which a late rank loses more than half of its time, "" if it
// does in several; ok is false where the stage times do not show it. A rank that loads its data slowly arrives late at the first
// collective after that, in whichever stage it is. The time from the release to the
// entry is divided among the stages, for the rank and for its peers, and the stage
// counts in which the rank spends most more than they do.
func (s *strikes) lostIn(rank int, all []found, lines []fitted) (stage string, ok bool) {
	peers := map[int]*fitted{}
	for i := range lines {
		peers[s.byRank[lines[i].rank]] = &lines[i]
	}
	own := peers[rank]
	if delete(peers, rank); own == nil {
		own = s.lineOf(rank)
	}
	if own == nil || own.summed {
		return "", false
	}
	names, group := trace.Schema{Stages: own.stages}.Groups()
	more := make([]int64, len(names)+1)
	names, group = append(names, stagename.Residual), append(group, len(names))
	for _, f := range all {
		if f.rank != rank {
			continue
		}
		for _, c := range s.places[f.place].cohorts {
			for k, x := range s.beyondPeers(c, f, own, peers) {
				more[group[k]] += x
			}
		}
	}
	sum, most := int64(0), 0
	for k, x := range more {
		if sum += max(0, x); x > more[most] {
			most = k
		}
	}
	switch {
	case sum == 0:
		return "", false
	case more[most]*2 <= sum:
		return "", true
	}
	return names[most], true
}

// beyondPeers is how much longer a struck rank spends in each stage before an entry
// than the median of its peers, and last in no stage; nil where it is not struck, or
// no peer's stages are known.
func (s *strikes) beyondPeers(c cohort, f found, own *fitted, peers map[int]*fitted) []int64 {
	at := slices.IndexFunc(c, func(e entry) bool { return int(e.Process) == f.rank })
	if at < 0 || !f.struck[c[at]] {
		return nil
	}
	lag := s.places[f.place].lag
	var of [][]int64
	for _, e := range c {
		if l := peers[int(e.Process)]; l != nil && slices.Equal(l.stages, own.stages) {
			of = append(of, l.divide(s.at(e)-s.work(e, s.lagOf(e, lag)), s.at(e)))
		}
	}
	if len(of) == 0 {
		return nil
	}
	out := own.divide(s.at(c[at])-s.work(c[at], s.lagOf(c[at], lag)), s.at(c[at]))
	times := make([]int64, len(of))
	for k := range out {
		for i := range of {
			times[i] = of[i][k]
		}
		out[k] -= median(times)
	}
	return out
}

// lineOf fits the timeline of a rank to its entries; nil where there is none, or it
// does not fit.
func (s *strikes) lineOf(rank int) *fitted {
	i := slices.IndexFunc(s.timelines, func(l timeline) bool { return s.ranks[rank].id == l.rank })
	if i < 0 || len(s.timelines[i].stages) == 0 || len(s.timelines[i].steps) < enough {
		return nil
	}
	f, ok := s.timelines[i].recorded(s.offset[rank])
	if !ok {
		if f, ok = s.timelines[i].fit(s.anchor, s.visits(rank)); !ok {
			return nil
		}
	}
	return &f
}

// divide is how much of the time from begin to end lies in each stage, and last in
// none.
func (f *fitted) divide(begin, end int64) []int64 {
	S := len(f.stages)
	out := make([]int64, S+1)
	left := max(0, end-begin)
	first, _ := slices.BinarySearch(f.begin, begin)
	for t := max(0, first-1); t < len(f.steps) && f.begin[t] < end; t++ {
		from := f.begin[t]
		for k := range S {
			to := from + f.durations[t*S+k]
			in := max(0, min(end, to)-max(begin, from))
			out[k] += in
			left -= in
			from = to
		}
	}
	out[S] = max(0, left)
	return out
}
