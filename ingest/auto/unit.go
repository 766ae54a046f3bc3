package auto

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/sfstat/sfstat/archive"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/csv"
	"github.com/sfstat/sfstat/ingest/detectors"
	"github.com/sfstat/sfstat/ingest/packet"
	"github.com/sfstat/sfstat/internal/bug"
	"github.com/sfstat/sfstat/trace/input"
)

// look opens a candidate and finds out what it is. The source is nil when the
// input is not to be read, being refused with an error or skipped.
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
	ours := c.named || isNamedAsPackets(c.path)
	if src, err = r.source(c.path); err == nil {
		in.Bytes, in.Compression = src.Size(), src.Compression()
		in.Format, err = identify(src, r.o.Kinds)
		if in.Format == TrainLog && isOfRank(c.path) && r.hasOtherParts(src) {
			in.Format = JSONTable
		}
		if in.Format == Text {
			as := nearly(src)
			if in.table = as == WideCSV; ours {
				if in.Format = as; as != Text {
					err = nil
				}
			}
		}
		if r.o.Kinds != Calls && (in.Format == Text || in.Format == NCCLLog || in.Format == TrainLog && !c.named && r.isScarce(src)) {
			if found, near := r.lookThrough(src, c.named); found != Unknown {
				in.Format, err = found, nil
			} else if head, _ := src.Peek(sniffed); in.Format == TrainLog && detectors.Recognise(head) {
				in.Format, err = ToolReports, nil
			} else if in.Format != NCCLLog {
				in.Format = Text
				err = input.At(input.Pos{File: c.path}, near)
			}
		}
		if in.Format == NCCLLog && !r.o.Kinds.has(Calls) && r.o.Kinds.has(Entries) && c.named {
			in.Format, err = NCCLMembers, nil
		}
		if in.Format == JSON && r.o.Kinds != Calls {
			head, _ := src.Peek(sniffedFar)
			err = input.At(input.Pos{File: c.path}, unreadJSON(head))
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
		if err == nil && !piped && !in.Format.gives(r.o.Kinds) {
			ours = c.named || r.o.Kinds != Calls && (ours || in.Format.row().gives != Calls && in.Format.row().gives != Readings)
			err = input.At(input.Pos{File: c.path}, in.Format.refusal(r.o.Kinds))
		}
		if err == nil {
			return &metered{Source: src, m: &r.meter}, nil
		}
		src.Close()
	}
	if !ours {
		ours, err = r.isLostRecording(in, err)
	}
	if kind := foreignError(in.Format, err); !ours && kind != nil {
		why := strings.TrimSuffix(strings.TrimPrefix(err.Error(), c.path+": "), " ("+kind.Error()+")")
		if in.Skipped = in.Format.row().noun; in.Skipped == "" || in.Format.gives(r.o.Kinds) {
			in.Skipped = why
		} else if in.Format == Text && !strings.HasPrefix(why, plainText) {
			in.nearly = why
		}
		return nil, nil
	}
	return nil, err
}

// foreignError returns the kind of an error for which a file of a folder is passed over as foreign; nil: it is damaged. The owner of
// a Parquet file is in its footer, so a file with an unreadable footer is damaged.
func foreignError(as Format, err error) error {
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

// tables returns how wide tables are read.
func (r *Reader) tables() csv.Options {
	return csv.Options{Limits: r.o.Limits, Unit: r.o.Unit, Ahead: r.o.Threads > 1}
}

func (r *Reader) source(path string) (*ingest.Source, error) {
	if path == ingest.Stdin {
		return ingest.NewSource(r.o.Stdin, path, r.o.Limits)
	}
	return ingest.OpenOn(r.o.Disk, path, r.o.Limits)
}

// identify returns the format of src by its beginning; the error says why it cannot be read.
func identify(src *ingest.Source, taken Kinds) (Format, error) {
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
	case f == Text && taken.has(Calls): // launchers and programs may write before NCCL does
		if far, _ := src.Peek(sniffedFar); isLog(beginning{all: far, text: far}) {
			f = NCCLLog
		}
	}
	switch {
	case f == JSON && csv.Nearly(csv.ColumnsOfJSON(bytes.TrimLeft(head, " \t\r\n"))) && isOfRank(src.Name()): // a table whose name says the rank
		return JSONTable, nil
	case f == JSON && bytes.TrimLeft(head, " \t\r\n")[0] == '{' && isNamedAsPackets(src.Name()): // packets that are broken at their beginning
		return Packets, nil
	case f == Archive && src.Compression() != ingest.Plain:
		return f, input.At(input.Pos{File: src.Name()}, input.Bad(input.ErrFormat,
			"a Parquet file inside %s: unpack it first, Parquet is compressed by itself", src.Compression()))
	case f == SQLite:
		return f, sqlite(src)
	case !f.Readable():
		return f, input.At(input.Pos{File: src.Name()}, f.refusal(taken))
	}
	return f, nil
}

// nearly returns the format of text that was meant to be packets, and comes after log lines, or of a table of windows that
// lacks a column: their readers name the fault best. Text: neither.
func nearly(src *ingest.Source) Format {
	head, _ := src.Peek(sniffed)
	text := bytes.TrimLeft(head, " \t\r\n")
	switch {
	case hasAny(text, packetMark):
		return Packets
	case hasColumns(csv.Nearly)(beginning{text: text}):
		return WideCSV
	}
	return Text
}

