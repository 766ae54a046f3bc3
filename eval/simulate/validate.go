package simulate

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/sfstat/sfstat/internal/strictyaml"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// Limits on what a Spec may ask for, so that a typing error is refused before
// it takes all memory.
const (
	maxDurations  = 1 << 30 // of one window
	maxSteps      = 1 << 30 // of a run
	maxDepth      = 1 << 16 // batches in a loader
	maxSyncPoints = 1 << 8  // of one stage
)

// ParseSpec reads a Spec from YAML or JSON over the defaults: what the text
// does not mention stays as in DefaultSpec, lists are replaced as a whole.
// Unknown fields are refused. name is the file in errors.
func ParseSpec(name string, text []byte) (Spec, error) { return Parse(name, text, DefaultSpec()) }

// Parse reads a specification of any kind over its defaults.
func Parse[S interface{ Validate() error }](name string, text []byte, over S) (none S, err error) {
	if err := strictyaml.Decode(name, text, &over); err != nil && !errors.Is(err, strictyaml.ErrNothing) {
		return none, err
	}
	if err := over.Validate(); err != nil {
		return none, input.At(input.Pos{File: name}, err)
	}
	return over, nil
}

// Validate returns an error in words for the author of an invalid spec. New validates too.
func (s Spec) Validate() error {
	_, err := s.resolve()
	return err
}

// ResolvedSpec returns the spec with every default filled in: the name of the run, the
// layout, the stages and hidden ranks of faults. Whoever carries a spec out by
// other means than this package shares its truth by that.
func (s Spec) ResolvedSpec() (Spec, error) {
	spec, err := s.resolve()
	if err != nil {
		return Spec{}, err
	}
	return *spec, nil
}

// resolve checks the spec and returns a copy with every default filled in.
func (s Spec) resolve() (*Spec, error) {
	s.Stages = slices.Clone(s.Stages)
	s.Faults = slices.Clone(s.Faults)
	for i := range s.Faults {
		s.Faults[i].Ranks = slices.Clone(s.Faults[i].Ranks)
	}
	if err := s.validateSize(); err != nil {
		return nil, err
	}
	if len(s.Layout) == 0 {
		s.Layout = []Axis{{trace.DataParallel, s.Ranks}}
	}
	for _, check := range []func() error{s.validateLayout, s.validateStages, s.validateNoise, s.validateWork, s.resolveFaults} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	if err := s.validateArrivals(); err != nil {
		return nil, err
	}
	if s.Run == "" {
		s.Run = s.defaultRun()
	}
	return &s, nil
}

func (s *Spec) validateSize() error {
	c, k := s.Schedule, s.microsteps()
	switch {
	case s.Ranks < 1 || s.Ranks > trace.MaxRanks:
		return input.Bad(input.ErrTooLarge, "%d ranks, expected 1 to %d", s.Ranks, trace.MaxRanks)
	case s.RanksPerHost < 1:
		return input.Bad(input.ErrFormat, "%d ranks per host, expected 1 or more", s.RanksPerHost)
	case s.Accumulation < 0 || s.Accumulation > trace.MaxStages || k*len(s.Stages) > trace.MaxStages:
		return input.Bad(input.ErrTooLarge, "accumulation factor %d with %d stages, expected 0 or more and at most %d stages in all", s.Accumulation, len(s.Stages), trace.MaxStages)
	case len(s.Stages) == 0:
		return input.Bad(input.ErrEmpty, "no stages: a program needs at least one")
	case c.Windows < 1 || c.Steps < 1 || c.Warmup < 0 || c.Gap < 0:
		return input.Bad(input.ErrFormat, "schedule of %d windows × %d steps, warm-up %d, gap %d: expected at least one window of one step, and no negative number", c.Windows, c.Steps, c.Warmup, c.Gap)
	case c.Windows > maxSteps || c.Steps > maxSteps || c.Warmup > maxSteps || c.Gap > maxSteps ||
		c.Windows > maxSteps/(c.Steps+c.Gap):
		return input.Bad(input.ErrTooLarge, "schedule of more than %d steps", maxSteps)
	case c.Steps > maxDurations/(s.Ranks*len(s.Stages)*k):
		return input.Bad(input.ErrTooLarge, "a window of %d steps × %d stages × %d ranks, at most %d durations: take shorter windows", c.Steps, len(s.Stages)*k, s.Ranks, int64(maxDurations))
	}
	return nil
}

