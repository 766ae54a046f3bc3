package main

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/diagnose"
	"github.com/sfstat/sfstat/ingest/auto"
	"github.com/sfstat/sfstat/internal/bug"
	"github.com/sfstat/sfstat/live"
	"github.com/sfstat/sfstat/page"
	"github.com/sfstat/sfstat/page/serve"
	"github.com/sfstat/sfstat/report"
	"github.com/sfstat/sfstat/report/metrics"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/recorded"
)

// What a connection may take. A page of a large folder takes its time.
const (
	headerTime   = 5 * time.Second
	answerTime   = 5 * time.Minute
	idleTime     = time.Minute
	mostHeader   = 64 << 10
	shutdownTime = 5 * time.Second
)

func (p *program) serve(c *cli.Context) error {
	o, err := p.liveVerdicts(c)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", c.String("listen"))
	if err != nil {
		return badUsage("--listen %s: %v", c.String("listen"), err)
	}
	defer listener.Close()
	p.windsDown.Store(true)
	p.dedupeMessages()
	s := serving{p: p, c: c, runs: make(map[string][]serve.Run), seen: live.Seen{}}
	o.Light, o.See = true, s.seen.See
	s.o, s.files = o, live.New(o)
	s.server = serve.New(serve.Options{Version: programVersion(), MetricsRuns: c.Int("metrics-runs"), Hosts: c.List("host"), Page: s.containPanics(s.page), JSON: s.containPanics(s.json)})
	return s.serveWhile(listener, s.work)
}

// serving is a command that answers requests.
type serving struct {
	p      *program
	c      *cli.Context
	server *serve.Server
	o      live.Options
	files  *live.Follower

	refused []auto.Problem         // at the last look
	runs    map[string][]serve.Run // by unit
	seen    live.Seen
	version uint64
	shown   time.Time
	memory  memory
}

