package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/internal/otlp"
	"github.com/sfstat/sfstat/report/metrics"
)

// exporter sends what verdicts come to to the collector of --otlp. The zero value has none.
type exporter struct {
	to     *otlp.Collector
	events otlp.Backlog // verdicts that wait for it
}

func newExporter(c *cli.Context) (x exporter, err error) {
	if c.IsSet("otlp") {
		if x.to, err = otlp.New(c.String("otlp"), os.Getenv); err != nil {
			return x, badUsage("--otlp: %v", err)
		}
	}
	return x, nil
}

// runsAtOnce are in one request: collectors refuse long ones.
const runsAtOnce = 100

// sendAll sends metrics of all runs of a verdict, and what each came to.
func (x *exporter) sendAll(ctx context.Context, v *diagnose.Verdict) error {
	for some := range slices.Chunk(v.All(), runsAtOnce) {
		if err := x.send(ctx, some, some); err != nil {
			return err
		}
	}
	return nil
}

// send sends metrics of runs, and what some came to. Where the collector is unavailable, that waits for the next time.
func (x *exporter) send(ctx context.Context, runs, told []diagnose.RunVerdict) error {
	if x.to == nil {
		return nil
	}
	as := metrics.Export{Version: programVersion(), Now: time.Now()}
	for _, p := range append(slices.Clip(x.to.Resource), [2]string{"service.version", programVersion()}) {
		as.Resource = append(as.Resource, metrics.Label{Name: p[0], Value: p[1]})
	}
	var samples []metrics.Sample
	for i := range runs {
		r := metrics.Of(&runs[i])
		samples = append(samples, r.Samples()...)
	}
	numbers, err := as.Metrics(samples)
	if err != nil {
		return err
	}
	var dropped error
	if len(told) > 0 {
		events, err := as.Verdicts(told)
		if err != nil {
			return err
		}
		if !x.events.Add(events) {
			dropped = fmt.Errorf("more than %d verdicts wait for the collector: the oldest is dropped", otlp.MostWaiting)
		}
	}
	if len(runs) > 0 {
		err = x.to.Send(ctx, "metrics", numbers)
	}
	if !otlp.Unavailable(err) {
		err = errors.Join(err, x.events.Send(ctx, x.to, "logs"))
	}
	return badInput(errors.Join(dropped, err))
}
