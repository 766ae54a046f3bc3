//go:build linux

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
)

// withinLimit is set in the environment of the program that runLimited starts.
const withinLimit = "SFSTAT_WITHIN_LIMIT"

// addressLimit returns how many bytes of addresses the program may have (ulimit -v), and
// whether there is a limit.
func addressLimit() (bytes uint64, ok bool) {
	var limit syscall.Rlimit
	if os.Getenv(withinLimit) != "" || syscall.Getrlimit(syscall.RLIMIT_AS, &limit) != nil {
		return 0, false
	}
	return limit.Cur, limit.Cur <= math.MaxInt64
}

// runLimited runs the program as a process of its own, where there is a limit of addresses, and
// returns its exit code. Go ends a program that gets no memory with the stacks of its runtime:
// whoever waits for it can say in a sentence what was wrong.
func runLimited(limit uint64) (code int, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(self, os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
	cmd.Env = append(os.Environ(), withinLimit+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	said, err := cmd.StderrPipe()
	if err != nil {
		return 0, err
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s) // it may have ended
		}
	}()
	crash := passOn(os.Stderr, said)
	var ended *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &ended) {
		return 0, err
	}
	switch code = cmd.ProcessState.ExitCode(); {
	case lacksMemory(crash):
		fmt.Fprintf(os.Stderr, "sfstat: it needs more memory than the %.1f GB that it may have (ulimit -v), of which Go reserves 0.7 GB: raise the limit, or give fewer or smaller inputs\n", float64(limit)/1e9)
		code = exitBadInput
	default:
		fmt.Fprint(os.Stderr, crash)
	}
	if code < 0 { // by a signal
		code = 128 + int(cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
	}
	return code, nil
}

// passOn copies what a program says, up to the words of a runtime that ends it. It returns
// those and what follows them.
func passOn(to io.Writer, from io.Reader) (crash string) {
	lines := bufio.NewReader(from)
	var held strings.Builder
	for {
		line, err := lines.ReadString('\n')
		switch {
		case held.Len() > 0 || strings.HasPrefix(line, "fatal error: ") || strings.HasPrefix(line, "runtime: "):
			held.WriteString(line)
		default:
			_, _ = io.WriteString(to, line)
		}
		if err != nil {
			return held.String()
		}
	}
}

// lacksMemory reports whether a runtime has ended a program because it got no memory.
func lacksMemory(crash string) bool {
	for line := range strings.Lines(crash) {
		line = strings.TrimSpace(line)
		for _, words := range []string{"out of memory", "cannot allocate", "cannot map pages", "failed to reserve", "failed to create new OS thread"} {
			if (strings.HasPrefix(line, "fatal error: ") || strings.HasPrefix(line, "runtime: ")) && strings.Contains(line, words) {
				return true
			}
		}
	}
	return false
}
