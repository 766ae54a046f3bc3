package traffic

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/engine/align"
	"github.com/sfstat/sfstat/ingest/inspector"
	"github.com/sfstat/sfstat/ingest/nsight"
	"github.com/sfstat/sfstat/trace/nccl"
)

// dumps takes what NCCL's Inspector dumped as recordings of kernels: each record is a call and the kernel that ran
// it. Beside exports of Nsight Systems, which have all kernels, dumps are left out.
//
// Without the times of kernels a record tells its duration, and when it was written, which is some time later. A collective ends on all
// its ranks at once, so that durations tell who came when: its end is put where the first rank wrote it, and what stands apart from
// other collectives is not believed (Result.Timeless).
func (a *assembly) dumps() {
	if len(a.in.Dumps) == 0 {
		return
	}
	if len(a.in.Exports) > 0 {
		a.note("%d dumps of NCCL's Inspector are left out: exports of Nsight Systems have all kernels and their times", len(a.in.Dumps))
		return
	}
	a.r.Timeless = slices.ContainsFunc(a.in.Dumps, func(d *inspector.Dump) bool {
		return slices.ContainsFunc(d.Records, func(r inspector.Record) bool { return !r.HasTrace })
	})
	ends := endsOf(a.in.Dumps, a.r.Timeless)
	records, numbers := 0, int64(0)
	for i, d := range a.in.Dumps {
		a.in.Exports = append(a.in.Exports, recordingsOf(d, ends)...)
		for len(a.in.Names) < len(a.in.Exports) {
			a.in.Names = append(a.in.Names, a.in.DumpNames[i])
		}
		records, numbers = records+len(d.Records), numbers+numbered(d)
	}
	a.r.Sampled = numbers > int64(records)
	a.dumped = len(a.in.Exports)
	a.r.Exports, a.r.Names, a.r.Dumped = a.in.Exports, a.in.Names, a.dumped
	if a.r.Sampled {
		a.note("the dumps have %d of %d operations, by their numbers: counts and volumes are of those, and what a rank did before each is not known", records, numbers)
	}
	if a.r.Timeless {
		a.note("the dumps tell how long operations took, not when they ran: NCCL_INSPECTOR_DUMP_VERBOSE=1 adds that")
	}
}

// numbered is how many operations a dump's numbers run over, each communicator and operation from the first to the last.
func numbered(d *inspector.Dump) (n int64) {
	type key struct {
		process int
		operation
	}
	first, last := map[key]int64{}, map[key]int64{}
	for i := range d.Records {
		r := &d.Records[i]
		k := key{r.Process, operation{r.Comm, r.Op, 0, r.Rank}}
		if at, ok := first[k]; !ok || r.Seq < at {
			first[k] = r.Seq
		}
		last[k] = max(last[k], r.Seq)
	}
	for k, at := range first {
		n += last[k] - at + 1
	}
	return n
}

// operation is one collective, or one side of a message, on all ranks.
type operation struct {
	comm uint64
	op   nccl.Op
	seq  int64
	rank int32 // of a message; −1 of a collective
}

func operationOf(r *inspector.Record) operation {
	o := operation{r.Comm, r.Op, r.Seq, -1}
	if r.Peer >= 0 {
		o.rank = r.Rank
	}
	return o
}

// endsOf is when operations without times ended: when the first rank wrote them.
func endsOf(dumps []*inspector.Dump, timeless bool) map[operation]int64 {
	ends := map[operation]int64{}
	if !timeless {
		return nil
	}
	for _, d := range dumps {
		for i := range d.Records {
			r := &d.Records[i]
			o := operationOf(r)
			if at, ok := ends[o]; !ok || r.Dumped < at {
				ends[o] = r.Dumped
			}
		}
	}
	return ends
}

// recordingsOf is the processes of a dump, by host, as recordings of their kernels. ends is nil where records have times.
func recordingsOf(d *inspector.Dump, ends map[operation]int64) (out []*nsight.Collectives) {
	at := map[string]int{}
	for p, who := range d.Processes {
		i, ok := at[who.Host]
		if !ok {
			i = len(out)
			at[who.Host] = i
			out = append(out, &nsight.Collectives{Path: d.Path, Host: who.Host, Epoch: 1})
		}
		out[i].Processes = append(out[i].Processes, recordingOf(d, p, ends))
	}
	return out
}

