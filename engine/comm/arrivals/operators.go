package arrivals

import (
	"maps"
	"slices"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/operator"
)

// Operators is what the ranks did between their calls, as an operator trace of serial
// ranks, so that the engines that compare operators run on entries alone: the work
// before a call is an operator, and so is the wait for the last member of one that
// blocks. Steps are cut at the place that every rank enters once a step, and those in
// which a rank makes other calls than usual are left out. Jobs that send and receive
// are refused, since a sender does not wait for its receiver.
func (j *Job) Operators(run string) (*operator.Trace, error) {
	if len(j.ranks) < 2 {
		return nil, input.Bad(input.ErrMissing, "entries of %d rank, expected two or more that can be compared", len(j.ranks))
	}
	t := j.match().align()
	s := t.strikes()
	s.tallies()
	if s.blocks != nil || slices.Contains(s.silent, true) {
		return nil, input.Bad(input.ErrMissing, "entries of sends and receives, between which ranks wait for each other in one direction: sfstat diagnose replays them")
	}
	r := &Result{}
	s.extent(r, nil)
	p := &program{strikes: s, placeOf: make([][]int32, len(s.ranks))}
	p.sort()
	if err := p.cut(r.Step); err != nil {
		return nil, err
	}
	return p.trace(run, r.Begin)
}

// program is the calls that the ranks of a job make in every step.
type program struct {
	*strikes
	placeOf [][]int32 // [rank][call], −1: none that repeats
	steps   []map[int][]entry
}

// sort finds the place of every call.
func (p *program) sort() {
	for r := range p.ranks {
		p.placeOf[r] = slices.Repeat([]int32{-1}, len(p.ranks[r].calls))
	}
	for i := range p.places {
		if !p.repeats(i) {
			continue
		}
		for _, c := range p.places[i].cohorts {
			for _, e := range c {
				p.placeOf[e.Process][e.Call] = int32(i)
			}
		}
	}
}

// cut divides the calls of every rank into steps, which end at the last call of the
// place that ends them, and keeps those in which all ranks make their usual calls.
func (p *program) cut(step int64) error {
	ending := -1
	for i := range p.places {
		v := p.visiting(i, &Result{})
		if p.repeats(i) && p.everyone(i) && v.every*20 >= step*19 && (ending < 0 || len(p.places[i].cohorts) > len(p.places[ending].cohorts)) {
			ending = i
		}
	}
	if ending < 0 {
		return input.Bad(input.ErrMissing, "entries without a call that all ranks make once a step")
	}
	all := map[int64]map[int][]entry{}
	for _, c := range p.places[ending].cohorts {
		end := p.release[p.of[c[0].Process][c[0].Call]]
		if all[end] == nil {
			all[end] = map[int][]entry{}
		}
		for _, e := range c {
			all[end][int(e.Process)] = p.stepOf(e, ending)
		}
	}
	usual := p.usual(all)
	for _, at := range slices.Sorted(maps.Keys(all)) {
		good := len(all[at]) == len(p.ranks)
		for r, calls := range all[at] {
			good = good && slices.Equal(p.sites(calls), usual[r])
		}
		if good {
			p.steps = append(p.steps, all[at])
		}
	}
	if len(p.steps) < enough {
		return input.Bad(input.ErrMissing, "%d steps in which all ranks make the same calls, expected %d or more", len(p.steps), enough)
	}
	return nil
}

// everyone reports whether all ranks enter a place together.
func (p *program) everyone(at int) bool {
	return slices.ContainsFunc(p.places[at].cohorts, func(c cohort) bool { return len(c) == len(p.ranks) })
}

// stepOf are a rank's calls after the one that ended the step before, up to this.
func (p *program) stepOf(last entry, ending int) (calls []entry) {
	for c := last.Call; c > 0 && (c == last.Call || p.placeOf[last.Process][c] != int32(ending)); c-- {
		calls = append(calls, entry{Process: last.Process, Call: c})
	}
	slices.Reverse(calls)
	return calls
}

// sites are the places of calls.
func (p *program) sites(calls []entry) []int32 {
	out := make([]int32, len(calls))
	for i, e := range calls {
		out[i] = p.placeOf[e.Process][e.Call]
	}
	return out
}

// usual are the most frequent calls of a step, of every rank.
func (p *program) usual(all map[int64]map[int][]entry) map[int][]int32 {
	count := map[string]int{}
	most, out := map[int]int{}, map[int][]int32{}
	for _, at := range slices.Sorted(maps.Keys(all)) {
		for r, calls := range all[at] {
			sites := p.sites(calls)
			key := string(append(int32s(sites), byte(r), byte(r>>8), byte(r>>16)))
			if count[key]++; count[key] > most[r] && !slices.Contains(sites, -1) {
				most[r], out[r] = count[key], sites
			}
		}
	}
	return out
}

