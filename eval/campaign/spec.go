package campaign

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/internal/strictyaml"
	"github.com/sfstat/sfstat/trace/input"
)

// PaperTables are the tables of StageFrontier (arXiv 2606.06751) that runs can be for, by
// number, and the others the groups of its Table 16 and the field cases of its Table 8 that
// they can stand for.
var (
	PaperTables     = []int{4, 5, 6, 9, 12, 13, 14, 15}
	PublishedGroups = []string{"E0", "E1", "E2", "E3", "E4", "E5", "Callback", "E6", "E7", "E8", "E9", "Scale"}
	PublishedCases  = []string{"Vision-A", "Vision-B", "Mixed-A", "QAT-A", "QAT-B"}
)

// mostTasks bounds a plan; a real campaign has hundreds of runs.
const mostTasks = 100_000

// Spec is a campaign: which runs are made, and which tables they are for.
type Spec struct {
	Name   string  `yaml:"name"`
	Runner Runner  `yaml:"runner"`
	Slurm  Cluster `yaml:"slurm,omitempty"` // of the runner slurm
	Groups []Group `yaml:"groups"`
	// Settings are under which the runs are analysed besides.
	Settings []Setting `yaml:"settings,omitempty"`
}

// Cluster is what Slurm is asked for. What is left out is not asked for, except
// that a run has Minutes, of which there are 30.
type Cluster struct {
	Partition   string   `yaml:"partition,omitempty"`
	Account     string   `yaml:"account,omitempty"`
	Minutes     int      `yaml:"minutes,omitempty"`       // time limit of one run
	Nodes       int      `yaml:"nodes,omitempty"`         // of one run
	CPUsPerRank int      `yaml:"cpus_per_rank,omitempty"` // a rank is a task
	AtMost      int      `yaml:"at_most,omitempty"`       // runs at the same time
	Flags       []string `yaml:"flags,omitempty"`         // of sbatch, as "--gres=gpu:8"
	Setup       []string `yaml:"setup,omitempty"`         // lines of shell before the ranks start, as "module load python"
}

// Group is the runs of all combinations of family, ranks, delay, seed and arrivals. A
// healthy run has no delay, so there is one for each size and seed: the twin of
// every run with a fault that shares size and seed, since faults change no
// other draw.
type Group struct {
	Name     string            `yaml:"name"`
	Families []simulate.Family `yaml:"families,omitempty"`
	Ranks    []int             `yaml:"ranks,omitempty"`
	Seeds    seeds             `yaml:"seeds"`
	Delays   []simulate.Millis `yaml:"delays_ms"`          // in every step that the fault strikes
	Arrivals []bool            `yaml:"arrivals,omitempty"` // whether runs record when ranks enter their collectives; empty: they do not
	Tables   []int             `yaml:"tables,omitempty"`   // the paper's numbers, of PaperTables
	// Published is the group of the paper's Table 16, or the field case of its
	// Table 8, that these runs stand for; empty: none.
	Published string `yaml:"published,omitempty"`

	// Operators make the runs operator traces, in place of windows.
	Operators *traced `yaml:"operators,omitempty"`

	// What is left out is as in simulate.DefaultSpec.
	Windows int  `yaml:"windows,omitempty"`
	Steps   int  `yaml:"steps,omitempty"` // in each window
	Warmup  *int `yaml:"warmup,omitempty"`

	job    `yaml:",inline"`
	strike `yaml:",inline"`
}

// job is how the job of a group differs from the default one.
type job struct {
	Program      program                    `yaml:"program,omitempty"`
	Accumulation int                        `yaml:"accumulation,omitempty"` // microsteps, which synchronise in the last of them
	Work         map[string]simulate.Millis `yaml:"work_ms,omitempty"`      // mean work of a healthy rank by stage
	Noise        *jitter                    `yaml:"noise,omitempty"`        // of a rank's work, in place of that of its stages; nil: as the default job has it
	Events       events                     `yaml:"events,omitempty"`       // whether device times are sampled
	Profiler     Profiler                   `yaml:"profiler,omitempty"`     // that runs beside the recorder
	Recorder     []Arm                      `yaml:"recorder,omitempty"`     // off and others: each window is carried out under every one; empty: recorded once
	Realtime     bool                       `yaml:"realtime,omitempty"`     // ranks have real-time priority after the warm-up
}

// jitter is how the work of a rank varies from step to step, in all stages alike: a first-order autoregression.
type jitter struct {
	SD float64 `yaml:"sd"` // relative
	AR float64 `yaml:"ar"` // correlation of a step with the one before
}

// strike is whom the faults of a group hit and when; the zero value is one rank
// by the seed, in every step.
type strike struct {
	HiddenRanks  []int   `yaml:"hidden_ranks,omitempty"`
	Every        int64   `yaml:"every,omitempty"`         // every n-th recorded step
	Probability  float64 `yaml:"probability,omitempty"`   // of each such step; 0: certain
	FaultWindows []int   `yaml:"fault_windows,omitempty"` // from 0; empty: all
	Independent  bool    `yaml:"independent,omitempty"`   // each hidden rank is struck by itself, by draws of its own
}

// ParseSpec reads a specification. It is strict: a key that does not exist is
// refused with its line. name is the file in errors.
func ParseSpec(name string, text []byte) (*Spec, error) {
	var s Spec
	pos := input.Pos{File: name}
	switch err := strictyaml.Decode(name, text, &s); {
	case errors.Is(err, strictyaml.ErrNothing):
		return nil, input.At(pos, input.Bad(input.ErrEmpty, "no campaign in it: expected name, runner and groups"))
	case err != nil:
		return nil, err
	}
	if _, err := s.Plan(); err != nil {
		return nil, input.At(pos, err)
	}
	return &s, nil
}

var namePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// goodName refuses what cannot stand in the name of a file everywhere.
func goodName(what, name string) error {
	if !namePattern.MatchString(name) {
		return input.Bad(input.ErrFormat, "%s is %q, expected 1 to 64 of a-z, 0-9, _ and -, the first a letter or digit", what, name)
	}
	return nil
}

func (g *Group) validate() error {
	if err := goodName("name of a group", g.Name); err != nil {
		return err
	}
	if g.Operators != nil {
		return nil // validateTraced has the rest
	}
	for _, axis := range []struct {
		key string
		n   int
	}{{"families", len(g.Families)}, {"ranks", len(g.Ranks)}, {"seeds", len(g.Seeds)}} {
		if axis.n == 0 {
			return input.Bad(input.ErrMissing, "group %s has no %s: give a list", g.Name, axis.key)
		}
	}
	if len(g.Delays) == 0 && !g.isHealthy() {
		return input.Bad(input.ErrMissing, "group %s has no delays_ms: give a list", g.Name)
	}
	if all := slices.Concat(PublishedGroups, PublishedCases); g.Published != "" && !slices.Contains(all, g.Published) {
		return input.Bad(input.ErrType, "group %s: published is %q, expected one of %s", g.Name, g.Published, strings.Join(all, ", "))
	}
	if g.Independent && len(g.HiddenRanks) < 2 {
		return input.Bad(input.ErrMissing, "group %s: independent is for several hidden_ranks: list them", g.Name)
	}
	if g.isHealthy() && !g.strike.isZero() {
		return input.Bad(input.ErrFormat, "group %s says when or whom a fault strikes, and has no family with one", g.Name)
	}
	for _, n := range g.Tables {
		if !slices.Contains(PaperTables, n) {
			return input.Bad(input.ErrType, "group %s is for table %d, expected some of %s", g.Name, n, strings.Trim(strings.ReplaceAll(fmt.Sprint(PaperTables), " ", ", "), "[]"))
		}
	}
	return nil
}

// mostSteps is the longest window that the recorder writes.
const mostSteps = 100_000

// validateFor refuses what the runner cannot do: real jobs run DDP, and their faults
// strike at known steps.
func (g *Group) validateFor(r Runner) error {
	if g.Operators != nil {
		return g.validateTraced(r)
	}
	for _, x := range []struct {
		key   string
		asked bool
		is    Runner // the only one that does it
	}{
		{"profiler", g.Profiler != NoProfiler, Local},
		{"arrivals", slices.Contains(g.Arrivals, true), Simulator},
		{"program " + g.Program.String(), g.Program != ddp, Simulator},
		{"probability below 1", g.Probability > 0 && g.Probability < 1, Simulator},
		{fmt.Sprintf("steps above %d", mostSteps), g.Steps > mostSteps, Simulator},
	} {
		if x.asked && r != x.is {
			return input.Bad(input.ErrFormat, "group %s: %s is for runner %v, and the runner is %v", g.Name, x.key, x.is, r)
		}
	}
	if n := g.Noise; n != nil {
		switch {
		case r != Simulator:
			return input.Bad(input.ErrFormat, "group %s: noise is for runner %v, and the runner is %v", g.Name, Simulator, r)
		case !(n.SD > 0 && n.SD < 1 && n.AR >= 0 && n.AR < 1):
			return input.Bad(input.ErrFormat, "group %s: noise has sd %v and ar %v, expected an sd between 0 and 1, and an ar from 0 to below 1", g.Name, n.SD, n.AR)
		}
	}
	return g.validateRecorder(r)
}

func (g *Group) isHealthy() bool {
	return !slices.ContainsFunc(g.Families, func(f simulate.Family) bool { return f != simulate.NoFault })
}

func (s *strike) isZero() bool {
	return len(s.HiddenRanks) == 0 && s.Every == 0 && s.Probability == 0 && len(s.FaultWindows) == 0
}

// validateCluster refuses what would not arrive at sbatch as it stands here.
func (s *Spec) validateCluster() error {
	c := &s.Slurm
	if s.Runner != Slurm && !reflect.ValueOf(*c).IsZero() {
		return input.Bad(input.ErrFormat, "slurm: is for runner slurm, and the runner is %v", s.Runner)
	}
	for _, n := range []struct {
		key   string
		value int
	}{{"minutes", c.Minutes}, {"nodes", c.Nodes}, {"cpus_per_rank", c.CPUsPerRank}, {"at_most", c.AtMost}} {
		if n.value < 0 {
			return input.Bad(input.ErrNegative, "slurm: %s is %d, expected 1 or more", n.key, n.value)
		}
	}
	for _, f := range append([]string{"--partition=" + c.Partition, "--account=" + c.Account}, c.Flags...) {
		if !strings.HasPrefix(f, "-") || strings.ContainsAny(f, " \t\r\n\"\\'#") {
			return input.Bad(input.ErrFormat, "slurm: %q is no flag of sbatch: expected one word such as --gres=gpu:8", f)
		}
	}
	for _, line := range c.Setup {
		if strings.ContainsAny(line, "\r\n") {
			return input.Bad(input.ErrFormat, "slurm: setup has %q, expected a line of shell for each item", line)
		}
	}
	return nil
}
