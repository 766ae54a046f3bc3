// Package pyspy reads what py-spy dump prints of processes, as text or as JSON: where each of their
// threads is. Of these it keeps the main thread's stack, which shows what a rank does while a job hangs. In a backward
// pass the main thread waits for PyTorch's autograd thread, which has no name: its frames stand before those of the main thread.
//
// A text is
//
//	Process 4021: python train.py
//	Python v3.11.7 (/usr/bin/python3.11)
//
//	Thread 4021 (idle): "MainThread"
//	    wait (threading.py:320)
//	    <module> (train.py:71)
//
// with the innermost frame first, local variables (--locals) indented further, and native frames (--native)
// without a line. What stands before the first process, as a shell loop prints it, is passed over. A dump
// names neither the rank nor the time: what a command line, a process name or a local variable says of it ("--local-rank 3",
// "scheduler_TP3", "rank: 3") is taken.
//
// Cost: O(bytes).
//
// Source of the form: src/dump.rs and src/stack_trace.rs of py-spy 0.3 to 0.4.
package pyspy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/input"
)

// mainThread is the name that Python gives the thread which runs the program.
const mainThread = "MainThread"

// maxFrames bounds a stack: Python's own limit is 1,000 by default.
const maxFrames = 1 << 16

// again is what to do about a dump that is damaged.
const again = "write it again: py-spy dump --pid PID > pyspy_RANK.txt"

var (
	processLine = regexp.MustCompile(`^Process (\d+): `)
	localLine   = regexp.MustCompile(`^ {8,}(?:(local_rank)|(?:global_|world_)?rank): (\d{1,6})$`)
	threadLine  = regexp.MustCompile(`^Thread (\S+) \([a-z+]+\)(?:: "(.*)")?$`)
	frameLine   = regexp.MustCompile(`^    (\S.*) \(([^()]*?)(?::(\d+))?\)$`)
)

// Recognise reports whether text, the beginning of a file, is a dump.
func Recognise(text []byte) bool {
	if bytes.HasPrefix(text, []byte("[")) {
		return bytes.Contains(text, []byte(`"os_thread_id"`)) && bytes.Contains(text, []byte(`"owns_gil"`))
	}
	if !bytes.Contains(text, []byte("Python ")) || !bytes.Contains(text, []byte("Process ")) {
		return false // as nearly all files
	}
	process, python := false, false
	for line := range ingest.TerminalLines(text) {
		python = python || process && bytes.HasPrefix(line, []byte("Python v"))
		process = process || processLine.Match(line)
	}
	return process && python
}

// Read reads a dump. The rank and the local rank of a process are −1 where it does not tell them.
func Read(src io.Reader, name string, lim ingest.Limits) (*comms.Record, error) {
	c := &comms.Record{Sources: []comms.Source{{Name: name, Path: name, Kind: comms.SourcePySpy}}}
	d := dump{name: name}
	lim = lim.Scale(ingest.StoredSize(src))
	var head [1]byte
	n, err := io.ReadFull(src, head[:])
	src = io.MultiReader(bytes.NewReader(head[:n]), src)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	case head[0] == '[':
		err = d.json(src, lim)
	default:
		err = d.text(ingest.NewTerminalLines(src, name, lim))
	}
	if err != nil {
		return nil, err
	}
	idle := 0
	for i := range d.processes {
		p := &d.processes[i]
		stack := p.stack()
		if stack == nil {
			idle++
			continue
		}
		c.Processes = append(c.Processes, comms.Process{Rank: p.rank, LocalRank: p.local, Device: -1, PID: p.pid, Stack: stack})
	}
	if idle > 0 {
		c.Notes = append(c.Notes, input.Note{Kind: input.NoteRecorder, Text: fmt.Sprintf("%s: processes without a thread named %s are left out: %d", name, mainThread, idle)})
	}
	return c, nil
}

// Where a command line or the name of a process tells the rank, and the local rank. The ranks of nodes and of adapters are
// others: "--node_rank 1", "--lora_rank 8".
var (
	saysRank  = regexp.MustCompile(`(?:^|[ :])(?:--)?(?:(?:global|world)[-_])?rank[-_= ]?(\d{1,6})\b|[-_: ]TP(\d{1,6})\b`)
	saysLocal = regexp.MustCompile(`(?:^|[ :])(?:--)?local[-_]rank[-_= ]?(\d{1,6})\b`)
)

// rankIn returns the number that a command line tells in one of the groups of an expression, −1 where it does not.
func rankIn(command string, says *regexp.Regexp) int {
	m := says.FindStringSubmatch(command)
	if m == nil {
		return -1
	}
	n, _ := strconv.Atoi(strings.Join(m[1:], ""))
	return n
}

// process is one of a dump.
type process struct {
	pid         int64
	rank, local int // −1: not told
	threads     []threadStack
}

// processOf returns a process without threads, with what its command line says.
func processOf(pid int64, command string) process {
	return process{pid: pid, rank: rankIn(command, saysRank), local: rankIn(command, saysLocal)}
}

// variable takes a local variable that is a rank, the innermost of a process.
func (p *process) variable(line string) {
	m := localLine.FindStringSubmatch(line)
	if m == nil {
		return
	}
	at := &p.rank
	if m[1] != "" {
		at = &p.local
	}
	if *at < 0 {
		*at, _ = strconv.Atoi(m[2])
	}
}

// threadStack is where a thread is.
type threadStack struct {
	name   string
	frames []comms.Frame
}

