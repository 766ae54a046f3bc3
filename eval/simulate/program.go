package simulate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/trace"
)

// op is one stage instance of a step: a stage, or one of its microsteps.
type op struct {
	stage   int // in Spec.Stages
	work    Law
	device  Law
	load    Law
	loader  *loader
	await   bool
	points  []collective
	channel int // of its device time, −1 without

	// Of the step that runs, in nanoseconds by rank, before anyone waits. deviceNs is nil
	// where there is no device work.
	workNs, deviceNs, loadNs []int64
}

// collective is a SyncPoint with its groups.
type collective struct {
	transfer Law
	exit     Law
	stall    Law
	hangs    float64 // probability of a stall
	overlap  float64
	groups   *groups
	exitNs   []int64 // [rank] of the step that runs
}

// groups partitions the ranks into those that synchronise.
type groups struct {
	world bool  // one group of all, by no axis
	index int   // in program.groups
	name  int   // of the first group; the others count on from it
	calls int64 // collectives so far, of each group
	of    []int // [rank]
	place []int // [rank] in its group
	sizes []int // [group]
}

// loader is the state of the background loader of a stage: per rank the time
// at which the last batch was ready and those at which the last Depth batches
// were taken.
type loader struct {
	depth int
	n     int       // batches taken so far by each rank
	ready []int64   // [rank]
	taken [][]int64 // [n mod depth][rank]
}

// program is a Spec compiled: the ops of a step in order of execution.
type program struct {
	ops    []op      // in program order
	groups []*groups // each once
	stage  []string  // [op] of the window
	chans  []string  // side channels
}

// schema returns the stage list of the windows: one for each op.
func (s *Spec) schema() trace.Schema {
	stages, micro := s.opStages()
	names := make([]string, len(stages))
	for i, st := range stages {
		names[i] = s.Stages[st].Name
		if micro[i] >= 0 {
			names[i] = fmt.Sprintf("%s@%d", names[i], micro[i])
		}
	}
	return trace.Schema{Stages: names}
}

// opStages lists the stage of every op of a step and its microstep, −1 for
// stages that run once.
func (s *Spec) opStages() (stages, micro []int) {
	k := s.microsteps()
	for i := 0; i < len(s.Stages); i++ {
		if k == 1 || !s.Stages[i].PerMicrostep {
			stages, micro = append(stages, i), append(micro, -1)
			continue
		}
		end := i
		for end < len(s.Stages) && s.Stages[end].PerMicrostep {
			end++
		}
		for m := range k {
			for j := i; j < end; j++ {
				stages, micro = append(stages, j), append(micro, m)
			}
		}
		i = end - 1
	}
	return stages, micro
}

// compile makes the program of a resolved spec.
func (s *Spec) compile() *program {
	p := &program{stage: s.schema().Stages}
	stages, micro := s.opStages()
	loaders := make([]*loader, len(s.Stages))
	byAxes := make(map[string]*groups)
	for i, at := range stages {
		st := &s.Stages[at]
		parts := 1
		if micro[i] >= 0 {
			parts = s.microsteps()
		}
		o := op{stage: at, channel: -1, work: st.Work.law(parts), await: st.AwaitDevice, workNs: make([]int64, s.Ranks)}
		if st.Device != (Dist{}) {
			o.device, o.deviceNs = st.Device.law(parts), make([]int64, s.Ranks)
			o.channel = p.channelOf(st.Name)
		}
		if st.Loader != nil {
			if loaders[at] == nil {
				loaders[at] = newLoader(st.Loader.Depth, s.Ranks)
			}
			o.loader, o.load, o.loadNs = loaders[at], st.Loader.Load.law(parts), make([]int64, s.Ranks)
		}
		for _, m := range st.SyncPoints {
			if m.LastMicrostep && micro[i] >= 0 && micro[i] < parts-1 {
				continue
			}
			key := strings.Join(m.Across, ",")
			if byAxes[key] == nil {
				byAxes[key] = p.addGroups(s.groups(m.Across))
			}
			o.points = append(o.points, collective{transfer: m.Transfer.law(1), exit: m.Exit.law(1),
				stall: m.Stall.Length.law(1), hangs: m.Stall.Probability, overlap: m.Overlap, groups: byAxes[key], exitNs: make([]int64, s.Ranks)})
		}
		p.ops = append(p.ops, o)
	}
	return p
}

