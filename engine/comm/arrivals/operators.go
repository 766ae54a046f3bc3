package arrivals

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/sfstat/sfstat/engine/sync"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/operator"
)

// Operators returns the time between the ranks' calls as an operator trace of serial ranks, so that the engines that compare
// operators run on entries alone: the work before a call is an operator, and so is the wait for the last member of one that
// blocks. Steps are cut at the place that every rank enters once a step, and those in which a rank makes other calls than usual
// are left out. Jobs that send and receive are refused, since a sender does not wait for its receiver.
func (j *Job) Operators(run string) (*operator.Trace, error) {
	if len(j.Ranks) < 2 {
		return nil, input.Bad(input.ErrMissing, "entries of %d rank, expected two or more that can be compared", len(j.Ranks))
	}
	s := j.strikes(j.Match().Align())
	if s.Blocks != nil || slices.Contains(s.Silent, true) {
		return nil, input.Bad(input.ErrMissing, "entries of sends and receives, between which ranks wait for each other in one direction: sfstat diagnose replays them")
	}
	p := &program{strikes: s}
	if err := p.cut(); err != nil {
		return nil, err
	}
	return p.trace(run)
}

// program is the calls that the ranks of a job make in every step.
type program struct {
	*strikes
	placeOf [][]int32        // [rank][call], −1: none that repeats
	steps   [][][]sync.Entry // [step][rank]
}

// cut divides the calls of every rank into steps, which end at a call that all ranks make together once a
// step, and keeps those in which all ranks make their usual calls.
func (p *program) cut() error {
	var places []int // where all ranks enter together
	for r := range p.Ranks {
		p.placeOf = append(p.placeOf, slices.Repeat([]int32{-1}, len(p.Ranks[r].Calls)))
	}
	for i := range p.Places {
		if !p.Repeats(i) {
			continue
		}
		for _, c := range p.Places[i].Cohorts {
			for _, e := range c {
				p.placeOf[e.Process][e.Call] = int32(i)
			}
		}
		if slices.ContainsFunc(p.Places[i].Cohorts, func(c sync.Cohort) bool { return len(c) == len(p.Ranks) }) {
			places = append(places, i)
		}
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(len(p.Places[b].Cohorts), len(p.Places[a].Cohorts)) })
	ending, ok := p.StepEnd(places, nil, 0)
	if !ok {
		return input.Bad(input.ErrMissing, "entries without a call that all ranks make once a step")
	}
	cut := p.strikes.Cut(ending, places)
	all := make([][][]sync.Entry, len(cut.Ends))
	for t := range all {
		all[t] = make([][]sync.Entry, len(p.Ranks))
	}
	usual := make([]string, len(p.Ranks))
	for r := range p.Ranks {
		count := map[string]int{}
		for i := range p.Ranks[r].Calls {
			e := sync.Nth(r, i)
			if t := cut.Step(e, p.Time(e)); t >= 0 {
				all[t][r] = append(all[t][r], e)
			}
		}
		for t := range all {
			sites, known := p.sites(all[t][r])
			if count[sites]++; known && count[sites] > count[usual[r]] {
				usual[r] = sites
			}
		}
	}
	for _, step := range all {
		good := true
		for r, calls := range step {
			sites, known := p.sites(calls)
			good = good && known && sites == usual[r]
		}
		if good {
			p.steps = append(p.steps, step)
		}
	}
	if len(p.steps) < sync.Enough {
		return input.Bad(input.ErrMissing, "%d steps in which all ranks make the same calls, expected %d or more", len(p.steps), sync.Enough)
	}
	return nil
}

// sites returns the places of calls as text, to compare; known: all of them repeat.
func (p *program) sites(calls []sync.Entry) (key string, known bool) {
	known = len(calls) > 0
	var sites []byte
	for _, e := range calls {
		at := p.placeOf[e.Process][e.Call]
		known = known && at >= 0
		sites = binary.LittleEndian.AppendUint32(sites, uint32(at))
	}
	return string(sites), known
}

