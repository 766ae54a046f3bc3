package campaign

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/eval/simulate/pipeline"
	"github.com/sfstat/sfstat/trace/input"
)

// Task is one run to make.
type Task struct {
	ID     string // also the name of the run: group, family, delay, ranks, seed, arrivals
	Group  string
	Tables []int // that it is for
	// Published is the published group or field case that it stands for.
	Published string
	Spec      simulate.Spec
	Trace     *pipeline.Spec // of a run whose operators are recorded, in place of Spec; nil: its windows are
	// Profiler leaves its traces in ProfileFolder.
	Profiler Profiler
	// Arms are those under each of which the run carries every window out; empty: windows
	// are recorded once.
	Arms     []Arm
	Realtime bool            // ranks have real-time priority after the warm-up
	delay    simulate.Millis // of a trace's fault, in a step in all
	Hash     string          // SHA-256 of arms, priority, the profiler and the runner, unless none and the simulator, and of Spec or Trace as JSON, in hexadecimal
}

// Plan lists the runs of a campaign, in the order in which the specification
// names them. What is wrong with the specification is told here.
func (s *Spec) Plan() ([]Task, error) {
	if err := goodName("name", s.Name); err != nil {
		return nil, err
	}
	if err := s.validateCluster(); err != nil {
		return nil, err
	}
	if err := s.validateSettings(); err != nil {
		return nil, err
	}
	if len(s.Groups) == 0 {
		return nil, input.Bad(input.ErrMissing, "campaign %s has no groups", s.Name)
	}
	var tasks []Task
	known := make(map[string]bool)
	for i := range s.Groups {
		g := &s.Groups[i]
		if err := g.validate(); err != nil {
			return nil, err
		}
		if err := g.validateWork(); err != nil {
			return nil, err
		}
		if err := g.validateFor(s.Runner); err != nil {
			return nil, err
		}
		if n := g.size(); n > mostTasks-len(tasks) {
			return nil, input.Bad(input.ErrTooLarge, "more than %d runs with group %s: make several campaigns", mostTasks, g.Name)
		}
		tasksOf, err := g.tasks()
		if err != nil {
			return nil, err
		}
		for _, t := range tasksOf {
			if known[t.ID] {
				return nil, input.Bad(input.ErrDuplicate, "run %s stands twice: a value repeats in group %s, or the group itself does", t.ID, g.Name)
			}
			known[t.ID] = true
			t.Hash = t.hash(s.Runner)
			if err := t.validate(); err != nil {
				return nil, fmt.Errorf("run %s: %w", t.ID, err)
			}
			tasks = append(tasks, t)
		}
	}
	return tasks, nil
}

// validate refuses windows that cannot be simulated.
func (t *Task) validate() error {
	if t.Trace != nil { // is validated where it is made
		return nil
	}
	return t.Spec.Validate()
}

func (g *Group) size() int {
	if o := g.Operators; o != nil {
		return len(o.Faults) * len(o.Layouts) * len(g.Seeds) * max(1, len(g.Delays))
	}
	return len(g.Families) * len(g.Ranks) * len(g.Seeds) * max(1, len(g.Delays)) * len(g.arrivalKinds())
}

// arrivalKinds reports of each kind of run whether it has arrivals.
func (g *Group) arrivalKinds() []bool {
	if len(g.Arrivals) == 0 {
		return []bool{false}
	}
	return g.Arrivals
}

func (g *Group) tasks() ([]Task, error) {
	if g.Operators != nil {
		return g.traces()
	}
	var tasks []Task
	for _, family := range g.Families {
		delays := g.Delays
		if family == simulate.NoFault {
			delays = []simulate.Millis{0}
		}
		for _, delay := range delays {
			for _, ranks := range g.Ranks {
				for _, seed := range g.Seeds {
					t := g.task(simulate.Fault{Family: family, Delay: delay}, ranks, seed)
					for _, arrivals := range g.arrivalKinds() {
						tasks = append(tasks, t.arrivalVariant(arrivals))
					}
				}
			}
		}
	}
	return tasks, nil
}

func (g *Group) task(fault simulate.Fault, ranks int, seed uint64) Task {
	s := g.spec()
	s.Ranks, s.Seed = ranks, seed
	what := fault.Family.String()
	if fault.Family != simulate.NoFault {
		fault.Ranks, fault.Every, fault.Probability, fault.Windows = g.HiddenRanks, g.Every, g.Probability, g.FaultWindows
		s.Faults = g.faults(fault)
		what += "-" + strconv.FormatFloat(float64(fault.Delay), 'f', -1, 64) + "ms"
	}
	s.Run = fmt.Sprintf("%s-%s-r%d-s%d", g.Name, what, ranks, seed)
	return Task{ID: s.Run, Group: g.Name, Tables: g.Tables, Published: g.Published, Spec: s, Profiler: g.Profiler, Arms: g.Recorder, Realtime: g.Realtime}
}

// faults returns the fault of the group, or one for each of its ranks.
func (g *Group) faults(whole simulate.Fault) []simulate.Fault {
	if !g.Independent {
		return []simulate.Fault{whole}
	}
	var out []simulate.Fault
	for _, rank := range g.HiddenRanks {
		own := whole
		own.Ranks = []int{rank}
		out = append(out, own)
	}
	return out
}

// arrivalVariant returns the same run, with arrivals or without.
func (t Task) arrivalVariant(arrivals bool) Task {
	if t.Spec.Arrivals = arrivals; arrivals {
		t.ID += "-arrivals"
		t.Spec.Run = t.ID
	}
	return t
}

// ProfileFolder returns where the profiler of a run leaves its traces, in the folder of a campaign; "" without a profiler.
func (t *Task) ProfileFolder(dir string) string {
	if t.Profiler == NoProfiler {
		return ""
	}
	return filepath.Join(dir, SourcesName, t.ID, t.Profiler.String())
}

// hash returns a hash that differs between runs whose recordings differ: by specification, or by their makers.
func (t *Task) hash(r Runner) string {
	var of any = t.Spec
	if t.Trace != nil {
		of = t.Trace
	}
	text, err := json.Marshal(of)
	if err != nil { // only numbers that Validate refuses: NaN and infinities
		return ""
	}
	if r != Simulator {
		text = append([]byte(r.String()+"\n"), text...)
	}
	if t.Profiler != NoProfiler {
		text = append([]byte(t.Profiler.String()+"\n"), text...)
	}
	if t.HasArms() {
		text = append(fmt.Appendf(nil, "arms %v\n", t.Arms), text...)
	}
	if t.Realtime {
		text = append([]byte("realtime\n"), text...)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
