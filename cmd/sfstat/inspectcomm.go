package main

import (
	"fmt"
	"strings"

	"github.com/sfstat/sfstat/cmd/sfstat/internal/inventory"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/report"
)

// commFacts is a job's communication for a person.
func commFacts(c *inventory.Communication) *table.Table {
	t := &table.Table{Title: "calls of NCCL"}
	var sources []string
	for _, s := range []struct {
		n    int
		name string
	}{{c.Logs, "log"}, {c.Dumps, "Inspector dump"}, {c.Exports, "export"}} {
		if s.n > 0 {
			sources = append(sources, counted(s.n, s.name))
		}
	}
	t.Fact("sources", "%s", strings.Join(sources, ", "))
	t.Fact("ranks", "%d, on %s", c.Ranks, counted(len(c.Hosts), "host"))
	var ops []string
	for _, o := range c.Operations {
		ops = append(ops, fmt.Sprintf("%s %d", o.Op, o.Calls))
	}
	t.Fact("calls", "%d, %s: %s", c.Calls, report.Size(c.Bytes), strings.Join(ops, ", "))
	var groups []string
	for _, g := range c.Communicators {
		groups = append(groups, fmt.Sprintf("%d × %s of %s", g.Count, g.Kind, counted(g.Ranks, "rank")))
	}
	t.Fact("communicators", "%s", strings.Join(groups, ", "))
	t.Fact("times", "%d of %d calls stamped", c.Stamped, c.Calls)
	t.Fact("algorithms", "of %d calls", c.Tuned)
	if c.Exports > 0 {
		t.Fact("kernels", "%d", c.Kernels)
	}
	t.Fact("topology", "of %d of %s", len(c.Topology), counted(len(c.Hosts), "host"))
	for _, l := range commLacks(c) {
		t.Fact("lacks", "%s", l)
	}
	return t
}

// commLacks is what cannot be told, and how to record it.
func commLacks(c *inventory.Communication) (list []string) {
	for _, l := range []struct {
		lacks bool
		text  string
	}{
		{c.Exports+c.Dumps == 0, "when calls ran and how fast: nsys profile --trace=cuda,nvtx, or NCCL's Inspector"},
		{c.Calls == 0, "what was called: NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,COLL,TUNING,GRAPH"},
		{len(c.Topology) == 0 && c.Logs > 0, "the limits of links: GRAPH in NCCL_DEBUG_SUBSYS"},
		{c.Stamped == 0 && c.Logs > 0, "when calls were made: NCCL_DEBUG_TIMESTAMP_LEVELS=INFO (NCCL 2.26)"},
	} {
		if l.lacks {
			list = append(list, l.text)
		}
	}
	return list
}
