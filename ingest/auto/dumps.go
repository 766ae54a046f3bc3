package auto

import (
	"io"
	"os"

	"github.com/sfstat/sfstat/ingest/flightrecorder"
	"github.com/sfstat/sfstat/trace/input"
)

// dumpItems is a Flight Recorder dump as an item.
type dumpItems struct {
	path   string
	src    *metered
	reader *flightrecorder.Reader
	read   bool
}

func (r *Reader) openFlightRecorder(in *Input, src *metered) (itemReader, error) {
	r.dumps.Options = flightrecorder.Options{Limits: r.o.Limits, Rank: r.o.Rank}
	return &dumpItems{path: in.Path, src: src, reader: &r.dumps}, nil
}

func (d *dumpItems) Next() (Item, error) {
	if d.read {
		return Item{}, io.EOF
	}
	d.read = true
	c, err := d.reader.Read(d.src, d.path)
	if err != nil {
		return Item{}, err
	}
	if c.Processes[0].Rank < 0 {
		return Item{}, input.At(input.Pos{File: d.path}, input.Bad(input.ErrMissing,
			"a Flight Recorder dump whose name does not tell its rank: name it fr_trace_RANK, or say where the rank stands with --rank-pattern"))
	}
	if info, err := os.Stat(d.path); err == nil && info.Mode().IsRegular() {
		c.Processes[0].Written = info.ModTime().UnixNano()
	}
	return Item{Comm: c, Path: d.path}, nil
}

func (d *dumpItems) Close() error { return d.src.Close() }
