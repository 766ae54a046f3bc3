package kineto

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/sfstat/sfstat/trace/input"
)

// eventCount is how many events had something, and where the first was.
type eventCount struct {
	n     int64
	first input.Pos
}

func (c *eventCount) add(at input.Pos) {
	if c.n++; c.n == 1 {
		c.first = at
	}
}

// tell turns what was counted into notes.
func (d *reader) tell() {
	if d.cut {
		d.note(input.NoteTruncated, "the trace ends in the middle, behind its event %d: what came before is used", d.events)
	}
	for _, c := range []struct {
		eventCount
		what string
	}{
		{d.damaged, "could not be read and were left out"},
		{d.large, fmt.Sprintf("are larger than %d MiB and were left out", maxEvent>>20)},
		{d.untimed, "have no time that can be read and were left out"},
		{d.negative, "end before they begin and count as having no length"},
		{d.endless, "have no duration and count as having no length"},
	} {
		if c.n > 0 {
			d.note(input.NoteRecorder, "events that %s: %d, the first at byte %d", c.what, c.n, c.first.Offset)
		}
	}
	if d.open > 0 {
		d.note(input.NoteRecorder, "ranges that began and never ended, and were left out: %d", d.open)
	}
	if len(d.unknown) > 0 {
		d.note(input.NoteRecorder, "events of categories that are not known here, and were left out: %s", d.unknown)
	}
	if len(d.stepping) > 1 {
		d.note(input.NoteRecorder, "more than one process marks steps: only those of the thread that has most of them count; give each rank a file of its own")
	}
}

func (d *reader) note(kind input.NoteKind, format string, args ...any) {
	d.b.Note(kind, format, args...)
}

// checkTrailingBytes reads on behind the end of the document. What is there is no part of
// the trace; but an input that breaks off there, such as a compressed one
// without its check sum, may have lost or changed anything before.
func (d *reader) checkTrailingBytes() {
	if d.cut {
		return
	}
	if d.s.peek() != 0 {
		from := d.s.pos().Offset
		for d.s.i = len(d.s.buf); d.s.fill(); d.s.i = len(d.s.buf) {
		}
		d.note(input.NoteRecorder, "what follows the end of the trace is not read: %d bytes, from byte %d", d.s.pos().Offset-from, from)
	}
	cut, err := d.s.endCause()
	switch {
	case err != nil:
		d.note(input.NoteTruncated, "the input cannot be read behind the end of the trace, so that something in it may be damaged as well: %v", cause(err))
	case cut && errors.Is(d.s.err, input.ErrTruncated):
		d.note(input.NoteTruncated, "the input ends too early, behind the end of the trace: %v", cause(d.s.err))
	}
}

// cause returns an error without its position, which the note's file has.
func cause(err error) error {
	var placed *input.Error
	if errors.As(err, &placed) {
		return placed.Err
	}
	return err
}

// strangers are the categories of timed events that are not known, with how
// often they were met.
type strangers map[string]int64

// mostStrangers is how many are told apart.
const mostStrangers = 8

// meet counts a category, unless it is one that means nothing here.
func (s *strangers) meet(category []byte) {
	if familiar(category) {
		return
	}
	name := string(category[:min(len(category), 40)])
	if *s == nil {
		*s = make(strangers)
	}
	if _, known := (*s)[name]; !known && len(*s) >= mostStrangers {
		name = "others"
	}
	(*s)[name]++
}

// String lists them, the most frequent first.
func (s strangers) String() string {
	names := slices.SortedFunc(maps.Keys(s), func(a, b string) int { return cmp.Or(cmp.Compare(s[b], s[a]), cmp.Compare(a, b)) })
	for i, name := range names {
		names[i] = fmt.Sprintf("%d of %s", s[name], strings.Map(printable, name))
	}
	return strings.Join(names, ", ")
}

func printable(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return '?'
}

// idle are the categories of libkineto (ActivityType.h) that neither run on a
// device nor mark a step, and those that the exporter adds.
var idle = []string{"python_function", "gpu_user_annotation", "overhead", "cpu_instant_event", "external_correlation", "cuda_event",
	"mtia_insight", "mtia_counters", "gpu_pm_counter", "xpu_scope_profiler", "Trace", "ac2g", "fwdbwd"}

func familiar(category []byte) bool {
	for _, ending := range []string{"_sync", "_user_annotation", "_profiler_range"} {
		if bytes.HasSuffix(category, []byte(ending)) {
			return true
		}
	}
	return slices.Contains(idle, string(category))
}

// processes are the processes that mark steps, two of them at most.
type processes []int64

func (p *processes) add(pid []byte) {
	if len(*p) < 2 && len(pid) > 0 && !slices.Contains(*p, number(pid)) {
		*p = append(*p, number(pid))
	}
}
