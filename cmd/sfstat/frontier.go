package main

import (
	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/diagnose/evidence"
	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/publish"
	"github.com/sfstat/sfstat/report"
	"github.com/sfstat/sfstat/trace"
)

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
	var slack []publish.Slack
	series := map[string]*frontier.Series{}
	in, err := p.eachWindow(c, func(w *trace.Window) error {
		if series[w.Run] == nil {
			series[w.Run] = frontier.NewSeries(o)
		}
		a, d, err := series[w.Run].AddDetailed(w)
		if err != nil {
			return windowError(w, err)
		}
		if c.String("detail") == slackDetail {
			slack = append(slack, publish.SlackOf(d))
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
	err = p.publish(c, in.Problems, func(to report.Output) error {
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

// frontierOptions returns the options of the frontier from the flags of analysis.
func (p *program) frontierOptions(c *cli.Context, healthy *frontier.Sample) (o frontier.Options, err error) {
	gates, err := loadGates(c)
	if err != nil {
		return o, err
	}
	if c.IsSet("tau") {
		gates.Tau = c.Float64("tau")
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
