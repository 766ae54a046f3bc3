package auto

import (
	"maps"
	"path/filepath"
	"slices"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/inspector"
	"github.com/sfstat/sfstat/ingest/nccllog"
	"github.com/sfstat/sfstat/ingest/nsight"
	"github.com/sfstat/sfstat/internal/bug"
	"github.com/sfstat/sfstat/trace/comms"
)

// ReadComm reads what paths hold of a job's communication: NCCL's debug logs, exports of
// Nsight Systems and dumps of NCCL's Inspector. The order in which paths are given does not matter.
func ReadComm(paths []string, o Options) (*comms.Record, []Problem, error) {
	o.Kinds = Calls
	r, err := Open(paths, o)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	var c *comms.Record
	for j, err := range r.Jobs() {
		if err != nil {
			return nil, r.Problems(), err
		}
		c = j.Calls
	}
	return c, r.Problems(), nil
}

// recorder reads the files of one format.
type recorder struct {
	read  func(src *ingest.Source, name string) error
	comms func() []*comms.Record // of what was read
}

// newSingles returns the recorder of a format each of whose files is a job of its own.
func newSingles(one func(*ingest.Source, string, ingest.Limits) (*comms.Record, error)) func(ingest.Limits) recorder {
	return func(lim ingest.Limits) recorder {
		var list []*comms.Record
		return recorder{func(src *ingest.Source, name string) error {
			c, err := one(src, name, lim)
			if err == nil {
				list = append(list, c)
			}
			return err
		}, func() []*comms.Record { return list }}
	}
}

// newDumps returns the recorder of dumps of NCCL's Inspector, of which a process may have several.
func newDumps(lim ingest.Limits) recorder {
	each := newSingles(inspector.Read)(lim)
	return recorder{each.read, func() []*comms.Record { return []*comms.Record{inspector.Merge(each.comms())} }}
}

// newLogs returns the recorder of debug logs, whose processes may stand in several files.
func newLogs(lim ingest.Limits) recorder {
	b := nccllog.NewBuilder(lim)
	return recorder{
		func(src *ingest.Source, name string) error { return b.Read(src, name) },
		func() []*comms.Record { return []*comms.Record{b.Comm()} },
	}
}

func readExport(src *ingest.Source, name string, lim ingest.Limits) (*comms.Record, error) {
	return nsight.ReadComm(src.Name(), name, lim)
}

// joinFiles reads the files of a job into one record, nil where all are refused. Refused files leave the others
// unchanged.
func (r *Reader) joinFiles(j callJob) (*comms.Record, error) {
	names, recorders, seen := j.names(), make(map[Format]recorder), make(beginnings)
	var exported []*comms.Record
	for _, in := range j {
		format := in.Format
		if format == SQLite && r.o.Kinds != Calls { // it was read with its ranks
			if c := r.exportComm[in.Path]; c != nil {
				c.Sources[0].Name = names[in]
				exported = append(exported, c)
			}
			recorders[format] = recorder{comms: func() []*comms.Record { return exported }}
			continue
		}
		if _, begun := recorders[format]; !begun {
			recorders[format] = format.row().record(r.o.Limits)
		}
		if err := r.record(in, names[in], recorders[format], seen); err != nil {
			if err := r.refuseFile(in.Path, err); err != nil {
				return nil, err
			}
		}
	}
	var all []*comms.Record
	for _, format := range slices.Sorted(maps.Keys(recorders)) {
		all = append(all, recorders[format].comms()...)
	}
	c := comms.Join(all...)
	if len(c.Sources) == 0 {
		return nil, nil
	}
	return c, r.noteUnread(c)
}

// record reads one file, unless it is a copy of an earlier one.
func (r *Reader) record(in *Input, name string, to recorder, seen beginnings) (err error) {
	defer bug.Contain(in.Path, &err)
	src, err := r.open(in)
	if err != nil {
		return err
	}
	defer src.Close()
	if err := seen.checkDuplicate(in.Path, src.Source, r.o.Limits); err != nil {
		return err
	}
	if err := to.read(src.Source, name); err != nil || in.Format == SQLite {
		return err
	}
	return r.notePartialLine(in.Path, src.Source)
}

// names returns the names that results give the files of a job. Files of equal names are called by their paths.
func (j callJob) names() map[*Input]string {
	of, count := make(map[*Input]string, len(j)), make(map[string]int)
	for _, in := range j {
		count[in.name]++
	}
	for _, in := range j {
		if of[in] = in.name; count[in.name] > 1 {
			of[in] = filepath.ToSlash(in.Path)
		}
	}
	return of
}
