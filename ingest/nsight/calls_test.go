package nsight_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sfstat/sfstat/fixtures/nsighttest"
	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/ingest/nsight"
	"github.com/sfstat/sfstat/trace/comms"
)

const (
	ncclSendName   = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<(unsigned long)4096>)"
	ncclGatherName = "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)"
)

// A call's kernel is the one that its thread launched in its range, or in that of the outermost ncclGroupEnd.
func TestCalls(t *testing.T) {
	p := nsighttest.Process{PID: 9, Domains: map[int64]string{1: "NCCL", 2: "mine"}}
	add := func(thread int, name string, start, end int64, comm uint64) {
		r := nsighttest.Range{Start: start, End: end, Text: name, Registered: true, Thread: thread, Domain: 1}
		if comm != 0 {
			r.Payload = []nsighttest.Field{{Name: "NCCL communicator ID", Type: nsighttest.Uint64, Value: comm}, {Name: "Message size [bytes]", Type: nsighttest.Size, Value: 8}}
		}
		p.Ranges = append(p.Ranges, r)
	}
	launch := func(thread int, id, at, stream int64, name string) {
		p.Calls = append(p.Calls, nsighttest.Call{Start: at, End: at + 1, Correlation: id, Name: "cudaLaunchKernelExC_v11060", Thread: thread})
		p.Work = append(p.Work, nsighttest.Work{Start: 1000 + id, End: 2000 + id, Stream: stream, Correlation: id, Name: name})
	}
	// By itself, while another thread launches something of NCCL's.
	add(0, "ncclAllReduce", 10, 20, 0xa)
	launch(0, 1, 15, 7, ncclReduceName)
	launch(4, 2, 16, 9, ncclReduceName)
	// A group in a group: two collectives in one kernel, sends and receives in another.
	for i, name := range []string{"ncclGroupStart", "ncclGroupStart", "ncclAllReduce", "ncclSend", "ncclRecv", "ncclGroupEnd", "ncclAllGather", "ncclGroupEnd"} {
		comm := uint64(0xa)
		if name == "ncclGroupStart" || name == "ncclGroupEnd" {
			comm = 0
		}
		add(0, name, int64(30+10*i), int64(38+10*i), comm)
	}
	launch(0, 3, 101, 7, ncclReduceName)
	launch(0, 4, 102, 7, ncclSendName)
	// Two communicators in one group: the streams are known, of one from above, of the other from below.
	for i, c := range []struct {
		name string
		comm uint64
	}{{"ncclGroupStart", 0}, {"ncclAllGather", 0xa}, {"ncclAllGather", 0xb}, {"ncclGroupEnd", 0}} {
		add(0, c.name, int64(200+10*i), int64(208+10*i), c.comm)
	}
	launch(0, 5, 231, 8, ncclGatherName)
	launch(0, 6, 232, 7, ncclGatherName)
	add(0, "ncclAllGather", 300, 310, 0xb)
	launch(0, 7, 305, 8, ncclGatherName)
	// Nothing launched: a communicator of one rank. And no call of NCCL's: the same name in another domain, another program's.
	add(0, "ncclAllReduce", 320, 330, 0xc)
	p.Ranges = append(p.Ranges, nsighttest.Range{Start: 340, End: 350, Text: "ncclAllReduce", Domain: 2}, nsighttest.Range{Start: 340, End: 350, Text: "nccl:all_reduce", Domain: 1})
	// A group so large that it takes two kernels leaves it open which ran what.
	for i, name := range []string{"ncclGroupStart", "ncclSend", "ncclRecv", "ncclSend", "ncclGroupEnd"} {
		add(0, name, int64(400+10*i), int64(408+10*i), []uint64{0, 0xa, 0xa, 0xa, 0}[i])
	}
	launch(0, 8, 441, 7, ncclSendName)
	launch(0, 9, 442, 7, ncclSendName)

	path := filepath.Join(t.TempDir(), "x.sqlite")
	if err := nsighttest.Write(path, nsighttest.Export{Host: "n0", Processes: []nsighttest.Process{p}, Payloads: nsighttest.AsBinary}); err != nil {
		t.Fatal(err)
	}
	c, err := nsight.ReadComm(path, "x", ingest.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var got, launches []string
	x := &c.Processes[0]
	for _, call := range c.Calls {
		kernel := int64(0)
		if call.Kernel != comms.None {
			kernel = x.Kernels[call.Kernel].Correlation
		}
		got = append(got, fmt.Sprintf("%v %d %t", call.Op, kernel, call.KernelSure))
		launches = append(launches, fmt.Sprintf("%x %d", c.Groups[call.Group].ID, call.Launch))
	}
	want := []string{"AllReduce 1 true", "AllReduce 3 true", "Send 4 true", "Recv 4 true", "AllGather 3 true", "AllGather 6 true", "AllGather 5 true",
		"AllGather 7 true", "AllReduce 0 false", "Send 8 false", "Recv 8 false", "Send 8 false"}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
	// A group is one launch of its communicator, or as many as it took kernels.
	want = []string{"a 0", "a 1", "a 1", "a 1", "a 1", "a 3", "b 0", "b 1", "c 0", "a 4", "a 4", "a 4"}
	if !slices.Equal(launches, want) {
		t.Errorf("launches\n%q, want\n%q", launches, want)
	}
	if x := &c.Calls[0]; c.Groups[x.Group].ID != 0xa || x.Bytes != 8 {
		t.Errorf("%+v", x)
	}
}

// Calls and kernels come with the ranks where NCCL's sizes are attached to ranges, and kernels alone where they are asked for.
func TestAttached(t *testing.T) {
	call := nsighttest.Range{Start: 100, End: 120, Text: "ncclAllReduce", Domain: 1, Payload: []nsighttest.Field{
		{Name: "NCCL communicator ID", Type: nsighttest.Uint64, Value: 0xa}, {Name: "Message size [bytes]", Type: nsighttest.Size, Value: 8}}}
	other := call
	other.Payload = []nsighttest.Field{{Name: "Stage", Type: nsighttest.Int, Value: 3}}
	for name, tt := range map[string]struct {
		r    nsighttest.Range
		form nsighttest.PayloadForm
		want bool
	}{
		"as binary":                {call, nsighttest.AsBinary, true},
		"as JSON":                  {call, nsighttest.AsJSON, true},
		"decoded":                  {call, nsighttest.Decoded, true},
		"decoded, as named":        {call, nsighttest.DecodedAsNamed, true},
		"not exported":             {call, nsighttest.NoPayloads, false},
		"of another library":       {other, nsighttest.AsBinary, false},
		"of another, decoded":      {other, nsighttest.Decoded, false},
		"of another library, JSON": {other, nsighttest.AsJSON, false},
	} {
		path := filepath.Join(t.TempDir(), "x.sqlite")
		p := nsighttest.Process{PID: 7, Domains: map[int64]string{1: "NCCL"}, Ranges: []nsighttest.Range{tt.r},
			Calls: []nsighttest.Call{{Start: 110, End: 112, Correlation: 3, Name: "cudaLaunchKernel"}},
			Work:  []nsighttest.Work{{Start: 130, End: 140, Correlation: 3, Name: ncclReduceName}}}
		if err := nsighttest.Write(path, nsighttest.Export{Host: "n0", Processes: []nsighttest.Process{p}, Payloads: tt.form}); err != nil {
			t.Fatal(err)
		}
		run, problems := nsight.Read([]string{path}, nsight.Options{})
		if c := run.Comm[path]; problems != nil || (c != nil) != tt.want || c != nil && (len(c.Calls) != 1 || c.Calls[0].Kernel != 0) {
			t.Errorf("%s: %+v, %v", name, c, problems)
		}
		run, problems = nsight.Read([]string{path}, nsight.Options{Kernels: true})
		if c := run.Comm[path]; problems != nil || c == nil || len(c.Processes[0].Kernels) != 1 || len(run.Ranks) != 1 {
			t.Errorf("%s: %+v, %v, expected its kernel", name, c, problems)
		}
	}
}
