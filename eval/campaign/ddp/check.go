package ddp

import (
	"reflect"
	"slices"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// mostSteps is the longest window that the recorder writes.
const mostSteps = 100_000

// Check resolves a spec and refuses, by the name of the key, what the job
// cannot do. What a simulator has to invent and a machine has (noise, clocks,
// the times of transfers, the rest of a step) must be as in
// simulate.DefaultSpec or 0: the machine's own takes its place.
func Check(s simulate.Spec) (simulate.Spec, error) {
	r, err := s.Resolved()
	if err != nil {
		return r, err
	}
	for _, check := range []func(*simulate.Spec) error{checkRun, checkInvented, checkProgram, checkFaults} {
		if err := check(&r); err != nil {
			return r, err
		}
	}
	return r, nil
}

func refuse(key, format string, args ...any) error {
	return input.Bad(input.ErrFormat, "a real job cannot do %s: "+format, append([]any{key}, args...)...)
}

func checkRun(s *simulate.Spec) error {
	wait, err := trace.ParseDataWait(s.DataWait)
	switch {
	case err != nil:
		return err
	case wait != trace.DataWaitConsuming:
		return refuse("data_wait", "found %v, the recorder charges waits to the step that consumes", wait)
	case s.Schedule.Steps > mostSteps:
		return refuse("schedule.steps", "found %d, the recorder writes windows of at most %d steps", s.Schedule.Steps, mostSteps)
	case s.Side.Unready != 0:
		return refuse("side.unready", "found %v; what is not ready cannot be made so, expected 0", s.Side.Unready)
	}
	return nil
}

// checkInvented compares what only a simulator needs with the defaults.
func checkInvented(s *simulate.Spec) error {
	d := simulate.DefaultSpec()
	for _, v := range []struct {
		key          string
		found, usual any
	}{
		{"noise", s.Noise, d.Noise},
		{"clock", s.Clock, d.Clock},
		{"other", s.Other, d.Other},
	} {
		if v.found != v.usual && !reflect.ValueOf(v.found).IsZero() {
			return refuse(v.key, "found %+v; the machine has its own, leave it out", v.found)
		}
	}
	return nil
}

// checkProgram wants stages that the loop of the job can have.
func checkProgram(s *simulate.Spec) error {
	at := func(name string) int {
		return slices.IndexFunc(s.Stages, func(st simulate.Stage) bool { return st.Name == name })
	}
	forward, backward, optimizer := at(simulate.StageForward), at(simulate.StageBackward), at(simulate.StageOptimizer)
	switch {
	case forward < 0 || backward < forward || optimizer < backward:
		return refuse("stages", "found %v; the loop needs %s, %s and %s, in this order, others between them as you like",
			stageNames(s), simulate.StageForward, simulate.StageBackward, simulate.StageOptimizer)
	case s.Stages[forward].PerMicrostep != s.Stages[backward].PerMicrostep || s.Accumulation > 1 && !s.Stages[forward].PerMicrostep:
		return refuse("per_microstep", "forward and backward run once for each microstep, both")
	case s.Accumulation > 1 && s.Stages[optimizer].PerMicrostep:
		return refuse("per_microstep", "the optimizer runs once in a step")
	case len(s.Stages[backward].SyncPoints) > 1:
		return refuse("meetings", "stage %s has %d, the all-reduce of the gradients is one", simulate.StageBackward, len(s.Stages[backward].SyncPoints))
	}
	for i := range s.Stages {
		if err := checkStage(&s.Stages[i]); err != nil {
			return err
		}
	}
	return nil
}

func stageNames(s *simulate.Spec) []string {
	var names []string
	for _, st := range s.Stages {
		names = append(names, st.Name)
	}
	return names
}

func checkStage(st *simulate.Stage) error {
	if st.Loader != nil {
		return refuse("loader", "stage %s has one; give the wait itself as work", st.Name)
	}
	for _, m := range st.SyncPoints {
		plain := m
		plain.LastMicrostep, plain.Across = false, nil
		switch {
		case len(m.Across) > 0:
			return refuse("across", "stage %s synchronises across %v; data-parallel ranks all synchronise", st.Name, m.Across)
		case !isZeroSyncPoint(plain) && !slices.ContainsFunc(knownSyncPoints(), func(k simulate.SyncPoint) bool { return reflect.DeepEqual(k, plain) }):
			return refuse("meetings", "stage %s gives times of transfer, exit, overlap or stall; the network has its own, leave them out", st.Name)
		}
	}
	return nil
}

func isZeroSyncPoint(m simulate.SyncPoint) bool { return reflect.ValueOf(m).IsZero() }

// knownSyncPoints are those that the defaults and a callback_sync fault bring.
func knownSyncPoints() []simulate.SyncPoint {
	s := simulate.DefaultSpec()
	s.Faults = []simulate.Fault{{Family: simulate.CallbackSync}}
	r, err := s.Resolved()
	if err != nil { // the defaults are valid
		return nil
	}
	var known []simulate.SyncPoint
	for _, st := range r.Stages {
		known = append(known, st.SyncPoints...)
	}
	return known
}

func checkFaults(s *simulate.Spec) error {
	for _, f := range s.Faults {
		switch {
		case f.Probability > 0 && f.Probability < 1:
			return refuse("probability", "fault %v strikes with %v; say every, from and until instead", f.Family, f.Probability)
		case f.Family == simulate.BackwardComm && f.Stage != simulate.StageBackward:
			return refuse("stage", "fault %v is in %s; the transfer that can be delayed is in %s", f.Family, f.Stage, simulate.StageBackward)
		}
	}
	return nil
}
