package main

import (
	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/engine/gates"
	"github.com/sfstat/sfstat/report"
	"github.com/sfstat/sfstat/trace"
)

func (p *program) frontierCommand() *cli.Command {
	return &cli.Command{
		Name: "frontier", Usage: "account for exposed time exactly, per stage and window", ArgsUsage: "PATH...",
		Description: "For every window, and for every role group where roles differ: which stage each exposed nanosecond " +
			"belongs to, what fixing that stage would save, which rank is latest, the labels that the evidence supports, and what " +
			"simpler methods would have reported.",
		Flags: join(analysisFlags(), profileFlags(), selectionFlags(), []cli.Flag{strictFlag(), failOnFlag("exit with 3 when a finding is at least this certain"),
			choiceFor(forOutput, choice("detail", "what is written: the account, or the prefix and slack of every rank at the end of every stage", "account", slackDetail)),
			pictureFlag()}, resultFlags()),
		UsageText: `sfstat frontier run/
sfstat frontier run/ --cut step --model-fit none --format csv
sfstat frontier run/ --meet-after model.backward_cpu_wall --tau 0.7
sfstat frontier run/ --detail slack --format csv -o slack.csv`,
		Action: p.frontier,
	}
}

func (p *program) frontier(c *cli.Context) error {
	healthy, err := p.healthy(c)
	if err != nil {
		return err
	}
	o, err := p.frontierOptions(c, healthy)
	if err != nil {
		return err
	}
	drawn := newPicture(c, o)
	var results []*frontier.Result
	var slack []report.Slack
	series := map[string]*frontier.Series{}
	in, err := p.reduced(c, func(w *trace.Window) error {
		if series[w.Run] == nil {
			series[w.Run] = frontier.NewSeries(o)
		}
		if c.String("detail") == slackDetail {
			d, err := series[w.Run].Detailed(w)
			if err != nil {
				return ofWindow(w, err)
			}
			slack = append(slack, report.SlackOf(d))
		}
		a, err := series[w.Run].Add(w)
		if err != nil {
			return ofWindow(w, err)
		}
		results = append(append(results, a.Main), a.Groups...)
		return drawn.see(w)
	})
	if err != nil {
		return err
	}
	if err := p.draw(c, &drawn); err != nil {
		return err
	}
	err = p.publish(c, in.problems, func(to report.Output) error {
		if c.String("detail") == slackDetail {
			return to.Slack(slack)
		}
		return to.Frontier(results)
	})
	if err != nil {
		return err
	}
	return failOn(c, surestLabel(results))
}

// slackDetail asks for the slack of every rank in place of the account.
const slackDetail = "slack"

// cutFlag says where a step begins.
func cutFlag() cli.Flag {
	return choice("cut", "where a step begins: auto chooses; step cuts as in the paper; carried lets a step begin where the last one ended on each rank; sync cuts where the ranks synchronise",
		"auto", "step", "carried", "sync")
}

// analysisFlags choose how windows are accounted for.
func analysisFlags() []cli.Flag {
	return []cli.Flag{
		cutFlag(),
		choice("model-fit", "whether wait in a later stage is charged to an earlier one: auto decides from the data, none never charges it, given always does",
			"auto", "none", "given"),
		&cli.StringFlag{Name: "meet-after", Usage: "the `STAGE` at whose end the ranks synchronise; by default it is inferred from the data"},
		baselineFlag(),
		shareWithin("tau", gates.Default().Tau, "cumulative `SHARE` that the routing set must reach, above 0 and at most 1; overrides the gate",
			func(x float64) bool { return x > 0 && x <= 1 }, "above 0 and at most 1"),
		gatesFlag(),
	}
}

// frontierOptions are what analysisFlags say.
func (p *program) frontierOptions(c *cli.Context, healthy *frontier.Sample) (o frontier.Options, err error) {
	gates, err := loadGates(c)
	if err != nil {
		return o, err
	}
	if c.IsSet("tau") {
		gates.Tau = shareOf(c, "tau")
		if err := gates.Validate(); err != nil {
			return o, badUsage("--tau: %v", err)
		}
	}
	o = frontier.Options{SyncAfter: c.String("meet-after"), Gates: &gates}
	if o.Cut, err = frontier.ParseCut(c.String("cut")); err != nil {
		return o, err
	}
	if o.ModelFit, err = frontier.ParseFit(c.String("model-fit")); err != nil {
		return o, err
	}
	if c.String("baseline") == rankBaseline {
		o.Baseline = frontier.RankMedian
	}
	if healthy != nil {
		o.Baseline, o.Reference = frontier.Reference, healthy.Reference()
	}
	return o, err
}

// surestLabel reads labels as confidence: a strong label is strong, stages
// that cannot be told apart are ambiguous.
func surestLabel(results []*frontier.Result) evidence.Confidence {
	best := evidence.Insufficient
	for _, r := range results {
		switch {
		case r.Strong():
			return evidence.Strong
		case len(r.CoCritical) > 0:
			best = evidence.Ambiguous
		}
	}
	return best
}
