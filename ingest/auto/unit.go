package auto

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/sfstat/sfstat/archive"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/csv"
	"github.com/sfstat/sfstat/internal/bug"
	"github.com/sfstat/sfstat/trace/input"
)

// look opens a candidate and finds out what it is. The source is nil when the
// input is not to be read, being refused with an error or skipped, and where it is the
// archive that is kept.
func (r *Reader) look(c candidate, in *Input) (_ *metered, err error) {
	var src *ingest.Source
	defer func() {
		if err != nil && src != nil {
			src.Close()
		}
	}()
	defer bug.Contain(c.path, &err)
	if c.err != nil {
		return nil, c.err
	}
	ours := c.named || meant(c.path)
	if r.keep(c.path, in) && in.Format.gives(r.o.Want) {
		return nil, nil
	}
	if src, err = r.source(c.path); err == nil {
		in.Bytes, in.Compression = src.Size(), src.Compression()
		in.Format, err = identify(src, r.o.Want)
		if ours && in.Format == Text {
			if in.Format = nearly(src); in.Format != Text {
				err = nil
			}
		}
		piped := in.Format == Archive && in.Bytes == ingest.UnknownSize // its columns are seen later
		if err == nil && in.Format == Archive && !piped {
			if in.Format, err = r.columnarAt(c.path); ours && in.Format == Archive {
				err = nil // it comes again where the file is read
			}
		}
		if in.Format == UTF16 { // one of ours is not passed over in a folder
			head, _ := src.Peek(sniffed)
			ours = ours || sniff(narrow(head)).Readable()
		}
		if in.Format.operators() {
			r.claim(in.Path)
			ours = true
		}
		if err == nil && !piped && !in.Format.gives(r.o.Want) {
			ours = c.named || r.o.Want != Communication && (ours || in.Format.row().gives != calls && in.Format.row().gives != readings)
			err = input.At(input.Pos{File: c.path}, in.Format.refusal(r.o.Want))
		}
		if err == nil {
			return r.meter.watch(src), nil
		}
		src.Close()
	}
	if kind := notOurs(in.Format, err); !ours && kind != nil {
		if in.Skipped = in.Format.row().noun; in.Skipped == "" || in.Format.gives(r.o.Want) {
			text := strings.TrimPrefix(err.Error(), c.path+": ")
			in.Skipped = strings.TrimSuffix(text, " ("+kind.Error()+")")
		}
		return nil, nil
	}
	return nil, err
}

// kept is an archive that was opened to see what it is. The first of the inputs is, and
// stays open until its turn comes: its footer is read once.
type kept struct {
	path string
	*archive.Reader
}

