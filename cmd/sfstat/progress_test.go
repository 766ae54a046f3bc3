package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestProgressWaitsUntilTheWorkIsLong(t *testing.T) {
	var screen bytes.Buffer
	clock := time.Unix(0, 0)
	p := newProgress(readingInputs, &screen, func() time.Time { return clock })
	p.update(10, 100)
	clock = clock.Add(progressDelay - time.Millisecond)
	p.update(20, 100)
	p.clear()
	if screen.Len() > 0 {
		t.Fatalf("shown after less than %v: %q", progressDelay, screen.String())
	}
	clock = clock.Add(2 * time.Millisecond)
	p.update(30, 100)
	if !strings.Contains(screen.String(), "30%") {
		t.Fatalf("nothing shown after %v: %q", progressDelay, screen.String())
	}
}

func TestProgressOfUnknownLength(t *testing.T) {
	var screen bytes.Buffer
	clock := time.Unix(0, 0)
	p := newProgress(readingInputs, &screen, func() time.Time { return clock })
	clock = clock.Add(time.Second)
	p.update(1<<20, -1)
	p.update(2<<20, 4<<20) // the length became known
	if !strings.Contains(screen.String(), "reading") {
		t.Fatalf("nothing shown: %q", screen.String())
	}
}

// A bar that was cleared stays away until there is something new.
func TestProgressStaysCleared(t *testing.T) {
	var screen bytes.Buffer
	clock := time.Unix(0, 0)
	p := newProgress(readingInputs, &screen, func() time.Time { return clock })
	clock = clock.Add(time.Second)
	p.update(1<<20, -1)
	p.clear()
	before := screen.Len()
	time.Sleep(250 * time.Millisecond)
	if after := screen.Len(); after != before {
		t.Errorf("%d bytes were drawn after the bar was cleared", after-before)
	}
}

func TestProgressOfRunsCountsThem(t *testing.T) {
	var screen bytes.Buffer
	clock := time.Unix(0, 0)
	p := newProgress(makingRuns, &screen, func() time.Time { return clock })
	clock = clock.Add(time.Second)
	p.update(20, 50)
	if got := screen.String(); !strings.Contains(got, "running") || !strings.Contains(got, "(20/50") {
		t.Fatalf("shown: %q, expected 20 of 50", got)
	}
}

// Standard error is no terminal here, so nothing may be drawn.
func TestNoProgressWithoutATerminal(t *testing.T) {
	code, _, stderr := runArgs(t, strings.NewReader(""), "--print-gates")
	if code != 0 || stderr != "" {
		t.Errorf("exit code %d, standard error %q", code, stderr)
	}
}