// stack returns where a process is: the stack of its main thread, in a backward pass behind that of the autograd thread.
func (p *process) stack() []comms.Frame {
	main := slices.IndexFunc(p.threads, func(t threadStack) bool { return t.name == mainThread && len(t.frames) > 0 })
	if main < 0 {
		return nil
	}
	frames := p.threads[main].frames
	if !inBackward(frames) {
		return frames
	}
	var grad []comms.Frame
	for _, t := range p.threads {
		if t.name == "" && len(t.frames) > len(grad) {
			grad = t.frames
		}
	}
	return slices.Concat(grad, frames)
}

// inBackward reports whether a stack ends in PyTorch's backward pass, which another thread runs.
func inBackward(frames []comms.Frame) bool {
	return slices.ContainsFunc(frames[:min(len(frames), 4)], func(f comms.Frame) bool {
		return strings.Contains(f.File, "torch/autograd/")
	})
}

// dump is one that is read.
type dump struct {
	name      string
	processes []process
}

// mostProcesses bounds those of a dump.
const mostProcesses = 1 << 12

// text reads the lines of a dump.
func (d *dump) text(lines *ingest.Lines) error {
	var at *threadStack
	for {
		raw, err := lines.Next()
		if err == io.EOF {
			return d.requireStacks(lines.Pos())
		}
		if err != nil {
			return err
		}
		line := strings.TrimRight(string(raw), " \t")
		if m := processLine.FindStringSubmatch(line); m != nil {
			pid, err := strconv.ParseInt(m[1], 10, 64)
			if err != nil || len(d.processes) == mostProcesses {
				return input.At(lines.Pos(), input.Bad(input.ErrRange, "a process of number %.40s, or more than %d of them", m[1], mostProcesses))
			}
			d.processes, at = append(d.processes, processOf(pid, line[len(m[0]):])), nil
			continue
		}
		switch m := threadLine.FindStringSubmatch(line); {
		case len(d.processes) == 0:
		case m != nil:
			p := &d.processes[len(d.processes)-1]
			p.threads = append(p.threads, threadStack{name: m[2]})
			at = &p.threads[len(p.threads)-1]
		case at != nil && strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "     "):
			if err := at.frame(line); err != nil {
				return input.At(lines.Pos(), err)
			}
		case at != nil:
			d.processes[len(d.processes)-1].variable(line)
		}
	}
}

// frame adds a line of a stack.
func (t *threadStack) frame(line string) error {
	m := frameLine.FindStringSubmatch(line)
	if m == nil {
		return input.Bad(input.ErrFormat, "%.80q is no frame, expected FUNCTION (FILE:LINE): was the dump cut off? %s", strings.TrimSpace(line), again)
	}
	number := 0
	if m[3] != "" {
		var err error
		if number, err = strconv.Atoi(m[3]); err != nil {
			return input.Bad(input.ErrRange, "line %.40s of a file", m[3])
		}
	}
	return t.add(comms.Frame{Function: m[1], File: m[2], Line: number})
}

// add adds a frame. The addresses of native code without a name differ between processes.
func (t *threadStack) add(f comms.Frame) error {
	if len(t.frames) >= maxFrames {
		return input.Bad(input.ErrTooLarge, "a stack of more than %d frames", maxFrames)
	}
	if !strings.HasPrefix(f.Function, "0x") {
		t.frames = append(t.frames, f)
	}
	return nil
}

// requireStacks refuses a dump in which no process, or the last one, has the stack of a main thread.
func (d *dump) requireStacks(at input.Pos) error {
	if n := len(d.processes); n == 0 || d.processes[n-1].stack() == nil && !slices.ContainsFunc(d.processes, func(p process) bool { return p.stack() != nil }) {
		return input.At(at, input.Bad(input.ErrTruncated, "no stack of a thread named %q up to here: was the dump cut off? %s", mainThread, again))
	}
	return nil
}

// thread is one of a dump in JSON.
type thread struct {
	PID    int64  `json:"pid"`
	Name   string `json:"thread_name"`
	Frames []struct {
		Name  string `json:"name"`
		File  string `json:"filename"`
		Short string `json:"short_filename"`
		Line  int    `json:"line"`
	} `json:"frames"`
}

// json reads a dump of py-spy dump --json: a list of threads.
func (d *dump) json(src io.Reader, lim ingest.Limits) error {
	text, err := io.ReadAll(io.LimitReader(src, lim.Line+1))
	if err == nil && int64(len(text)) > lim.Line {
		err = input.At(input.Pos{File: d.name}, input.Bad(input.ErrTooLarge, "a dump of more than %d MiB", lim.Line>>20))
	}
	if err != nil {
		return err
	}
	var threads []thread
	if err := json.Unmarshal(text, &threads); err != nil {
		pos := input.Pos{File: d.name, Offset: int64(len(text))}
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			pos.Offset = syntax.Offset
		}
		return input.At(pos, input.Bad(input.ErrFormat, "no JSON of py-spy dump (%v): %s", err, again))
	}
	for _, t := range threads {
		i := slices.IndexFunc(d.processes, func(p process) bool { return p.pid == t.PID })
		if i < 0 {
			i = len(d.processes)
			d.processes = append(d.processes, processOf(t.PID, ""))
		}
		one := threadStack{name: t.Name}
		for _, f := range t.Frames {
			file := f.Short
			if file == "" {
				file = f.File
			}
			if err := one.add(comms.Frame{Function: f.Name, File: file, Line: max(0, f.Line)}); err != nil {
				return input.At(input.Pos{File: d.name}, err)
			}
		}
		d.processes[i].threads = append(d.processes[i].threads, one)
	}
	return d.requireStacks(input.Pos{File: d.name, Offset: int64(len(text))})
}
