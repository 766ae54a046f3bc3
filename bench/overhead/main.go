// Command overhead measures what the recorder costs a real DDP job on this machine, by ranks and arm:
// wall times, device times besides, and sfstat sample beside the job.
//
//	go run ./bench/overhead [-o DIR]
//
// The job, its arms and its runs are those of a campaign (docs/campaign.md, What recording costs): each window is
// carried out under every arm in one run, and the run is the block of the bound. The runs of a size lie in
// DIR/campaigns/rRANKS. What is done stays when the command is interrupted, and the same command goes on from there;
// another recorder or job makes the runs anew. DIR/overhead/RANKS-gloo-ARM.csv is what sfstat overhead --pairs and
// Table 7 of sfstat campaign report read.
//
// It prints Markdown: overhead, bound and gate; processor time, the cost of a stage call, the share of closing and
// writing windows, the time to analyse one; the rounds that something else disturbed; what the machine cannot show.
// No round is left out for its outcome. A second bound leaves out those in which a measured cause disturbed a chunk.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sfstat/sfstat/eval/campaign"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "overhead:", err)
		os.Exit(1)
	}
}

// settings of a measurement.
type settings struct {
	ranks                []int
	arms                 []campaign.Arm
	runs, windows, steps int
	realtime             bool
	limit                time.Duration // of a run
	python, sfstat, out  string
}

// run measures, writes the pairs and prints what came out. What could not be measured for another reason than time is
// the error, after all that could.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	s, err := parse(args, stderr)
	if err != nil {
		return err
	}
	var sizes []size
	var failed error // runs that failed
	for _, ranks := range s.ranks {
		one, err := s.measure(ctx, ranks, stderr)
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted: what is done is kept in %s, and the same command goes on from there", s.out)
		}
		if err != nil {
			return err
		}
		failed = errors.Join(failed, one.failed)
		sizes = append(sizes, one)
	}
	accounts, err := accountsOf(sizes, runtime.NumCPU())
	if err != nil {
		return err
	}
	if err := writePairs(s.out, sizes); err != nil {
		return err
	}
	var page bytes.Buffer
	s.tell(&page, sizes, accounts)
	if _, err := page.WriteTo(stdout); err != nil {
		return err
	}
	return failed
}

// parse reads the flags.
func parse(args []string, stderr io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("overhead", flag.ContinueOnError)
	flags.SetOutput(stderr)
	ranks := flags.String("ranks", "4,8,16,32", "`LIST` of sizes, processes of a run")
	arms := flags.String("arms", "off,wall,events,sample", "`LIST` of arms: off and some of the others")
	flags.IntVar(&s.runs, "runs", 10, "runs of a size; each is a block")
	flags.IntVar(&s.windows, "windows", 6, "windows of a run under each arm; the first is the warm-up")
	flags.IntVar(&s.steps, "steps", 10, "timed steps of a window")
	flags.BoolVar(&s.realtime, "realtime", false, "ranks at real-time priority, so that other work does not interrupt them (Linux, CAP_SYS_NICE)")
	flags.DurationVar(&s.limit, "limit", 5*time.Minute, "`TIME` of a run; a size with a longer one is skipped")
	flags.StringVar(&s.python, "python", "", "an `INTERPRETER` with PyTorch; else that of SFSTAT_PYTHON, or python3")
	flags.StringVar(&s.sfstat, "sfstat", "bin/sfstat", "the `PROGRAM` for arm sample")
	flags.StringVar(&s.out, "o", "bin/overhead", "`FOLDER` of runs and results")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	for _, text := range strings.Split(*ranks, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 2 {
			return s, fmt.Errorf("-ranks has %q, expected numbers from 2, as 4,8", text)
		}
		s.ranks = append(s.ranks, n)
	}
	slices.Sort(s.ranks)
	s.ranks = slices.Compact(s.ranks)
	for _, text := range strings.Split(*arms, ",") {
		a, err := campaign.ParseArm(strings.TrimSpace(text))
		if err != nil {
			return s, fmt.Errorf("-arms: %w", err)
		}
		s.arms = append(s.arms, a)
	}
	return s, s.check(flags.Args())
}

// check refuses settings that measure nothing.
func (s *settings) check(operands []string) error {
	switch {
	case len(operands) > 0:
		return fmt.Errorf("%q is no flag", operands[0])
	case s.out == "":
		return errors.New("-o is empty, expected the folder of runs and results")
	case s.runs < 1 || s.steps < 1 || s.windows < 2:
		return fmt.Errorf("-runs is %d, -steps %d and -windows %d, expected 1, 1 and 2 or more", s.runs, s.steps, s.windows)
	case s.limit <= 0:
		return fmt.Errorf("-limit is %v, expected more than 0", s.limit)
	}
	if _, err := s.spec(s.ranks[0]).Plan(); err != nil {
		return err
	}
	if slices.Contains(s.arms, campaign.Sample) {
		if _, err := exec.LookPath(s.sfstat); err != nil {
			return fmt.Errorf("arm sample needs the program sfstat (%w): make build, name one with -sfstat, or leave sample out of -arms", err)
		}
	}
	return nil
}
