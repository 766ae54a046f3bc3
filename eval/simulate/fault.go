package simulate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/eval/simulate/internal/streams"
	"github.com/sfstat/sfstat/trace/enum"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/stagename"
)

// Family is a kind of fault: which work of the hidden rank is delayed.
type Family uint8

const (
	NoFault       Family = iota
	Data                 // the wait for input, or the loader behind it
	Backward             // compute before the gradient all-reduce
	BackwardComm         // the all-reduce itself, in the group of the hidden rank
	ForwardDevice        // device work launched by forward: host-visible later
	ForwardHost          // host work of forward
	CallbackSync         // callbacks, which end in a barrier
	CallbackHost         // callbacks, which nobody waits for in the stage
	OptimizerHost        // the optimizer, after the last synchronisation point of the step
)

var familyNames = [...]string{"nofault", "data", "backward", "backward_comm", "forward_device", "forward_host",
	"callback_sync", "callback_host", "optimizer_host"}

func (f Family) String() string { return enum.Name(familyNames[:], f) }

// ParseFamily returns the family of a name, the inverse of String; "none" and "" are NoFault too.
func ParseFamily(s string) (Family, error) {
	if s == "" || s == "none" {
		return NoFault, nil
	}
	return input.OneOf[Family]("fault family", familyNames[:], s)
}

// MarshalText writes the name of the family.
func (f Family) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText reads a family, the inverse of MarshalText.
func (f *Family) UnmarshalText(text []byte) (err error) {
	*f, err = ParseFamily(string(text))
	return err
}

var familyStages = [...]string{"", StageData, StageBackward, StageBackward, StageForward, StageForward, StageCallbacks, StageCallbacks, StageOptimizer}

// Stage returns the stage of the default program that the family delays.
func (f Family) Stage() string { return enum.Name(familyStages[:], f) }

// Fault delays some ranks in some of the recorded steps; recorded steps are
// counted from 0 across windows, without warm-up and gaps.
type Fault struct {
	Family Family `yaml:"family" json:"family"`
	Stage  string `yaml:"stage,omitempty" json:"stage,omitempty"` // default: the stage of the family
	Ranks  []int  `yaml:"ranks,omitempty" json:"ranks,omitempty"` // hidden ranks; empty: one, chosen by the seed
	// Delay is per step; a stage that runs in k microsteps is delayed by 1/k
	// of it in each.
	Delay   Millis `yaml:"delay_ms" json:"delay_ms"`
	When    `yaml:",inline"`
	Windows []int `yaml:"windows,omitempty" json:"windows,omitempty"` // empty: all windows
}

// active reports whether fault number i of the spec strikes in an absolute
// step. The answer depends on the seed only where there is a probability.
func (s *Spec) active(i int, step int64, rng *streams.Stream) bool {
	f := &s.Faults[i]
	index, window, ok := s.Schedule.recordedIndex(step)
	return ok && (len(f.Windows) == 0 || slices.Contains(f.Windows, window)) &&
		f.Strikes(index, func() float64 { return rng.Restart(s.Seed, forFault, uint64(i), step).Float64() })
}

// resolveFaults fills what the faults leave open: stage and hidden rank, and
// the barrier of callback_sync.
func (s *Spec) resolveFaults() error {
	rng := streams.New()
	for i := range s.Faults {
		f := &s.Faults[i]
		if f.Family == NoFault {
			*f = Fault{}
			continue
		}
		if f.Stage == "" {
			f.Stage = s.defaultStage(f.Family)
		}
		at := slices.IndexFunc(s.Stages, func(st Stage) bool { return st.Name == f.Stage })
		if at < 0 {
			return input.Bad(input.ErrMissing, "fault %d (%v) delays stage %q, which the program does not have: name one of its stages", i, f.Family, f.Stage)
		}
		if f.Family == CallbackSync && len(s.Stages[at].SyncPoints) == 0 {
			s.Stages[at].SyncPoints = []SyncPoint{barrier()}
		}
		if len(f.Ranks) == 0 {
			f.Ranks = []int{rng.Restart(s.Seed, forHidden, uint64(i), int64(f.Family)).IntN(s.Ranks)}
		}
		slices.Sort(f.Ranks)
		if err := s.validateFault(f, &s.Stages[at]); err != nil {
			return fmt.Errorf("fault %d (%v): %w", i, f.Family, err)
		}
	}
	s.Faults = slices.DeleteFunc(s.Faults, func(f Fault) bool { return f.Family == NoFault })
	return nil
}

// defaultStage returns the stage of the family; data is any stage that waits for data.
func (s *Spec) defaultStage(f Family) string {
	if f == Data {
		for _, st := range s.Stages {
			if strings.HasPrefix(st.Name, stagename.DataStem) {
				return st.Name
			}
		}
	}
	return f.Stage()
}

func (s *Spec) validateFault(f *Fault, st *Stage) error {
	if err := cmp.Or(CheckLimits(Limit{"delay_ms", float64(f.Delay), 0, MaxMillis}), f.When.Validate()); err != nil {
		return err
	}
	switch {
	case f.Ranks[0] < 0 || f.Ranks[len(f.Ranks)-1] >= s.Ranks:
		return input.Bad(input.ErrTooLarge, "hidden ranks %v in a world of %d", f.Ranks, s.Ranks)
	case len(slices.Compact(slices.Clone(f.Ranks))) < len(f.Ranks):
		return input.Bad(input.ErrDuplicate, "hidden ranks %v", f.Ranks)
	case f.Family == BackwardComm && !s.communicates(st):
		return input.Bad(input.ErrMissing, "ranks %v synchronise with nobody in stage %q: there is no transfer to slow down", f.Ranks, st.Name)
	case f.Family == ForwardDevice && st.Device == (Dist{}):
		return input.Bad(input.ErrMissing, "stage %q has no device work to slow down", st.Name)
	}
	for _, w := range f.Windows {
		if w < 0 || w >= s.Schedule.Windows {
			return input.Bad(input.ErrTooLarge, "window %d of %d", w, s.Schedule.Windows)
		}
	}
	return nil
}

// communicates reports whether the last synchronisation point of the stage has groups of
// more than one rank; all groups of a synchronisation point are of one size.
func (s *Spec) communicates(st *Stage) bool {
	n := len(st.SyncPoints)
	return n > 0 && s.groups(st.SyncPoints[n-1].Across).sizes[0] > 1
}