// unit is inputs that are read in one go, when their turn comes.
type unit struct {
	*row
	r      *Reader
	inputs []*Input
	group  packetGroup   // of packets
	shares [][]csv.Share // files of each table, of those that follow one another; of one that does not say its rank
	run    string        // of these
	world  int           // ranks of the run at least; 0: as many as are there
	// onHosts are the ranks of logs that lie in folders of hosts.
	onHosts map[*Input]rankOnHost
	folder  string // of inputs that are read together
	where   string // what a bug in reading it is said of
	size    int64  // of its inputs, as far as it is known
	next    func() (part, error, bool)
	stop    func() // nil: it was not begun
}

// unitOf returns the unit of inputs of a format that share something.
func (r *Reader) unitOf(row *row, shared string) *unit {
	if row.together != nil && shared != ingest.Stdin {
		if i := slices.IndexFunc(r.units, func(u *unit) bool {
			return u.row == row && u.folder == shared || row.profile != nil && u.profile != nil && u.folder == shared
		}); i >= 0 {
			return r.units[i]
		}
	}
	u := &unit{row: row, r: r, folder: shared, where: shared}
	r.units = append(r.units, u)
	return u
}

// take returns the next part of the unit, io.EOF after the last.
func (u *unit) take() (part, error) {
	if u.stop == nil {
		u.next, u.stop = iter.Pull2(u.parts)
	}
	p, err, ok := u.next()
	if !ok {
		return part{}, io.EOF
	}
	return p, err
}

// parts yields those of the unit. An error, which may be a panic of its reader, is the last.
func (u *unit) parts(yield func(part, error) bool) {
	err := func() (err error) {
		defer bug.Contain(u.name(), &err)
		return u.read(u, func(p part) bool { return yield(p, nil) })
	}()
	if err != nil {
		yield(part{}, err)
	}
}

// count counts a part for the inputs that it is made of.
func (u *unit) count(p part) {
	for _, in := range u.inputs {
		n, ok := p.of[in.Path]
		if in.Skipped != "" || p.of != nil && !ok {
			continue
		}
		in.Windows += len(p.Windows) + len(p.Profiled)
		if p.Operators != nil && p.of == nil {
			n = p.Operators.Len()
		}
		in.Ops += n
	}
}

// name returns the name of the unit in the report of a bug.
func (u *unit) name() string {
	if len(u.inputs) == 1 {
		return u.inputs[0].Path
	}
	return u.where
}

// close ends the reading of the unit.
func (u *unit) close() {
	if u.stop != nil {
		u.stop()
	}
}

// open opens an input, again unless it comes through a pipe.
func (r *Reader) open(in *Input) (*metered, error) {
	if src := r.piped[in]; src != nil {
		return src, nil
	}
	src, err := r.source(in.Path)
	if err != nil {
		return nil, err
	}
	return &metered{Source: src, m: &r.meter}, nil
}

// wholeReader returns how inputs are read that are one part each.
func wholeReader(read func(r *Reader, in *Input, src *metered) (part, error)) func(*unit, func(part) bool) error {
	return func(u *unit, give func(part) bool) error {
		in := u.inputs[0]
		src, err := u.r.open(in)
		if err != nil {
			return err
		}
		defer src.Close()
		p, err := read(u.r, in, src)
		if p.Path = in.Path; err != nil {
			return err
		}
		give(p)
		return nil
	}
}

// windows hands on those of a reader, and closes it.
func (u *unit) windows(from ingest.WindowReader, give func(part) bool) error {
	defer from.Close()
	for {
		w, err := from.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if !give(window(w, u.inputs[0].Path)) {
			return nil
		}
	}
}

// heldForOrder is how many bytes of packets of files wait for those of their window that may come later, in whatever order they stand.
const heldForOrder = 16 << 20

// packets hands on the windows of files of packets, which count them by themselves.
func (u *unit) packets(give func(part) bool) error {
	r, g := u.r, &u.group
	var streams []packet.Stream
	stored := int64(0)
	begins := make(map[string]string) // the first of the files that begins with a packet of each run
	for _, f := range g.files {
		streams = append(streams, f.Stream)
		stored += f.size
		if begins[f.begins.run] == "" {
			begins[f.begins.run] = f.Name
		}
	}
	hold := int64(heldForOrder)
	if r.meter.unknown { // it may go on for as long as a job runs
		stored, hold = ingest.UnknownSize, 0
	}
	packets := packet.NewReader(streams, packet.Options{Limits: r.o.Limits.Scale(stored), Policy: r.o.Strict, Hold: hold})
	r.packets = append(r.packets, packets)
	label := cmp.Or(r.o.Label, g.label)
	from := ingest.NewOnce(packets)
	defer from.Close()
	for {
		w, err := from.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		p := window(w, "")
		p.at = cmp.Or(begins[w.Run], g.files[0].Name)
		if label != "" {
			w.Run = label + "/" + w.Run
		}
		if !give(p) {
			return nil
		}
	}
}
