package main

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/engine/frontier"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/page"
	"github.com/sfstat/sfstat/page/serve"
)

func (p *program) serveCommand() *cli.Command {
	return &cli.Command{
		Name: "serve", Usage: "serve an index of runs and their pages to a browser, which follow running jobs", ArgsUsage: "PATH...",
		Description: "Answers a browser on this machine, and Prometheus: the verdicts of all runs, the page that sfstat report writes of each, " +
			"their JSON and metrics. Looks again and again at the files, and tells open pages when the verdicts have changed. Without --capture it only reads. It " +
			"asks nobody who they are: what it listens at decides who may read.",
		Flags: join([]cli.Flag{
			&cli.StringFlag{Name: "listen", Value: "127.0.0.1:8080", Usage: "answer at `ADDRESS`; port 0 takes a free one"},
			&cli.GenericFlag{Name: "host", Value: &stringList{}, Usage: "answer requests for the host `NAME` as well; may be given several times"},
			&cli.DurationFlag{Name: "every", Value: 2 * time.Second, Usage: "look every `LENGTH`"},
			captureFlag(),
			&cli.IntFlag{Name: "metrics-runs", Value: 100, Usage: "metrics of the `N` runs that cost most"},
		}, analysisFlags(), profileFlags(), selectionFlags(), []cli.Flag{rankPatternFlag(), timeZoneFlag(), minGainFlag()}, screenFlags()),
		UsageText: `sfstat serve runs/
sfstat serve runs/ --listen 10.0.0.7:8080 --host monitor.cluster`,
		Action: p.serve,
	}
}

// What a connection may take. A page of a large folder takes its time.
const (
	headerTime   = 5 * time.Second
	answerTime   = 5 * time.Minute
	idleTime     = time.Minute
	mostHeader   = 64 << 10
	shutdownTime = 5 * time.Second
)

func (p *program) serve(c *cli.Context) error {
	names, err := paths(c)
	switch {
	case err != nil:
		return err
	case slices.Contains(names, ingest.Stdin):
		return badUsage("follows files and folders, not standard input")
	case c.Duration("every") < 10*time.Millisecond:
		return badUsage("--every is %v, expected 10ms or more", c.Duration("every"))
	case c.Int("metrics-runs") < 0:
		return badUsage("--metrics-runs is %d, expected 0 or more", c.Int("metrics-runs"))
	}
	listener, err := net.Listen("tcp", c.String("listen"))
	if err != nil {
		return badUsage("--listen %s: %v", c.String("listen"), err)
	}
	defer listener.Close()
	p.windsDown.Store(true)
	p.err = &once{w: p.err, seen: map[string]bool{}}
	s := serving{p: p, c: c, asked: capturing{}}
	o := serve.Options{Version: thisBuild().Version, MetricsRuns: c.Int("metrics-runs"), Page: s.page}
	if list, ok := c.Generic("host").(*stringList); ok {
		o.Hosts = *list
	}
	s.server = serve.New(o)
	f := following{names: names, every: c.Duration("every"), judged: snapshotOf(names)}
	if err := s.look(); err != nil && len(f.judged) > 0 {
		return err
	}
	return s.until(listener, func(ctx context.Context) error {
		return f.follow(ctx, func() error {
			if err := s.look(); err != nil {
				p.remark(c, "%s: %s", prefix(c.Command.Name), oneLine(err))
			}
			return ctx.Err()
		})
	})
}

// serving is a command that answers requests.
type serving struct {
	p       *program
	c       *cli.Context
	server  *serve.Server
	reading sync.Mutex // inputs are read once at a time
	how     frontier.Options
	asked   capturing
}

// until answers requests as long as work goes on.
func (s *serving) until(listener net.Listener, work func(context.Context) error) error {
	ctx, cancel := context.WithCancel(s.c.Context)
	defer cancel()
	web := &http.Server{Handler: s.server, ReadHeaderTimeout: headerTime, ReadTimeout: headerTime, WriteTimeout: answerTime, IdleTimeout: idleTime,
		MaxHeaderBytes: mostHeader, BaseContext: func(net.Listener) context.Context { return ctx }}
	ended := make(chan error, 1)
	go func() {
		ended <- web.Serve(listener)
		cancel()
	}()
	s.p.remark(s.c, "%s: http://%s/", prefix(s.c.Command.Name), listener.Addr())
	err := work(ctx)
	cancel() // ends streams of events
	within, done := context.WithTimeout(context.Background(), shutdownTime)
	defer done()
	_ = web.Shutdown(within) // what takes longer is cut off
	if failed := <-ended; !errors.Is(failed, http.ErrServerClosed) {
		return failed
	}
	return err
}

// look judges what is there and shows it.
func (s *serving) look() error {
	s.reading.Lock()
	defer s.reading.Unlock()
	s.p.outputs.forget()
	when := recorded{}
	j, err := s.p.judge(s.c, func(o frontier.Options) (seeing, error) {
		s.how = o
		return func(item auto.Item) error {
			when.see(item)
			return s.c.Context.Err()
		}, nil
	})
	if err != nil {
		s.server.Fail(oneLine(err))
		return err
	}
	s.p.capture(s.c, s.asked, j)
	s.server.Show(serve.Recorded{Verdict: j.verdict, Problems: j.problems, When: when})
	return nil
}

// page reads the inputs once more for the charts of one run.
func (s *serving) page(ctx context.Context, r serve.Recorded) ([]byte, error) {
	s.reading.Lock()
	defer s.reading.Unlock()
	names, err := paths(s.c)
	if err != nil {
		return nil, err
	}
	pattern, err := rankPattern(s.c)
	if err != nil {
		return nil, err
	}
	pages := page.New(s.how)
	s.p.outputs.forget()
	_, err = s.p.readAs(s.c, reading{names: names, want: auto.ForVerdict, rank: pattern}, func(item auto.Item) error {
		for _, x := range item.Recordings() {
			if x.RunName() != r.Verdict.Run {
				continue
			}
			if err := pages.Add(x); err != nil {
				return ofRecording(x, item, err)
			}
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	drawn, err := pages.Page(r.Verdict)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = document(&judgement{inputs{problems: r.Problems}, r.Verdict}, drawn).Write(&b)
	return b.Bytes(), err
}

// recorded is when each run was recorded last: what its windows say, or else its file.
type recorded map[string]time.Time

func (r recorded) see(item auto.Item) {
	var at time.Time
	if item.Window != nil && len(item.Window.Epochs) > 0 {
		if began := slices.Max(item.Window.Epochs); began > 0 {
			at = time.Unix(0, began)
		}
	}
	if at.IsZero() && item.Path != "" {
		if info, err := os.Stat(item.Path); err == nil {
			at = info.ModTime()
		}
	}
	if run := item.Recordings()[0].RunName(); item.Telemetry == nil && at.After(r[run]) {
		r[run] = at
	}
}
