package auto

import (
	"io"
	"os"
	"time"

	"github.com/sfstat/sfstat/ingest/flightrecorder"
	"github.com/sfstat/sfstat/ingest/telemetry"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/operator"
)

// wholeFile is a file that is one item.
type wholeFile struct {
	src  io.Closer
	read func() (Item, error) // nil: it was read
}

func (w *wholeFile) Next() (Item, error) {
	if w.read == nil {
		return Item{}, io.EOF
	}
	read := w.read
	w.read = nil
	return read()
}

func (w *wholeFile) Close() error { return w.src.Close() }

// written is when a file was written; the zero Time where it is no regular file.
func written(path string) time.Time {
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
		return info.ModTime()
	}
	return time.Time{}
}

func (r *Reader) openFlightRecorder(in *Input, src *metered) (itemReader, error) {
	r.dumps.Options = flightrecorder.Options{Limits: r.o.Limits, Rank: r.o.Rank}
	return &wholeFile{src, func() (Item, error) {
		c, err := r.dumps.Read(src, in.Path)
		if err != nil {
			return Item{}, err
		}
		if c.Processes[0].Rank < 0 {
			return Item{}, input.At(input.Pos{File: in.Path}, input.Bad(input.ErrMissing,
				"a Flight Recorder dump whose name does not tell its rank: name it fr_trace_RANK, or say where the rank stands with --rank-pattern"))
		}
		if at := written(in.Path); !at.IsZero() {
			c.Processes[0].Written = at.UnixNano()
		}
		return Item{Comm: c, Path: in.Path}, nil
	}}, nil
}

// monitoring is how files of a format of monitoring are opened.
func monitoring(f telemetry.Format) func(*Reader, *Input, *metered) {
	return opener(func(r *Reader, in *Input, src *metered) (itemReader, error) {
		o := telemetry.Options{Limits: r.o.Limits, Zone: r.o.Zone, Written: written(in.Path)}
		return &wholeFile{src, func() (Item, error) {
			got, err := telemetry.Read(src, in.Path, f, o)
			return Item{Telemetry: got, Path: in.Path}, err
		}}, nil
	})
}

// operatorFile is an operator trace, which is named by its file where it names no
// run.
func operatorFile(path string, src io.Closer, read func() (*operator.Trace, error)) *wholeFile {
	return &wholeFile{src, func() (Item, error) {
		t, err := read()
		if err != nil {
			return Item{}, err
		}
		unnamed := t.Run == ""
		if unnamed {
			t.Run = stem(path)
		}
		return Item{Ops: t, Path: path, Launched: t.Totals(), unnamed: unnamed}, nil
	}}
}
