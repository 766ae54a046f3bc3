package ncclras

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/engine/comm/arrivals"
	"github.com/sfstat/sfstat/ingest"
)

// heading is how NCCL 2.28 to 2.30 begin a report, of a job of 8 ranks on 2 nodes.
const heading = `NCCL version 2.28.9 compiled with CUDA 12.9

Job summary
===========

  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      2          4            1          8        8

Communicators... (0.00s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         2         4         8         8   RUNNING  %s

Errors
======

`

// answerOf returns what a report in words comes to.
func answerOf(t *testing.T, text string) string {
	t.Helper()
	if !RecogniseText([]byte(text)) {
		t.Error("not recognised")
	}
	c, err := ReadText(strings.NewReader(text), "ras_1.txt", ingest.Limits{})
	if err != nil {
		return err.Error()
	}
	var j arrivals.Job
	if err := j.Add(c); err != nil {
		t.Fatal(err)
	}
	a := j.Analyze(arrivals.Options{HangOnly: true}).Asked
	var out []string
	for _, b := range a.Behind {
		out = append(out, fmt.Sprintf("%s: %v at %d, %v at %d", b.Name, b.Ranks, b.Least, b.Ahead, b.Most))
	}
	if len(a.Unanswered) > 0 {
		out = append(out, fmt.Sprintf("no answer of %v, %s", a.Unanswered, a.Hosts[a.Unanswered[0]]))
	}
	return strings.Join(out, "; ")
}

func TestText(t *testing.T) {
	mismatch, incomplete := fmt.Sprintf(heading, "MISMATCH")+"\nWarnings\n========\n\n#0-0 (78db921d1c117b4a) MISMATCH\n  Communicator ranks have different AllReduce operation counts\n", fmt.Sprintf(heading, "INCOMPLETE")
	for name, c := range map[string]struct{ text, want string }{
		"one is behind": {mismatch + "  7 ranks have launched up to operation 64\n  Rank 5 has launched up to operation 60 -- GPU 1 managed by process 9 on node b\n", "AllReduce: [5] at 60, [0 1 2 3 4 6 7] at 64"},
		"two are alike": {mismatch + "  6 ranks have launched up to operation 64\n  2 ranks have launched up to operation 60\n  Rank 1 -- GPU 1 managed by process 9 on node b\n  Rank 2 -- GPU 2 managed by process 10 on node b\n",
			"AllReduce: [1 2] at 60, [0 3 4 5 6 7] at 64"},
		"each is said":        {mismatch + "  Rank 0 has launched up to operation 4 -- GPU 0, process 285, node a\n  Rank 1 has not launched any operations -- GPU 1, process 286, node a\n  6 ranks have launched up to operation 4\n", "AllReduce: [1] at 0, [0 2 3 4 5 6 7] at 4"},
		"one does not answer": {incomplete + "#0-0 (1bdb83b038775869) INCOMPLETE\n  Missing communicator data from 1 rank\n  Rank 7 -- GPU 3 managed by process 374 on node c\n", "no answer of [7], c"},
		"NCCL 2.24":           {incomplete + "#0-0 (27a079b828ff1a75) INCOMPLETE\n  Missing communicator data from 1 rank\n  The missing rank: 6\n", "no answer of [6], "},
		"nobody":              {fmt.Sprintf(heading, "OK"), ""},
		"without a table":     {"#0-0 (a3f5545bf4e7cf8c) MISMATCH\n  Communicator ranks have different AllReduce operation counts\n  Rank 1 has launched up to operation 11 -- GPU 0, process 285, node a\n  Rank 0 has launched up to operation 10 -- GPU 0, process 284, node b\n", "AllReduce: [0] at 10, [1] at 11"},
		"no communicator":     {strings.Replace(fmt.Sprintf(heading, "OK"), "    0         1", "No communicator data collected!", 1), "ras_1.txt:19: a report of NCCL's RAS in which no communicator is told: nobody is behind, or NCCL had none; ask again while the job stands still (ncclras -v > ras_1.txt) (missing)"},
	} {
		if got := answerOf(t, c.text); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Whatever stands in a report in words: no panic, and a record that the engine takes.
func FuzzText(f *testing.F) {
	f.Add(fmt.Sprintf(heading, "MISMATCH") + "#0-0 (78d) MISMATCH\n  Communicator ranks have different AllReduce operation counts\n  7 ranks have launched up to operation 64\n  Rank 5 -- GPU 1 managed by process 9 on node b\n")
	f.Add("#0-0 (78d) INCOMPLETE\n  Missing communicator data from 1 rank\n  The missing ranks: 3, 6\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ReadText(strings.NewReader(text), "x", ingest.Limits{Line: 1 << 16})
		if err != nil {
			return
		}
		var j arrivals.Job
		if err := j.Add(c); err == nil {
			j.Analyze(arrivals.Options{HangOnly: true})
		}
	})
}
