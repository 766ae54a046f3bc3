// Package pyspy reads what py-spy dump prints of one process, as text or as JSON: where each of its
// threads is. Of these it keeps the main thread's stack, which shows what a rank does while a job hangs.
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
// names neither the rank nor the time; a file holds one process, and further ones are left out with a note.
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
	threadLine  = regexp.MustCompile(`^Thread (\S+) \([a-z+]+\)(?:: "(.*)")?$`)
	frameLine   = regexp.MustCompile(`^    (\S.*) \(([^()]*?)(?::(\d+))?\)$`)
	colour      = regexp.MustCompile("\x1b\\[[0-9;]*m")
)

// Recognise reports whether text, the beginning of a file, is a dump.
func Recognise(text []byte) bool {
	if bytes.HasPrefix(text, []byte("[")) {
		return bytes.Contains(text, []byte(`"os_thread_id"`)) && bytes.Contains(text, []byte(`"owns_gil"`))
	}
	if !bytes.Contains(text, []byte("Python ")) || !bytes.Contains(text, []byte("Process ")) {
		return false // as nearly all files
	}
	text = colour.ReplaceAll(text, nil)
	for line := range bytes.Lines(text) {
		if processLine.Match(line) {
			return bytes.Contains(text, []byte("\nPython v"))
		}
	}
	return false
}

// Read reads one dump, whose process has the rank −1: the name of the file may tell it.
func Read(src io.Reader, name string, lim ingest.Limits) (*comms.Record, error) {
	c := &comms.Record{Sources: []comms.Source{{Name: name, Path: name, Kind: comms.SourcePySpy}},
		Processes: []comms.Process{{Rank: -1, LocalRank: -1, Device: -1}}}
	d := dump{name: name, of: &c.Processes[0]}
	lim = lim.OrDefault()
	var head [1]byte
	n, err := io.ReadFull(src, head[:])
	src = io.MultiReader(bytes.NewReader(head[:n]), src)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	case head[0] == '[':
		err = d.json(src, lim)
	default:
		err = d.text(ingest.NewLines(src, name, lim, nil))
	}
	if err != nil {
		return nil, err
	}
	if d.others > 0 {
		c.Notes = append(c.Notes, input.Note{Kind: input.NoteRecorder, Text: fmt.Sprintf("%s: the stacks of %d further processes are left out: write one file for each rank", name, d.others)})
	}
	return c, nil
}

// dump is one that is read.
type dump struct {
	name   string
	of     *comms.Process
	others int // processes behind the first
}

// text reads the lines of a dump.
func (d *dump) text(lines *ingest.Lines) error {
	inMain := false
	for {
		raw, err := lines.Next()
		if err == io.EOF {
			return d.whole(lines.Pos())
		}
		if err != nil {
			return err
		}
		line := strings.TrimRight(string(colour.ReplaceAll(raw, nil)), " \t")
		if m := processLine.FindStringSubmatch(line); m != nil {
			if d.of.PID != 0 {
				d.others++
			} else if d.of.PID, err = strconv.ParseInt(m[1], 10, 64); err != nil {
				return input.At(lines.Pos(), input.Bad(input.ErrRange, "a process of number %.40s", m[1]))
			}
			inMain = false
			continue
		}
		switch m := threadLine.FindStringSubmatch(line); {
		case d.of.PID == 0 || d.others > 0:
		case m != nil:
			inMain = m[2] == mainThread && d.of.Stack == nil
		case inMain && strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "     "):
			if err := d.frame(line); err != nil {
				return input.At(lines.Pos(), err)
			}
		}
	}
}

// frame adds a line of the main thread's stack.
func (d *dump) frame(line string) error {
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
	return d.add(comms.Frame{Function: m[1], File: m[2], Line: number})
}

// add adds a frame. The addresses of native code without a name differ between processes.
func (d *dump) add(f comms.Frame) error {
	if len(d.of.Stack) >= maxFrames {
		return input.Bad(input.ErrTooLarge, "a stack of more than %d frames", maxFrames)
	}
	if !strings.HasPrefix(f.Function, "0x") {
		d.of.Stack = append(d.of.Stack, f)
	}
	return nil
}

// whole refuses a dump without the stack of a main thread.
func (d *dump) whole(at input.Pos) error {
	if len(d.of.Stack) == 0 {
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
		switch {
		case d.of.PID == 0:
			d.of.PID = t.PID
		case t.PID != d.of.PID:
			d.others++
			continue
		}
		if t.Name != mainThread || d.of.Stack != nil {
			continue
		}
		for _, f := range t.Frames {
			file := f.Short
			if file == "" {
				file = f.File
			}
			if err := d.add(comms.Frame{Function: f.Name, File: file, Line: max(0, f.Line)}); err != nil {
				return input.At(input.Pos{File: d.name}, err)
			}
		}
	}
	return d.whole(input.Pos{File: d.name, Offset: int64(len(text))})
}
