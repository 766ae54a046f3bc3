package campaign

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/eval/simulate/pipeline"
	"github.com/sfstat/sfstat/ingest/optrace"
	"github.com/sfstat/sfstat/trace/input"
)

// traced is the jobs of a group whose operators are recorded, by worker: all combinations of faults and layouts with the
// delays and seeds of the group.
type traced struct {
	Faults       []pipeline.Kind `yaml:"faults"`
	Layouts      []grid          `yaml:"layouts"`
	Microbatches int             `yaml:"microbatches,omitempty"` // 0: as in pipeline.DefaultSpec
	Steps        int             `yaml:"steps,omitempty"`        // likewise
}

// faultsOfOne are the kinds that one worker or one link has.
var faultsOfOne = []pipeline.Kind{pipeline.SlowWorker, pipeline.SlowOp, pipeline.SlowEdge, pipeline.LateStart}

// grid is replicas × pipeline stages, written as 4x2.
type grid struct{ dp, pp int }

func (g grid) String() string { return fmt.Sprintf("%dx%d", g.dp, g.pp) }

// MarshalText writes it.
func (g grid) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// UnmarshalText sets a grid to the one that MarshalText writes so.
func (g *grid) UnmarshalText(text []byte) error {
	if _, err := fmt.Sscanf(string(text), "%dx%d", &g.dp, &g.pp); err != nil || g.String() != string(text) {
		return input.Bad(input.ErrFormat, "layout is %q, expected DPxPP, as 4x2 for four replicas of two stages", text)
	}
	return nil
}

// healthyOnly reports whether no trace has a fault.
func (t *traced) healthyOnly() bool {
	return !slices.ContainsFunc(t.Faults, func(k pipeline.Kind) bool { return k != pipeline.NoFault })
}

// validateTraced refuses what a group of operator traces cannot be.
func (g *Group) validateTraced(r Runner) error {
	t := g.Operators
	if t == nil {
		return nil
	}
	beyond := func(why string, args ...any) error {
		return input.Bad(input.ErrFormat, "group %s: %s", g.Name, fmt.Sprintf(why, args...))
	}
	switch {
	case r != Simulator:
		return beyond("operators are for runner simulator, and the runner is %v", r)
	case len(t.Faults) == 0 || len(t.Layouts) == 0:
		return beyond("operators have no faults or no layouts: give lists, as faults: [none, slow-worker] and layouts: [4x2]")
	case len(g.Seeds) == 0:
		return input.Bad(input.ErrMissing, "group %s has no seeds: give a list", g.Name)
	case len(g.Delays) == 0 && !t.healthyOnly():
		return input.Bad(input.ErrMissing, "group %s has no delays_ms: give a list", g.Name)
	case len(g.Families)+len(g.Ranks)+len(g.Arrivals)+len(g.Tables)+g.Windows+g.Steps > 0 || g.Published != "" || !g.strike.isZero():
		return beyond("operators takes the place of families, ranks, arrivals, windows, steps, tables, published and of when a fault strikes: leave these out")
	}
	for _, k := range t.Faults {
		if k != pipeline.NoFault && !slices.Contains(faultsOfOne, k) {
			return beyond("fault %v is not of one worker or link, expected none or some of %s", k, strings.Trim(fmt.Sprint(faultsOfOne), "[]"))
		}
	}
	return nil
}

// traces returns the runs of a group of operator traces, or an error of their specification.
func (g *Group) traces() (tasks []Task, err error) {
	for _, kind := range g.Operators.Faults {
		delays := g.Delays
		if kind == pipeline.NoFault {
			delays = []simulate.Millis{0}
		}
		for _, delay := range delays {
			for _, layout := range g.Operators.Layouts {
				for _, seed := range g.Seeds {
					t, err := g.traceTask(kind, delay, layout, seed)
					if err != nil {
						return nil, fmt.Errorf("run %s: %w", t.ID, err)
					}
					tasks = append(tasks, t)
				}
			}
		}
	}
	return tasks, nil
}

// traceTask returns a run whose fault takes a delay in each step in all: each instance that is struck takes its part of it.
func (g *Group) traceTask(kind pipeline.Kind, delay simulate.Millis, layout grid, seed uint64) (Task, error) {
	s := pipeline.DefaultSpec()
	s.Seed, s.Layout.DP, s.Layout.PP = seed, layout.dp, layout.pp
	if n := g.Operators.Microbatches; n != 0 {
		s.Layout.Microbatches = n
	}
	if n := g.Operators.Steps; n != 0 {
		s.Steps.Count = n
	}
	what := "nofault"
	if kind != pipeline.NoFault {
		what = fmt.Sprintf("%v-%sms", kind, strconv.FormatFloat(float64(delay), 'f', -1, 64))
		s.Faults = []pipeline.Fault{{Kind: kind, Size: pipeline.Size{Delay: delay}}}
	}
	s.Run = fmt.Sprintf("%s-%s-%v-s%d", g.Name, what, layout, seed)
	t := Task{ID: s.Run, Group: g.Name, Trace: &s, delay: delay}
	truth, err := s.Truth()
	if err != nil {
		return t, err
	}
	for i := range truth.Faults {
		struck := 0
		for _, op := range truth.Faults[i].Ops {
			struck += op.Count
			if kind == pipeline.SlowEdge { // the receives are those of the sends
				break
			}
		}
		s.Faults[i].Delay = delay / simulate.Millis(max(1, struck))
	}
	return t, s.Validate()
}

// truth returns what a trace hides: each worker with each of its operators that are slower.
func (t *Task) truth() ([]simulate.TruthRow, error) {
	if t.Trace == nil {
		g, err := simulate.New(t.Spec)
		if err != nil {
			return nil, err
		}
		return g.Truth().Rows(), nil
	}
	hidden, err := t.Trace.Truth()
	base := simulate.TruthRow{Run: t.ID, Family: pipeline.NoFault, Ranks: t.Trace.Layout.Workers(), Seed: t.Trace.Seed, HiddenRank: -1}
	if err != nil || len(hidden.Faults) == 0 {
		return []simulate.TruthRow{base}, err
	}
	var rows []simulate.TruthRow
	for _, f := range hidden.Faults {
		row := base
		row.Family, row.Delay = f.Kind, t.delay
		for i, w := range f.Workers {
			for k, op := range f.Ops {
				if f.Kind == pipeline.SlowEdge && i != k { // the sender has the sends
					continue
				}
				row.HiddenRank, row.Stage = w.Rank, op.Op
				rows = append(rows, row)
			}
		}
	}
	return rows, nil
}

// makeTrace makes the operator trace of a run, with its layout beside the archive.
func (f *Folder) makeTrace(t *Task, e *Execution) error {
	made, _, err := pipeline.Make(*t.Trace)
	if err != nil {
		return &failure{t.ID, err}
	}
	if err := e.write(optrace.MetaFor(f.Archive(t)), func(w io.Writer) error { return optrace.WriteMeta(w, made) }); err != nil {
		return err
	}
	return e.write(f.Archive(t), func(w io.Writer) error { return optrace.WriteParquet(w, made) })
}