// keep opens the first file whose name says that it may be an archive, if it is one.
func (r *Reader) keep(path string, in *Input) bool {
	if r.kept != nil || !strings.HasSuffix(path, ".parquet") {
		return false
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	a, err := archive.Open(path, r.o.Limits)
	if err != nil {
		return false
	}
	r.kept = &kept{path, a}
	in.Format, in.Bytes = Archive, info.Size()
	return true
}

// notOurs is the kind of an error for which a file of a folder is passed over as
// something else; nil: it is damaged. Whose a Parquet file is stands in its footer, so
// one whose footer cannot be read is damaged.
func notOurs(as Format, err error) error {
	kinds := []error{archive.ErrNotArchive, input.ErrEmpty, input.ErrFormat}
	if as == Archive {
		kinds = kinds[:2]
	}
	for _, kind := range kinds {
		if errors.Is(err, kind) {
			return kind
		}
	}
	return nil
}

// tables is how wide tables are read.
func (r *Reader) tables() csv.Options {
	return csv.Options{Limits: r.o.Limits, Unit: r.o.Unit, Ahead: r.o.Threads > 1}
}

func (r *Reader) source(path string) (*ingest.Source, error) {
	if path == ingest.Stdin {
		return ingest.NewSource(r.o.Stdin, path, r.o.Limits)
	}
	return ingest.Open(path, r.o.Limits)
}

// identify tells what src is by how it begins; the error says why it cannot be read.
func identify(src *ingest.Source, want Wanted) (Format, error) {
	head, err := src.Peek(sniffed)
	if err != nil && err != io.EOF && (len(head) == 0 || !errors.Is(err, input.ErrTruncated)) {
		return Unknown, err
	}
	f := sniff(head)
	switch {
	case len(head) < sniffed:
	case f == JSON: // long metadata may come first
		head, _ = src.Peek(sniffedFar)
		f = sniff(head)
	case f == Text && wants[want].contents&calls != 0: // launchers and programs may write before NCCL does
		if far, _ := src.Peek(sniffedFar); isLog(beginning{all: far, text: far}) {
			f = NCCLLog
		}
	}
	switch {
	case f == JSON && bytes.TrimLeft(head, " \t\r\n")[0] == '{' && meant(src.Name()): // packets that are broken at their beginning
		return Packets, nil
	case f == Archive && src.Compression() != ingest.Plain:
		return f, input.At(input.Pos{File: src.Name()}, input.Bad(input.ErrFormat,
			"a Parquet file inside %s: unpack it first, Parquet is compressed by itself", src.Compression()))
	case f == SQLite:
		return f, export(src)
	case !f.Readable():
		return f, input.At(input.Pos{File: src.Name()}, f.refusal(want))
	}
	return f, nil
}

// nearly is the format of text that was meant to be packets, and comes after log
// lines, or a table of windows without one of its columns: their readers say best
// what is wrong. Text: neither.
func nearly(src *ingest.Source) Format {
	head, _ := src.Peek(sniffed)
	text := bytes.TrimLeft(head, " \t\r\n")
	switch {
	case hasAny(text, packetMark):
		return Packets
	case withColumns(csv.Nearly)(beginning{text: text}):
		return WideCSV
	}
	return Text
}

// unit is what is read in one go: all packets, or one file. It is opened when
// its turn comes.
type unit struct {
	input  *Input // nil for packets
	size   int64  // of its inputs, as far as it is known
	reader itemReader
	source *metered // until it is opened
	open   func(src *metered) (itemReader, error)
}

// opener is how files of a format are opened that are read one by one, each
// when its turn comes. A file that can be opened again is, so that not all are open at once.
func opener(open func(r *Reader, in *Input, src *metered) (itemReader, error)) func(*Reader, *Input, *metered) {
	return func(r *Reader, in *Input, src *metered) {
		u := &unit{input: in, source: src, size: r.meter.expect(in.Bytes)}
		again := in.Bytes != ingest.UnknownSize
		if again && src != nil {
			src.Close()
			u.source = nil
		}
		u.open = func(src *metered) (itemReader, error) {
			if again && in.Format != Archive && in.Format != WideParquet { // which are read from their end
				s, err := r.source(in.Path)
				if err != nil {
					return nil, err
				}
				src = r.meter.watch(s)
			}
			u.source = src // which is closed if what follows panics
			return open(r, in, src)
		}
		r.units = append(r.units, u)
	}
}

func (u *unit) next() (Item, error) {
	if u.reader == nil {
		src := u.source
		u.source = nil
		var err error
		if u.reader, err = u.open(src); err != nil {
			u.reader = nil
			return Item{}, err
		}
	}
	return u.reader.Next()
}

// name is what a bug in reading the unit is said of: its file, or the first of several, or their folder.
func (u *unit) name() string {
	switch x := u.reader.(type) {
	case *profiles:
		return x.folder
	case *nsightRun:
		if len(x.inputs) == 1 {
			return x.inputs[0].Path
		}
		return "run " + x.name
	case *callJobs:
		return x.r.paths[0]
	case windowItems:
		return cmp.Or(x.path, x.first)
	}
	if u.input == nil {
		return ""
	}
	return u.input.Path
}

// turn is when a unit is read: what names no run of its own comes behind what may.
func (u *unit) turn() int {
	switch u.reader.(type) {
	case *profiles, *nsightRun:
		return 1
	}
	if u.input == nil {
		return 0
	}
	switch u.input.Format.row().gives {
	case operators:
		return 2
	case entries:
		return 3
	}
	return 0
}

// at is where an item was read.
func (u *unit) at(item Item) string {
	w, ok := u.reader.(windowItems)
	if !ok || item.Path != "" {
		return item.Path
	}
	run := item.Window.Run
	if w.label != "" {
		run = strings.TrimPrefix(run, w.label+"/")
	}
	return cmp.Or(w.begins[run], w.first)
}

// count adds up what was handed out of an input; packets do it themselves.
func (u *unit) count(item Item) {
	switch {
	case u.input == nil:
	case item.Ops != nil:
		u.input.Ops += item.Ops.Len()
	case item.Window == nil: // device times, calls, or readings
	default:
		u.input.Windows++
	}
}

func (u *unit) close() (err error) {
	defer bug.Contain(u.name(), &err)
	switch {
	case u.reader != nil:
		return u.reader.Close()
	case u.source != nil:
		return u.source.Close()
	}
	return nil
}

// itemReader yields the items of one unit, then io.EOF.
type itemReader interface {
	Next() (Item, error)
	Close() error
}

// windowItems are the windows of a reader as items.
type windowItems struct {
	r     ingest.WindowReader
	path  string
	label string // tells its runs from others of the same name, "" where nothing has to
	first string // of several files
	// begins is the first of these that begins with a packet of each run.
	begins map[string]string
}

func (w windowItems) Next() (Item, error) {
	window, err := w.r.Next()
	if err != nil {
		return Item{}, err
	}
	if w.label != "" {
		window.Run = w.label + "/" + window.Run
	}
	return Item{Window: window, Path: w.path}, nil
}

func (w windowItems) Close() error { return w.r.Close() }

func (r *Reader) openCSV(in *Input, src *metered) (itemReader, error) {
	c, err := csv.NewReader(src, src.Name(), r.tables())
	if err != nil {
		src.Close()
		return nil, err
	}
	return r.tableItems(c, src, in.Path)
}

// withSource closes the source of a reader with it.
type withSource struct {
	ingest.WindowReader
	src io.Closer
}

func (w withSource) Close() error { return errors.Join(w.WindowReader.Close(), w.src.Close()) }
