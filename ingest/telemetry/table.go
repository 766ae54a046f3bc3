package telemetry

import (
	"bytes"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/ingest"
	"github.com/sfstat/sfstat/trace/health"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/nccl"
)

// Tables of GPU readings: what nvidia-smi --query-gpu=… --format=csv
// prints, with units or without, and tables with DCGM's names of fields as columns.
//
// A row is of one GPU, told by index, else by bus address or UUID, in the order in which
// they come; "[N/A]" and the like are no values. A second header, as where a file was
// appended to, is passed over. Stamps of nvidia-smi are local time without a zone.

// Columns next to the fields.
var (
	stamps  = []string{"timestamp", "time", "datetime"}
	indices = []string{"index", "gpu", "gpu_id", "device"}
	buses   = []string{"pci.bus_id", "pci.bus", "gpu_bus_id"}
	uuids   = []string{"uuid", "gpu_uuid"}
	hosts   = []string{"host", "hostname", "node", "nodename"}
)

// isTable reports whether the first row is the header of such a table: it has a field,
// and a column that tells the GPU.
func isTable(text []byte) bool {
	header, err := ingest.NewTable(bytes.NewReader(text), "", ingest.Limits{}).Header()
	if err != nil {
		return false
	}
	c := columnsOf(header)
	return len(c.fields) > 0 && (c.index >= 0 || c.bus >= 0 || c.uuid >= 0 || c.stamp >= 0 && len(c.fields) > 1)
}

// columns is where what stands.
type columns struct {
	stamp, index, bus, uuid, host int
	fields                        map[int]field
}

func columnsOf(header []string) columns {
	c := columns{-1, -1, -1, -1, -1, make(map[int]field)}
	for i, name := range header {
		name = plain(name)
		if f, ok := fieldOf(name); ok {
			c.fields[i] = f
		}
		for _, known := range []struct {
			at    *int
			names []string
		}{{&c.stamp, stamps}, {&c.index, indices}, {&c.bus, buses}, {&c.uuid, uuids}, {&c.host, hosts}} {
			if *known.at < 0 && slices.Contains(known.names, name) {
				*known.at = i
			}
		}
	}
	for i, f := range c.fields {
		for k, o := range c.fields {
			if f.Second && k != i && o.Quantity == f.Quantity && !o.Second {
				delete(c.fields, i)
			}
		}
	}
	return c
}

func plain(name string) string {
	name, _, _ = strings.Cut(name, "[")
	return strings.ToLower(strings.TrimSpace(name))
}

func readTable(f *file) error {
	t := ingest.NewTable(f.src, f.name, f.o.Limits)
	header, err := t.Header()
	if err != nil {
		return err
	}
	c := columnsOf(header)
	if len(c.fields) == 0 {
		return input.At(t.Pos(), input.Bad(input.ErrFormat, "a table without a column that nvidia-smi --query-gpu or DCGM has: clocks.sm, temperature.gpu, …"))
	}
	seen := make(map[string]int) // devices by what tells them
	for {
		row, err := t.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			if t.AtEnd() {
				f.unread(t.Pos())
				return nil
			}
			return err
		}
		if !c.row(f, row, seen) && (len(row) != len(header) || plain(row[0]) != plain(header[0])) {
			f.unread(t.Pos())
		}
	}
}

// row adds the readings of a row; it reports whether it is one.
func (c *columns) row(f *file, cells []string, seen map[string]int) bool {
	cell := func(at int) string {
		if at < 0 || at >= len(cells) {
			return ""
		}
		return strings.TrimSpace(cells[at])
	}
	r := row{Host: cell(c.host)}
	if c.stamp >= 0 {
		s, _, ok := f.o.cutStamp([]byte(cell(c.stamp)))
		if !ok {
			return false
		}
		r.At = f.timeOf(s)
	}
	if c.index >= 0 {
		n, err := strconv.Atoi(cell(c.index))
		if err != nil || n < 0 || n > maxDevice {
			return false
		}
		r.Device = n
	} else if key := r.Host + " " + cell(c.bus) + cell(c.uuid); true {
		n, ok := seen[key]
		if !ok {
			n = len(seen)
			seen[key] = n
		}
		r.Device = min(n, maxDevice)
	}
	if bus := nccl.ParseBus(cell(c.bus)); bus != 0 {
		f.bus(health.Bus{Host: r.Host, Device: r.Device, Bus: bus})
	}
	for i, of := range c.fields {
		f.set(&r, of, cell(i))
	}
	f.end(&r)
	return true
}
