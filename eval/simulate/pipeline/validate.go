package pipeline

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/operator"
)

// Limits on what a Spec may ask for, so that a typing error is refused before
// it takes all memory.
const (
	maxStepOps = 1 << 26 // operators of all workers in one step
	maxProgram = 1 << 21 // operators of one replica in one step
	maxSteps   = 1 << 40 // step indices
)

// ParseSpec reads a Spec from YAML or JSON over the defaults: what the text
// does not mention stays as in DefaultSpec, lists are replaced as a whole.
// Unknown fields are refused. name is the file in errors.
func ParseSpec(name string, text []byte) (Spec, error) {
	return simulate.Parse(name, text, DefaultSpec())
}

// Validate returns an error in words for the author of an invalid spec. New validates too.
func (s Spec) Validate() error {
	_, _, err := s.resolve()
	return err
}

// Healthy returns the spec without its faults: its twin, which shares all noise.
func (s Spec) Healthy() Spec {
	s.Faults = nil
	return s
}

// resolve checks the spec and returns a copy with every default filled in, and
// its program.
func (s Spec) resolve() (*Spec, *program, error) {
	if err := s.Layout.validate(); err != nil {
		return nil, nil, err
	}
	if err := s.validateTimes(); err != nil {
		return nil, nil, err
	}
	p := compile(s.Layout)
	if err := s.resolveFaults(p); err != nil {
		return nil, nil, err
	}
	if s.Run == "" {
		s.Run = s.defaultRun()
	}
	s.StageWork = slices.Clone(s.StageWork)
	if len(s.StageWork) == 0 {
		s.StageWork = slices.Repeat([]float64{1}, s.Layout.PP)
	}
	return &s, p, nil
}

func (l Layout) validate() error {
	sizes := []struct {
		name string
		n    int
	}{{"dp", l.DP}, {"pp", l.PP}, {"tp", l.TP}, {"vpp", l.Chunks}, {"microbatches", l.Microbatches}, {"buckets", l.Buckets}}
	for _, s := range sizes {
		if s.n < 1 || s.n > trace.MaxRanks {
			return input.Bad(input.ErrTooLarge, "%s is %d, expected 1 to %d", s.name, s.n, trace.MaxRanks)
		}
	}
	world := int64(l.DP) * int64(l.PP)
	if world > trace.MaxRanks || world*int64(l.TP) > trace.MaxRanks {
		return input.Bad(input.ErrTooLarge, "dp × pp × tp is over %d ranks", trace.MaxRanks)
	}
	if l.Chunks > 1 && (l.PP == 1 || l.Microbatches%l.PP != 0) {
		return input.Bad(input.ErrFormat, "%d chunks on a stage with %d stages and %d microbatches: the interleaved schedule needs two stages or more, and microbatches in multiples of the stages",
			l.Chunks, l.PP, l.Microbatches)
	}
	passes, collectives := int64(l.Microbatches)*int64(l.Chunks), int64(l.Chunks)*int64(l.Buckets)
	if passes > maxProgram || collectives > maxProgram {
		return input.Bad(input.ErrTooLarge, "%d passes each way and %d collectives on a stage, expected at most %d", passes, collectives, maxProgram)
	}
	stage := 6*passes + 2*collectives + 6 // operators, at most
	if stage > maxProgram/int64(l.PP) || stage > maxStepOps/world {
		return input.Bad(input.ErrTooLarge, "about %d operators a step on %d workers, expected at most %d in all and %d in a replica: take fewer microbatches or chunks",
			stage, world, maxStepOps, maxProgram)
	}
	return nil
}

// validateTimes checks everything that is no size.
func (s *Spec) validateTimes() error {
	for c := operator.ForwardCompute; c <= operator.GarbageCollection; c++ {
		o := s.Ops.entry(c)
		for _, d := range []Dist{o.Dist, o.Launch} {
			if err := d.validate(); err != nil {
				return fmt.Errorf("%v: %w", c, err)
			}
		}
	}
	if err := s.Between.validate(); err != nil {
		return fmt.Errorf("between: %w", err)
	}
	if n := len(s.StageWork); n != 0 && n != s.Layout.PP {
		return input.Bad(input.ErrRagged, "%d factors in stage_work for %d stages", n, s.Layout.PP)
	}
	k := s.Steps
	switch {
	case k.Count < 1 || k.First < 0 || k.Every < 1:
		return input.Bad(input.ErrFormat, "%d steps from %d, every %d: expected one or more, and every 1 or more", k.Count, k.First, k.Every)
	case k.First > maxSteps || k.Every > maxSteps || int64(k.Count) > maxSteps/k.Every:
		return input.Bad(input.ErrTooLarge, "step indices beyond %d", int64(maxSteps))
	}
	limits := []simulate.Limit{{Key: "speed_sd", Value: s.SpeedSD, High: 1}}
	for i, w := range s.StageWork {
		limits = append(limits, simulate.Limit{Key: fmt.Sprintf("stage_work of stage %d", i), Value: w, High: 1e6})
	}
	return cmp.Or(s.Clock.Validate(), simulate.CheckLimits(limits...))
}

// defaultRun names a run by what it hides: "sim-slow-worker-dp4-pp4-s0".
func (s *Spec) defaultRun() string {
	kind := NoFault
	if len(s.Faults) > 0 {
		kind = s.Faults[0].Kind
	}
	return fmt.Sprintf("sim-%v-dp%d-pp%d-s%s", kind, s.Layout.DP, s.Layout.PP, strconv.FormatUint(s.Seed, 10))
}
