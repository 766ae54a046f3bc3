package inventory

import (
	"cmp"
	"slices"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/trace/comms"
)

// Communication is what debug logs of NCCL, dumps of its Inspector and exports beside them hold.
type Communication struct {
	Logs          int            `json:"logs"`
	Dumps         int            `json:"dumps"`
	Exports       int            `json:"exports"`
	Ranks         int            `json:"ranks"`
	Hosts         []string       `json:"hosts"`
	Calls         int            `json:"calls"`
	Bytes         int64          `json:"bytes"` // as logged
	Operations    []Operation    `json:"operations"`
	Communicators []Communicator `json:"communicators"`
	Stamped       int            `json:"calls_with_time"`
	Tuned         int            `json:"calls_with_algorithm"`
	Kernels       int            `json:"kernels"`
	Topology      []string       `json:"hosts_with_topology"`
	Unread        int64          `json:"unparsed_lines"`
	Warnings      int            `json:"warnings"`
}

// Operation is the calls of one operation.
type Operation struct {
	Op    string `json:"op"`
	Calls int64  `json:"calls"`
}

// Communicator is how many communicators there are of a size and kind.
type Communicator struct {
	Kind  string `json:"kind"`
	Ranks int    `json:"nranks"`
	Count int    `json:"count"`
}

// CommunicationOf counts what a result rests on.
func CommunicationOf(r *comm.Result) *Communication {
	c := &Communication{Logs: r.Sources(comms.SourceNCCLLog), Dumps: r.Sources(comms.SourceInspector), Exports: r.Sources(comms.SourceNsight), Ranks: len(r.Ranks),
		Calls: len(r.Calls) - r.Duplicates, Unread: r.Unparsed, Warnings: len(r.Recorded.Warnings),
		Hosts: []string{}, Operations: []Operation{}, Communicators: []Communicator{}, Topology: []string{}}
	for i := range r.Ranks {
		c.Hosts = append(c.Hosts, r.Ranks[i].Host)
		c.Kernels += len(r.Kernels(i))
	}
	slices.Sort(c.Hosts)
	c.Hosts = slices.Compact(c.Hosts)
	for i := range r.Calls {
		x := &r.Calls[i]
		c.Bytes += max(x.Bytes, 0)
		if x.HasEnter {
			c.Stamped++
		}
		if x.Tuning != nil {
			c.Tuned++
		}
	}
	for op, n := range r.OpCounts {
		c.Operations = append(c.Operations, Operation{op.String(), n})
	}
	slices.SortFunc(c.Operations, func(a, b Operation) int { return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Op, b.Op)) })
	count := map[Communicator]int{}
	for i := range r.Communicators {
		count[Communicator{Kind: r.Communicators[i].Kind.String(), Ranks: r.Communicators[i].NRanks}]++
	}
	for k, n := range count {
		k.Count = n
		c.Communicators = append(c.Communicators, k)
	}
	slices.SortFunc(c.Communicators, func(a, b Communicator) int { return cmp.Or(cmp.Compare(b.Ranks, a.Ranks), cmp.Compare(a.Kind, b.Kind)) })
	for _, m := range comm.Machines(r) {
		c.Topology = append(c.Topology, m.Host)
	}
	return c
}
