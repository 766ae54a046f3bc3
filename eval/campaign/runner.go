package campaign

import (
	"encoding"
	"fmt"
	"slices"
	"strings"

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

// Program is what a step of the job does. The zero value is DDP.
type Program uint8

// The programs. They have the same stages; where ranks synchronise differs.
const (
	DDP   Program = iota // gradients are reduced in backward
	FSDP                 // parameters are gathered in forward and backward too
	ZeRO1                // gradients are reduced in backward, parameters gathered in the optimizer
)

var programNames = []string{"ddp", "fsdp", "zero1"}

// Events is whether a run samples device times. The zero value is EventsOn.
type Events uint8

const (
	EventsOn Events = iota
	EventsOff
)

var eventsNames = []string{"on", "off"}

// Recorder is whether the recorder runs. The zero value is RecorderOn.
type Recorder uint8

const (
	RecorderOn Recorder = iota
	RecorderOff
)

var recorderNames = []string{"on", "off"}

// Profiler is what looks at a run beside the recorder. The zero value is
// nothing.
type Profiler uint8

const (
	NoProfiler Profiler = iota
	PyTorch             // torch.profiler on every rank, in all recorded steps
)

var profilerNames = []string{"none", "pytorch"}

var (
	_ encoding.TextUnmarshaler = (*Runner)(nil)
	_ encoding.TextUnmarshaler = (*Program)(nil)
	_ encoding.TextUnmarshaler = (*Events)(nil)
	_ encoding.TextUnmarshaler = (*Profiler)(nil)
	_ encoding.TextUnmarshaler = (*Recorder)(nil)
)

func nameOf(names []string, i uint8) string {
	if int(i) < len(names) {
		return names[i]
	}
	return fmt.Sprintf("invalid(%d)", i)
}

func parseName(what string, names []string, text []byte) (uint8, error) {
	i := slices.Index(names, string(text))
	if i < 0 {
		return 0, input.Bad(input.ErrType, "%s is %q, expected one of %s", what, text, strings.Join(names, ", "))
	}
	return uint8(i), nil
}

func (r Runner) String() string  { return nameOf(runnerNames, uint8(r)) }
func (p Program) String() string { return nameOf(programNames, uint8(p)) }
func (e Events) String() string  { return nameOf(eventsNames, uint8(e)) }

func (p Profiler) String() string { return nameOf(profilerNames, uint8(p)) }

func (r Recorder) String() string { return nameOf(recorderNames, uint8(r)) }

// MarshalText writes the name.
func (r Runner) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// MarshalText writes the name.
func (p Program) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// MarshalText writes the name.
func (e Events) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (r *Runner) UnmarshalText(text []byte) error {
	i, err := parseName("runner", runnerNames, text)
	*r = Runner(i)
	return err
}

// UnmarshalText is the inverse of MarshalText.
func (p *Program) UnmarshalText(text []byte) error {
	i, err := parseName("program", programNames, text)
	*p = Program(i)
	return err
}

// UnmarshalText is the inverse of MarshalText.
func (e *Events) UnmarshalText(text []byte) error {
	i, err := parseName("events", eventsNames, text)
	*e = Events(i)
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
func (r Recorder) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (r *Recorder) UnmarshalText(text []byte) error {
	i, err := parseName("recorder", recorderNames, text)
	*r = Recorder(i)
	return err
}