// serveWhile answers requests as long as work goes on.
func (s *serving) serveWhile(listener net.Listener, work func(context.Context) error) error {
	ctx, cancel := context.WithCancel(s.c.Context)
	defer cancel()
	web := &http.Server{Handler: s.server, ReadHeaderTimeout: headerTime, ReadTimeout: headerTime, WriteTimeout: answerTime, IdleTimeout: idleTime,
		MaxHeaderBytes: mostHeader, BaseContext: func(net.Listener) context.Context { return ctx }}
	s.p.remark(s.c, "%s: http://%s/", s.c.Title(), listener.Addr())
	ended := make(chan error, 1)
	go func() {
		var err error
		defer func() {
			ended <- err
			cancel()
		}()
		defer bug.Contain(listener.Addr().String(), &err)
		err = web.Serve(listener)
	}()
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

// work looks at the files until the context ends. What cannot be read now may be the next time.
func (s *serving) work(ctx context.Context) error {
	begun := false
	return s.files.Every(ctx, s.c.Duration("every"), func() error {
		n, err := s.files.Look(ctx, s.p.handSafely(s.c, s.takeJudged))
		if err != nil {
			return err
		}
		s.memory.giveBack()
		if s.relist() || n > 0 || !begun {
			s.show(0, 0)
		}
		begun = true
		s.server.Fail(s.pathProblem())
		return nil
	})
}

// relist reports whether others than before cannot be looked at.
func (s *serving) relist() bool {
	before := s.refused
	s.refused = s.files.RefusedPaths()
	return !slices.EqualFunc(s.refused, before, func(a, b auto.Problem) bool { return a.Path == b.Path && a.Err.Error() == b.Err.Error() })
}

// pathProblem returns why a named path cannot be read; "" where all can.
func (s *serving) pathProblem() string {
	for _, p := range s.refused {
		if slices.Contains(s.o.Paths, p.Path) {
			return oneLine(p.Err)
		}
	}
	return ""
}

// showEvery is how often what is read for the first time is shown, at most.
const showEvery = 500 * time.Millisecond

// takeJudged takes up what was judged of a unit.
func (s *serving) takeJudged(x live.Change) error {
	switch {
	case x.Gone:
		for i := range s.runs[x.Key] {
			delete(s.seen, s.runs[x.Key][i].Name)
		}
		delete(s.runs, x.Key)
	case x.Err != nil: // which the index lists
		delete(s.runs, x.Key)
		s.p.note(x.Err)
		s.p.remark(s.c, "%s: %s", s.c.Title(), oneLine(x.Err))
	default:
		s.p.sayRefused(s.c, x.Refused)
		s.version++
		delete(s.runs, x.Key)
		for i := range x.Verdict.Runs {
			s.runs[x.Key] = append(s.runs[x.Key], s.summary(&x.Verdict.Runs[i]))
		}
	}
	if x.Done < x.All && time.Since(s.shown) >= showEvery {
		s.show(x.Done, x.All)
	}
	return nil
}

// show serves what is known by now.
func (s *serving) show(read, of int) {
	s.shown = time.Now()
	r := serve.Recorded{Problems: s.problems(), Read: read, Of: of}
	for _, runs := range s.runs {
		r.Runs = append(r.Runs, runs...)
	}
	if of == 0 {
		r.Recurring = recurringHosts(r.Runs)
	}
	s.server.Show(r)
}

// recurringHosts returns the hosts and GPUs that delay several of the runs, in sentences.
func recurringHosts(runs []serve.Run) []string {
	var hosts, gpus []diagnose.Delayer
	for i := range runs {
		r := &runs[i]
		if len(r.Findings) == 0 || !r.Findings[0].IsFlagged() {
			continue
		}
		f := &r.Findings[0]
		hosts = append(hosts, diagnose.Delayer{Host: f.Host, LocalRank: -1, Among: r.Hosts})
		if f.LocalRank != nil {
			gpus = append(gpus, diagnose.Delayer{Host: f.Host, LocalRank: *f.LocalRank, Among: r.Ranks})
		}
	}
	return report.Recurrences(diagnose.Recurrences(hosts), diagnose.Recurrences(gpus))
}

// problems returns the refused inputs and the files that are no input.
func (s *serving) problems() []report.Problem {
	in := s.files.Inputs()
	for _, x := range s.files.RefusedPaths() {
		in.Problems = append(in.Problems, report.Problem{Path: x.Path, Err: x.Err})
	}
	slices.SortStableFunc(in.Problems, func(a, b report.Problem) int { return strings.Compare(a.Path, b.Path) })
	return append(in.Problems, passedOver(s.o.Paths, in.Read)...)
}

func (s *serving) summary(v *diagnose.RunVerdict) serve.Run {
	r := serve.Run{Name: v.Run, Version: s.version, Status: v.Status, Headline: report.Headline(v), Why: report.Reason(v), Stages: metrics.Stages(v), Coverage: v.Coverage, Windows: len(v.Windows), Hosts: v.Hosts()}
	if x := s.seen[v.Run]; x != nil {
		r.When, r.Line = x.When, x.Steps.Means()
	}
	if a := v.Answer(); a.First != nil {
		r.Host, r.Certainty, r.Gain = a.First.Host, a.First.Confidence, a.Saving.Run
	}
	for i, f := range v.Findings {
		if i == 0 || f.IsFlagged() {
			f.Evidence = nil
			r.Findings = append(r.Findings, f)
		}
	}
	exposed := int64(0)
	for i := range v.Windows {
		m := v.Windows[i].Main
		r.Steps += m.Steps
		r.Ranks = max(r.Ranks, len(m.Ranks))
		exposed += m.Makespan
	}
	switch o := v.Operators; {
	case o != nil:
		r.Steps, r.Step = len(o.Steps), int64(o.Replay.Recorded.Mean)
	case r.Steps > 0:
		r.Step = exposed / int64(r.Steps)
	}
	if e := v.Earlier; e != nil {
		r.Windows += e.Windows
		r.Steps += e.Steps
	}
	return r
}

// containPanics makes a document. A panic is an error of that document, and is said.
func (s *serving) containPanics(by serve.Maker) serve.Maker {
	return func(ctx context.Context, run string) (made []byte, err error) {
		defer func() {
			if bug.PanicOf(err) != nil {
				s.p.sayRefused(s.c, []report.Problem{{Path: bug.PanicOf(err).Where, Err: err}})
			}
		}()
		defer bug.Contain("document of run "+run, &err)
		return by(ctx, run)
	}
}

// page makes the page of a run from its files.
func (s *serving) page(ctx context.Context, run string) ([]byte, error) {
	pages := page.New(s.o.Diagnosis.Frontier)
	pages.Limits = s.o.Diagnosis.Benchmarks
	j, err := s.anew(ctx, run, pages)
	if err != nil {
		return nil, err
	}
	drawn, err := pages.Page(j.Verdict)
	if err != nil {
		return nil, err
	}
	if err := s.p.noteFailed(s.c, j, drawn.Failed); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = document(j, drawn).Write(&b)
	return b.Bytes(), err
}

// mostTogether is how many windows all runs may have for one JSON to be made of them.
const mostTogether = 1000

func (s *serving) json(ctx context.Context, run string) ([]byte, error) {
	var j *live.Judgement
	var err error
	if run == "" {
		j, err = s.judgeTogether()
	} else {
		j, err = s.anew(ctx, run, nil)
	}
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = report.Output{W: &b, Format: report.JSON, Problems: j.Problems}.Verdict(j.Verdict)
	return b.Bytes(), err
}

// judgeTogether judges all runs, as sfstat diagnose does. That they are too many may show only
// while they are read.
func (s *serving) judgeTogether() (j *live.Judgement, err error) {
	s.files.DoIdle(func() { j, err = s.judgeAll() })
	return j, err
}

func (s *serving) judgeAll() (*live.Judgement, error) {
	n := 0
	for _, runs := range s.runs {
		for i := range runs {
			n += runs[i].Windows
		}
	}
	if n > mostTogether {
		return nil, serve.ErrTooMany
	}
	s.p.outputs.forget()
	n = 0
	return s.p.judge(s.c, s.o.Diagnosis, func(j recorded.Job) error {
		if n += len(j.Windows); n > mostTogether {
			return serve.ErrTooMany
		}
		return nil
	})
}

// anew judges one run with all engines. What is read of it goes to its page too, if
// that is not nil.
func (s *serving) anew(ctx context.Context, run string, pages *page.Builder) (*live.Judgement, error) {
	see := func(trace.Recording) error { return nil }
	if pages != nil {
		see = pages.Add
	}
	return s.files.Anew(ctx, run, see)
}
