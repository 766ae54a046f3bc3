package report

import (
	"bufio"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/internal/table"
	"github.com/sfstat/sfstat/publish"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Topology writes the machines of a job: paths between ranks, and the links between devices. CSV is one row per path.
func (o Output) Topology(machines []comm.Machine) error {
	return o.write(forms{
		json:     func() any { return publish.TopologyOf(machines, problemsOf(o.Problems)) },
		rows:     func() *publish.Rows { return publish.TopologyOf(machines, nil).Rows() },
		document: func() document { return topologyDocument(machines) },
	})
}

const noTopology = "No topology in the logs: NCCL prints it with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,GRAPH."

func topologyDocument(machines []comm.Machine) document {
	if len(machines) == 0 {
		return document{prose(noTopology)}
	}
	var d document
	for i := range machines {
		m := &machines[i]
		d = append(d, heading(m.Host), prose(deviceCounts(m)+"."), pathTable(m))
		if t := linkTable(m); len(t.Rows) > 0 {
			d = append(d, t)
		}
	}
	return d
}

// deviceCounts returns "4 GPUs, 2 CPUs, 2 network ports".
func deviceCounts(m *comm.Machine) string {
	n := map[nccl.DeviceKind]int{}
	for _, d := range m.Devices {
		n[d.Kind]++
	}
	var parts []string
	for _, k := range []struct {
		kind nccl.DeviceKind
		name string
	}{{nccl.GPU, "GPU"}, {nccl.CPU, "CPU"}, {nccl.PCISwitch, "PCI bridge"}, {nccl.NVSwitch, "NVLink fabric"}, {nccl.NIC, "network card"}, {nccl.NetworkPort, "network port"}} {
		if n[k.kind] > 0 {
			parts = append(parts, table.Counted(n[k.kind], k.name))
		}
	}
	if len(parts) == 0 {
		return table.Counted(len(m.Paths), "path")
	}
	return strings.Join(parts, ", ")
}

// mostSquare is how many ranks of a machine have a column each.
const mostSquare = 16

// pathTable returns a table with a row for each rank, a column for each other rank, and the network.
func pathTable(m *comm.Machine) *table.Table {
	gpu, ranks, paths := map[int]string{}, []int{}, map[[2]int]comm.Path{}
	for _, d := range m.Devices {
		if d.Rank >= 0 {
			gpu[d.Rank] = d.Name
			ranks = append(ranks, d.Rank)
		}
	}
	for _, p := range m.Paths {
		paths[[2]int{p.From, p.To}] = p
		ranks = append(ranks, p.From)
		if p.To != comms.ToNetwork {
			ranks = append(ranks, p.To)
		}
	}
	slices.Sort(ranks)
	ranks = slices.Compact(ranks)
	t := pathColumns()
	shown := ranks[:min(len(ranks), mostSquare)]
	for _, to := range shown {
		t.Columns = append(t.Columns, table.Column{Head: fmt.Sprintf("to %d", to), Kind: table.Text})
	}
	t.Columns = append(t.Columns, table.Column{Head: "network", Kind: table.Text})
	for _, from := range ranks {
		row := t.Cells(from, gpu[from])
		for _, to := range append(slices.Clone(shown), comms.ToNetwork) {
			c := table.Cell{}
			key := [2]int{min(from, to), max(from, to)}
			if to == comms.ToNetwork {
				key = [2]int{from, to}
			}
			if p, known := paths[key]; known {
				c = table.TextCell(fmt.Sprintf("%v %s", p.Class, gigabytes(p.Bandwidth)))
			}
			row = append(row, c)
		}
		t.Add(row...)
	}
	return capRows(t.Tidy(), mostRows, "json")
}

// linkTable returns a table with a row for each link of a machine.
func linkTable(m *comm.Machine) *table.Table {
	t := linkColumns()
	for _, l := range m.Links {
		t.Row(deviceText(m.Devices[l.From]), deviceText(m.Devices[l.To]), l.Class.String(), l.Bandwidth)
	}
	return capRows(t, mostRows, "json")
}

// deviceText returns a device and its rank.
func deviceText(d comms.Device) string {
	if d.Rank < 0 {
		return d.Name
	}
	return fmt.Sprintf("%s (rank %d)", d.Name, d.Rank)
}

// gigabytes writes a number with as many digits as it has.
func gigabytes(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// TopologyGraph writes the machines as a graph for Graphviz (DOT): a box for each host, its devices, and the links between them, with
// class and GB/s; network ports meet in the network.
func (o Output) TopologyGraph(machines []comm.Machine) error {
	out := bufio.NewWriter(o.W)
	out.WriteString("graph topology {\n  graph [rankdir=LR];\n  node [shape=box];\n") // Flush tells of errors
	network := false
	for i := range machines {
		m := &machines[i]
		node := func(device int) string { return strconv.Quote(m.Host + " " + m.Devices[device].Name) }
		fmt.Fprintf(out, "  subgraph %s {\n    label=%s;\n", strconv.Quote("cluster_"+m.Host), strconv.Quote(m.Host))
		for k, d := range m.Devices {
			shape := ""
			if d.Rank >= 0 {
				shape = ", style=bold"
			}
			fmt.Fprintf(out, "    %s [label=%s%s];\n", node(k), strconv.Quote(deviceText(d)), shape)
		}
		for _, l := range m.Links {
			fmt.Fprintf(out, "    %s -- %s [label=%s];\n", node(l.From), node(l.To), strconv.Quote(fmt.Sprintf("%v %s", l.Class, gigabytes(l.Bandwidth))))
		}
		out.WriteString("  }\n")
		for k, d := range m.Devices {
			if d.Kind == nccl.NetworkPort {
				network = true
				fmt.Fprintf(out, "  %s -- network;\n", node(k))
			}
		}
	}
	if network {
		out.WriteString("  network [shape=ellipse];\n")
	}
	out.WriteString("}\n")
	return out.Flush()
}

func pathColumns() *table.Table {
	return &table.Table{Caption: "class of the worst link between two ranks, and GB/s of the narrowest.", Columns: []table.Column{
		{Head: "rank", Kind: table.ID},
		{Head: "GPU", Kind: table.Name},
	}}
}

func linkColumns() *table.Table {
	return &table.Table{Columns: []table.Column{
		{Head: "device", Kind: table.Text},
		{Head: "linked to", Kind: table.Text},
		{Head: "by", Kind: table.Text},
		{Head: "GB/s", Kind: table.Real},
	}}
}
