package campaign

import (
	"encoding"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/trace/enum"
	"github.com/sfstat/sfstat/trace/input"
)

// Runner is what makes the runs of a campaign. The zero value is the simulator.
type Runner uint8

// The runners. What makes real runs is a Maker that whoever calls Execute
// provides.
const (
	Simulator Runner = iota // package simulate
	Local                   // processes on this machine
	Slurm                   // jobs of a cluster
)

var runnerNames = []string{"simulator", "local", "slurm"}

// program is what a step of the job does. The zero value is DDP.
type program uint8

// The programs. They have the same stages; where ranks synchronise differs.
const (
	ddp   program = iota // gradients are reduced in backward
	fsdp                 // parameters are gathered in forward and backward too
	zero1                // gradients are reduced in backward, parameters gathered in the optimizer
)

var programNames = []string{"ddp", "fsdp", "zero1"}

// events is whether a run samples device times. The zero value is EventsOn.
type events uint8

const (
	eventsOn events = iota
	eventsOff
)

var eventsNames = []string{"on", "off"}

// recorderUse is whether the recorder runs. The zero value is RecorderOn.
type recorderUse uint8

const (
	recorderOn recorderUse = iota
	recorderOff
)

var recorderNames = []string{"on", "off"}

// Profiler is what looks at a run beside the recorder. The zero value is
// nothing.
type Profiler uint8

const (
	NoProfiler Profiler = iota
	PyTorch             // torch.profiler on every rank, in all recorded steps
	Nsight              // nsys around every rank, with ranges for the stages
)

var profilerNames = []string{"none", "pytorch", "nsight"}

var (
	_ encoding.TextUnmarshaler = (*Runner)(nil)
	_ encoding.TextUnmarshaler = (*program)(nil)
	_ encoding.TextUnmarshaler = (*events)(nil)
	_ encoding.TextUnmarshaler = (*Profiler)(nil)
	_ encoding.TextUnmarshaler = (*recorderUse)(nil)
)

func parseName(what string, names []string, text []byte) (uint8, error) {
	i := slices.Index(names, string(text))
	if i < 0 {
		return 0, input.Bad(input.ErrType, "%s is %q, expected one of %s", what, text, strings.Join(names, ", "))
	}
	return uint8(i), nil
}

func (r Runner) String() string  { return enum.Name(runnerNames, r) }
func (p program) String() string { return enum.Name(programNames, p) }
func (e events) String() string  { return enum.Name(eventsNames, e) }

func (p Profiler) String() string { return enum.Name(profilerNames, p) }

func (r recorderUse) String() string { return enum.Name(recorderNames, r) }

// MarshalText writes the name.
func (r Runner) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// MarshalText writes the name.
func (p program) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// MarshalText writes the name.
func (e events) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (r *Runner) UnmarshalText(text []byte) error {
	i, err := parseName("runner", runnerNames, text)
	*r = Runner(i)
	return err
}

// UnmarshalText is the inverse of MarshalText.
func (p *program) UnmarshalText(text []byte) error {
	i, err := parseName("program", programNames, text)
	*p = program(i)
	return err
}

// UnmarshalText is the inverse of MarshalText.
func (e *events) UnmarshalText(text []byte) error {
	i, err := parseName("events", eventsNames, text)
	*e = events(i)
	return err
}

// MarshalText writes the name.
func (p Profiler) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (p *Profiler) UnmarshalText(text []byte) error {
	i, err := parseName("profiler", profilerNames, text)
	*p = Profiler(i)
	return err
}

// MarshalText writes the name.
func (r recorderUse) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (r *recorderUse) UnmarshalText(text []byte) error {
	i, err := parseName("recorder", recorderNames, text)
	*r = recorderUse(i)
	return err
}
