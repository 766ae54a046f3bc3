// Package auto opens whatever paths it is given: files, folders, standard
// input, in any mix, and reads the jobs recorded in them. It
// looks at what a file holds; its name matters only where the content leaves
// the choice open, and for the meta file of an operator trace, which stands
// beside it.
//
// Folders are read to any depth. What in them is no input is skipped and
// listed by [Reader.Inputs]; what is refused is listed by [Reader.Problems],
// and the rest is still read. All packet files are one input, whose windows
// may be spread over them; they come first, then every other file, by path.
// Exports of Nsight Systems come after these, those in one folder as one run, and
// then what may not name its run: operators, entries and calls.
// The profiler traces of a folder are one input too: a file for each rank.
package auto

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/csv"
	"github.com/sfstat/sfstat/ingest/flightrecorder"
	"github.com/sfstat/sfstat/ingest/packet"
	"github.com/sfstat/sfstat/ingest/profiler"
	"github.com/sfstat/sfstat/ingest/profiler/stagemap"
	"github.com/sfstat/sfstat/ingest/stages"
	"github.com/sfstat/sfstat/ingest/trainlog"
	"github.com/sfstat/sfstat/internal/bug"
	"github.com/sfstat/sfstat/internal/disk"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/recorded"
)

// ErrStandstill says that what was read shows where ranks stand, and no steps.
var ErrStandstill = input.Bad(input.ErrMissing, "only stacks of ranks or reports of RAS, without steps")

// Kinds is a set of kinds of recordings.
type Kinds uint8

const (
	Windows   Kinds = 1 << iota // times of steps by stage
	Operators                   // single operations of ranks
	Devices                     // how devices spent the steps
	Entries                     // when ranks entered their calls
	Calls                       // calls and kernels of NCCL
	Readings                    // of monitoring, and what other tools conclude

	everyKind = Windows | Operators | Devices | Entries | Calls | Readings
)

// has reports whether a set has one of some kinds.
func (k Kinds) has(some Kinds) bool { return k&some != 0 }

// part is a job, or a piece of one, on its way out of the reader.
type part struct {
	recorded.Job
	folder  string // that it is of, where it was read in several files
	unnamed bool   // its source does not name the run
	run     string // that it is of, where that is settled
	at      string // where it was read, if Path is not said
	// of are the files that it is made of and how many operators of it each has; nil: all of the unit.
	of map[string]int
}

// window returns a piece of a job that is one window.
func window(w *trace.Window, path string) part {
	return part{Job: recorded.Job{Windows: []*trace.Window{w}, Path: path}}
}

// Options of Open. The zero value is usable.
type Options struct {
	Disk   disk.Disk // where the files are; nil: that of this machine
	Limits ingest.Limits
	Strict ingest.Policy
	// Kinds select what is read, 0: all. Of inputs without any, named inputs are refused and others passed over.
	Kinds Kinds
	// Detail is how much of the operators of profiler traces is kept, whose windows have totals in any case.
	Detail profiler.Detail
	// Joined gives recordings of one run its name: a profiler's traces with the recorder's windows of the same steps,
	// and calls with either. Inputs that only explain a recording, as readings, stacks and debug logs of NCCL, are then
	// no job.
	Joined bool
	Stdin  io.Reader // what the path "-" reads; nil means os.Stdin

	Stages   *stagemap.Map   // of profiler traces: leads annotations to stages; nil: as is built in
	Timeline stages.Timeline // of profiler traces: what stages are measured on

	// Rank finds the rank, and the host, in the name of a Flight Recorder dump, as
	// flightrecorder.Options has it.
	Rank *regexp.Regexp

	// Dialects are how programs of the user print the times of their steps, beside those that are known.
	Dialects *trainlog.Dialects

	// Columns are what the columns are of logs of numbers alone; nil: they are refused with the question.
	Columns *trainlog.Columns

	Zone *time.Location // of stamps of monitoring that name none; nil: UTC

	Unit csv.Unit // of the times in wide tables whose columns do not say it

	// Label stands before the names of the runs of packets, as [Labels] has it, where
	// the files that they are told from are not among the inputs.
	Label string

	// Runs are the runs to be read, among recordings named by their folder: below a path, or the path itself. A missing
	// run is a [NoRunError]. Empty: all runs.
	Runs []string

	// Found: the paths were found in a folder, as [List] does. Files that are no inputs are then skipped, and a folder
	// without inputs is no error.
	Found bool

	// Threads is how many columns of an archive are read side by side, 0: one; with several, text of tables
	// is split into rows ahead.
	Threads int

	// Progress is called now and then while reading, in the goroutine that
	// calls Next: bytes read and bytes in all, of the files as they are stored.
	// total is 0 when it is not known.
	Progress func(done, total int64)
}

