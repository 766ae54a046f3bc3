package hangtext

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/ingest"
)

// The forms are those of the programs; ranks, numbers and hosts are invented.
const (
	watchdog = "[rank%[1]d]:[E301 10:00:00.000000000 ProcessGroupNCCL.cpp:683] [Rank %[1]d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=%[2]d, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600020 milliseconds before timing out.\n"
	failure  = "[rank%[1]d]:[E301 10:00:00.000000000 ProcessGroupNCCL.cpp:2241] [PG ID 0 PG GUID 0(default_pg) Rank %[1]d]  failure detected by watchdog at work sequence id: %[2]d PG status: last enqueued work: %[3]d, last completed work: %[4]d\n"
	signal   = "[PG ID 0 PG GUID 0(default_pg) Rank %d] Received a dump signal due to a collective timeout from  rank 1 and we will try our best to dump the debug info. Last enqueued NCCL work: %d, last completed NCCL work: %d.This is most likely\n"
	old      = "[E ProcessGroupNCCL.cpp:587] [Rank %d] Watchdog caught collective operation timeout: WorkNCCL(OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1802805 milliseconds before timing out.\n"
	part     = "[rank%[1]d]:[E301 ProcessGroupNCCL.cpp:2241] [PG ID 3 PG GUID 7(tp) Rank %[2]d]  failure detected by watchdog at work sequence id: 5 PG status: last enqueued work: %[3]d, last completed work: 4\n"
	print    = "Rank %d is running collective: CollectiveFingerPrint(SequenceNumber=%d, OpType=%s, TensorShape=[%d], TensorDtypes=Float, TensorDeviceTypes=x)"
)

