package simulate

import (
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

// ParseFamily is the inverse of String; "none" and "" are NoFault too.
func ParseFamily(s string) (Family, error) {
	if s == "" || s == "none" {
		return NoFault, nil
	}
	return input.OneOf[Family]("fault family", familyNames[:], s)
}

// MarshalText writes the name of the family.
func (f Family) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (f *Family) UnmarshalText(text []byte) (err error) {
	*f, err = ParseFamily(string(text))
	return err
}

// Stage is the stage of the default program that the family delays.
func (f Family) Stage() string {
	switch f {
	case Data:
		return StageData
	case Backward, BackwardComm:
		return StageBackward
	case ForwardDevice, ForwardHost:
		return StageForward
	case CallbackSync, CallbackHost:
		return StageCallbacks
	case OptimizerHost:
		return StageOptimizer
	}
	return ""
}

// Fault delays some ranks in some of the recorded steps; recorded steps are
// counted from 0 across windows, without warm-up and gaps.
type Fault struct {
	Family Family `yaml:"family" json:"family"`
	Stage  string `yaml:"stage,omitempty" json:"stage,omitempty"` // default: the stage of the family
	Ranks  []int  `yaml:"ranks,omitempty" json:"ranks,omitempty"` // hidden ranks; empty: one, chosen by the seed
	// Delay is per step; a stage that runs in k microsteps is delayed by 1/k
	// of it in each.
	Delay       Millis  `yaml:"delay_ms" json:"delay_ms"`
	From        int64   `yaml:"from,omitempty" json:"from,omitempty"`               // first recorded step
	Until       int64   `yaml:"until,omitempty" json:"until,omitempty"`             // recorded step after the last; 0: the end
	Windows     []int   `yaml:"windows,omitempty" json:"windows,omitempty"`         // empty: all windows
	Every       int64   `yaml:"every,omitempty" json:"every,omitempty"`             // every n-th recorded step after From; 0 and 1: each
	Probability float64 `yaml:"probability,omitempty" json:"probability,omitempty"` // of each such step; 0: certain
}

// intermittent reports whether the fault spares steps inside its range.
func (f *Fault) intermittent() bool { return f.Every > 1 || f.Probability > 0 && f.Probability < 1 }

// active reports whether fault number i of the spec strikes in an absolute
// step. The answer depends on the seed only where there is a probability.
func (s *Spec) active(i int, step int64, rng *streams.Stream) bool {
	f := &s.Faults[i]
	index, window, ok := s.Schedule.recorded(step)
	switch {
	case !ok || f.Family == NoFault || index < f.From || f.Until > 0 && index >= f.Until:
		return false
	case len(f.Windows) > 0 && !slices.Contains(f.Windows, window):
		return false
	case f.Every > 1 && (index-f.From)%f.Every != 0:
		return false
	case f.Probability > 0:
		return rng.At(s.Seed, forFault, uint64(i), step).Float64() < f.Probability
	}
	return true
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
			f.Ranks = []int{rng.At(s.Seed, forHidden, uint64(i), int64(f.Family)).IntN(s.Ranks)}
		}
		slices.Sort(f.Ranks)
		if err := s.validateFault(i, &s.Stages[at]); err != nil {
			return err
		}
	}
	s.Faults = slices.DeleteFunc(s.Faults, func(f Fault) bool { return f.Family == NoFault })
	return nil
}

// defaultStage is the stage of the family; data is any stage that waits for
// data.
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

func (s *Spec) validateFault(i int, st *Stage) error {
	f := &s.Faults[i]
	bad := func(kind error, format string, args ...any) error {
		return input.Bad(kind, "fault %d (%v): "+format, append([]any{i, f.Family}, args...)...)
	}
	switch {
	case !(f.Delay >= 0 && f.Delay <= MaxMillis):
		return bad(input.ErrRange, "delay %v ms, expected 0 to %g", f.Delay, float64(MaxMillis))
	case !(f.Probability >= 0 && f.Probability <= 1):
		return bad(input.ErrRange, "probability %v, expected 0 to 1", f.Probability)
	case f.From < 0 || f.Until < 0 || f.Every < 0:
		return bad(input.ErrNegative, "from %d, until %d, every %d: expected 0 or more", f.From, f.Until, f.Every)
	case f.Ranks[0] < 0 || f.Ranks[len(f.Ranks)-1] >= s.Ranks:
		return bad(input.ErrTooLarge, "hidden ranks %v in a world of %d", f.Ranks, s.Ranks)
	case len(slices.Compact(slices.Clone(f.Ranks))) < len(f.Ranks):
		return bad(input.ErrDuplicate, "hidden ranks %v", f.Ranks)
	case f.Family == BackwardComm && !s.communicates(st):
		return bad(input.ErrMissing, "ranks %v synchronise with nobody in stage %q: there is no transfer to slow down", f.Ranks, st.Name)
	case f.Family == ForwardDevice && st.Device == (Dist{}):
		return bad(input.ErrMissing, "stage %q has no device work to slow down", st.Name)
	}
	for _, w := range f.Windows {
		if w < 0 || w >= s.Schedule.Windows {
			return bad(input.ErrTooLarge, "window %d of %d", w, s.Schedule.Windows)
		}
	}
	return nil
}

// communicates reports whether the last synchronisation point of the stage has groups of
// more than one rank; all groups of a synchronisation point are of one size.
func (s *Spec) communicates(st *Stage) bool {
	if len(st.SyncPoints) == 0 {
		return false
	}
	across := st.SyncPoints[len(st.SyncPoints)-1].Across
	if len(across) == 0 {
		return s.Ranks > 1
	}
	size := 1
	for _, axis := range across {
		size *= s.axis(axis)
	}
	return size > 1
}
