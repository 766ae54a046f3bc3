package comm

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/fixtures/nsighttest"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/nccllog"
	"github.com/sfstat/sfstat/ingest/nsight"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// rangesJob is a job of four ranks on two hosts whose exports have NCCL's own ranges: calls by themselves, groups of
// collectives, groups of sends and receives, groups over two communicators, communicators of one rank, backward on a thread of
// its own.
type rangesJob struct {
	o     rangesOptions
	rng   *rand.Rand
	ranks [4]*rangesRank
	all   int // calls so far
}

type rangesOptions struct {
	form    nsighttest.PayloadForm
	inits   bool    // the recording has the making of communicators
	stamps  bool    // the log has times
	hashes  bool    // as since NCCL 2.25
	lost    float64 // of the log's call lines
	uniform bool    // every collective is alike
	late    int     // calls that each rank's recording lacks at its beginning, and twice that on the second host
}

type rangesComm struct {
	id     uint64
	ranks  []int
	stream int64
	count  int
}

type rangesRank struct {
	at    int64
	log   []string
	spans nsighttest.Process
	truth map[string]int64 // line of the log, "row" of the export: correlation id of the kernel
	seen  int              // units so far
}

func (j *rangesJob) pid(r int) int { return 4000 + 10*r }

// head is what stands before a message.
func (j *rangesJob) head(r, thread int) string {
	stamp := ""
	if j.o.stamps {
		t := rangesEpoch(r) + j.ranks[r].at
		stamp = fmt.Sprintf("%d.%06d ", t/1e9, t%1e9/1000)
	}
	return fmt.Sprintf("%snode%d:%d:%d [%d] NCCL INFO ", stamp, r/2, j.pid(r), j.pid(r)+thread, r%2)
}

func rangesEpoch(r int) int64 { return 1_766_084_870_000_000_000 + int64(r/2)*2_400_000 }

func (c *rangesComm) pointer(r int) string { return fmt.Sprintf("0x55d0%06x", int(c.stream)<<12|r<<8) }

// member is a call as one group has it.
type member struct {
	c     *rangesComm
	op    nccl.Op
	count int
	root  func(r int) int
}

