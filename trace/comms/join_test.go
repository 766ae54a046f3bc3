package comms

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sfstat/sfstat/trace/nccl"
)

// oneCall is a process with a group, its split, a call on that and a path.
func oneCall(host string) *Record {
	call := UnknownCall(0)
	call.Group, call.Op, call.Stack = 1, nccl.AllReduce, 0
	return &Record{
		Sources:   []Source{{Name: host}},
		Processes: []Process{{Host: host}, {Host: host, Clock: 1}},
		Groups:    []Group{{ID: 5}, {Split: &Split{Parent: 0}}, {Split: &Split{Parent: None}}},
		Calls:     []Call{call, UnknownCall(1)},
		Paths:     []Path{{Group: 1, From: 0, To: ToNetwork}},
		Stacks:    [][]Frame{{{Function: host}}},
		Warnings:  []Warning{{Process: 1, Text: host}},
		Unread:    []Unread{{Reason: host, Count: 1}},
		Strays:    1,
	}
}

// Every record of a joined Record refers to the records that it referred to before.
func TestJoinComms(t *testing.T) {
	a, b := oneCall("a"), oneCall("b")
	j := Join(a, b, oneCall("c"))
	if diff := cmp.Diff(oneCall("a"), a); diff != "" {
		t.Errorf("joining changed the first:\n%s", diff)
	}
	if diff := cmp.Diff(oneCall("b"), b); diff != "" {
		t.Errorf("joining changed the second:\n%s", diff)
	}
	for n, host := range []string{"a", "b", "c"} {
		x, alone := &j.Calls[2*n], &j.Calls[2*n+1]
		g, w := &j.Groups[x.Group], &j.Warnings[n]
		for what, got := range map[string]string{"call": j.Processes[x.Process].Host, "source": j.Sources[x.Source].Name,
			"group": j.Processes[g.Process].Host, "parent": j.Processes[j.Groups[g.Split.Parent].Process].Host, "stack": j.Stacks[x.Stack][0].Function,
			"path": j.Processes[j.Groups[j.Paths[n].Group].Process].Host, "warning": j.Processes[w.Process].Host, "unread": j.Sources[j.Unread[n].Source].Name} {
			if got != host {
				t.Errorf("the %s of %s is one of %s", what, host, got)
			}
		}
		if alone.Group != None || alone.Stack != None || j.Groups[3*n+2].Split.Parent != None {
			t.Errorf("%s: nothing became something: %+v", host, alone)
		}
		if c := j.Processes[2*n].Clock; c != 2*n || j.Processes[2*n+1].Clock != 2*n+1 {
			t.Errorf("%s: clock %d", host, c)
		}
	}
	if j.Strays != 3 || len(Join().Calls) != 0 {
		t.Errorf("%d strays", j.Strays)
	}
}
