package operator

import (
	"fmt"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"slices"
	"strconv"
	"strings"
)

// Instance is one operator of a step's program. All replicas run the same
// program in every step.
type Instance struct {
	Name  int32 // position in Trace.Names
	Seq   int32
	Stage int32 // pipeline stage
	Class Class
}

// Grid arranges a trace as instances × lanes, where a lane is one replica in
// one step. Steps that lack an instance somewhere, or have another program,
// are left out and noted.
type Grid struct {
	Instances []Instance // by stage, then by start in the template
	Steps     []int32    // positions in Trace.Steps, ascending
	Replicas  int        // replicas that are there, by ascending dp
	Stages    int        // size of pp
	Workers   []int32    // [stage][dp] position in Trace.Ranks
	Notes     []input.Note

	// At[i*Lanes()+l] is the row of instance i in lane l, which is replica
	// l % Replicas in step Steps[l / Replicas].
	At []int32
}

// Lanes returns the number of lanes.
func (g *Grid) Lanes() int { return len(g.Steps) * g.Replicas }

// Template returns the rows of all instances in the first lane, which gives the order of the program.
func (g *Grid) Template() []int32 {
	rows := make([]int32, len(g.Instances))
	for i := range rows {
		rows[i] = g.At[i*g.Lanes()]
	}
	return rows
}

// Grid finds the program that most steps share: the instances of replica 0 in
// the first of these steps. The trace must be arranged. O(n).
func (t *Trace) Grid() (*Grid, error) {
	g := &Grid{}
	dp, pp := t.Coordinates()
	places := closeUp(dp)
	if err := g.findWorkers(t, dp, pp, places); err != nil {
		return nil, err
	}
	slots, err := t.slots(pp, g.Stages)
	if err != nil {
		return nil, err
	}
	programs := make([]program, len(t.Steps))
	for row, s := range slots.of {
		p := &programs[t.Step[row]]
		p.ops++
		p.sum += mix(uint64(s)*uint64(g.Replicas) + uint64(dp[t.Rank[row]]))
	}
	usual := mostFrequent(programs)
	template := slices.Index(programs, usual)
	instanceOf := g.number(t, slots, template, pp)
	if n := len(g.Instances) * g.Replicas; n != usual.ops {
		return nil, input.Bad(input.ErrRagged, "step %d has %d operators, but replica 0 has %d of them and there are %d replicas: replicas run different programs",
			t.Steps[template], usual.ops, len(g.Instances), g.Replicas)
	}
	for row, s := range slots.of {
		if instanceOf[s] < 0 {
			programs[t.Step[row]] = program{}
		}
	}
	if err := g.chooseSteps(t, programs, usual); err != nil {
		return nil, err
	}
	lane := slices.Repeat([]int{-1}, len(t.Steps)) // first lane of each step
	for i, s := range g.Steps {
		lane[s] = i * g.Replicas
	}
	lanes := g.Lanes()
	g.At = make([]int32, len(g.Instances)*lanes)
	for row, s := range slots.of {
		if first := lane[t.Step[row]]; first >= 0 {
			g.At[int(instanceOf[s])*lanes+first+dp[t.Rank[row]]] = int32(row)
		}
	}
	return g, nil
}

// program tells the programs of steps apart: the count of operators and a sum
// that does not depend on their order.
type program struct {
	ops int
	sum uint64
}

// mix scatters the bits of x (the finalizer of SplitMix64).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// chooseSteps takes the steps with the usual program. They have as many
// operators as it, none twice and none unknown, so they have them all.
func (g *Grid) chooseSteps(t *Trace, programs []program, usual program) error {
	var skipped []string
	for s, p := range programs {
		if p == usual {
			g.Steps = append(g.Steps, int32(s))
		} else {
			skipped = append(skipped, strconv.FormatInt(t.Steps[s], 10))
		}
	}
	if len(g.Steps) == 0 {
		return input.Bad(input.ErrRagged, "no two replicas run the same program in any step")
	}
	if len(skipped) > 0 {
		g.Notes = append(g.Notes, input.Note{Kind: input.NoteStepsSkipped, Text: fmt.Sprintf(
			"%d of %d steps are left out, they are incomplete or run another program than step %d: %s",
			len(skipped), len(t.Steps), t.Steps[g.Steps[0]], listSome(skipped))})
	}
	return nil
}

// closeUp numbers the replicas that are there from 0, in place, and tells their
// dp coordinates: a replica may be missing as a whole.
func closeUp(dp []int) (coordinates []int) {
	coordinates = slices.Compact(slices.Sorted(slices.Values(dp)))
	if len(coordinates) > 0 && coordinates[0] < 0 {
		return coordinates
	}
	for i, d := range dp {
		dp[i], _ = slices.BinarySearch(coordinates, d)
	}
	return coordinates
}