// Input is one file that was looked at.
type Input struct {
	Path        string
	Format      Format
	Bytes       int64 // as stored; ingest.UnknownSize for a pipe
	Compression ingest.Compression
	Windows     int    // handed out so far with something of this input
	Ops         int    // operators in what was handed out of this input
	MetaOf      string // the operator trace that this is the meta file of, or the table of windows that it lies beside
	Skipped     string // why it is not read, "" if it is
	Known       bool   // skipped without news: hidden, or read under another path

	nearly string // what it nearly is, of text that is skipped
	name   string // in results, as that of a candidate
	named  bool   // by the user; else it was found in a folder
	table  bool   // it is text that is nearly a table of windows
}

// Problem is an input that was refused, at its beginning or later, or was not read whole.
type Problem struct {
	Path string
	Err  error
}

// Reader reads all inputs.
type Reader struct {
	o        Options
	paths    []string
	inputs   []Input
	problems []Problem
	unwhole  []Problem        // files that were not read whole
	units    []*unit          // still to be read
	files    []packetFile     // all inputs that are packets
	packets  []*packet.Reader // of them
	runs     runNames
	entries  map[string]string // runs of what ranks recorded of entering calls, by folder
	nsight   []*Input          // exports of Nsight Systems
	exported map[string]string // runs of their windows, by folder
	// exportComm is the calls and kernels of NCCL in exports that were read, by path.
	exportComm map[string]*comms.Record
	recorded   []*Input            // debug logs of NCCL and dumps of its Inspector
	piped      map[*Input]*metered // inputs that cannot be opened again
	dumps      flightrecorder.Reader
	kept       *kept // nil: none is
	meter      meter
	given      int               // inputs that are not skipped
	metas      map[string]string // traces by the real paths of their meta files
	emitted    int
	monitored  int      // files of monitoring, which are no recording of a job
	said       []string // what other tools conclude in these
	saidOnce   map[string]bool
	err        error
}

// Open looks at all paths. Its error is not nil when there are none, and for
// the first refusal under ingest.FirstError. What else is wrong is reported by Next
// and Problems.
func Open(paths []string, o Options) (*Reader, error) {
	if len(paths) == 0 {
		return nil, input.Bad(input.ErrMissing, "no input: give files, folders, or - for standard input")
	}
	o.Disk, o.Kinds = disk.Or(o.Disk), cmp.Or(o.Kinds, everyKind)
	found, err := o.candidates(paths)
	if err != nil {
		return nil, err
	}
	if o.Stdin == nil {
		o.Stdin = os.Stdin
	}
	r := &Reader{o: o, paths: paths, meter: meter{report: o.Progress}, metas: make(map[string]string), exported: make(map[string]string), exportComm: make(map[string]*comms.Record),
		piped: make(map[*Input]*metered), runs: newRunNames()}
	r.inputs = make([]Input, len(found))
	if err := r.lookAll(found); err != nil {
		r.Close()
		return nil, err
	}
	r.takeTables()
	r.joinHostLogs()
	r.shareTables()
	for i, g := range groupPackets(r.files) {
		u := &unit{row: Packets.row(), r: r, group: g, where: g.files[0].Name}
		for _, f := range g.files {
			u.size += f.size
		}
		r.units = slices.Insert(r.units, i, u)
	}
	r.passOverTimed()
	r.sortLogs()
	if o.Kinds.has(Calls) {
		r.units = append(r.units, &unit{row: NCCLLog.row(), r: r, where: paths[0]})
	}
	slices.SortStableFunc(r.units, func(a, b *unit) int { return cmp.Compare(a.turn, b.turn) })
	r.runs.profiled = o.Joined && slices.ContainsFunc(r.units, func(u *unit) bool { return u.turn == profilers || u.turn == exports })
	if len(r.problems) > 0 && o.Strict == ingest.FirstError {
		r.Close()
		return nil, r.problems[0].Err
	}
	return r, nil
}

