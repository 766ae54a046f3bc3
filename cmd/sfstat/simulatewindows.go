package main

import (
	"cmp"
	"io"
	"path/filepath"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/internal/disk"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/trace"
)

func families() []string { return namesOf(simulate.NoFault, simulate.OptimizerHost) }

func (p *program) simulateWindows(c *cli.Context) error {
	spec, err := p.windowsSpec(c)
	if err != nil {
		return err
	}
	if c.Bool("print-spec") {
		return p.printSpec(c, spec)
	}
	g, err := simulate.New(spec)
	if err != nil {
		return badInput(err)
	}
	truth := g.Truth()
	m := simulation{run: truth.Run, truth: truth, table: func(w io.Writer) error { return simulate.WriteTruth(w, truth.Rows()) }}
	m.write = func(s *sink) (string, error) {
		n := 0
		err := g.Each(func(w *trace.Window) error { n++; return s.Write(w) })
		return table.Counted(n, "window"), err
	}
	if err := windowsTarget(c, spec, &m); err != nil {
		return err
	}
	return p.writeSimulation(c, m)
}

// windowsSpec returns the specification of --spec, or the default, changed by the flags that are given.
func (p *program) windowsSpec(c *cli.Context) (spec simulate.Spec, err error) {
	spec = simulate.DefaultSpec()
	if path := c.String("spec"); path != "" {
		if spec, err = readSpec(p, path, simulate.ParseSpec); err != nil {
			return spec, err
		}
	}
	overrides(c, map[string]func(){
		"run":      func() { spec.Run = c.String("run") },
		"ranks":    func() { spec.Ranks = c.Int("ranks") },
		"windows":  func() { spec.Schedule.Windows = c.Int("windows") },
		"steps":    func() { spec.Schedule.Steps = c.Int("steps") },
		"seed":     func() { spec.Seed = c.Uint64("seed") },
		"arrivals": func() { spec.Arrivals = c.Bool("arrivals") },
	})
	if err := windowsFault(c, &spec); err != nil {
		return spec, err
	}
	return spec, badInput(spec.Validate())
}

// windowsFault replaces the faults of the specification by the one of the flags.
func windowsFault(c *cli.Context, spec *simulate.Spec) error {
	typed := c.List("fault")
	if len(typed) > 1 {
		return badUsage("takes one --fault without --operators, found %q too; a specification has several", typed[1])
	}
	family := simulate.NoFault
	if len(typed) == 1 {
		var err error
		if family, err = simulate.ParseFamily(typed[0]); err != nil {
			return unknownFault(typed[0], families())
		}
		spec.Faults = nil
	}
	for _, name := range []string{"delay", "fault-rank", "every"} {
		switch {
		case family != simulate.NoFault || !c.IsSet(name):
		case len(typed) == 0:
			return badUsage("--%s needs --fault", name)
		default:
			return badUsage("--%s is of a fault, and --fault is %v", name, family)
		}
	}
	if c.Int64("every") < 1 {
		return badUsage("--every is %d, expected 1 or more steps", c.Int64("every"))
	}
	if family != simulate.NoFault {
		spec.Faults = []simulate.Fault{{Family: family, Delay: simulate.Millis(c.Float64("delay")),
			Ranks: c.Ints("fault-rank"), When: simulate.When{Every: c.Int64("every")}}}
	}
	return nil
}

// windowsTarget returns the destination of a run: in a folder, under its name and with the truth beside it, or the path of
// --output.
func windowsTarget(c *cli.Context, spec simulate.Spec, m *simulation) (err error) {
	path, truth := c.String("output"), c.String("truth")
	if path == "" {
		return badUsage("needs -o OUT; - writes to standard output")
	}
	m.target, err = newTarget(path, c.String("to"))
	t := &m.target
	if err == nil && spec.Arrivals && t.container != packets && t.path == "-" {
		err = badUsage("--to %s has no columns for arrivals, which lie beside a file: name a file, or write packets (--to packets)", containers[t.container].name)
	}
	if err == nil && t.folder {
		if _, err := makeFolder(disk.OS{}, path); err != nil {
			return err
		}
		t.folder = false
		t.path = filepath.Join(path, fileName(m.run)+containers[t.container].extension)
		truth = cmp.Or(truth, filepath.Join(path, truthName))
	}
	if truth != "" {
		m.truths = []string{truth}
	}
	return err
}