// findWorkers makes the table of ranks by stage and replica.
func (g *Grid) findWorkers(t *Trace, dp, pp, places []int) error {
	for i, r := range t.Ranks {
		if dp[i] < 0 || pp[i] < 0 {
			return input.Bad(input.ErrMissing, "rank %d does not tell its dp and pp coordinates, its role is %q", r.ID, r.Role)
		}
		g.Replicas, g.Stages = max(g.Replicas, dp[i]+1), max(g.Stages, pp[i]+1)
	}
	n := len(t.Ranks)
	if g.Replicas > n || g.Stages > n || g.Replicas*g.Stages > 2*n+1 {
		return input.Bad(input.ErrMissing, "%d ranks recorded operators, dp × pp is %d × %d", n, g.Replicas, g.Stages)
	}
	g.Workers = slices.Repeat([]int32{-1}, g.Replicas*g.Stages)
	for i, r := range t.Ranks {
		at := &g.Workers[pp[i]*g.Replicas+dp[i]]
		if *at >= 0 {
			return input.Bad(input.ErrDuplicate, "ranks %d and %d both are dp=%d, pp=%d", t.Ranks[*at].ID, r.ID, places[dp[i]], pp[i])
		}
		*at = int32(i)
	}
	if at := slices.Index(g.Workers, -1); at >= 0 {
		return input.Bad(input.ErrMissing, "no rank recorded dp=%d, pp=%d", places[at%g.Replicas], at/g.Replicas)
	}
	return nil
}

// slotted numbers the (name, stage, sequence number) of every row densely.
type slotted struct {
	of []int32 // by row
	n  int
}

func (t *Trace) slots(pp []int, stages int) (slotted, error) {
	n := t.Len()
	if len(t.Names) > (8*n+1024)/stages {
		return slotted{}, input.Bad(input.ErrTooLarge, "%d names on %d stages for %d operators: no program repeats itself", len(t.Names), stages, n)
	}
	base := make([]int32, len(t.Names)*stages+1)
	for row, s := range t.Seq {
		at := &base[int(t.Name[row])*stages+pp[t.Rank[row]]+1]
		if int(s) >= n {
			return slotted{}, input.Bad(input.ErrTooLarge, "%s has number %d among %d operators, expected its ordinal in the step", t.Names[t.Name[row]], s, n)
		}
		*at = max(*at, s+1)
	}
	for i := 1; i < len(base); i++ {
		if base[i] += base[i-1]; int(base[i]) > 2*n+1024 {
			return slotted{}, input.Bad(input.ErrTooLarge, "the sequence numbers leave gaps, expected ordinals in the step")
		}
	}
	of := make([]int32, n)
	for row, s := range t.Seq {
		of[row] = base[int(t.Name[row])*stages+pp[t.Rank[row]]] + s
	}
	return slotted{of, int(base[len(base)-1])}, nil
}

// number lists the instances of replica 0 in the template step, and gives the
// instance of each slot, −1 for none.
func (g *Grid) number(t *Trace, slots slotted, template int, pp []int) []int32 {
	rows := make([][]int32, g.Stages)
	for row, s := range t.Step {
		r := t.Rank[row]
		if int(s) == template && g.Workers[pp[r]*g.Replicas] == r {
			rows[pp[r]] = append(rows[pp[r]], int32(row))
		}
	}
	instanceOf := slices.Repeat([]int32{-1}, slots.n)
	classes := make([]Class, len(t.Names))
	for i, name := range t.Names {
		classes[i] = ParseClass(name)
	}
	for stage, rows := range rows {
		for _, row := range rows {
			instanceOf[slots.of[row]] = int32(len(g.Instances))
			g.Instances = append(g.Instances, Instance{t.Name[row], t.Seq[row], int32(stage), classes[t.Name[row]]})
		}
	}
	return instanceOf
}

// mostFrequent returns the value that occurs most often, the first on a tie.
func mostFrequent[T comparable](values []T) (best T) {
	times := make(map[T]int)
	for _, v := range values {
		times[v]++
	}
	for _, v := range values {
		if times[v] > times[best] {
			best = v
		}
	}
	return best
}

// listSome lists at most eight of the words.
func listSome(words []string) string {
	if len(words) > 8 {
		return strings.Join(words[:8], ", ") + " …"
	}
	return strings.Join(words, ", ")
}

// Origins returns the first starts of the steps of a grid, over all ranks.
func (t *Trace) Origins(g *Grid) []int64 {
	origins := slices.Repeat([]int64{trace.MaxTotal}, len(g.Steps))
	lanes := g.Lanes()
	for at, row := range g.At {
		s := at % lanes / g.Replicas
		origins[s] = min(origins[s], t.Start[row])
	}
	return origins
}
