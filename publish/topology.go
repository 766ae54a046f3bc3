package publish

import (
	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Topology is the machines of a job, as NCCL printed them: sfstat comm --show topology.
type Topology struct {
	Schema   string    `json:"schema" doc:"name and version of this form"`
	Machines []Machine `json:"machines" doc:"the machines, each with its devices"`
	Problems []Problem `json:"problems" doc:"inputs that were refused; the others were analysed"`
}

// Machine is one machine.
type Machine struct {
	Host    string           `json:"host" doc:"host, up to the first dot"`
	Devices []TopologyDevice `json:"devices" doc:"devices that NCCL saw"`
	Links   []Link           `json:"links" doc:"links between devices"`
	Paths   []Path           `json:"paths" doc:"paths between ranks, and from ranks to the network"`
}

// TopologyDevice is a device of a machine, named as its topology names it.
type TopologyDevice struct {
	Name string                `json:"name" doc:"name, unique on the host"`
	Kind Name[nccl.DeviceKind] `json:"kind" doc:"kind of culprit"`
	Rank *int                  `json:"rank" doc:"rank of the job that has it"`
}

// Link is a link between two devices of a machine.
type Link struct {
	From  string          `json:"from" doc:"name of a device"`
	To    string          `json:"to" doc:"name of a device"`
	Class Name[nccl.Link] `json:"class" doc:"class of the link, as NCCL names it"`
	GBps  *float64        `json:"gbps" doc:"gigabytes per second"`
}

// Path is the widest path between two ranks of the job.
type Path struct {
	From  int             `json:"from_rank" doc:"rank of the job"`
	To    *int            `json:"to_rank" doc:"rank of the job; null: the network"`
	Class Name[nccl.Link] `json:"class" doc:"class of the worst link"`
	GBps  *float64        `json:"gbps" doc:"gigabytes per second of the narrowest link"`
}

// TopologyOf returns the document of machines.
func TopologyOf(machines []comm.Machine, problems []Problem) Topology {
	return Topology{"sfstat.comm-topology/1", convert(machines, func(m comm.Machine) Machine {
		return Machine{m.Host,
			convert(m.Devices, func(d comms.Device) TopologyDevice {
				return TopologyDevice{d.Name, nameOf(d.Kind), nonNegative(d.Rank)}
			}),
			convert(m.Links, func(l comm.Link) Link {
				return Link{m.Devices[l.From].Name, m.Devices[l.To].Name, nameOf(l.Class), number(l.Bandwidth)}
			}),
			convert(m.Paths, func(p comm.Path) Path { return Path{p.From, nonNegative(p.To), nameOf(p.Class), number(p.Bandwidth)} })}
	}), list(problems)}
}

// Rows returns a row for each path.
func (t Topology) Rows() *Rows {
	r := rowsUnder("host from_rank to_rank class gbps")
	for _, m := range t.Machines {
		for _, p := range m.Paths {
			r.add(m.Host, p.From, p.To, p.Class, p.GBps)
		}
	}
	return r
}
