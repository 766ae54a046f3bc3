package pyspy

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace/comms"
)

// real is what py-spy 0.4.3 wrote of a rank that waits for its data.
const real = "../../fixtures/pyspy/hang/pyspy_2.txt"

func text(t testing.TB) string {
	b, err := os.ReadFile(real)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Lines of the fixture's train.py: fetch blocks at line 25; line 32 calls it, and line 54 calls that.
var stack = []comms.Frame{{Function: "Loader.fetch", File: "train.py", Line: 25}, {Function: "train", File: "train.py", Line: 32}, {Function: "<module>", File: "train.py", Line: 54}}

// inJSON is the form of the same dump under --json, whose first thread is another one.
const inJSON = `[{"pid":10060,"thread_name":"Thread-1","os_thread_id":9,"owns_gil":false,"frames":[{"name":"run","filename":"/usr/lib/x.py","short_filename":"x.py","line":4}]},
{"pid":10060,"thread_name":"MainThread","os_thread_id":10060,"owns_gil":false,"frames":[{"name":"Loader.fetch","filename":"/home/job/train.py","short_filename":"train.py","line":25},
{"name":"train","filename":"train.py","short_filename":null,"line":32},{"name":"<module>","filename":"/home/job/train.py","short_filename":"train.py","line":54}]}]`

func TestRead(t *testing.T) {
	whole := text(t)
	coloured := strings.Replace(whole, "10060", "\x1b[1;33m10060\x1b[0m", 1)
	for name, c := range map[string]struct {
		text  string
		notes int
	}{
		"text":                 {whole, 0},
		"after a heading":      {"== pid 10060 ==\n" + whole, 0},
		"coloured":             {coloured, 0},
		"locals":               {strings.Replace(whole, "train.py:25)\n", "train.py:25)\n        Arguments:\n            self: <Loader at 0x7f>\n        Locals:\n            step: 3\n", 1), 0},
		"native":               {strings.Replace(whole, "    Loader", "    0x7f91a164524a (libc.so.6)\n    Loader", 1), 0},
		"another thread":       {strings.Replace(whole, "Thread 10060 (idle)", "Thread 9 (active+gil): \"Thread-1\"\n    run (x.py:4)\nThread 10060 (idle)", 1), 0},
		"another process":      {whole + "Process 7: python worker\nPython v3.11.7 (/usr/bin/python3)\n\nThread 7 (idle): \"MainThread\"\n    poll (w.py:1)\n", 0},
		"a child without main": {whole + "Process 7: worker\nPython v3.11.7 (/usr/bin/python3)\n\nThread 7 (idle): \"other\"\n    poll (w.py:1)\n", 1},
		"JSON":                 {inJSON, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if !Recognise([]byte(c.text)) {
				t.Error("not recognised")
			}
			got, err := Read(strings.NewReader(c.text), "x", ingest.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			p := got.Processes[0]
			if diff := cmp.Diff(stack, p.Stack); diff != "" || p.PID != 10060 || p.Rank != -1 || len(got.Notes) != c.notes {
				t.Errorf("process %d, rank %d, notes %v, stack (want −, got +):\n%s", p.PID, p.Rank, got.Notes, diff)
			}
		})
	}
}

// Each process of a file is one, with the rank that its command line or name tells; in a backward pass the autograd thread, which has
// no name, is where it is.
func TestProcesses(t *testing.T) {
	text := ""
	type told struct{ rank, local int }
	commands := map[int]struct {
		command, local string
		want           told
	}{
		0: {"python train.py --local-rank 3", "", told{-1, 3}},
		1: {"sglang::scheduler_TP4", "", told{4, -1}},
		2: {"python HTTP2.py --node_rank 1 --lora_rank 8 --machine-rank=2", "", told{-1, -1}},
		3: {"trainer rank=5", "", told{5, -1}},
		4: {"python x.py --rank 12 --local_rank=4", "", told{12, 4}},
		5: {"python y.py", "            local_rank: 6\n            rank: 14\n            lora_rank: 8\n", told{14, 6}},
	}
	for i := range len(commands) {
		text += fmt.Sprintf("Process %d: %s\nPython v3.10.12 (/usr/bin/python3)\n\nThread 1 (idle): \"MainThread\"\n    backward (torch/autograd/__init__.py:266)\n%s    step (train.py:40)\n"+
			"Thread 8 (idle): \"Thread-1\"\n    wait (threading.py:3)\n    run (x.py:1)\n    y (x.py:2)\nThread 9 (active)\n    all_reduce (torch/distributed/distributed_c10d.py:%d)\n", 100+i, commands[i].command, commands[i].local, i)
	}
	c, err := Read(strings.NewReader(text), "x", ingest.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range len(commands) {
		p, want := c.Processes[i], commands[i].want
		if (told{p.Rank, p.LocalRank}) != want || p.PID != int64(100+i) || len(p.Stack) != 3 || p.Stack[0].Function != "all_reduce" || p.Stack[0].Line != i || p.Stack[2].Function != "step" {
			t.Errorf("process %d: %+v, want %+v", i, p, want)
		}
	}
}

// A damaged dump is refused with its place and what to do.
func TestDamage(t *testing.T) {
	whole := text(t)
	for name, c := range map[string]struct{ text, want string }{
		"cut within a frame": {whole[:strings.Index(whole, ".py:32")], `x:6: "train (train" is no frame`},
		"cut before frames":  {whole[:strings.Index(whole, "    Loader")], "x:4: no stack of a thread named"},
		"a line too large":   {strings.Replace(whole, ":25)", ":99999999999999999999)", 1), "x:5: line 99999999999999999999"},
		"no main at all":     {"Process 7: python\nPython v3.11.7 (/usr/bin/python3.11)\n\nThread 7 (idle): \"other\"\n    run (x.py:4)\n", "no stack of a thread named"},
		"cut JSON":           {inJSON[:200], "x@byte 200: no JSON of py-spy dump"},
		"JSON without main":  {strings.Replace(inJSON, "MainThread", "other", 1), "no stack of a thread named"},
	} {
		_, err := Read(strings.NewReader(c.text), "x", ingest.Limits{})
		if err == nil || !strings.HasPrefix(err.Error(), c.want) && !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "py-spy dump --pid") && !strings.Contains(err.Error(), "line 9999") {
			t.Errorf("%s: %v, expected %q", name, err, c.want)
		}
	}
	for _, other := range []string{"", "Process 7 ended", "Process 7: started\nand ended\n", `[{"pid":1}]`} {
		if Recognise([]byte(other)) {
			t.Errorf("%q is taken for a dump", other)
		}
	}
}

// Whatever stands in a file: no panic, and who is read has a stack.
func FuzzRead(f *testing.F) {
	f.Add(text(f))
	f.Add(inJSON)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Read(strings.NewReader(text), "x", ingest.Limits{})
		if err == nil && len(c.Processes[0].Stack) == 0 {
			t.Error("no stack and no error")
		}
	})
}
