package operators

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/operator"
	"github.com/sfstat/sfstat/trace/stagename"
)

// Windows reduces an operator trace to stage windows, one for each pipeline
// stage: its ranks are the replicas, which do the same work and are peers. The
// stages of a window are the operators of the main queue in the order of the
// program, each after the time in which the queue stood still before it. An
// operator with several instances in a step has its sequence number behind an
// @, so that engines group the parts after the frontier is taken; steps are
// measured from the first start on any rank.
//
// With c the time up to which a step is accounted for, an operator from a to b
// gets max(0, b − max(a, c)) and the wait before it max(0, a − c): they add up
// to the end of the last one exactly, also where operators overlap. Of that, the
// time until the last member of its collective or transfer has started is wait
// too. The wall time of a step is the same for all, to its last end on any rank;
// what is left of it after a rank's last operator is in no stage.
//
// Recorded steps are often samples of a run. A window numbers them on from the
// first, and says so in a note; since all ranks begin and end a step together
// by this account, nothing of one step is carried into the next. O(n).
func Windows(t *operator.Trace, g *operator.Grid) ([]*trace.Window, error) {
	var out []*trace.Window
	waits, _ := t.Waits()
	for stage := range int32(g.Stages) {
		w, err := stageWindow(t, g, stage, waits)
		if err != nil {
			return nil, fmt.Errorf("pipeline stage %d: %w", stage, err)
		}
		out = append(out, w)
	}
	return out, nil
}

// stageWindow returns the reduction of one pipeline stage, given by row how long
// others were waited for.
func stageWindow(t *operator.Trace, g *operator.Grid, stage int32, waits []int64) (*trace.Window, error) {
	w := &trace.Window{Run: t.Run, Index: int64(stage), FirstStep: t.Steps[g.Steps[0]], WorldSize: max(t.Layout.World, t.Ranks[len(t.Ranks)-1].ID+1),
		Notes: slices.Concat(t.Notes, g.Notes)}
	if last := t.Steps[g.Steps[len(g.Steps)-1]]; last-w.FirstStep != int64(len(g.Steps)-1) {
		w.Notes = append(w.Notes, input.Note{Kind: input.NoteStepGap, Text: fmt.Sprintf("the %d steps are samples of steps %d to %d; they are numbered on from the first",
			len(g.Steps), w.FirstStep, last)})
	}
	members := g.Workers[int(stage)*g.Replicas : int(stage+1)*g.Replicas]
	order := make([]int, g.Replicas) // columns: replicas by rank
	for d := range order {
		order[d] = d
	}
	slices.SortFunc(order, func(a, b int) int { return int(members[a] - members[b]) })
	for _, d := range order {
		w.Ranks = append(w.Ranks, t.Ranks[members[d]])
		w.Expected = append(w.Expected, t.Ranks[members[d]].ID)
	}
	queue := mainQueue(t, g, stage)
	if len(queue) == 0 {
		return nil, input.Bad(input.ErrEmpty, "no operator on its main queue")
	}
	w.Schema.Stages, w.Accumulation = operatorStages(t, g, queue)
	origins, ends := t.Origins(g), stepEnds(t, g)
	S, R := len(w.Schema.Stages), g.Replicas
	w.Durations, w.Wall = make([]int64, len(g.Steps)*S*R), make([]int64, len(g.Steps)*R)
	for s := range g.Steps {
		for column, d := range order {
			lane := s*R + d
			c := origins[s]
			for k, i := range queue {
				row := g.At[int(i)*g.Lanes()+lane]
				a, b := t.Start[row], t.Start[row]+t.Dur[row]
				met := min(a+max(0, waits[row]), b) // the last member has started
				w.Durations[(s*S+2*k)*R+column] = max(0, met-c)
				c = max(c, met)
				w.Durations[(s*S+2*k+1)*R+column] = max(0, b-c)
				c = max(c, b)
			}
			w.Wall[s*R+column] = ends[s] - origins[s]
		}
	}
	return w, w.Validate()
}

// mainQueue returns the instances of a stage that ran on its main queue, in the order of the program.
func mainQueue(t *operator.Trace, g *operator.Grid, stage int32) []int32 {
	var queue []int32
	for i, in := range g.Instances {
		if in.Stage == stage && t.Lane[g.At[i*g.Lanes()]] == 0 {
			queue = append(queue, int32(i))
		}
	}
	return queue
}

// operatorStages returns the stages of a queue, and how many microsteps the indexed ones have: 1 unless all have as many.
func operatorStages(t *operator.Trace, g *operator.Grid, queue []int32) (names []string, microsteps int) {
	parts := make(map[int32]int)
	for _, i := range queue {
		parts[g.Instances[i].Name]++
	}
	microsteps = 1
	for _, n := range parts {
		microsteps = max(microsteps, n)
	}
	seen := make(map[int32]int)
	for _, i := range queue {
		name, suffix := g.Instances[i].Name, ""
		if parts[name] > 1 {
			suffix = "@" + strconv.Itoa(seen[name])
			seen[name]++
		}
		names = append(names, stagename.WaitStem+t.Names[name]+suffix, t.Names[name]+suffix)
	}
	return names, microsteps
}

// stepEnds returns the last ends of the steps of a grid, over all ranks.
func stepEnds(t *operator.Trace, g *operator.Grid) []int64 {
	ends := make([]int64, len(g.Steps))
	lanes := g.Lanes()
	for at, row := range g.At {
		s := at % lanes / g.Replicas
		ends[s] = max(ends[s], t.Start[row]+t.Dur[row])
	}
	return ends
}