// enqueue is one call or group on all ranks that are in one of its communicators.
func (j *rangesJob) enqueue(thread int, calls ...member) {
	var last int64
	kernels := map[int][]nsighttest.Work{}
	for r, k := range j.ranks {
		var mine []member
		for _, m := range calls {
			for _, x := range m.c.ranks {
				if x == r {
					mine = append(mine, m)
				}
			}
		}
		if len(mine) == 0 {
			continue
		}
		k.seen++
		recorded := k.seen > j.o.late*(1+r/2)
		k.at += 40_000 + j.rng.Int64N(20_000)
		group := len(mine) > 1
		open := func(name string, fields ...nsighttest.Field) {
			if recorded {
				k.spans.Ranges = append(k.spans.Ranges, nsighttest.Range{Start: k.at, Text: name, Registered: true, Thread: thread, Domain: 3, Payload: fields})
			}
		}
		shut := func() {
			if n := len(k.spans.Ranges); recorded {
				k.spans.Ranges[n-1].End = k.at
			}
		}
		if group {
			open("ncclGroupStart")
			k.at += 500
			shut()
		}
		var rows []string
		for _, m := range mine {
			j.all++
			root := 0
			if m.root != nil {
				root = m.root(r)
			}
			fields := []nsighttest.Field{{Name: "Message size [bytes]", Type: nsighttest.Size, Value: uint64(4 * m.count)}}
			if j.o.hashes {
				fields = append([]nsighttest.Field{{Name: "NCCL communicator ID", Type: nsighttest.Uint64, Value: m.c.id}}, fields...)
			}
			switch {
			case m.op == nccl.Send || m.op == nccl.Recv:
				fields = append(fields, nsighttest.Field{Name: "Peer rank", Type: nsighttest.Int, Value: uint64(root)})
			case m.op.Reduces():
				fields = append(fields, nsighttest.Field{Name: "Reduction operation", Type: nsighttest.Reduction})
			}
			open("nccl"+m.op.String(), fields...)
			rows = append(rows, fmt.Sprintf("row%d", len(k.spans.Ranges)+1)) // the domain is the first row
			k.at += 2_000
			if j.rng.Float64() >= j.o.lost {
				k.log = append(k.log, fmt.Sprintf("%s%v: opCount %x sendbuff 0x7f%08x recvbuff 0x7f%08x count %d datatype 7 op 0 root %d comm %s [nranks=%d] stream 0x55e0%06x",
					j.head(r, thread), m.op, m.c.count, j.all<<12, j.all<<12, m.count, root, m.c.pointer(r), len(m.c.ranks), m.c.stream<<4))
				rows = append(rows, fmt.Sprintf("line%d", len(k.log)))
			}
			k.at += 1_000
			if group {
				shut()
			} else {
				k.at += 8_000
			}
		}
		if group {
			k.at += 500
			open("ncclGroupEnd")
			k.at += 6_000
		}
		j.launch(r, thread, mine, rows, recorded, kernels)
		k.at += 4_000
		shut()
		last = max(last, k.at)
	}
	bumped := map[*rangesComm]bool{}
	for _, m := range calls {
		if len(m.c.ranks) > 1 && !bumped[m.c] {
			m.c.count++
			bumped[m.c] = true
		}
	}
	for r, works := range kernels {
		for _, w := range works {
			w.End = last + 30_000 + int64(r)*300
			j.ranks[r].spans.Work = append(j.ranks[r].spans.Work, w)
		}
	}
}

// launch is the kernels of a rank's group, one for each communicator.
func (j *rangesJob) launch(r, thread int, mine []member, rows []string, recorded bool, kernels map[int][]nsighttest.Work) {
	k := j.ranks[r]
	done := map[*rangesComm]int64{}
	for _, m := range mine {
		if len(m.c.ranks) == 1 || done[m.c] != 0 {
			continue
		}
		k.at += 1_500
		id := int64(10*j.all + r + 100*len(done) + 1000*len(k.spans.Calls))
		done[m.c] = id
		if !recorded {
			continue
		}
		name := "ncclDevKernel_" + m.op.String() + "_Sum_f32_RING_LL(x)"
		switch {
		case m.op.PointToPoint():
			name = "ncclDevKernel_SendRecv(x)"
		case !m.op.Reduces():
			name = "ncclDevKernel_" + m.op.String() + "_RING_LL(x)"
		}
		k.spans.Calls = append(k.spans.Calls, nsighttest.Call{Start: k.at, End: k.at + 1_000, Correlation: id, Name: "cudaLaunchKernelExC_v11060", Thread: thread})
		kernels[r] = append(kernels[r], nsighttest.Work{Start: k.at + 3_000, Stream: m.c.stream, Correlation: id, Name: name})
	}
	n := 0
	for _, m := range mine { // the marks of one call: its row, and its line if it was not lost
		for ; n < len(rows); n++ {
			if recorded && done[m.c] != 0 {
				k.truth[rows[n]] = done[m.c]
			}
			if n+1 < len(rows) && strings.HasPrefix(rows[n+1], "row") {
				n++
				break
			}
		}
	}
}