// summaries returns the summaries of all packet files.
func (r *Reader) summaries() (all []packet.Summary) {
	for _, p := range r.packets {
		all = append(all, p.Summaries()...)
	}
	return all
}

// lookAll looks at all candidates and has those opened that are to be read. Possible meta files of operator traces are
// looked at when the traces are known.
func (r *Reader) lookAll(all []candidate) error {
	var others []beside
	for _, i := range metaLast(all) {
		if err := r.lookOne(all[i], &r.inputs[i], &others); err != nil {
			return err
		}
	}
	if r.given == 0 { // where a folder has nothing else, tables that lack a column are what is meant
		for i, c := range all {
			if c.named = r.inputs[i].table; c.named {
				if err := r.lookOne(c, &r.inputs[i], &others); err != nil {
					return err
				}
			}
		}
	}
	if err := r.lookAgain(all, &others); err != nil {
		return err
	}
	return r.skipHalves(others)
}

// lookOne looks at a candidate and opens it if it is to be read. Refused inputs without a wanted kind are added to
// others.
func (r *Reader) lookOne(c candidate, in *Input, others *[]beside) error {
	in.Path, in.name, in.Bytes, in.Skipped, in.Known, in.named = c.path, c.name, ingest.UnknownSize, c.skipped, c.known, c.named
	if c.skipped != "" || r.isMeta(c, in) || isBeside(c, in) {
		return nil
	}
	src, err := r.look(c, in)
	if err == nil && in.Skipped != "" {
		return nil
	}
	if err == nil {
		err = r.enter(in, src)
	}
	r.given++
	switch {
	case ingest.Shortage(err): // leaving the file out would make a rank missing
		return fmt.Errorf("%w: raise the limit (ulimit -n)", err)
	case err != nil && !c.named && in.Format.Readable() && !in.Format.gives(r.o.Kinds):
		*others = append(*others, beside{in, err})
	case err != nil:
		r.problems = append(r.problems, Problem{c.path, err})
		if r.o.Strict == ingest.FirstError {
			return err
		}
	}
	return nil
}

// enter adds an input to the units to be read.
func (r *Reader) enter(in *Input, src *metered) (err error) {
	defer bug.Contain(in.Path, &err)
	var begins opening
	if in.Format == Packets {
		begins = openingOf(src)
	}
	if in.Bytes == ingest.UnknownSize {
		r.piped[in] = src
	} else {
		src.Close()
	}
	row := in.Format.row()
	switch {
	case in.Format == Packets:
		open := func() (io.ReadCloser, error) { return r.open(in) }
		r.files = append(r.files, packetFile{packet.Stream{Name: in.Path, Open: open, Run: begins.run}, begins, r.meter.expect(in.Bytes)})
		return nil
	case in.Format == SQLite:
		r.nsight = append(r.nsight, in)
		if !row.gives.has(r.o.Kinds &^ Calls) {
			return nil
		}
	case row.record != nil:
		r.recorded = append(r.recorded, in)
		return nil
	}
	shared := in.Path
	if row.together != nil {
		shared = row.together(r, in)
	}
	u := r.unitOf(row, shared)
	u.inputs, u.size = append(u.inputs, in), u.size+r.meter.expect(in.Bytes)
	return nil
}

// beside is a file of a folder that is good, but not of what is wanted.
type beside struct {
	in  *Input
	err error
}

// skipHalves skips refused files that are the other half of a recording that is read: its windows, or a profiler's
// operators. It refuses the rest.
func (r *Reader) skipHalves(others []beside) error {
	for _, o := range others {
		if slices.ContainsFunc(r.inputs, func(in Input) bool {
			if o.in.Format.row().gives == Readings {
				return in.Skipped == "" && in.Format.Readable() && in.Format.gives(r.o.Kinds)
			}
			halves := in.Format.row().half || o.in.Format.row().half
			return halves && filepath.Dir(in.Path) == filepath.Dir(o.in.Path) && in.Skipped == "" && in.Format.Readable() && in.Format.gives(r.o.Kinds)
		}) {
			o.in.Skipped = o.in.Format.row().noun
			r.given--
			continue
		}
		r.problems = append(r.problems, Problem{o.in.Path, o.err})
		if r.o.Strict == ingest.FirstError {
			return o.err
		}
	}
	return nil
}

