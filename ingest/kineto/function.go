package kineto

import (
	"bytes"

	"github.com/sfstat/sfstat/ingest/profiler"
)

// function takes a call of a Python function that takes long enough to matter.
func (d *reader) function(e *event) {
	if e.dur < profiler.ShortestFunction {
		return
	}
	if name := appendFunction(d.called[:0], e.name, e.args); len(name) > 0 {
		d.called = name
		d.b.Function(d.b.Name(name), number(e.tid), e.ts, e.ts+e.dur)
	}
}

// appendFunction appends what a function is called here: its name and where it
// stands, "forward at model.py:12". A built-in function stands where it was called
// ("sleep at train.py:40"); where the profiler does not say that, as older ones do
// not, it has no name, and its time is its caller's.
func appendFunction(dst, name, args []byte) []byte {
	for _, kind := range [...]string{"<built-in method ", "<built-in function "} {
		if rest, ok := bytes.CutPrefix(name, []byte(kind)); ok {
			short, _, _ := bytes.Cut(bytes.TrimSuffix(rest, []byte(">")), []byte(" of "))
			from := calledFrom(args)
			if len(short) == 0 || len(from) == 0 {
				return dst
			}
			dst = append(append(dst, short...), " at "...)
			return append(dst, from...)
		}
	}
	if file, rest, ok := bytes.Cut(name, []byte("): ")); ok {
		if at := bytes.LastIndexByte(file, '('); at > 0 && len(rest) > 0 {
			dst = append(append(dst, rest...), " at "...)
			dst = append(append(dst, file[:at]...), ':')
			return append(dst, file[at+1:]...)
		}
	}
	return append(dst, name...)
}

// calledFrom returns the line that called a function, nil: not known.
func calledFrom(args []byte) []byte {
	_, rest, ok := bytes.Cut(args, []byte(`"CallFrom":`))
	if !ok {
		return nil
	}
	rest = rest[skipSpace(rest, 0):]
	if len(rest) == 0 || rest[0] != '"' {
		return nil
	}
	if n, st := valueEnd(rest); st == whole {
		return text(rest[:n])
	}
	return nil
}
