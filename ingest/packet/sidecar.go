package packet

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/input"
)

// SidecarSchema is the value of the key "schema" in every line of a file that
// holds what tables of windows have no columns for: of each window and rank the
// fields epoch_ns, lines and arrivals of its packet, and the fields run, window,
// rank and first_step by which they are found.
const SidecarSchema = "sfstat.arrivals/1"

// sidecarRequired are the fields that every such line has.
const sidecarRequired = 1<<fieldSchema | 1<<fieldRun | 1<<fieldWindow | 1<<fieldRank | 1<<fieldFirstStep

// SidecarPath returns the file, compressed by zstd, beside the table of windows at path.
func SidecarPath(path string) string { return path + SidecarSuffix }

// SidecarSuffix ends the names of sidecars: files beside tables of windows.
const SidecarSuffix = ".arrivals.jsonl.zst"

// NeedsSidecar reports whether a window has epochs or arrivals. Archives have a column for
// epochs.
func NeedsSidecar(w *trace.Window) bool {
	return len(w.Arrivals) > 0 || slices.ContainsFunc(w.Epochs, func(e int64) bool { return e != 0 })
}

// SidecarWriter writes epochs and arrivals of windows, a line for each rank that
// has any.
type SidecarWriter struct {
	w   io.Writer
	buf []byte
}

// NewSidecarWriter writes to w, one Write per line.
func NewSidecarWriter(w io.Writer) *SidecarWriter { return &SidecarWriter{w: w} }

// Write writes the lines of a window, which the table must hold too, in the same
// order.
func (b *SidecarWriter) Write(w *trace.Window) error {
	if err := w.Storable(); err != nil {
		return err
	}
	for r := range w.Ranks {
		p := &trace.Part{Schema: w.Schema, Epoch: w.EpochOf(r), Arrivals: w.ArrivalsOf(r)}
		if p.Epoch == 0 && p.Arrivals == nil {
			continue
		}
		b.buf = append(b.buf[:0], `{"schema":"`+SidecarSchema+`","run":`...)
		b.buf = number(quote(b.buf, w.Run), `,"window":`, w.Index)
		b.buf = number(b.buf, `,"rank":`, int64(w.Ranks[r].ID))
		b.buf = number(b.buf, `,"first_step":`, w.FirstStep)
		b.buf = append(appendArrivals(b.buf, p), '}', '\n')
		if _, err := b.w.Write(b.buf); err != nil {
			return err
		}
	}
	return nil
}

// JoinSidecar returns the windows of a table with their epochs and arrivals, which
// are read from r alongside; file names that in errors. Lines without a window in
// the table are an error at its end. Closing closes r too, if it is an io.Closer.
func JoinSidecar(windows ingest.WindowReader, r io.Reader, file string, lim ingest.Limits) ingest.WindowReader {
	return &sidecar{windows: windows, r: r, lines: ingest.NewLines(r, file, lim, nil)}
}

// sidecar reads lines and windows in step. It holds one line.
type sidecar struct {
	windows ingest.WindowReader
	r       io.Reader
	lines   *ingest.Lines
	dec     decoder
	line    trace.Part // that waits for its window
	held    bool
	dated   bool // the table has the epochs of the window itself
}

func (b *sidecar) Next() (*trace.Window, error) {
	w, err := b.windows.Next()
	if err != nil && err != io.EOF {
		return nil, err
	}
	b.dated = err == nil && w.Epochs != nil
	for {
		if ending := b.hold(); ending == io.EOF {
			return w, err
		} else if ending != nil {
			return nil, ending
		}
		if err == io.EOF {
			return nil, input.At(b.lines.Pos(), input.Bad(input.ErrMissing,
				"epochs or arrivals of window %d of run %q from step %d, which the table beside does not have, or not in this order: convert both again, or remove this file",
				b.line.Index, b.line.Run, b.line.FirstStep))
		}
		if b.line.Run != w.Run || b.line.Index != w.Index || b.line.FirstStep != w.FirstStep {
			return w, nil
		}
		if err := b.place(w); err != nil {
			return nil, input.At(b.lines.Pos(), err)
		}
	}
}

// hold reads the next line that is not blank, unless one waits.
func (b *sidecar) hold() error {
	for !b.held {
		text, err := b.lines.Next()
		if err != nil {
			return err
		}
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		if k := b.dec.decodeSidecar(text, &b.line); k != nil {
			at := b.lines.Pos()
			at.Inside = k.placeInLine()
			return input.At(at, k.err)
		}
		b.held = true
	}
	return nil
}

// place gives the line that waits to its window.
func (b *sidecar) place(w *trace.Window) error {
	r := slices.IndexFunc(w.Ranks, func(have trace.Rank) bool { return have.ID == b.line.Rank.ID })
	if r < 0 {
		return input.Bad(input.ErrMissing, "rank %d, which window %d of run %q does not have", b.line.Rank.ID, w.Index, w.Run)
	}
	if !b.dated && w.EpochOf(r) != 0 || w.ArrivalsOf(r) != nil {
		return input.Bad(input.ErrDuplicate, "rank %d of window %d of run %q a second time", b.line.Rank.ID, w.Index, w.Run)
	}
	if n := len(w.Arrivals); n > 0 && w.Arrivals[n-1].Processes[0].Rank > b.line.Rank.ID {
		return input.Bad(input.ErrFormat, "rank %d behind rank %d: ranks must ascend", b.line.Rank.ID, w.Arrivals[n-1].Processes[0].Rank)
	}
	if b.line.Epoch != 0 {
		if w.Epochs == nil {
			w.Epochs = make([]int64, len(w.Ranks))
		}
		w.Epochs[r] = b.line.Epoch
	}
	b.held = false
	if b.dec.seen&(1<<fieldArrivals) == 0 {
		return nil
	}
	b.line.Rank, b.line.Schema = w.Ranks[r], w.Schema
	c, err := b.dec.arrived.comm(&b.line)
	if err == nil {
		w.Arrivals = append(w.Arrivals, c)
	}
	return err
}

func (b *sidecar) Close() error {
	err := b.windows.Close()
	if c, ok := b.r.(io.Closer); ok {
		err = errors.Join(err, c.Close())
	}
	return err
}

// decodeSidecar reads a line into p, of which it sets what stands there, and into
// d.arrived.
func (d *decoder) decodeSidecar(line []byte, p *trace.Part) *keyError {
	d.reads = SidecarSchema
	d.begin(line, p)
	f := d.packet(p)
	if f == nil {
		f = d.complete(sidecarRequired)
	}
	return d.placeFault(f)
}
