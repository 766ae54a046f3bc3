package main

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/sfstat/sfstat/sample"
)

func (p *program) sampleCommand() *cli.Command {
	return &cli.Command{
		Name: "sample", Usage: "sample the GPUs and the host that it runs on, beside a training job", ArgsUsage: " ",
		Description: "Writes clocks, throttle reasons, temperature, power and memory errors of all GPUs, and load, steal, pressure, memory and network errors of the host, as metrics in Prometheus' " +
			"text format. One runs on each host. Put the files beside the recording: sfstat diagnose says what differed where a rank was late. It ends at the first interrupt.",
		Flags: join([]cli.Flag{
			&cli.DurationFlag{Name: "every", Value: 5 * time.Second, Usage: "take a sample every `DURATION`"},
			&cli.IntFlag{Name: "count", Usage: "end after `N` samples", DefaultText: "never"},
			&cli.StringFlag{Name: "host", Usage: "call the host `NAME`, as the recording does", DefaultText: "its own name"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Usage: "append to `FILE`", DefaultText: "standard output"},
		}, screenFlags()),
		UsageText: `sfstat sample -o run/$(hostname).prom &
srun --ntasks-per-node=1 sh -c 'sfstat sample -o run/$(hostname).prom' &
sfstat diagnose run/`,
		Action: p.sample,
	}
}

func (p *program) sample(c *cli.Context) (err error) {
	if c.Args().Present() {
		return badUsage("sample takes no arguments, got %q", c.Args().First())
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
		p.remark(c, "%s: sampling %s and %s", c.Command.HelpName, gpus.Name(), sources[0].Name())
	} else {
		p.remark(c, "%s: sampling the host alone: %v", c.Command.HelpName, err)
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
		p.remark(c, "%s: %s: %v", c.Command.HelpName, s.Name(), err)
	})
	if err == nil && failed == len(sources) {
		return badInput(errors.New("nothing can be sampled here: figures of a host are read from /proc (Linux)"))
	}
	return err
}