// Next returns the next job or piece of a job, which the caller owns; io.EOF at the end. A refused input is an error if
// it is the only input, or under ingest.FirstError. Otherwise it is among Problems, and reading continues. If nothing
// could be read, the error says so.
func (r *Reader) Next() (recorded.Job, error) {
	for r.err == nil {
		if len(r.units) == 0 {
			r.err = r.endError()
			break
		}
		u := r.units[0]
		p, err := u.take()
		if err == nil {
			err = r.runs.full(cmp.Or(p.Path, p.at))
		}
		if err == nil {
			u.count(p)
			if p = r.setRunName(p, cmp.Or(p.Path, p.at)); u.format == SQLite && len(p.Windows) > 0 {
				r.exported[p.folder] = p.Windows[0].Run
			}
			if err := r.checkHasWindows(&p.Job); err != nil {
				r.refuse(u, err)
				continue
			}
			if r.err = r.noteLosses(u, &p.Job); r.err != nil {
				break
			}
			r.tally(&p.Job)
			return p.Job, nil
		}
		r.units = r.units[1:]
		u.close()
		r.meter.finish(u.size)
		if err != io.EOF {
			r.refuse(u, err)
		} else if cut := r.cutPackets(); u.format == Packets && len(cut) > 0 && r.o.Strict == ingest.FirstError {
			r.err = cut[0].Err
		}
	}
	return recorded.Job{}, r.err
}

// tally counts a job, and keeps the conclusions of other tools in it.
func (r *Reader) tally(j *recorded.Job) {
	if !r.isExplanation(j) {
		r.emitted++
		return
	}
	r.monitored++
	for _, text := range conclusionsOf(j) {
		if r.saidOnce[text] {
			continue
		}
		if r.saidOnce == nil {
			r.saidOnce = map[string]bool{}
		}
		r.saidOnce[text], r.said = true, append(r.said, text)
	}
}

// checkHasWindows returns an error where a job belongs to the windows of a run and none of these are among the
// inputs, so that a verdict cannot use it.
func (r *Reader) checkHasWindows(j *recorded.Job) error {
	if !r.o.Joined || len(j.Windows) > 0 || j.Launched == nil {
		return nil
	}
	run := j.Run()
	if slices.Contains(r.runs.runsWithSteps(), run) {
		return nil
	}
	return input.At(input.Pos{File: j.Path}, input.Bad(input.ErrMissing,
		"a profiler's kernels of run %s, whose windows are not among the inputs: give the folder that sfstat convert wrote, or the profiler's traces; sfstat zscore, ks and blame compare kernels", run))
}

// Jobs returns all that is left to be read, in input order. An error, as Next returns it, is the last.
func (r *Reader) Jobs() iter.Seq2[recorded.Job, error] {
	return func(yield func(recorded.Job, error) bool) {
		for {
			j, err := r.Next()
			if err == io.EOF || !yield(j, err) || err != nil {
				return
			}
		}
	}
}

// refuseFile notes a refused file of several. It returns an error if reading ends with it.
func (r *Reader) refuseFile(path string, err error) error {
	r.problems = append(r.problems, Problem{path, err})
	if r.given == 1 || r.o.Strict == ingest.FirstError {
		return err
	}
	return nil
}

// refuse notes that u ended in err.
func (r *Reader) refuse(u *unit, err error) {
	if r.given == 1 || r.o.Strict == ingest.FirstError || ingest.Shortage(err) {
		r.err = err
	}
	var placed *input.Error
	switch {
	case slices.ContainsFunc(r.Problems(), func(p Problem) bool { return p.Err == err }): // the unit has noted it
	case len(u.inputs) > 0 && u.together == nil:
		r.problems = append(r.problems, Problem{u.inputs[0].Path, err})
	case errors.As(err, &placed):
		r.problems = append(r.problems, Problem{placed.Pos.File, err})
	case bug.PanicOf(err) != nil:
		r.problems = append(r.problems, Problem{bug.PanicOf(err).Where, err})
	}
}

