package campaign

import (
	"github.com/sfstat/sfstat/trace/enum"
	"github.com/sfstat/sfstat/trace/input"
)

// word is one of the names of a set, as a specification has it. The zero value is
// the first.
type word[S set] uint8

// set says what its words are, and lists them.
type set interface {
	words() (what string, names []string)
}

func (w word[S]) String() string {
	var s S
	_, names := s.words()
	return enum.Name(names, w)
}

// MarshalText writes the name.
func (w word[S]) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// UnmarshalText reads a word, the inverse of MarshalText.
func (w *word[S]) UnmarshalText(text []byte) (err error) {
	var s S
	what, names := s.words()
	*w, err = input.OneOf[word[S]](what, names, string(text))
	return err
}

// Runner is what makes the runs of a campaign.
type Runner = word[runners]

// The runners. What makes real runs is a Maker that whoever calls Execute
// provides.
const (
	Simulator Runner = iota // package simulate
	Local                   // processes on this machine
	Slurm                   // jobs of a cluster
)

type runners struct{}

func (runners) words() (string, []string) { return "runner", []string{"simulator", "local", "slurm"} }

// program is what a step of the job does.
type program = word[programs]

// The programs. They have the same stages; where ranks synchronise differs.
const (
	ddp   program = iota // gradients are reduced in backward
	fsdp                 // parameters are gathered in forward and backward too
	zero1                // gradients are reduced in backward, parameters gathered in the optimizer
)

type programs struct{}

func (programs) words() (string, []string) { return "program", []string{"ddp", "fsdp", "zero1"} }

// events is whether a run samples device times, which it does unless something else is said.
type events = word[eventUses]

const off events = 1

type eventUses struct{}

func (eventUses) words() (string, []string) { return "events", []string{"on", "off"} }

// Profiler is what looks at a run beside the recorder.
type Profiler = word[profilers]

const (
	NoProfiler Profiler = iota
	PyTorch             // torch.profiler on every rank, in all recorded steps
	Nsight              // nsys around every rank, with ranges for the stages
)

type profilers struct{}

func (profilers) words() (string, []string) {
	return "profiler", []string{"none", "pytorch", "nsight"}
}
