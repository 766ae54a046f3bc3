package campaign

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace/input"
)

// spec returns the job of the group, still without ranks, seed and fault.
func (g *Group) spec() simulate.Spec {
	s := simulate.DefaultSpec()
	if g.Windows != 0 {
		s.Schedule.Windows = g.Windows
	}
	if g.Steps != 0 {
		s.Schedule.Steps = g.Steps
	}
	if g.Warmup != nil {
		s.Schedule.Warmup = *g.Warmup
	}
	runProgram(g.Program, &s)
	for i := range s.Stages {
		if mean, ok := g.Work[s.Stages[i].Name]; ok {
			scale(&s.Stages[i], mean)
		}
	}
	if n := g.Noise; n != nil {
		for i := range s.Stages {
			s.Stages[i].Work.SD, s.Stages[i].Work.Shape = 0, simulate.Constant
		}
		s.Noise.SpeedSD, s.Noise.Spikes.Probability = 0, 0
		s.Noise.Drift.SD, s.Noise.Drift.Steps = n.SD, 0
		if n.AR > 0 {
			s.Noise.Drift.Steps = -1 / math.Log(n.AR)
		}
	}
	if g.Events == off {
		s.Side.Every = 0
	}
	if g.Accumulation != 0 {
		s.Accumulation = g.Accumulation
	}
	if g.Accumulation > 1 {
		syncLast(&s)
	}
	return s
}

// validateWork refuses work of stages that the job does not have.
func (g *Group) validateWork() error {
	s := g.spec()
	for _, stage := range slices.Sorted(maps.Keys(g.Work)) {
		mean := g.Work[stage]
		if !(mean > 0) {
			return input.Bad(input.ErrNegative, "group %s: work_ms of %s is %v, expected above 0", g.Name, stage, mean)
		}
		if !slices.ContainsFunc(s.Stages, func(st simulate.Stage) bool { return st.Name == stage }) {
			var names []string
			for _, st := range s.Stages {
				names = append(names, st.Name)
			}
			return input.Bad(input.ErrMissing, "group %s: work_ms of stage %q, which the job does not have: expected some of %s",
				g.Name, stage, strings.Join(names, ", "))
		}
	}
	return nil
}

// scale makes the work of a stage, and what it launches on the device, longer
// or shorter in proportion, so that its jitter stays as it was relative to it.
func scale(st *simulate.Stage, mean simulate.Millis) {
	factor := mean / st.Work.Mean
	for _, d := range []*simulate.Dist{&st.Work, &st.Device} {
		d.Mean *= factor
		d.SD *= factor
	}
}

// syncLast makes ranks synchronise in the last microstep only, as under no_sync.
func syncLast(s *simulate.Spec) {
	for i := range s.Stages {
		st := &s.Stages[i]
		st.SyncPoints = slices.Clone(st.SyncPoints)
		for m := range st.SyncPoints {
			st.SyncPoints[m].LastMicrostep = st.PerMicrostep
		}
	}
}

// runProgram makes the default job one that runs the program. The default is DDP: backward
// ends in the all-reduce of the gradients. A reduce-scatter or an all-gather
// moves half as much as an all-reduce, so each takes half of its transfer.
//
//	FSDP   forward ends in an all-gather of parameters; backward gathers them
//	       once more and reduces and scatters the gradients
//	ZeRO1  backward reduces and scatters the gradients. The new parameters are
//	       gathered on the stream of the device: the host does not wait for
//	       that in the optimizer, but in backward of the next step
//
// The gathers of single layers within a stage are taken together at its end,
// and every rank of the job shards with every other.
func runProgram(p program, s *simulate.Spec) {
	half := s.Stages[indexOf(s, simulate.StageBackward)].SyncPoints[0]
	half.Transfer.Mean /= 2
	half.Transfer.SD /= 2
	switch p {
	case fsdp:
		s.Stages[indexOf(s, simulate.StageForward)].SyncPoints = []simulate.SyncPoint{half}
	case zero1:
		s.Stages[indexOf(s, simulate.StageBackward)].SyncPoints = []simulate.SyncPoint{half}
	}
}

func indexOf(s *simulate.Spec, stage string) int {
	return slices.IndexFunc(s.Stages, func(st simulate.Stage) bool { return st.Name == stage })
}
