package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"

	"github.com/sfstat/sfstat/internal/bug"
	"github.com/sfstat/sfstat/trace/input"
)

// The exit codes. Programs rely on them.
const (
	exitDone        = 0
	exitInternal    = 1
	exitBadInput    = 2 // bad usage too
	exitFinding     = 3 // only with --fail-on
	exitInterrupted = 130
	exitUnread      = 141 // the reader of standard output went away, as by SIGPIPE
	exitTerminated  = 143 // as by interrupt, of SIGTERM
)

// exitError is an error that knows its exit code.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// badUsage returns an error about the command line with its remedy.
func badUsage(format string, args ...any) error {
	return &exitError{exitBadInput, fmt.Errorf(format, args...)}
}

// badInput marks an error as one of what the user gave.
func badInput(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{exitBadInput, err}
}

// exitCode decides what an error means to the caller of the program. Errors
// with a position and errors of named files are the user's; an error that
// nobody has claimed is ours, and so is a panic, whatever was read. That whoever read
// our output went away is no error to speak of, but the results are not there.
func exitCode(err error) int {
	var (
		known  *exitError
		record *input.Error
		path   *fs.PathError
	)
	switch {
	case err == nil:
		return exitDone
	case closedPipe(err):
		return exitUnread
	case bug.PanicOf(err) != nil:
		return exitInternal
	case errors.As(err, &known):
		return known.code
	case errors.As(err, &record), errors.As(err, &path):
		return exitBadInput
	}
	return exitInternal
}

func closedPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe)
}