// recordingOf is one process of a dump.
func recordingOf(d *inspector.Dump, process int, ends map[operation]int64) nsight.CommProcess {
	p := nsight.CommProcess{PID: d.Processes[process].PID, Global: d.Processes[process].PID, Device: None, Rank: None}
	streams := map[uint64]int64{}
	for i := range d.Records {
		r := &d.Records[i]
		if r.Process != process {
			continue
		}
		if _, known := streams[r.Comm]; !known {
			streams[r.Comm] = int64(len(streams))
			p.Inits = append(p.Inits, nsight.CommInit{Comm: r.Comm, Rank: int64(r.Rank), Ranks: int64(r.Ranks)})
		}
		k := nsight.CommKernel{Stream: streams[r.Comm], Correlation: r.Line, Start: r.Start, End: r.End}
		k.Op, k.Datatype = r.Op, nccl.UnknownType
		if r.Op.PointToPoint() {
			k.Op = nccl.SendRecv
		}
		if ends != nil {
			k.End = ends[operationOf(r)]
		}
		if ends != nil || r.Timing == inspector.KernelGPU && r.Duration > 0 {
			k.Start = k.End - r.Duration
		}
		p.Kernels = append(p.Kernels, k)
		c := nsight.CommCall{Op: r.Op, Start: k.Start, End: k.End, Row: r.Line, Comm: r.Comm, Bytes: r.Bytes, Reduction: -1, Root: int64(r.Peer),
			Number: r.Seq, Group: len(p.Calls), Kernel: len(p.Kernels) - 1, Sure: true}
		p.Calls = append(p.Calls, c)
	}
	for i := range p.Kernels {
		if p.First == 0 || p.Kernels[i].Start < p.First {
			p.First = p.Kernels[i].Start
		}
	}
	return p
}

// isDump says whether an export stands for a dump.
func (a *assembly) isDump(export int) bool { return export != None && export < a.dumped }

// number ties the calls of a log to the records of a dump: the k-th call of an operation on a communicator has the number k
// there. A log that begins later, or lacks lines, is compared with the sizes of the records first.
func (t *telling) number() {
	t.k.Join = ByNumber
	for _, u := range t.series() {
		of, in, calls := u.units(t)
		d, ok := int64(0), u.whole && align.Possible(of, in, 0)
		if !ok && !u.whole {
			d, ok = align.Shift(of, in, nil)
		}
		if !ok {
			continue
		}
		for _, c := range u.records {
			if n := t.p.Calls[c].Number - d; n >= 0 && n < int64(len(calls)) {
				t.tie(calls[n], c)
			}
		}
	}
}

// series is the calls of one operation on one communicator: of the log by count, and of the dump by number.
type series struct {
	calls, records []int
	whole          bool // the log has the communicator's calls from the first on, none left out
}

// series is what both sides tell of, in the order of the log.
func (t *telling) series() (all []*series) {
	log := t.a.in.Log
	type key struct {
		comm uint64
		op   nccl.Op
	}
	at := map[key]*series{}
	for comm, units := range t.loggedUnits() {
		whole := true
		for i, u := range units {
			whole = whole && u.count == uint64(i)
		}
		for _, u := range units {
			for _, c := range u.calls {
				k := key{log.Communicators[comm].ID, log.Calls[c].Op}
				if at[k] == nil {
					at[k] = &series{whole: whole}
					all = append(all, at[k])
				}
				at[k].calls = append(at[k].calls, c)
			}
		}
	}
	for i := range t.p.Calls {
		if s := at[key{t.p.Calls[i].Comm, t.p.Calls[i].Op}]; s != nil {
			s.records = append(s.records, i)
		}
	}
	for _, s := range all {
		slices.SortFunc(s.records, func(x, y int) int { return cmp.Compare(t.p.Calls[x].Number, t.p.Calls[y].Number) })
	}
	slices.SortFunc(all, func(x, y *series) int { return cmp.Compare(x.calls[0], y.calls[0]) })
	return all
}

// units is both sides as the engine takes them.
func (s *series) units(t *telling) (of, in []align.Unit, calls []int) {
	for _, c := range s.records {
		x := &t.p.Calls[c]
		of = append(of, align.Unit{Count: x.Number, Calls: []align.Sign{{Op: x.Op, Bytes: x.Bytes, Root: x.Root}}})
	}
	for n, c := range s.calls {
		in = append(in, align.Unit{Count: int64(n), Calls: []align.Sign{signOf(&t.a.in.Log.Calls[c])}})
	}
	return of, in, s.calls
}
