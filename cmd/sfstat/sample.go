package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/cli"
	"github.com/sfstat/sfstat/sample"
)

func (p *program) sample(c *cli.Context) (err error) {
	if err := refuseOperands(c); err != nil {
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
	if gpus := p.gpus(c, o.Every); gpus != nil {
		defer gpus.Close()
		sources = append(sources, gpus)
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
	context.AfterFunc(ctx, stop) // a second interrupt ends the program where a driver does not answer
	written := &counted{to: out}
	err = sample.Run(ctx, written, sources, o, func(s sample.Source, err error) { p.remark(c, "%s: %s: %v", c.Title(), s.Name(), err) })
	if err == nil && written.bytes == 0 {
		return badInput(errors.New("nothing can be sampled here: figures of a host are read from /proc (Linux)"))
	}
	return err
}

// gpus opens what reads the GPUs of this machine, and says by what they are sampled and how often; nil: there is nothing.
func (p *program) gpus(c *cli.Context, every time.Duration) sample.Source {
	gpus, without, err := sample.GPUs(every)
	if err != nil {
		p.remark(c, "%s: sampling the host alone: %v", c.Title(), err)
		return nil
	}
	name := gpus.Name()
	if without != nil {
		name += fmt.Sprintf(" (%v)", without)
	}
	p.remark(c, "%s: sampling %s, and the host", c.Title(), name)
	if stride := sample.Stride(gpus, every); stride > 1 {
		p.remark(c, "%s: %s are sampled every %v, not every %v: a call takes half of that", c.Title(), gpus.Name(), time.Duration(stride)*every, every)
	}
	return gpus
}

// counted counts what is written.
type counted struct {
	to    io.Writer
	bytes int
}

func (w *counted) Write(text []byte) (int, error) {
	n, err := w.to.Write(text)
	w.bytes += n
	return n, err
}