// channelOf returns the side channel of a stage's device time, by the naming rule of trace.SideChannel.
func (p *program) channelOf(stage string) int {
	name := strings.TrimSuffix(stage, "_cpu_wall") + "_cuda_event_ms"
	i := slices.Index(p.chans, name)
	if i < 0 {
		i = len(p.chans)
		p.chans = append(p.chans, name)
	}
	return i
}

func newLoader(depth, ranks int) *loader {
	l := &loader{depth: depth, ready: make([]int64, ranks), taken: make([][]int64, depth)}
	for i := range l.taken {
		l.taken[i] = make([]int64, ranks)
	}
	return l
}

// coordinates returns the coordinates of a rank on each axis of the layout.
func (s *Spec) coordinates(rank int) []int {
	at := make([]int, len(s.Layout))
	for i, a := range s.Layout {
		at[i], rank = rank%a.Size, rank/a.Size
	}
	return at
}

// groups returns the groups of ranks that agree on every axis but the given ones; without axes, one group of all.
func (s *Spec) groups(across []string) *groups {
	g := &groups{world: len(across) == 0, of: make([]int, s.Ranks), place: make([]int, s.Ranks)}
	numbers := make(map[int]int) // mixed-radix number of the other coordinates → group
	for r := range s.Ranks {
		key, radix := 0, 1
		for i, at := range s.coordinates(r) {
			if !g.world && !slices.Contains(across, s.Layout[i].Name) {
				key += at * radix
				radix *= s.Layout[i].Size
			}
		}
		n, ok := numbers[key]
		if !ok {
			n = len(numbers)
			numbers[key] = n
			g.sizes = append(g.sizes, 0)
		}
		g.of[r], g.place[r] = n, g.sizes[n]
		g.sizes[n]++
	}
	return g
}

// addGroups names the groups by number: 0 is the world.
func (p *program) addGroups(g *groups) *groups {
	if g.index = len(p.groups); !g.world {
		g.name = 1
		for _, before := range p.groups {
			if !before.world {
				g.name += len(before.sizes)
			}
		}
	}
	p.groups = append(p.groups, g)
	return g
}

// ranks describes every rank: host, place on it and role.
func (s *Spec) ranks() ([]trace.Rank, error) {
	out := make([]trace.Rank, s.Ranks)
	for r := range out {
		coords := make([]trace.Coord, len(s.Layout))
		for i, at := range s.coordinates(r) {
			coords[i] = trace.Coord{Axis: s.Layout[i].Name, Index: at}
		}
		role, err := trace.NewRole(coords...)
		if err != nil {
			return nil, err
		}
		out[r] = trace.Rank{ID: r, Host: fmt.Sprintf("node%d", r/s.RanksPerHost), LocalRank: r % s.RanksPerHost, Role: role}
	}
	return out, nil
}

// factor returns the factor on the work of a stage on a rank.
func (s *Spec) factor(rank int, stage string) float64 {
	f := 1.0
	at := s.coordinates(rank)
	for _, w := range s.Work {
		if len(w.Stages) > 0 && !slices.Contains(w.Stages, stage) || len(w.Ranks) > 0 && !slices.Contains(w.Ranks, rank) {
			continue
		}
		here := true
		for i, a := range s.Layout {
			want, ok := w.Where[a.Name]
			here = here && (!ok || want == at[i])
		}
		if here {
			f *= w.Factor
		}
	}
	return f
}