func (s *Spec) validateLayout() error {
	n := 1
	for i, a := range s.Layout {
		if a.Name == "" || a.Size < 1 || a.Size > s.Ranks {
			return input.Bad(input.ErrFormat, "layout axis %d is %q of size %d, expected a name and 1 to %d", i, a.Name, a.Size, s.Ranks)
		}
		if slices.ContainsFunc(s.Layout[:i], func(b Axis) bool { return b.Name == a.Name }) {
			return input.Bad(input.ErrDuplicate, "layout axis %q is given twice", a.Name)
		}
		if n *= a.Size; n > s.Ranks {
			break
		}
	}
	if n != s.Ranks {
		return input.Bad(input.ErrFormat, "the axes of the layout %v multiply to another number than the %d ranks", s.Layout, s.Ranks)
	}
	return nil
}

func (s *Spec) validateStages() error {
	if err := s.schema().Validate(); err != nil {
		return err
	}
	blocks := 0 // of neighbouring stages that run in microsteps
	for i := range s.Stages {
		st := &s.Stages[i]
		if err := s.validateStage(st); err != nil {
			return fmt.Errorf("stage %q: %w", st.Name, err)
		}
		if st.PerMicrostep && (i == 0 || !s.Stages[i-1].PerMicrostep) {
			blocks++
		}
	}
	if blocks > 1 && s.microsteps() > 1 {
		return input.Bad(input.ErrFormat, "the stages that run per microstep must stand together")
	}
	return s.Other.validate()
}

func (s *Spec) validateStage(st *Stage) error {
	dists := []Dist{st.Work, st.Device}
	if st.Loader != nil {
		if st.Loader.Depth < 1 || st.Loader.Depth > maxDepth || st.Loader.Depth > maxDurations/s.Ranks {
			return input.Bad(input.ErrTooLarge, "loader of depth %d, expected 1 to %d", st.Loader.Depth, maxDepth)
		}
		dists = append(dists, st.Loader.Load)
	}
	if len(st.SyncPoints) > maxSyncPoints {
		return input.Bad(input.ErrTooLarge, "%d synchronisation points, at most %d", len(st.SyncPoints), maxSyncPoints)
	}
	for _, m := range st.SyncPoints {
		if err := CheckLimits(Limit{"overlap", m.Overlap, 0, 1}, Limit{"probability of stall", m.Stall.Probability, 0, 1}); err != nil {
			return err
		}
		for _, axis := range m.Across {
			if s.axis(axis) == 0 {
				return input.Bad(input.ErrMissing, "ranks synchronise across axis %q, which the layout does not have", axis)
			}
		}
		dists = append(dists, m.Transfer, m.Exit, m.Stall.Length)
	}
	for _, d := range dists {
		if err := d.validate(); err != nil {
			return err
		}
	}
	return nil
}

func (s *Spec) validateNoise() error {
	n := s.Noise
	if s.Side.Every < 0 {
		return input.Bad(input.ErrNegative, "every of side is %d, expected 0 or more", s.Side.Every)
	}
	return cmp.Or(s.Clock.Validate(), CheckLimits(
		Limit{"speed_sd of noise", n.SpeedSD, 0, 1},
		Limit{"sd of drift", n.Drift.SD, 0, 1},
		Limit{"steps of drift", n.Drift.Steps, 0, maxSteps},
		Limit{"probability of spikes", n.Spikes.Probability, 0, 1},
		Limit{"share of spikes", n.Spikes.Share, 0, 1},
		Limit{"mean_ms of spikes", float64(n.Spikes.Mean), 0, MaxMillis},
		Limit{"unready of side", s.Side.Unready, 0, 1}))
}

func (s *Spec) validateWork() error {
	for i, w := range s.Work {
		if err := CheckLimits(Limit{fmt.Sprint("factor of work ", i), w.Factor, 0, 1e6}); err != nil {
			return err
		}
		for _, axis := range slices.Sorted(maps.Keys(w.Where)) {
			if size := s.axis(axis); w.Where[axis] < 0 || w.Where[axis] >= size {
				return input.Bad(input.ErrMissing, "work factor %d is for %s=%d, the layout has %d of them", i, axis, w.Where[axis], size)
			}
		}
		for _, r := range w.Ranks {
			if r < 0 || r >= s.Ranks {
				return input.Bad(input.ErrTooLarge, "work factor %d is for rank %d in a world of %d", i, r, s.Ranks)
			}
		}
		for _, name := range w.Stages {
			if !slices.ContainsFunc(s.Stages, func(st Stage) bool { return st.Name == name }) {
				return input.Bad(input.ErrMissing, "work factor %d is for stage %q, which the program does not have", i, name)
			}
		}
	}
	return nil
}
