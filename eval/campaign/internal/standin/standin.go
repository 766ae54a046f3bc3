// Package standin is a job for tests: it is started as the real one is, once
// for each rank, and leaves packets that a simulation makes. So what starts
// jobs can be tested without PyTorch, and quickly.
package standin

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/sfstat/sfstat/eval/simulate"
	"github.com/sfstat/sfstat/ingest/packet"
)

// Environment variables. A test binary calls Main where Variable is set.
const (
	Variable = "SFSTAT_TEST_STANDIN"
	Fails    = "SFSTAT_TEST_FAILS" // the run whose rank 1 fails
	Waits    = "SFSTAT_TEST_WAITS" // a file without which no run begins
)

// Main is a rank. args are those of a Python interpreter: "-c TEXT" does
// nothing, and "JOB --spec FILE --out FOLDER" is the job.
func Main(args []string) {
	if len(args) > 0 && args[0] == "-c" {
		os.Exit(0)
	}
	if err := run(args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	os.Exit(0)
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("no job")
	}
	flags := flag.NewFlagSet("standin", flag.ContinueOnError)
	spec, out := flags.String("spec", "", ""), flags.String("out", "", "")
	flags.String("recording", "", "")
	flags.String("group", "", "")
	flags.String("profile", "", "")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	text, err := os.ReadFile(*spec)
	if err != nil {
		return err
	}
	var s simulate.Spec
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	rank, err := rank()
	if err != nil {
		return err
	}
	for wait := os.Getenv(Waits); wait != ""; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(wait); err == nil {
			break
		}
	}
	if rank == 1 && os.Getenv(Fails) == s.Run {
		return fmt.Errorf("rank 1 of %s fails, as it should", s.Run)
	}
	if rank != 0 { // rank 0 writes for all
		return nil
	}
	return write(s, filepath.Join(*out, s.Run+".jsonl"))
}

// rank is told as torchrun tells it, or Slurm.
func rank() (int, error) {
	for _, name := range []string{"RANK", "SLURM_PROCID"} {
		if text := os.Getenv(name); text != "" {
			return strconv.Atoi(text)
		}
	}
	return 0, errors.New("neither RANK nor SLURM_PROCID is set")
}

func write(s simulate.Spec, path string) error {
	g, err := simulate.New(s)
	if err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := g.Each(packet.NewWriter(f).Write); err != nil {
		return err
	}
	return f.Close()
}