func newRangesJob(seed uint64, o rangesOptions) *rangesJob {
	j := &rangesJob{o: o, rng: rand.New(rand.NewPCG(seed, 7))}
	for r := range j.ranks {
		j.ranks[r] = &rangesRank{at: 50_000_000, truth: map[string]int64{}, spans: nsighttest.Process{PID: j.pid(r), Name: "python3", Device: int64(r % 2), GPU: int64(r % 2),
			Domains: map[int64]string{3: "NCCL"}}}
	}
	world := &rangesComm{id: 0xfedcba9876543201, ranks: []int{0, 1, 2, 3}, stream: 20}
	tensor := []*rangesComm{{id: 0x5f02, ranks: []int{0, 1}, stream: 24}, {id: 0x5f03, ranks: []int{2, 3}, stream: 24}}
	data := []*rangesComm{{id: 0x5f04, ranks: []int{0, 2}, stream: 28}, {id: 0x5f05, ranks: []int{1, 3}, stream: 28}}
	var lone []*rangesComm
	for r := range j.ranks {
		lone = append(lone, &rangesComm{id: 0x6f00 + uint64(r), ranks: []int{r}, stream: 32})
	}
	for _, c := range append(append(append([]*rangesComm{world}, tensor...), data...), lone...) {
		j.make(c)
	}
	other := func(c *rangesComm) func(int) int {
		return func(r int) int {
			if c.ranks[0] == r {
				return 1
			}
			return 0
		}
	}
	size := func(n int) int {
		if o.uniform {
			return 1 << 18
		}
		return n
	}
	for step := range 12 {
		for layer := range 4 {
			for _, c := range tensor {
				j.enqueue(0, member{c: c, op: nccl.AllReduce, count: size(1 << 18)})
				if !o.uniform && (layer+step)%3 == 0 {
					j.enqueue(0, member{c: c, op: nccl.AllGather, count: 1 << 16})
				}
			}
		}
		for _, c := range data {
			if o.uniform {
				j.enqueue(5, member{c: c, op: nccl.AllReduce, count: size(0)})
				continue
			}
			j.enqueue(5, member{c: c, op: nccl.ReduceScatter, count: 1<<18 + step%3}, member{c: c, op: nccl.ReduceScatter, count: 1 << 17}, member{c: c, op: nccl.ReduceScatter, count: 1 << 16})
			j.enqueue(0, member{c: c, op: nccl.Send, count: 1 << 15, root: other(c)}, member{c: c, op: nccl.Recv, count: 1 << 14, root: other(c)})
		}
		if !o.uniform && step%4 == 1 {
			j.enqueue(5, member{c: tensor[0], op: nccl.AllGather, count: 999}, member{c: data[0], op: nccl.AllGather, count: 999},
				member{c: tensor[1], op: nccl.AllGather, count: 999}, member{c: data[1], op: nccl.AllGather, count: 999})
		}
		for _, c := range lone {
			j.enqueue(0, member{c: c, op: nccl.AllReduce, count: 3})
		}
		j.enqueue(0, member{c: world, op: nccl.AllReduce, count: 1 + step%5})
	}
	return j
}

// make tells of a communicator in log and export.
func (j *rangesJob) make(c *rangesComm) {
	for n, r := range c.ranks {
		k := j.ranks[r]
		id := ""
		if j.o.hashes {
			id = fmt.Sprintf(" commId %#x", c.id)
		}
		k.log = append(k.log, fmt.Sprintf("%sncclCommInitRank comm %s rank %d nranks %d cudaDev %d nvmlDev %d busId %x%s - Init COMPLETE",
			j.head(r, 3), c.pointer(r), n, len(c.ranks), r%2, r%2, 0x1000*(1+r%2), id))
		if j.o.inits {
			k.spans.Ranges = append(k.spans.Ranges, nsighttest.Range{Start: k.at, End: k.at + 5_000, Text: "ncclCommInitRank", Registered: true, Domain: 3, Thread: 3,
				Payload: []nsighttest.Field{{Name: "NCCL communicator ID", Type: nsighttest.Uint64, Value: c.id}, {Name: "No. of ranks", Type: nsighttest.Int, Value: uint64(len(c.ranks))},
					{Name: "Rank", Type: nsighttest.Int, Value: uint64(n)}, {Name: "CUDA device", Type: nsighttest.Int, Value: uint64(r % 2)}}})
		}
		k.at += 6_000
	}
}