func int32s(x []int32) []byte {
	out := make([]byte, 0, 4*len(x))
	for _, v := range x {
		out = append(out, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
	}
	return out
}

// trace makes the operators.
func (p *program) trace(run string, begin int64) (*operator.Trace, error) {
	at, layout, err := p.grid()
	if err != nil {
		return nil, err
	}
	t := &operator.Trace{Run: run, Serial: true, Resolution: 1, Units: "entries of calls", Layout: layout}
	order := make([]int, len(p.ranks))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return p.ranks[a].id - p.ranks[b].id })
	o := &operators{program: p, t: t, begin: begin, names: map[string]int32{}}
	for row, r := range order {
		t.Ranks = append(t.Ranks, trace.Rank{ID: p.ranks[r].id, Host: p.clocks[p.domain[r]].Host, LocalRank: -1,
			Role: trace.Role{{Axis: trace.DataParallel, Index: at[r].replica}, {Axis: trace.PipelineParallel, Index: at[r].stage}}})
		for i, step := range p.steps {
			o.step(int32(row), int32(i), step[r])
		}
	}
	for i := range p.steps {
		t.Steps = append(t.Steps, int64(i))
	}
	n := len(t.Start)
	none := slices.Repeat([]int32{-1}, n)
	t.Lane, t.Chunk, t.GlobalChunk, t.Microbatch = make([]int32, n), none, slices.Clone(none), slices.Clone(none)
	return t, t.Arrange(nil)
}

// cellOf is where a rank stands in a grid of replicas.
type cellOf struct{ replica, stage int }

// grid arranges the ranks so that those that wait for each other are all ranks, one
// replica, or the ranks of one stage: the smallest groups are the replicas. Replays
// know no others.
func (p *program) grid() ([]cellOf, operator.Layout, error) {
	n := len(p.ranks)
	var groups []int32
	smallest := n
	for _, calls := range p.steps[0] {
		for _, e := range calls {
			if g := p.call(e).group; !slices.Contains(groups, g) {
				groups = append(groups, g)
				smallest = min(smallest, len(p.members[g]))
			}
		}
	}
	slices.Sort(groups)
	at := make([]cellOf, n)
	for i := range at {
		at[i].replica = i
	}
	if smallest == n {
		return at, operator.Layout{DP: n, PP: 1, World: n}, nil
	}
	replicas, placed := 0, 0
	for _, g := range groups {
		if len(p.members[g]) != smallest {
			continue
		}
		for stage, r := range p.members[g] {
			at[r] = cellOf{replicas, stage}
			placed++
		}
		replicas++
	}
	good := placed == n && replicas*smallest == n
	for _, g := range groups {
		members := p.members[g]
		column := len(members) == replicas && !slices.ContainsFunc(members, func(r int) bool { return at[r].stage != at[members[0]].stage })
		good = good && (len(members) == n || len(members) == smallest || column)
	}
	if !good {
		return nil, operator.Layout{}, input.Bad(input.ErrMissing, "groups of %d ranks that are no grid of replicas: sfstat diagnose replays them", n)
	}
	return at, operator.Layout{DP: replicas, PP: smallest, World: n}, nil
}

// operators puts a program's calls into a trace.
type operators struct {
	*program
	t     *operator.Trace
	begin int64
	names map[string]int32
	seq   map[int32]int32
}

// step adds the calls of a step: the work before each, and the wait for the last
// member of it or, where ranks wait later, for that of one before.
func (o *operators) step(rank, step int32, calls []entry) {
	o.seq = map[int32]int32{}
	for i, e := range calls {
		from, work, lag := o.at(entry{Process: e.Process, Call: e.Call - 1}), o.work(e, o.lagAt(calls[i])), int32(o.lagAt(calls[i]))
		if lag > 1 && lag <= e.Call {
			waited := entry{Process: e.Process, Call: e.Call - lag}
			o.add(rank, step, o.label("wait for ", waited), from, o.at(e)-work-from, o.of[waited.Process][waited.Call])
		}
		o.add(rank, step, o.label("before ", e), o.at(e)-work, work, -1)
		if o.lagAt(calls[(i+1)%len(calls)]) == 1 { // that of the next step is like that of this
			o.add(rank, step, o.label("wait for ", e), o.at(e), max(0, o.releaseFor(e)-o.at(e)), o.of[e.Process][e.Call])
		}
	}
}

// lagAt is how many calls back a call waits for one.
func (o *operators) lagAt(e entry) int8 { return o.places[o.placeOf[e.Process][e.Call]].lag }

// label is a call as people name it.
func (o *operators) label(how string, e entry) string {
	k := o.kindOf(e)
	name := how + bare(k.name)
	if line := o.lineAt(k).String(); line != "" {
		name += " " + line
	}
	return name
}

func (o *operators) add(rank, step int32, name string, start, length int64, group int32) {
	t := o.t
	at := operator.Number(o.names, &t.Names, name)
	t.Rank, t.Step, t.Name, t.Seq = append(t.Rank, rank), append(t.Step, step), append(t.Name, at), append(t.Seq, o.seq[at])
	t.Start, t.Dur, t.Group = append(t.Start, start-o.begin), append(t.Dur, length), append(t.Group, group)
	o.seq[at]++
}

// bare is the name of an operation without that of its library.
func bare(name string) string {
	for i := range name {
		if name[i] == ':' {
			return name[i+1:]
		}
	}
	return name
}