// endError returns the error after the last window: io.EOF if anything was read.
func (r *Reader) endError() error {
	r.meter.say()
	if r.emitted > 0 || r.o.Found && !slices.ContainsFunc(r.inputs, func(in Input) bool { return in.Skipped == "" }) {
		return io.EOF
	}
	what := strings.Join(r.paths[:min(3, len(r.paths))], ", ")
	if len(r.paths) > 3 {
		what += ", …"
	}
	problems := r.Problems()
	switch {
	case len(problems) == 1 && len(r.paths) == 1 && r.paths[0] == problems[0].Path:
		return problems[0].Err
	case len(problems) > 0:
		return fmt.Errorf("nothing could be read of %s: %d inputs refused, the first: %w", what, len(problems), problems[0].Err)
	case len(r.said) > 0:
		return input.At(input.Pos{File: what}, &AsideError{r.said})
	case slices.ContainsFunc(r.inputs, func(in Input) bool {
		return in.Skipped == "" && (in.Format == StackDump || in.Format == RASReport || in.Format == RASText || in.Format == HangText)
	}):
		return input.At(input.Pos{File: what}, fmt.Errorf("%w: sfstat hang compares them", ErrStandstill))
	case r.monitored > 0:
		return input.At(input.Pos{File: what}, input.Bad(input.ErrMissing, "only what explains a recording (monitoring, stacks of ranks, reports of RAS): give it beside packets, traces or dumps; sfstat hang compares stacks and reports alone"))
	case len(r.inputs) == 0:
		return input.At(input.Pos{File: what}, input.Bad(input.ErrEmpty, "an empty folder"))
	}
	first := r.inputs[0]
	nearest := slices.MaxFunc(r.inputs, func(a, b Input) int {
		return cmp.Or(cmp.Compare(min(1, len(a.nearly)), min(1, len(b.nearly))), cmp.Compare(a.Bytes, b.Bytes))
	})
	if nearest.nearly != "" {
		return input.At(input.Pos{File: what}, input.Bad(input.ErrMissing, "no input among %d files; the nearest is %s: %s", len(r.inputs), nearest.Path, nearest.nearly))
	}
	if first.Format == Arrivals {
		return input.At(input.Pos{File: first.Path}, input.Bad(input.ErrMissing, "epochs and arrivals of windows, which are in %s: give that, and this is read with it", first.MetaOf))
	}
	if first.Skipped == "" {
		return input.At(input.Pos{File: first.Path}, input.Bad(input.ErrEmpty, "there is no window in it, only a header at most"))
	}
	return input.At(input.Pos{File: what}, input.Bad(input.ErrMissing, "no input among %d files; the first, %s, was skipped: %s",
		len(r.inputs), first.Path, first.Skipped))
}

// Problems lists the inputs that were refused so far, or not read whole, by path.
func (r *Reader) Problems() []Problem {
	out := slices.Concat(r.problems, r.unwhole, r.cutPackets())
	for _, s := range r.summaries() {
		if s.Err != nil {
			out = append(out, Problem{s.Name, s.Err})
		}
	}
	slices.SortStableFunc(out, func(a, b Problem) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// Inputs lists all files that were looked at, by path.
func (r *Reader) Inputs() []Input {
	out := slices.Clone(r.inputs)
	if r.packets != nil {
		windows := make(map[string]int)
		for _, s := range r.summaries() {
			windows[s.Name] = int(s.Windows)
		}
		for i := range out {
			if out[i].Format == Packets && out[i].Skipped == "" {
				out[i].Windows = windows[out[i].Path]
			}
		}
	}
	return out
}

// Close closes what is still open.
func (r *Reader) Close() error {
	for _, u := range r.units {
		u.close()
	}
	for _, src := range r.piped {
		src.Close()
	}
	r.units = nil
	if r.kept != nil {
		r.kept.Close()
		r.kept = nil
	}
	if r.err == nil {
		r.err = io.EOF
	}
	return nil
}