// input reads the job's files; exports alone where logs is false.
func (j *rangesJob) input(t *testing.T, logs bool) *comms.Record {
	t.Helper()
	dir := t.TempDir()
	var exports []*comms.Record
	b := nccllog.NewBuilder(ingest.Limits{})
	for r, k := range j.ranks {
		if logs {
			name := fmt.Sprintf("nccl.%d.log", r)
			src, err := ingest.NewSource(strings.NewReader(strings.Join(k.log, "\n")+"\n"), name, ingest.Limits{})
			if err == nil {
				err = b.Read(src, name)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		name := fmt.Sprintf("rank%d.sqlite", r)
		path := filepath.Join(dir, name)
		e := nsighttest.Export{Host: fmt.Sprintf("node%d", r/2), Epoch: rangesEpoch(r), Processes: []nsighttest.Process{k.spans}, Payloads: j.o.form}
		if j.o.form == nsighttest.Decoded || j.o.form == nsighttest.DecodedAsNamed {
			e.Age = nsighttest.Of2026
		}
		if err := nsighttest.Write(path, e); err != nil {
			t.Fatal(err)
		}
		x, err := nsight.ReadComm(path, name, ingest.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		exports = append(exports, x)
	}
	return comms.Join(append([]*comms.Record{b.Comm()}, exports...)...)
}

// score is F1 of the matches, and how many that are called certain are wrong. Lines and rows of one call are one: what
// stands in the log is looked for there.
func (j *rangesJob) score(r *Result) (f1 float64, certain, wrong int) {
	hits, want := 0, 0
	for _, k := range j.ranks {
		for mark := range k.truth {
			if r.Sources(comms.SourceNCCLLog) == 0 && strings.HasPrefix(mark, "row") {
				want++
			}
			if r.Sources(comms.SourceNCCLLog) > 0 && strings.HasPrefix(mark, "line") {
				want++
			}
		}
	}
	told := 0
	for _, m := range r.Matches {
		k, c := &r.Ranks[m.Rank], &r.Calls[m.Call]
		mark := fmt.Sprintf("line%d", c.Line)
		if r.Recorded.Sources[c.Source].Kind != comms.SourceNCCLLog {
			mark = fmt.Sprintf("row%d", c.Line)
		}
		hit := j.ranks[(int(k.PID)-4000)/10].truth[mark] == r.Kernels(m.Rank)[m.Kernel].Correlation
		if r.Sources(comms.SourceNCCLLog) > 0 && strings.HasPrefix(mark, "row") { // lost in the log
			if !hit {
				wrong++
			}
			continue
		}
		told++
		if hit {
			hits++
		}
		if m.Certain {
			certain++
			if !hit {
				wrong++
			}
		}
	}
	return 2 * float64(hits) / float64(want+told), certain, wrong
}

// checkComms holds communicators against those of the job, and the calls of those that are larger than one rank
// against what was recorded.
func (j *rangesJob) checkComms(t *testing.T, r *Result) {
	t.Helper()
	var got []string
	for i := range r.Communicators {
		if c := &r.Communicators[i]; c.NRanks > 1 {
			got = append(got, fmt.Sprintf("%s %v", c.ID, c.Ranks))
		}
	}
	slices.Sort(got)
	if want := []string{"0x5f02 [0 1]", "0x5f03 [2 3]", "0x5f04 [0 2]", "0x5f05 [1 3]", "0xfedcba9876543201 [0 1 2 3]"}; !slices.Equal(got, want) {
		t.Errorf("communicators %v, want %v", got, want)
	}
	for i := range r.Clocks {
		c := &r.Clocks[i]
		if off := c.Offset - int64(r.Ranks[c.Rank].Rank/2)*2_400_000; !c.Known || c.Residual > 1_000 || max(off, -off) > 5_000 {
			t.Errorf("clock %+v, off by %d ns: kernels of several calls are taken for one collective", c, off)
		}
	}
}

// What NCCL's own ranges tell is exact, with the log, with a log that lost lines, and without one.
func TestRanges(t *testing.T) {
	full := rangesOptions{form: nsighttest.AsBinary, inits: true, hashes: true}
	with := func(change func(*rangesOptions)) rangesOptions { o := full; change(&o); return o }
	for _, tt := range []struct {
		name string
		o    rangesOptions
		logs bool
	}{
		{"exports alone", full, false},
		{"exports alone, header with the size of all", with(func(o *rangesOptions) { o.form = nsighttest.BinaryHeader }), false},
		{"exports alone, JSON", with(func(o *rangesOptions) { o.form = nsighttest.AsJSON }), false},
		{"exports alone, tables of fields", with(func(o *rangesOptions) { o.form = nsighttest.Decoded }), false},
		{"exports alone, tables of fields with their names", with(func(o *rangesOptions) { o.form = nsighttest.DecodedAsNamed }), false},
		{"exports alone, tables of fields, begun late", with(func(o *rangesOptions) { o.form, o.inits, o.late = nsighttest.Decoded, false, 9 }), false},
		{"exports alone, tables of fields, NCCL 2.24", with(func(o *rangesOptions) { o.form, o.hashes, o.inits = nsighttest.Decoded, false, false }), false},
		{"log without 30 % of its lines, tables of fields", with(func(o *rangesOptions) { o.form, o.lost = nsighttest.Decoded, 0.3 }), true},
		{"exports alone, begun late", with(func(o *rangesOptions) { o.inits, o.late = false, 9 }), false},
		{"exports alone, begun late, all calls alike", with(func(o *rangesOptions) { o.inits, o.late, o.uniform = false, 9, true }), false},
		{"exports alone, NCCL 2.24", with(func(o *rangesOptions) { o.hashes, o.inits = false, false }), false},
		{"log", full, true},
		{"log without 30 % of its lines", with(func(o *rangesOptions) { o.lost = 0.3 }), true},
		{"log without 30 %, made before", with(func(o *rangesOptions) { o.lost, o.inits = 0.3, false }), true},
		{"log without 30 %, begun late", with(func(o *rangesOptions) { o.lost, o.inits, o.late = 0.3, false, 9 }), true},
		{"log without 30 %, begun late, stamps", with(func(o *rangesOptions) { o.lost, o.inits, o.late, o.stamps = 0.3, false, 9, true }), true},
		{"log without 30 %, all alike", with(func(o *rangesOptions) { o.lost, o.uniform = 0.3, true }), true},
		{"log without 30 %, all alike, begun late, stamps", with(func(o *rangesOptions) { o.lost, o.uniform, o.inits, o.late, o.stamps = 0.3, true, false, 9, true }), true},
		{"log without 30 %, NCCL 2.24", with(func(o *rangesOptions) { o.lost, o.hashes, o.inits = 0.3, false, false }), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for seed := range uint64(2) {
				j := newRangesJob(seed, tt.o)
				r := analyze(t, j.input(t, tt.logs), Options{})
				f1, certain, wrong := j.score(r)
				least := 1.0
				if !tt.o.hashes && !tt.logs {
					least = 0.95 // groups over two communicators
				}
				if f1 < least || wrong > 0 || certain == 0 {
					t.Errorf("F1 %.4f, %d certain, %d wrong", f1, certain, wrong)
				}
				for i := range r.Ranks {
					// Names tell less: where more than one shift fits, alignment goes on.
					if r.Ranks[i].Join != ByNVTX && tt.o.form != nsighttest.NoPayloads {
						t.Errorf("rank %d: %v", i, r.Ranks[i].Join)
					}
				}
				if tt.o.hashes {
					j.checkComms(t, r)
				}
			}
		})
	}
}
