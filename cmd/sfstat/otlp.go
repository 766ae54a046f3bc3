package main

import (
	"context"
	"os"
	"slices"
	"time"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/internal/otlp"
	"github.com/sfstat/sfstat/report/metrics"
)

// collector is that of --otlp; nil without it.
func collector(c *cli.Context) (*otlp.Collector, error) {
	if !c.IsSet("otlp") {
		return nil, nil
	}
	to, err := otlp.New(c.String("otlp"), os.Getenv)
	if err != nil {
		return nil, badUsage("--otlp: %v", err)
	}
	return to, nil
}

// runsAtOnce are in one request: collectors refuse long ones.
const runsAtOnce = 100

// export sends metrics of all runs of a verdict, and what each came to, to a collector that may be nil.
func export(ctx context.Context, to *otlp.Collector, v *diagnose.Verdict) error {
	if to == nil {
		return nil
	}
	for some := range slices.Chunk(v.All(), runsAtOnce) {
		if err := exportMetrics(ctx, to, some); err != nil {
			return err
		}
		if err := exportVerdicts(ctx, to, some); err != nil {
			return err
		}
	}
	return nil
}

func exportMetrics(ctx context.Context, to *otlp.Collector, runs []diagnose.RunVerdict) error {
	var samples []metrics.Sample
	for i := range runs {
		r := metrics.Of(&runs[i])
		samples = append(samples, r.Samples()...)
	}
	body, err := exporting(to).Metrics(samples)
	if err == nil {
		err = to.Send(ctx, "metrics", body)
	}
	return badInput(err)
}

func exportVerdicts(ctx context.Context, to *otlp.Collector, runs []diagnose.RunVerdict) error {
	body, err := exporting(to).Verdicts(runs)
	if err == nil {
		err = to.Send(ctx, "logs", body)
	}
	return badInput(err)
}

func exporting(to *otlp.Collector) metrics.Export {
	e := metrics.Export{Version: thisVersion(), Now: time.Now()}
	for _, p := range to.Resource {
		e.Resource = append(e.Resource, metrics.Label{Name: p[0], Value: p[1]})
	}
	e.Resource = append(e.Resource, metrics.Label{Name: "service.version", Value: thisVersion()})
	return e
}
