package diagnose

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/engine/delay"
	"github.com/sfstat/sfstat/engine/points"
	"github.com/sfstat/sfstat/internal/robust"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/stagename"
)

// steps are the recorded steps of a run, as the windows came: how a file is cut into windows
// changes nothing. O(steps · stages · ranks) memory.
type steps struct {
	named   string
	windows []recordedWindow
}

type recordedWindow struct {
	at              int // index in run.windows
	index, first    int64
	schema          trace.Schema
	ranks           []trace.Rank
	durations, wall []int64
	wait            trace.DataWait
}

// record keeps the times of a window, which the caller may change.
func (r *run) record(w *trace.Window, named string) {
	if r.steps == nil {
		r.steps = &steps{named: named}
	}
	r.steps.windows = append(r.steps.windows, recordedWindow{at: len(r.windows), index: w.Index, first: w.FirstStep, schema: w.Schema, ranks: slices.Clone(w.Ranks),
		durations: slices.Clone(w.Durations), wall: slices.Clone(w.Wall), wait: w.DataWait})
}

// run puts the windows with the commonest stages together, in the order of time.
func (s *steps) run() (*delay.Run, placed) {
	windows := s.commonest()
	slices.SortStableFunc(windows, func(a, b recordedWindow) int {
		return cmp.Or(cmp.Compare(a.index, b.index), cmp.Compare(a.first, b.first))
	})
	first := windows[0]
	order := stageOrder(first)
	out, at := &delay.Run{}, placed{}
	for _, k := range order {
		out.Stages = append(out.Stages, points.Stage{Name: first.schema.Stages[k], Role: roleOf(first.schema.Stages[k])})
	}
	out.Named = s.named
	members := members(windows)
	for _, m := range members {
		at.ranks = append(at.ranks, m.ID)
	}
	out.Ranks = len(members)
	walled := !slices.ContainsFunc(windows, func(w recordedWindow) bool { return w.wall == nil })
	before := int64(0)
	for i, w := range windows {
		T := len(w.durations) / (len(w.schema.Stages) * len(w.ranks))
		if n := len(at.numbers); i > 0 && w.first != before+1 {
			out.Breaks = append(out.Breaks, n)
		}
		w.appendTo(out, order, members, walled)
		for t := range T {
			at.numbers, at.window = append(at.numbers, w.first+int64(t)), append(at.window, w.at)
		}
		before = w.first + int64(T) - 1
	}
	out.Hosts, at.hosts = hostsOf(members)
	at.host = out.Hosts
	out.Peers = peersOf(members, out)
	return out, at
}

// commonest are the windows with the list of stages that most steps have.
func (s *steps) commonest() []recordedWindow {
	count := map[string]int{}
	best := ""
	for _, w := range s.windows {
		h := w.schema.Hash() + w.wait.String()
		count[h] += len(w.durations) / max(1, len(w.ranks))
		if best == "" || count[h] > count[best] {
			best = h
		}
	}
	var out []recordedWindow
	for _, w := range s.windows {
		if w.schema.Hash()+w.wait.String() == best {
			out = append(out, w)
		}
	}
	return out
}

// stageOrder is the order of a step in time: a wait for data that was recorded at the end of the
// step before comes last.
func stageOrder(w recordedWindow) (order []int) {
	data := -1
	if w.wait == trace.DataWaitPreceding {
		data = slices.IndexFunc(w.schema.Stages, func(s string) bool { return stagename.KindOf(s) == stagename.Data })
	}
	for k := range w.schema.Stages {
		if k != data {
			order = append(order, k)
		}
	}
	if data >= 0 {
		order = append(order, data)
	}
	return order
}

func roleOf(stage string) points.Role {
	if stagename.IsWait(stage) {
		return points.Wait
	}
	switch stagename.KindOf(stage) {
	case stagename.Data:
		return points.Data
	case stagename.Forward:
		return points.Forward
	case stagename.Backward:
		return points.Backward
	case stagename.Optimizer:
		return points.Optimizer
	}
	return points.Undeclared
}

// members are all ranks of some windows, by their numbers.
func members(windows []recordedWindow) (out []trace.Rank) {
	for _, w := range windows {
		for _, r := range w.ranks {
			if !slices.ContainsFunc(out, func(have trace.Rank) bool { return have.ID == r.ID }) {
				out = append(out, r)
			}
		}
	}
	slices.SortFunc(out, func(a, b trace.Rank) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// appendTo appends the steps of a window. Ranks that it lacks are given the median of the others,
// so that they are never late.
func (w *recordedWindow) appendTo(out *delay.Run, order []int, members []trace.Rank, walled bool) {
	R, S := len(w.ranks), len(w.schema.Stages)
	T := len(w.durations) / (R * S)
	scratch := make([]int64, R)
	add := func(dst, row []int64) []int64 {
		if R == len(members) {
			return append(dst, row...)
		}
		usual := robust.MedianTimeOf(row, scratch)
		i := 0
		for _, m := range members {
			if i < R && w.ranks[i].ID == m.ID {
				dst = append(dst, row[i])
				i++
			} else {
				dst = append(dst, usual)
			}
		}
		return dst
	}
	for t := range T {
		for _, k := range order {
			from := (t*S + k) * R
			out.Durations = add(out.Durations, w.durations[from:from+R])
		}
		if walled {
			out.Wall = add(out.Wall, w.wall[t*R:(t+1)*R])
		}
	}
}

func hostsOf(members []trace.Rank) (of []int, names []string) {
	for _, m := range members {
		if m.Host == "" {
			of = append(of, -1)
			continue
		}
		h := slices.Index(names, m.Host)
		if h < 0 {
			h = len(names)
			names = append(names, m.Host)
		}
		of = append(of, h)
	}
	return of, names
}

// differs is the part of a step by which the middle ranks of two role groups must differ in a stage
// for their work to be different.
const differs = 0.05

// peersOf are the role groups, where roles are declared and do different work; else nil: all
// are peers.
func peersOf(members []trace.Rank, run *delay.Run) []int {
	groups := trace.RoleGroups(members)
	if len(groups) < 2 || slices.ContainsFunc(members, func(m trace.Rank) bool { return len(m.Role) == 0 }) {
		return nil
	}
	var step, apart float64
	for k := range run.Stages {
		var middles []float64
		for _, g := range groups {
			var v []float64
			for t := range run.Len() {
				row := run.At(t, k)
				for _, r := range g {
					v = append(v, float64(row[r]))
				}
			}
			middles = append(middles, robust.Median(v))
		}
		step += slices.Max(middles)
		apart = max(apart, slices.Max(middles)-slices.Min(middles))
	}
	if apart < differs*step {
		return nil
	}
	out := make([]int, len(members))
	for g, ranks := range groups {
		for _, r := range ranks {
			out[r] = g
		}
	}
	return out
}
