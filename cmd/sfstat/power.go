package main

import (
	"fmt"
	"math"

	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/diagnose/detectability"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/report"
	"github.com/sfstat/sfstat/trace"
)

// simulatedBaseline is how many steps of a simulated job stand for it.
const simulatedBaseline = 600

// powerProgress is what counts as all of the work on a bar.
const powerProgress = 1000

func (p *program) powerCommand() *cli.Command {
	d, job := detectability.DefaultOptions(), simulate.DefaultSpec()
	return &cli.Command{
		Name: "power", Usage: "the smallest delay that can be detected in this job", ArgsUsage: "[PATH...]",
		Description: "Takes a recording without a fault, delays one rank in one stage by more and more, and asks the frontier and " +
			"the verdict each time. Reports, for every stage, the smallest delay that is routed and the smallest that is reported, and how often something is " +
			"reported although nothing is delayed. Without a PATH the job is simulated.",
		Flags: join([]cli.Flag{
			&cli.Float64Flag{Name: "delay", Usage: "answer for a delay of `MS` a step: would it be reported?"},
			&cli.IntSliceFlag{Name: "steps", Usage: "windows of `N` steps (may be repeated); without it, as long as the first one recorded"},
			&cli.Float64Flag{Name: "power", Value: d.Power, Usage: "`SHARE` of windows in which a delay must be found to count as found"},
			&cli.Float64Flag{Name: "most", Value: d.Most, Usage: "try delays up to `N` step times"},
			&cli.IntFlag{Name: "replicates", Value: d.Replicates, Usage: "`N` windows for each delay"},
			&cli.IntFlag{Name: "block", Usage: "draw `N` consecutive steps together; 0 is the root of their number"},
			&cli.Uint64Flag{Name: "seed", Value: d.Seed, Usage: "seed of all randomness"},
			&cli.StringFlag{Name: "meet-after", Usage: "the `STAGE` at whose end the ranks synchronise; by default it is inferred from the data"},
			gatesFlag(),
			&cli.IntFlag{Name: "ranks", Value: job.Ranks, Usage: "ranks of the simulated job"},
			&cli.StringFlag{Name: "spec", Category: forInput, Usage: "simulate the job of `FILE` (YAML, as of sfstat simulate), without its faults"},
		}, selectionFlags("steps", "ranks"), resultFlags()),
		UsageText: `sfstat power healthy-run/
sfstat power healthy-run/ --delay 20
sfstat power healthy-run/ --steps 60,120,600 --format csv
sfstat power --ranks 32 --steps 120`,
		Action: p.power,
	}
}

func (p *program) power(c *cli.Context) error {
	o, err := powerOptions(c)
	if err != nil {
		return err
	}
	windows, err := p.baseline(c)
	if err != nil {
		return err
	}
	if len(o.Steps) == 0 && !c.Args().Present() {
		o.Steps = []int{simulate.DefaultSpec().Schedule.Steps}
	}
	if show := p.showProgress(c, searching); show != nil {
		o.Progress = func(part float64) { show(int64(part*powerProgress), powerProgress) }
	}
	a, err := detectability.Examine(windows, o)
	p.hideProgress()
	if err != nil {
		return badInput(err)
	}
	return p.publish(c, nil, func(to report.Output) error { return to.Power(a) })
}

func powerOptions(c *cli.Context) (detectability.Options, error) {
	o := detectability.DefaultOptions()
	gates, err := loadGates(c)
	if err != nil {
		return o, err
	}
	o.Frontier = frontier.Options{Gates: &gates, SyncAfter: c.String("meet-after")}
	o.Power, o.Most, o.Replicates, o.Block, o.Seed = c.Float64("power"), c.Float64("most"), c.Int("replicates"), c.Int("block"), c.Uint64("seed")
	o.Steps = c.IntSlice("steps")
	ms := c.Float64("delay")
	if !(ms >= 0 && ms <= 1e8) || c.IsSet("delay") && ms == 0 {
		return o, badUsage("--delay is %v ms, expected above 0 and at most 1e8", ms)
	}
	o.Asked = int64(math.Round(ms * 1e6))
	if err := o.Validate(); err != nil {
		return o, badUsage("%v", err)
	}
	return o, nil
}

// baseline is the recording of one run, or a simulated one.
func (p *program) baseline(c *cli.Context) ([]*trace.Window, error) {
	if !c.Args().Present() {
		return simulatedJob(c)
	}
	for _, name := range []string{"ranks", "spec"} {
		if c.IsSet(name) {
			return nil, badUsage("--%s is of a simulated job; the recording says what the job is like", name)
		}
	}
	var windows []*trace.Window
	_, err := p.windows(c, func(w *trace.Window) error {
		if len(windows) > 0 && w.Run != windows[0].Run {
			return badInput(fmt.Errorf("runs %q and %q: give one recording of one run", windows[0].Run, w.Run))
		}
		windows = append(windows, w)
		return nil
	})
	return windows, err
}

func simulatedJob(c *cli.Context) (windows []*trace.Window, err error) {
	spec := simulate.DefaultSpec()
	spec.Schedule.Steps = simulatedBaseline
	if path := c.String("spec"); path != "" {
		if spec, err = readSpec(path, simulate.ParseSpec); err != nil {
			return nil, err
		}
	}
	if c.IsSet("ranks") {
		spec.Ranks = c.Int("ranks")
	}
	spec.Run, spec.Faults = "simulated", nil
	g, err := simulate.New(spec)
	if err != nil {
		return nil, badInput(err)
	}
	err = g.Each(func(w *trace.Window) error { windows = append(windows, w); return nil })
	return windows, badInput(err)
}