// trace makes the operators.
func (p *program) trace(run string) (*operator.Trace, error) {
	role, layout, err := p.grid()
	if err != nil {
		return nil, err
	}
	t := &operator.Trace{Run: run, Serial: true, Resolution: 1, Units: "entries of calls", Layout: layout}
	o := &operators{program: p, t: t, names: map[string]int32{}}
	for i := range p.steps {
		t.Steps = append(t.Steps, int64(i))
	}
	for r := range p.Ranks { // by their numbers
		t.Ranks = append(t.Ranks, trace.Rank{ID: p.Ranks[r].ID, Host: p.Clocks[p.Domain[r]].Host, LocalRank: -1, Role: role[r]})
		for i, step := range p.steps {
			o.step(int32(r), int32(i), step[r])
		}
	}
	begin := slices.Min(t.Start)
	for i := range t.Start {
		t.Start[i] -= begin
	}
	n := len(t.Start)
	none := slices.Repeat([]int32{-1}, n)
	t.Lane, t.Chunk, t.GlobalChunk, t.Microbatch = make([]int32, n), none, slices.Clone(none), slices.Clone(none)
	return t, t.Arrange(nil)
}

// grid arranges the ranks so that those that wait for each other are all ranks, one replica, or the ranks of
// one stage: the smallest groups are the replicas. Replays know no others.
func (p *program) grid() (role []trace.Role, layout operator.Layout, err error) {
	n, stages := len(p.Ranks), len(p.Ranks)
	groups := map[int32][]int{}
	for _, calls := range p.steps[0] {
		for _, e := range calls {
			g := p.Call(e).Group
			groups[g] = p.Members[g]
			stages = min(stages, len(p.Members[g]))
		}
	}
	replica, stage, replicas := make([]int, n), make([]int, n), 0
	if stages == n { // every rank is a replica
		stages = 1
	}
	for r := range n {
		replica[r] = r
	}
	for _, g := range slices.Sorted(maps.Keys(groups)) {
		if stages > 1 && len(groups[g]) == stages {
			for at, r := range groups[g] {
				replica[r], stage[r] = replicas, at
			}
			replicas++
		}
	}
	if stages == 1 {
		replicas = n
	}
	good := replicas*stages == n
	for _, members := range groups {
		column := len(members) == replicas && !slices.ContainsFunc(members, func(r int) bool { return stage[r] != stage[members[0]] })
		good = good && (len(members) == n || len(members) == stages || column)
	}
	if !good {
		return nil, layout, input.Bad(input.ErrMissing, "groups of %d ranks that are no grid of replicas: sfstat diagnose replays them", n)
	}
	for r := range n {
		role = append(role, trace.Role{{Axis: trace.DataParallel, Index: replica[r]}, {Axis: trace.PipelineParallel, Index: stage[r]}})
	}
	return role, operator.Layout{DP: replicas, PP: stages, World: n}, nil
}

// operators puts a program's calls into a trace.
type operators struct {
	*program
	t     *operator.Trace
	names map[string]int32
	seq   map[int32]int32
}

// step adds the calls of a step: the work before each, and the wait for the last
// member of it or, where ranks wait later, for that of one before.
func (o *operators) step(rank, step int32, calls []sync.Entry) {
	o.seq = map[int32]int32{}
	for i, e := range calls {
		from, work := o.Time(sync.Previous(e, 1)), o.Work(e, o.lagAt(calls[i]))
		if waited, ok := o.Awaited(e, o.lagAt(calls[i])); ok && waited.Call < e.Call-1 {
			o.add(rank, step, o.label("wait for ", waited), from, o.Time(e)-work-from, o.Of[waited.Process][waited.Call])
		}
		o.add(rank, step, o.label("before ", e), o.Time(e)-work, work, -1)
		if o.lagAt(calls[(i+1)%len(calls)]) == 1 { // that of the next step is like that of this
			o.add(rank, step, o.label("wait for ", e), o.Time(e), max(0, o.ReleaseFor(e)-o.Time(e)), o.Of[e.Process][e.Call])
		}
	}
}

// lagAt returns how many calls back a call waits for one.
func (o *operators) lagAt(e sync.Entry) int8 { return o.Places[o.placeOf[e.Process][e.Call]].Lag }

// label returns a call in the words of people.
func (o *operators) label(how string, e sync.Entry) string {
	k := o.KindOf(e)
	name := how + bare(k.Name)
	if line := o.lineAt(k).String(); line != "" {
		name += " " + line
	}
	return name
}

func (o *operators) add(rank, step int32, name string, start, length int64, group int32) {
	t := o.t
	at := operator.Number(o.names, &t.Names, name)
	t.Rank, t.Step, t.Name, t.Seq = append(t.Rank, rank), append(t.Step, step), append(t.Name, at), append(t.Seq, o.seq[at])
	t.Start, t.Dur, t.Group = append(t.Start, start), append(t.Dur, length), append(t.Group, group)
	o.seq[at]++
}

// bare returns the name of an operation without its library's.
func bare(name string) string {
	for i := range name {
		if name[i] == ':' {
			return name[i+1:]
		}
	}
	return name
}
