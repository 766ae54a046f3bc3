package auto

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sfstat/sfstat/trace/comms"
)

// stacksText returns a dump of processes, each with its command line.
func stacksText(pid int, commands ...string) (text string) {
	for i, command := range commands {
		text += fmt.Sprintf("Process %d: %s\nPython v3.8.12 (/usr/bin/python3.8)\n\nThread %d (active): \"MainThread\"\n    train (train.py:%d)\n\n", pid+i, command, pid, pid+i)
	}
	return text
}

// placed returns of all stacks in a folder the rank, the host and the process, and the notes.
func placed(t *testing.T, files map[string]string) (all []string, notes string) {
	t.Helper()
	r, err := Open([]string{folderOf(t, files)}, Options{Kinds: Windows | Entries})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for j, err := range r.Jobs() {
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range j.Calls.Processes {
			all = append(all, fmt.Sprintf("%d %s %d", p.Rank, p.Host, p.PID))
		}
		for _, n := range j.Calls.Notes {
			notes += n.Text + ";"
		}
		if j.Calls.Sources[0].Kind != comms.SourcePySpy {
			t.Errorf("%v", j.Calls.Sources)
		}
	}
	slices.SortFunc(all, naturally)
	return all, notes
}

// Ranks of stacks are those that processes or names of files tell; never that of a node, and no two are taken for one.
func TestRanksOfStacks(t *testing.T) {
	local := func(n int) string { return fmt.Sprintf("python x.py --local_rank=%d", n) }
	for name, c := range map[string]struct {
		files map[string]string
		want  string
		note  string
	}{
		"one for each rank": {map[string]string{"pyspy_0.txt": stacksText(10, "python"), "node7_rank1.txt": stacksText(11, "python")}, "0  10, 1 node7 11", ""},
		"local ranks of nodes": {map[string]string{"trace-node9.out": stacksText(10, local(1), local(0)), "trace-node10.out": stacksText(20, local(0), local(1))},
			"0 node9 11, 1 node9 10, 2 node10 20, 3 node10 21", "from 0 on of node9, from 2 on of node10"},
		"ranks in names, of two nodes": {map[string]string{"a1_rank0.txt": stacksText(10, "python"), "a1_rank1.txt": stacksText(11, "python"), "a2_rank0.txt": stacksText(20, "python"), "a2_rank1.txt": stacksText(21, "python")},
			"0 a1 10, 1 a1 11, 2 a2 20, 3 a2 21", "tell their local ranks alone"},
		"the same local ranks in folders of nodes": {map[string]string{"node9/pyspy_0.txt": stacksText(10, local(0)), "node9/pyspy_1.txt": stacksText(11, local(1)), "node10/pyspy_0.txt": stacksText(20, local(0)), "node10/pyspy_1.txt": stacksText(21, local(1))},
			"0 node9 10, 1 node9 11, 2 node10 20, 3 node10 21", "from 0 on of node9, from 2 on of node10"},
		"folders of ranks in those of nodes": {map[string]string{"ip-10-0-0-7/rank_0/s.txt": stacksText(10, "python"), "ip-10-0-0-7/rank_1/s.txt": stacksText(11, "python"), "ip-10-0-0-8/rank_0/s.txt": stacksText(20, "python"), "ip-10-0-0-8/rank_1/s.txt": stacksText(21, "python")},
			"0 ip-10-0-0-7 10, 1 ip-10-0-0-7 11, 2 ip-10-0-0-8 20, 3 ip-10-0-0-8 21", "tell their local ranks alone"},
		"folders of ranks":     {map[string]string{"rank4/s.txt": stacksText(10, local(0)), "rank5/s.txt": stacksText(11, local(1))}, "4  10, 5  11", ""},
		"nodes alone":          {map[string]string{"pyspy_node3.txt": stacksText(10, "python"), "pyspy_node48.txt": stacksText(20, "python")}, "0 node3 10, 1 node48 20", "0 is process 10 of node3, 1 is process 20 of node48"},
		"nothing":              {map[string]string{"a.txt": stacksText(10, "python", "python"), "b.txt": stacksText(20, "python", "python")}, "0  10, 1  11, 2  20, 3  21", "0 is process 10 of a.txt"},
		"global ranks":         {map[string]string{"n1.txt": stacksText(10, "x_TP0", "x_TP1"), "n2.txt": stacksText(20, "x_TP2", "x_TP3")}, "0 n1 10, 1 n1 11, 2 n2 20, 3 n2 21", ""},
		"twice of one process": {map[string]string{"n1.txt": stacksText(10, "x_TP0", "x_TP0")}, "0 n1 10, 1 n1 11", "nothing tells"},
		"looked at twice":      {map[string]string{"pyspy_1.txt": stacksText(10, "python"), "pyspy_01.txt": stacksText(10, "python")}, "1  10, 1  10", "more than once, of which the last counts: 1"},
	} {
		all, notes := placed(t, c.files)
		if got := strings.Join(all, ", "); got != c.want || (notes != "") != (c.note != "") || !strings.Contains(notes, c.note) {
			t.Errorf("%s: %s, notes %q, want %s, %q", name, got, notes, c.want, c.note)
		}
	}
}
