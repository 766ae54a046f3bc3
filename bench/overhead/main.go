// Command overhead measures what the recorder costs a real DDP loop.
//
//	go run ./bench/overhead -o DIR
//
// A launch is eight processes that train together ([ddp.World]). In each launch
// the loop runs in turns without the recorder, with wall times, and with device
// times besides: see arms.py, which is one rank. A round is one chunk of steps
// under each arm, close together in time, so that a pair of chunks shares
// processes, connections, memory and whatever else the machine is doing; separate
// launches, one for each arm, would count all of that as overhead. The rounds of a
// launch are its windows and no independent evidence, so the launch is the block
// that is resampled (docs/method-verdict.md).
//
// DIR/pairs-cpu.csv and DIR/pairs-events.csv are what sfstat overhead --pairs
// reads. Where there are NVIDIA GPUs, DIR/gpus.csv says what they did during
// each chunk, and rounds in which one was throttled or corrected errors are left
// out.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/sfstat/sfstat/eval/campaign/ddp"
	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/internal/gpus"
)

//go:embed arms.py
var armsPy []byte

// settings of a measurement.
type settings struct {
	launches, rounds, steps, window, ranks int
	seed                                   uint64
	goal                                   float64 // share
	every                                  time.Duration
	backend, out                           string
	realtime                               bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "overhead:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	s, err := parse(args, stderr)
	if err != nil {
		return err
	}
	b := &bench{settings: s, log: stderr}
	if b.gpus, err = gpus.Open(); err != nil {
		b.noGPU = err
	} else {
		defer b.gpus.Close()
	}
	if err := b.all(ctx); err != nil {
		return err
	}
	return b.tell(stdout)
}

func parse(args []string, stderr io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("overhead", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&s.launches, "launches", 20, "how many launches; each is a block")
	flags.IntVar(&s.rounds, "rounds", 6, "rounds of a launch: a chunk under each arm")
	flags.IntVar(&s.steps, "steps", 10, "timed steps of a chunk")
	flags.IntVar(&s.window, "window", 5, "steps of a window of the recorder; it writes while the chunk is timed")
	flags.IntVar(&s.ranks, "ranks", 8, "processes of a launch")
	flags.Uint64Var(&s.seed, "seed", 1, "of the order of arms and of the work")
	flags.Float64Var(&s.goal, "goal", 0.002, "the overhead that is still good, as a share")
	flags.DurationVar(&s.every, "gpu-every", 200*time.Millisecond, "between two readings of the GPUs")
	flags.StringVar(&s.backend, "backend", "gloo", "gloo, or nccl with a GPU for each rank")
	flags.BoolVar(&s.realtime, "realtime", false, "time at real-time priority, so that other work on the machine does not interrupt it (Linux, CAP_SYS_NICE)")
	flags.StringVar(&s.out, "o", "", "folder for the results")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	switch {
	case s.out == "":
		return s, errors.New("-o is missing: the folder for the results")
	case s.launches < 1 || s.rounds < 1 || s.steps < 1 || s.window < 1 || s.ranks < 2:
		return s, errors.New("launches, rounds, steps and window are 1 or more, ranks 2 or more")
	case s.window > s.steps:
		return s, fmt.Errorf("-window %d is more than -steps %d: the recorder would write nothing while it is timed", s.window, s.steps)
	case s.every <= 0:
		return s, fmt.Errorf("-gpu-every is %v, expected more than 0", s.every)
	}
	return s, nil
}

// bench is a measurement under way.
type bench struct {
	settings
	log    io.Writer
	gpus   GPUs
	noGPU  error // why there are none
	chunks []Chunk
	calls  []float64 // ns of a stage call, by launch
	before string    // load of the machine when it began
}

// all makes the launches. What is done is written after each.
func (b *bench) all(ctx context.Context) error {
	if err := os.MkdirAll(b.out, 0o777); err != nil {
		return err
	}
	temporary, err := os.MkdirTemp("", "sfstat-overhead-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	installed, err := ddp.Install(temporary)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(temporary, "arms.py"), armsPy, 0o666); err != nil {
		return err
	}
	b.before = load()
	for n := range b.launches {
		if err := b.launch(ctx, installed, n); err != nil {
			return fmt.Errorf("launch %d: %w", n, err)
		}
		if err := write(b.out, b.chunks); err != nil {
			return err
		}
		fmt.Fprintf(b.log, "launch %d of %d done, load %s\n", n+1, b.launches, load())
	}
	return nil
}

func (b *bench) launch(ctx context.Context, installed ddp.Installed, n int) error {
	dir, err := os.MkdirTemp(installed.PythonPath, "launch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	spec, err := b.spec(n)
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "spec.json")
	if err := os.WriteFile(file, spec, 0o666); err != nil {
		return err
	}
	var watch *Watch
	if b.gpus != nil {
		watch = NewWatch(b.gpus, b.every)
	}
	seed := b.seed*1_000_003 + uint64(n)
	w := ddp.World{Ranks: b.ranks, PythonPath: installed.PythonPath, Args: []string{filepath.Join(installed.PythonPath, "arms.py"),
		"--spec", file, "--out", dir, "--rounds", strconv.Itoa(b.rounds), "--steps", strconv.Itoa(b.steps), "--window", strconv.Itoa(b.window),
		"--seed", strconv.FormatUint(seed, 10), "--backend", b.backend}}
	if b.realtime {
		w.Args = append(w.Args, "--realtime")
	}
	err = w.Run(ctx)
	if watch != nil {
		err = errors.Join(err, watch.Stop())
	}
	if err != nil {
		return err
	}
	return b.take(dir, n, watch)
}

// take reads the results of a launch.
func (b *bench) take(dir string, n int, watch *Watch) error {
	chunks, err := readLaunch(dir, n, b.ranks)
	if err != nil {
		return err
	}
	if watch != nil {
		for i := range chunks {
			chunks[i].GPUs = watch.During(chunks[i].Begin, chunks[i].End)
		}
	}
	calls, err := readCalls(dir)
	if err != nil {
		return err
	}
	b.chunks, b.calls = append(b.chunks, chunks...), append(b.calls, calls)
	return nil
}

// spec is the default job, healthy, with other draws in each launch.
func (b *bench) spec(n int) ([]byte, error) {
	s := simulate.DefaultSpec()
	s.Ranks, s.Seed, s.Run = b.ranks, b.seed*1_000_003+uint64(n), "overhead"
	s.Schedule.Warmup = 10
	s, err := ddp.Check(s)
	if err != nil {
		return nil, err
	}
	return json.Marshal(s)
}
