package campaign

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/sfstat/sfstat/simulate"
	"github.com/sfstat/sfstat/trace"
)

// MostTasks bounds a plan; a real campaign has hundreds of runs.
const MostTasks = 100_000

// Spec is a campaign: which runs are made, and which tables they are for.
type Spec struct {
	Name   string  `yaml:"name"`
	Runner Runner  `yaml:"runner"`
	Groups []Group `yaml:"groups"`
}

// Group is the runs of all combinations of family, ranks, delay and seed. A
// healthy run has no delay, so there is one for each size and seed.
type Group struct {
	Name     string            `yaml:"name"`
	Families []simulate.Family `yaml:"families"`
	Ranks    []int             `yaml:"ranks"`
	Seeds    []uint64          `yaml:"seeds"`
	Delays   []simulate.Millis `yaml:"delays_ms"` // in every step
	Windows  int               `yaml:"windows"`   // 0: as in simulate.DefaultSpec
	Steps    int               `yaml:"steps"`     // in each window; 0: likewise
	Tables   []int             `yaml:"tables"`    // the paper's numbers, of PaperTables
}

// Runner is what makes the runs of a campaign. The zero value is the simulator.
type Runner uint8

// Simulator makes runs with package simulate, from its default program.
const Simulator Runner = 0

func (r Runner) String() string {
	if r == Simulator {
		return "simulator"
	}
	return fmt.Sprintf("runner(%d)", r)
}

// MarshalText writes the name of the runner.
func (r Runner) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (r *Runner) UnmarshalText(text []byte) error {
	if string(text) != Simulator.String() {
		return trace.Bad(trace.ErrType, "runner is %q, expected %v", text, Simulator)
	}
	*r = Simulator
	return nil
}

// Task is one run to make.
type Task struct {
	ID     string // also the name of the run: group, family, delay, ranks, seed
	Group  string
	Tables []int // that it is for
	Spec   simulate.Spec
	Hash   string // SHA-256 of Spec as JSON, in hexadecimal
}

// ParseSpec reads a specification. It is strict: a key that does not exist is
// refused with its line. name is the file in errors.
func ParseSpec(name string, text []byte) (*Spec, error) {
	var s Spec
	at := func(err error) error { return trace.At(trace.Pos{File: name}, err) }
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&s); errors.Is(err, io.EOF) {
		return nil, at(trace.Bad(trace.ErrEmpty, "no campaign in it: expected name, runner and groups"))
	} else if err != nil {
		return nil, at(err)
	}
	if d.Decode(new(yaml.Node)) != io.EOF {
		return nil, at(trace.Bad(trace.ErrFormat, "more than one YAML document, expected one campaign"))
	}
	if _, err := s.Plan(); err != nil {
		return nil, at(err)
	}
	return &s, nil
}

// Plan lists the runs of a campaign, in the order in which the specification
// names them. What is wrong with the specification is told here.
func (s *Spec) Plan() ([]Task, error) {
	if err := goodName("name", s.Name); err != nil {
		return nil, err
	}
	if len(s.Groups) == 0 {
		return nil, trace.Bad(trace.ErrMissing, "campaign %s has no groups", s.Name)
	}
	var tasks []Task
	known := make(map[string]bool)
	for i := range s.Groups {
		g := &s.Groups[i]
		if err := g.validate(); err != nil {
			return nil, err
		}
		if n := g.size(); n > MostTasks-len(tasks) {
			return nil, trace.Bad(trace.ErrTooLarge, "more than %d runs with group %s: make several campaigns", MostTasks, g.Name)
		}
		for _, t := range g.tasks() {
			if known[t.ID] {
				return nil, trace.Bad(trace.ErrDuplicate, "run %s stands twice: a value repeats in group %s, or the group itself does", t.ID, g.Name)
			}
			known[t.ID] = true
			if err := t.Spec.Validate(); err != nil {
				return nil, fmt.Errorf("run %s: %w", t.ID, err)
			}
			tasks = append(tasks, t)
		}
	}
	return tasks, nil
}

var namePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// goodName refuses what cannot stand in the name of a file everywhere.
func goodName(what, name string) error {
	if !namePattern.MatchString(name) {
		return trace.Bad(trace.ErrType, "%s is %q, expected 1 to 64 of a-z, 0-9, _ and -, the first a letter or digit", what, name)
	}
	return nil
}

func (g *Group) validate() error {
	if err := goodName("name of a group", g.Name); err != nil {
		return err
	}
	for _, axis := range []struct {
		key string
		n   int
	}{{"families", len(g.Families)}, {"ranks", len(g.Ranks)}, {"seeds", len(g.Seeds)}} {
		if axis.n == 0 {
			return trace.Bad(trace.ErrMissing, "group %s has no %s: give a list", g.Name, axis.key)
		}
	}
	if len(g.Delays) == 0 && slices.ContainsFunc(g.Families, func(f simulate.Family) bool { return f != simulate.NoFault }) {
		return trace.Bad(trace.ErrMissing, "group %s has no delays_ms: give a list", g.Name)
	}
	for _, n := range g.Tables {
		if !slices.ContainsFunc(PaperTables, func(p PaperTable) bool { return p.Number == n }) {
			return trace.Bad(trace.ErrType, "group %s is for table %d, expected some of 4, 5, 14, 15", g.Name, n)
		}
	}
	return nil
}

func (g *Group) size() int {
	return len(g.Families) * len(g.Ranks) * len(g.Seeds) * max(1, len(g.Delays))
}

func (g *Group) tasks() []Task {
	var tasks []Task
	for _, family := range g.Families {
		delays := g.Delays
		if family == simulate.NoFault {
			delays = []simulate.Millis{0}
		}
		for _, delay := range delays {
			for _, ranks := range g.Ranks {
				for _, seed := range g.Seeds {
					tasks = append(tasks, g.task(simulate.Fault{Family: family, Delay: delay}, ranks, seed))
				}
			}
		}
	}
	return tasks
}

func (g *Group) task(fault simulate.Fault, ranks int, seed uint64) Task {
	s := simulate.DefaultSpec()
	s.Ranks, s.Seed = ranks, seed
	if g.Windows != 0 {
		s.Schedule.Windows = g.Windows
	}
	if g.Steps != 0 {
		s.Schedule.Steps = g.Steps
	}
	what := fault.Family.String()
	if fault.Family != simulate.NoFault {
		s.Faults = []simulate.Fault{fault}
		what += "-" + strconv.FormatFloat(float64(fault.Delay), 'f', -1, 64) + "ms"
	}
	s.Run = fmt.Sprintf("%s-%s-r%d-s%d", g.Name, what, ranks, seed)
	return Task{ID: s.Run, Group: g.Name, Tables: g.Tables, Spec: s, Hash: specHash(&s)}
}

func specHash(s *simulate.Spec) string {
	text, err := json.Marshal(s)
	if err != nil { // only numbers that Validate refuses: NaN and infinities
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
