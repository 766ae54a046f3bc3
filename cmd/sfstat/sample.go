package main

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/sample"
)

func (p *program) sample(c *cli.Context) (err error) {
	if err := noOperands(c); err != nil {
		return err
	}
	o := sample.Options{Every: c.Duration("every"), Count: c.Int("count"), Host: c.String("host")}
	if o.Every < time.Millisecond || o.Count < 0 {
		return badUsage("--every is %v and --count %d, expected at least 1ms and 0", o.Every, o.Count)
	}
	if o.Host == "" {
		if o.Host, err = os.Hostname(); err != nil {
			return badUsage("this host does not tell its name: give --host")
		}
	}
	sources := []sample.Source{sample.Host{Root: os.DirFS("/")}}
	if gpus, err := sample.GPUs(); err == nil {
		sources = append(sources, gpus)
		p.remark(c, "%s: sampling %s and %s", c.Title(), gpus.Name(), sources[0].Name())
	} else {
		p.remark(c, "%s: sampling the host alone: %v", c.Title(), err)
	}
	var out io.Writer = p.out
	if path := c.String("output"); path != "" {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
		if err != nil {
			return badInput(err)
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		out = f
	}
	ctx, stop := signal.NotifyContext(c.Context, os.Interrupt, syscall.SIGTERM)
	defer stop()
	failed := 0
	err = sample.Run(ctx, out, sources, o, func(s sample.Source, err error) {
		failed++
		p.remark(c, "%s: %s: %v", c.Title(), s.Name(), err)
	})
	if err == nil && failed == len(sources) {
		return badInput(errors.New("nothing can be sampled here: figures of a host are read from /proc (Linux)"))
	}
	return err
}