// summary returns what a text comes to: who waits in which call, who is missing, and which calls differ.
func summary(t *testing.T, text string) string {
	t.Helper()
	s := Scanner{Rank: -1}
	if err := s.Read(strings.NewReader(text), "err.log", ingest.Limits{}); err != nil {
		t.Fatal(err)
	}
	c := s.Record("err.log")
	if c == nil {
		return "nothing"
	}
	var j arrivals.Job
	if err := j.Add(c); err != nil {
		t.Fatal(err)
	}
	r := j.Analyze(arrivals.Options{HangOnly: true})
	var out []string
	if r.Hang != nil {
		for i := range r.Hang.Groups {
			b := &r.Hang.Groups[i]
			text := fmt.Sprintf("%s: %v wait in %s %d", b.Group, b.Waiting, b.Op, b.Seq)
			for _, a := range b.Missing {
				text += fmt.Sprintf(", not %d", a.Rank)
				if a.May {
					text += " perhaps"
				}
			}
			out = append(out, text)
		}
	}
	for _, m := range r.Mismatches {
		out = append(out, "differ in "+m.Difference.String())
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}

func TestForms(t *testing.T) {
	all := func(form string, ranks []int, args ...any) (text string) {
		for _, r := range ranks {
			text += fmt.Sprintf(form, append([]any{r}, args...)...)
		}
		return text
	}
	for name, c := range map[string]struct{ text, want string }{
		"all wait in one call":   {all(watchdog, []int{0, 1, 2, 3}, 88) + all(failure, []int{0, 1, 2, 3}, 88, 91, 87), "0: [0 1 2 3] wait in allreduce 88"},
		"one says nothing":       {all(watchdog, []int{0, 1, 3}, 501), "0: [0 1 3] wait in allreduce 501, not 2 perhaps"},
		"the first says nothing": {all(watchdog, []int{1, 2, 3}, 501), "0: [1 2 3] wait in allreduce 501, not 0 perhaps"},
		"most say nothing":       {all(signal, []int{2, 7}, 460631, 460630), "0: [2 7] wait in call 460631"},
		"what was started, too":  {strings.ReplaceAll(all(failure, []int{0, 1}, 88, 91, 87)+all(signal, []int{2}, 87, 87), ", last completed", ", last started work: 88, last completed"), "0: [0 1] wait in call 88, not 2"},
		// All have launched calls up to 79; that two have not is what counts, not that the others ran ahead of the call.
		"two have launched less":         {all(watchdog, []int{1, 2, 3, 5, 6, 7}, 78) + all(failure, []int{1, 2, 3, 5, 6, 7}, 78, 79, 77) + all(signal, []int{0, 4}, 77, 77), "0: [1 2 3 5 6 7] wait in allreduce 78, not 0, not 4"},
		"one ran far ahead":              {all(failure, []int{0, 1}, 10, 10, 9) + all(failure, []int{2}, 10, 50, 9), "0: [0 1 2] wait in call 10"},
		"without numbers":                {all(old, []int{0, 1, 2}), "0: [0 1 2] wait in allreduce 0"},
		"a group of some":                {fmt.Sprintf(part, 4, 0, 5) + fmt.Sprintf(part, 5, 1, 5), "7: [4 5] wait in call 5"},
		"a group of some, without ranks": {strings.ReplaceAll(fmt.Sprintf(part, 4, 0, 5), "[rank4]:", ""), "nothing"},
		"other sizes":                    {"RuntimeError: Detected mismatch between collectives on ranks. " + fmt.Sprintf(print, 1, 7, "ALLREDUCE", 100) + ", but " + fmt.Sprintf(print, 0, 7, "ALLREDUCE", 200) + ".", "0: [0 1] wait in allreduce 7; differ in sizes"},
		"other numbers":                  {fmt.Sprintf(print, 1, 1435, "ALLREDUCE", 10) + ", but " + fmt.Sprintf(print, 2, 1436, "ALLREDUCE", 10), "0: [2] wait in allreduce 1436, not 1"},
		"monitored barrier":              {"RuntimeError: [Rank 0]: Ranks 1, 2 failed to pass monitoredBarrier in 30000 ms\n", "barrier: [0] wait in monitored_barrier 0, not 1, not 2"},
		"Horovod":                        {"[1,0]<stderr>:[2024-01-02 10:00:00.000001: W horovod/common/stall_inspector.cc:105] One or more tensors …\n[1,0]<stderr>:Stalled ranks:\n[1,0]<stderr>:3: [allreduce.a, allreduce.b ...]\nother: [x]\n", "Horovod: [0] wait in allreduce.a 0, not 3"},
		"Horovod, missing":               {"Missing ranks:\n1: [a, b]\n2: [a]\n", "Horovod: [0] wait in a 0, not 1, not 2"},
		"Horovod before 0.19":            {"[1,0]<stderr>:Stalled ops:HorovodBroadcast_x_0 [missing ranks: 1, 3]\n", "Horovod: [0] wait in HorovodBroadcast_x_0 0, not 1, not 3"},
		"JAX":                            {"DEADLINE_EXCEEDED: Barrier timed out. Id: x. # of tasks that reached the barrier: 2/4. The first task at the barrier: /job:jax_worker/replica:0/task:1. Some timed out task names:\n/job:jax_worker/replica:0/task:3\n/job:jax_worker/replica:0/task:0\n\n/job:jax_worker/replica:0/task:2 is well\n", "JAX: [1] wait in barrier 0, not 0, not 3"},
		"other numbers of elements":      {all(watchdog, []int{0, 1, 3}, 88) + strings.ReplaceAll(fmt.Sprintf(watchdog, 2, 88), "In=4, NumelOut=4", "In=8, NumelOut=8"), "0: [0 1 2 3] wait in allreduce 88; differ in sizes"},
		"other operations":               {all(watchdog, []int{0, 1, 3}, 88) + strings.ReplaceAll(fmt.Sprintf(watchdog, 2, 88), "ALLREDUCE", "ALLGATHER"), "0: [0 1 2 3] wait in allreduce 88; differ in operation"},
		// Of the group of all, rank 3 is: it waits elsewhere.
		"one in another group": {all(watchdog, []int{0, 1, 2}, 88) + fmt.Sprintf(part, 3, 1, 5), "0: [0 1 2] wait in allreduce 88, not 3; 7: [3] wait in call 5"},
		"one that ended":       {raised(3) + all(watchdog, []int{0, 1, 2}, 88), "0: [0 1 2] wait in allreduce 88, not 3 perhaps"},
		"tracebacks alone":     {raised(3), "nothing"},
		"nothing":              {"step 3 time: 5\nStalled\n", "nothing"},
	} {
		if got := summary(t, c.text); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// raised returns a traceback of a rank, as torchrun prints it.
func raised(rank int) string {
	text := ""
	for _, line := range []string{"Traceback (most recent call last):", `  File "/job/train.py", line 54, in <module>`, "    main()", "    ~~~~^^", `  File "/job/data.py", line 25, in fetch`, `    raise OSError(28)`, "OSError: [Errno 28] No space left on device", "step 4"} {
		text += fmt.Sprintf("[rank%d]: %s\n", rank, line)
	}
	return text
}

// looked returns what faulthandler prints of a process: the main thread comes last.
func looked(function string) string {
	return "Timeout (0:10:00)!\nThread 0x00007f11 (most recent call first):\n  File \"/usr/lib/python3.10/threading.py\", line 320 in wait\n\n" +
		"Thread 0x00007f22 (most recent call first):\n  File \"/job/data.py\", line 25 in " + function + "\n  File \"/job/train.py\", line 54 in <module>\n"
}

// Where processes are and how they ended: by faulthandler, by a traceback, by torchrun.
func TestUnwound(t *testing.T) {
	s := Scanner{}
	read := func(rank int, text string) {
		s.Begin(rank)
		if err := s.Read(strings.NewReader(text), "x", ingest.Limits{}); err != nil {
			t.Fatal(err)
		}
	}
	read(0, looked("fetch"))
	read(1, "Fatal Python error: Segmentation fault\n\n"+looked("early")+"\nprinted by something else\n"+looked("late"))
	read(-1, raised(2)+"Root Cause (first observed failure):\n  rank      : 4 (local_rank: 0)\n  exitcode  : -9 (pid: 47)\n  rank      : 5 (local_rank: 1)\n  exitcode  : -15 (pid: 48)\n")
	read(-1, "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\nKeyError: 3\n")
	c := s.Record("x")
	if c == nil {
		t.Fatal("nothing")
	}
	var got []string
	for _, p := range c.Processes {
		text := fmt.Sprintf("%d %s", p.Rank, p.Ended)
		if len(p.Stack) > 0 {
			text += fmt.Sprintf(" in %s:%d of %d", p.Stack[0].Function, p.Stack[0].Line, len(p.Stack))
		}
		got = append(got, text)
	}
	want := []string{"0  in fetch:25 of 2", "1  in late:25 of 2", "2 OSError: [Errno 28] No space left on device in fetch:25 of 2", "4 exit code -9 (SIGKILL, as when memory runs out)"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if len(c.Notes) != 1 || !strings.Contains(c.Notes[0].Text, "tells no rank: KeyError: 3, in f") {
		t.Errorf("%v", c.Notes)
	}
}

// How ranks ended, where nobody waits: what torchrun saw first stands first.
func TestEnded(t *testing.T) {
	s := Scanner{Rank: -1}
	text := raised(1) + strings.ReplaceAll(raised(3), "OSError: [Errno 28] No space left on device", "RuntimeError: Connection closed by peer") +
		"Failures:\n[0]:\n  rank      : 1 (local_rank: 1)\n  exitcode  : 1 (pid: 46)\n[1]:\n  rank      : 4 (local_rank: 4)\n  exitcode  : -15 (pid: 47)\n" +
		"Root Cause (first observed failure):\n[0]:\n  rank      : 3 (local_rank: 3)\n  exitcode  : 1 (pid: 48)\n"
	if err := s.Read(strings.NewReader(text), "x", ingest.Limits{}); err != nil {
		t.Fatal(err)
	}
	want := []string{"rank 3 ended: RuntimeError: Connection closed by peer, in fetch (data.py:25); torchrun saw it fail first",
		"rank 1 ended: OSError: [Errno 28] No space left on device, in fetch (data.py:25)"}
	if got := s.Exits(); !slices.Equal(got, want) || s.HasFindings() {
		t.Errorf("%q, want %q", got, want)
	}
}

// Gloo's time-outs end the tracebacks of ranks that waited; the one that ended otherwise, or still runs when torchrun ends it, is missing.
func TestGloo(t *testing.T) {
	waited := func(rank int) string {
		text := strings.ReplaceAll(raised(rank), "OSError: [Errno 28] No space left on device", "RuntimeError: [/x/gloo/gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 6000ms for recv operation to complete")
		return strings.ReplaceAll(strings.ReplaceAll(text, "/job/data.py", "/site-packages/torch/distributed/distributed_c10d.py"), "in fetch", "in all_reduce")
	}
	const killed = "  rank      : 3 (local_rank: 3)\n  exitcode  : -15 (pid: 48)  (SIGTERM)\n"
	for text, want := range map[string]string{
		waited(0) + waited(2) + raised(1):          "0: [0 2] wait in allreduce 0, not 1 perhaps",
		waited(0) + waited(1) + waited(2) + killed: "0: [0 1 2] wait in allreduce 0, not 3 perhaps",
		waited(0) + waited(1) + waited(2):          "0: [0 1 2] wait in allreduce 0",
	} {
		if got := summary(t, text); got != want {
			t.Errorf("%q, want %q of\n%s", got, want, text)
		}
	}
}

// Behind what torchrun puts before a line, which is the rank on the node, PyTorch puts that of the job.
func TestTwoPrefixes(t *testing.T) {
	text := strings.ReplaceAll("[rank11]: "+strings.ReplaceAll(strings.TrimSpace(raised(11)), "\n", "\n[default3]:")+"\n", "[rank11]: [rank11]", "[default3]:[rank11]")
	text += "[default3]:" + fmt.Sprintf(watchdog, 11, 88)
	s := Scanner{Rank: -1}
	if err := s.Read(strings.NewReader(text), "x", ingest.Limits{}); err != nil {
		t.Fatal(err)
	}
	c := s.Record("x")
	if c == nil || len(c.Processes) != 1 || c.Processes[0].Rank != 11 || !strings.HasPrefix(c.Processes[0].Ended, "OSError") {
		t.Errorf("%+v", c)
	}
}

// A time-out behind which new steps come is none any more; one of another file stays, and so does one behind which steps are repeated.
func TestRecovered(t *testing.T) {
	for name, c := range map[string]struct {
		before, after []int64
		waits         int // ranks that wait
		note          bool
	}{
		"new steps":      {[]int64{7, 8}, []int64{9, 10}, 1, true},
		"one step":       {[]int64{7, 8}, []int64{9}, 2, false},
		"the same steps": {[]int64{7, 8, 9}, []int64{7, 8, 9}, 2, false},
		"without number": {nil, []int64{-1, -1}, 1, true},
	} {
		s := Scanner{}
		s.Begin(0)
		s.Line([]byte(fmt.Sprintf(watchdog, 0, 9)), 1)
		s.Begin(1)
		for _, n := range c.before {
			s.Step(n)
		}
		s.Line([]byte(fmt.Sprintf(watchdog, 1, 9)), 20)
		for _, n := range c.after {
			s.Step(n)
		}
		r := s.Record("x")
		if len(r.Processes) != c.waits || (len(r.Notes) == 1) != c.note || c.note && !strings.Contains(r.Notes[0].Text, "in line 20 are followed") {
			t.Errorf("%s: %d processes, notes %v", name, len(r.Processes), r.Notes)
		}
	}
}

// Where a line stands in the file of a rank, and does not tell it, the file does.
func TestRankOfFile(t *testing.T) {
	s := Scanner{}
	for rank := range 3 {
		s.Rank = rank
		if err := s.Read(strings.NewReader("WorkNCCL: collective operation timeout: WorkNCCL(SeqNum=9, OpType=BROADCAST) ran for 5000 milliseconds\n"), "x", ingest.Limits{}); err != nil {
			t.Fatal(err)
		}
	}
	if c := s.Record("x"); c == nil || len(c.Processes) != 3 || c.Processes[2].Rank != 2 || c.Calls[0].Seq != 9 || c.Calls[0].Name != "broadcast" {
		t.Errorf("%+v", c)
	}
}

// What a launcher put before a line counts before the name of the file.
func TestRankOfLauncher(t *testing.T) {
	s := Scanner{Rank: 1}
	if err := s.Read(strings.NewReader("[1,0]<stderr>:Stalled ops:HorovodBroadcast_x_0 [missing ranks: 1]\n"), "x", ingest.Limits{}); err != nil {
		t.Fatal(err)
	}
	if c := s.Record("x"); c == nil || len(c.Calls) != 1 || c.Processes[c.Calls[0].Process].Rank != 0 {
		t.Errorf("%+v, want rank 0 waiting", c)
	}
}

// Whatever stands in a log: no panic, and a record that the engine takes.
func FuzzScanner(f *testing.F) {
	f.Add(fmt.Sprintf(watchdog+failure, 1, 78, 79, 77))
	f.Add("Stalled ranks:\n3: [a]\n[missing ranks: 1]\ntimed out task /task:3\n")
	f.Add(strings.Repeat("\x9a", 17) + "timed out task /task:3\n") // in small letters these are longer
	f.Add(fmt.Sprintf(print, 1, 7, "ALLREDUCE", 3))
	f.Add(looked("f") + raised(2) + fmt.Sprintf(watchdog, 1, 78))
	f.Add("  rank : 4 (local_rank: 0)\n  exitcode : -9 (pid: 47)\n" + fmt.Sprintf(watchdog, 1, 78))
	f.Add("Ranks 1, 2 failed to pass monitoredBarrier in 30000 ms")
	f.Fuzz(func(t *testing.T, text string) {
		s := Scanner{Rank: -1}
		if s.Read(strings.NewReader(text), "x", ingest.Limits{Line: 1 << 16}) != nil {
			return
		}
		if c := s.Record("x"); c != nil {
			var j arrivals.Job
			if err := j.Add(c); err == nil {
				j.Analyze(arrivals.Options{HangOnly: true})
			}
		}
	})
}
