package packet

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/input"
	"github.com/sfstat/sfstat/trace/nccl"
	"github.com/sfstat/sfstat/trace/stagename"
)

// ArrivalsVersion is the version of the field "arrivals" that is read.
const ArrivalsVersion = 1

const (
	maxArrivals = 1 << 20 // entries in one packet
	maxGroups   = 1 << 16 // groups, and operations, in one packet
)

// The columns of the field "arrivals", one entry each.
const (
	colStep = iota
	colStage
	colGroup
	colOp
	colSeq
	colElements
	colEnter
	colHeld // need not be there
	colCount
)

var colNames = [colCount]string{"step", "stage", "group", "op", "seq", "elements", "enter_ns", "held_ns"}

// arrivals is the field "arrivals" of one packet as it stands there: when the
// rank entered its collectives, by column. The stage is an index of the
// packet's stages, group and op of the lists beside; −1 is none. enter_ns is
// since 1970 for the first entry, since the entry before for each other one; held_ns from the
// entry until the rank knew that the call was done, −1 where that is not known.
type arrivals struct {
	source string
	lost   int64
	groups []comms.Group
	silent []int64 // of groups
	ops    []string
	cols   [colCount][]int64
	lines  map[string]comms.Frame // by stage; of the field "lines"
}

func (a *arrivals) reset() {
	a.source, a.lost, a.groups, a.silent, a.ops, a.lines = "", 0, nil, nil, nil, nil
	for i := range a.cols {
		a.cols[i] = a.cols[i][:0]
	}
}

// lines reads where the training loop enters each stage, as
// {"model.backward_cpu_wall":"train.py:66"}.
func (d *decoder) lines() *fault {
	return d.object("an object of source lines by stage", func(key []byte, _ int) *fault {
		stage, at := string(key), d.i
		text, f := d.name(trace.MaxName)
		if f != nil {
			return f
		}
		colon := strings.LastIndexByte(text, ':')
		line, err := strconv.Atoi(text[colon+1:])
		if colon < 0 || err != nil || line < 1 {
			return d.fail(at, input.ErrFormat, "the line of stage %q is %q, expected FILE:LINE", stage, text)
		}
		if d.arrived.lines == nil {
			d.arrived.lines = map[string]comms.Frame{}
		}
		if len(d.arrived.lines) == trace.MaxStages {
			return d.fail(at, input.ErrTooLarge, "lines of more than %d stages", trace.MaxStages)
		}
		d.arrived.lines[stage] = comms.Frame{File: text[:colon], Line: line}
		return nil
	})
}

// arrivals reads the field of that name into d.arrived.
func (d *decoder) arrivals() *fault {
	a := &d.arrived
	at := d.i
	version := int64(0)
	f := d.object("an object of arrivals", func(key []byte, _ int) (f *fault) {
		switch string(key) {
		case "version":
			version, f = d.integer("a version", 1, math.MaxInt32)
		case "source":
			a.source, f = d.name(trace.MaxName)
		case "lost":
			a.lost, f = d.integer("a number of entries", 0, math.MaxInt64)
		case "groups":
			f = d.list("an array of groups", d.group)
		case "silent":
			a.silent, f = d.integers(a.silent[:0], "groups", 0, maxGroups)
		case "ops":
			a.ops, f = d.texts("operations", maxGroups)
		default:
			col := slices.Index(colNames[:], string(key))
			if col < 0 {
				d.Unknown++
				return d.skip(0)
			}
			low := int64(-1)
			if col == colEnter {
				low = math.MinInt64
			}
			a.cols[col], f = d.integers(a.cols[col][:0], colNames[col], low, maxArrivals)
		}
		return f
	})
	if f != nil {
		return f
	}
	if version != ArrivalsVersion {
		return d.fail(at, input.ErrFormat, "arrivals of version %d, this version reads %d", version, ArrivalsVersion)
	}
	return nil
}

// integers reads an array of whole numbers from low on, of most at the utmost, into the memory of dst.
func (d *decoder) integers(dst []int64, what string, low int64, most int) ([]int64, *fault) {
	f := d.list("an array of "+what, func() *fault {
		if len(dst) == most {
			return d.fail(d.i, input.ErrTooLarge, "more than %d %s", most, what)
		}
		n, f := d.integer("a whole number", low, math.MaxInt64)
		dst = append(dst, n)
		return f
	})
	return dst, f
}

// group reads one group: {"name":"0","desc":"default_pg","ranks":[0,1]}.
func (d *decoder) group() *fault {
	if len(d.arrived.groups) == maxGroups {
		return d.fail(d.i, input.ErrTooLarge, "more than %d groups", maxGroups)
	}
	g := comms.Group{Rank: -1, Enqueued: -1, Completed: -1}
	f := d.object("a group", func(key []byte, _ int) (f *fault) {
		switch string(key) {
		case "name":
			g.Name, f = d.name(trace.MaxName)
		case "desc":
			g.Desc, f = d.name(trace.MaxName)
		case "ranks":
			f = d.list("an array of ranks", func() *fault {
				n, f := d.integer("a rank", 0, trace.MaxRanks-1)
				g.Members = append(g.Members, int(n))
				return f
			})
		default:
			d.Unknown++
			f = d.skip(0)
		}
		return f
	})
	g.Size = len(g.Members)
	d.arrived.groups = append(d.arrived.groups, g)
	return f
}

// comm returns the arrivals of a packet as the record of one process.
func (a *arrivals) comm(p *trace.Part) (*comms.Record, error) {
	n := len(a.cols[colStep])
	for col, c := range a.cols {
		if len(c) != n && (col != colHeld || len(c) > 0) {
			return nil, input.Bad(input.ErrRagged, "arrivals have %d entries of step and %d of %s", n, len(c), colNames[col])
		}
	}
	c := &comms.Record{Run: p.Run, Sources: []comms.Source{{Name: a.source, Kind: comms.SourcePacket}},
		Processes: []comms.Process{{Rank: p.Rank.ID, Host: p.Rank.Host, LocalRank: p.Rank.LocalRank, Device: -1, Lost: a.lost}},
		Groups:    a.groups, Calls: make([]comms.Call, n)}
	for i := range c.Groups {
		c.Groups[i].Rank = slices.Index(c.Groups[i].Members, p.Rank.ID)
	}
	for _, n := range a.silent {
		if n >= int64(len(c.Groups)) {
			return nil, input.Bad(input.ErrTooLarge, "group %d of %d is said to be silent", n, len(c.Groups))
		}
		c.Groups[n].Silent = true
	}
	calls := make([]comms.Call, len(a.ops)) // one of each operation
	for i, name := range a.ops {
		calls[i] = comms.UnknownCall(0)
		calls[i].Name, calls[i].Op = name, nccl.OpIn(name)
		_, calls[i].Peer = nccl.Ends(name)
	}
	stacks, tensors := map[string]int{}, map[int64]*comms.Tensors{}
	enter := int64(0)
	for i := range c.Calls {
		at := func(col int) int64 { return a.cols[col][i] }
		if at(colStage) >= int64(len(p.Schema.Stages)) || at(colGroup) >= int64(len(c.Groups)) || at(colOp) >= int64(len(a.ops)) {
			return nil, input.Bad(input.ErrTooLarge, "entry %d of arrivals is in stage %d of %d, group %d of %d, with operation %d of %d",
				i, at(colStage), len(p.Schema.Stages), at(colGroup), len(c.Groups), at(colOp), len(a.ops))
		}
		x := comms.UnknownCall(0)
		if at(colOp) >= 0 {
			x = calls[at(colOp)]
		}
		enter += at(colEnter)
		x.Enter, x.HasEnter, x.Step, x.Group, x.Seq, x.Count = enter, true, at(colStep), int(at(colGroup)), at(colSeq), at(colElements)
		if len(a.cols[colHeld]) > 0 && at(colHeld) >= 0 {
			x.Exit = enter + at(colHeld)
		}
		if n := at(colElements); n >= 0 {
			if tensors[n] == nil {
				tensors[n] = &comms.Tensors{InSizes: [][]int64{{n}}}
			}
			x.Tensors = tensors[n]
		}
		switch {
		case at(colStage) >= 0:
			x.Stage = p.Schema.Stages[at(colStage)]
			x.Stack = a.stack(c, stacks, x.Stage)
		case at(colStep) >= 0: // of a step, and in none of its stages
			x.Stage = stagename.Residual
		}
		c.Calls[i] = x
	}
	return c, nil
}

// stack returns the index of the stack of one frame that a stage is entered from.
func (a *arrivals) stack(c *comms.Record, known map[string]int, stage string) int {
	base, _ := stagename.Split(stage)
	frame, ok := a.lines[base]
	if !ok {
		return comms.None
	}
	i, ok := known[base]
	if !ok {
		i = len(c.Stacks)
		known[base] = i
		c.Stacks = append(c.Stacks, []comms.Frame{frame})
	}
	return i
}

// appendArrivals writes epoch, lines and arrivals of a part, as far as it has
// them.
func appendArrivals(dst []byte, p *trace.Part) []byte {
	if p.Epoch != 0 {
		dst = number(dst, `,"epoch_ns":`, p.Epoch)
	}
	c := p.Arrivals
	if c == nil {
		return dst
	}
	ops, cols, lines := columnsOf(c, p.Schema.Stages)
	open := `,"lines":{`
	for _, s := range p.Schema.Stages {
		base, _ := stagename.Split(s)
		if frame, ok := lines[base]; ok {
			delete(lines, base)
			dst = quote(append(dst, open...), base)
			dst = quote(append(dst, ':'), frame.File+":"+strconv.Itoa(frame.Line))
			open = `,`
		}
	}
	if open == `,` {
		dst = append(dst, '}')
	}
	dst = number(dst, `,"arrivals":{"version":`, ArrivalsVersion)
	dst = number(quote(append(dst, `,"source":`...), c.Sources[0].Name), `,"lost":`, c.Processes[0].Lost)
	dst = list(append(dst, `,"groups":`...), len(c.Groups), func(dst []byte, i int) []byte { return appendGroup(dst, &c.Groups[i]) })
	var silent []int64
	for i := range c.Groups {
		if c.Groups[i].Silent {
			silent = append(silent, int64(i))
		}
	}
	if silent != nil {
		dst = numbers(append(dst, `,"silent":`...), silent)
	}
	dst = list(append(dst, `,"ops":`...), len(ops), func(dst []byte, i int) []byte { return quote(dst, ops[i]) })
	for i, name := range colNames {
		if i == colHeld && !slices.ContainsFunc(cols[i], func(ns int64) bool { return ns >= 0 }) {
			continue
		}
		dst = numbers(append(append(append(dst, `,"`...), name...), `":`...), cols[i])
	}
	return append(dst, '}')
}

func appendGroup(dst []byte, g *comms.Group) []byte {
	dst = quote(append(dst, `{"name":`...), g.Name)
	if g.Desc != "" {
		dst = quote(append(dst, `,"desc":`...), g.Desc)
	}
	if len(g.Members) > 0 {
		dst = list(append(dst, `,"ranks":`...), len(g.Members), func(dst []byte, i int) []byte {
			return strconv.AppendInt(dst, int64(g.Members[i]), 10)
		})
	}
	return append(dst, '}')
}

// columnsOf undoes comm.
func columnsOf(c *comms.Record, stages []string) (ops []string, cols [colCount][]int64, lines map[string]comms.Frame) {
	lines = map[string]comms.Frame{}
	before := int64(0)
	for i := range c.Calls {
		x := &c.Calls[i]
		op := slices.Index(ops, x.Name)
		if op < 0 {
			op, ops = len(ops), append(ops, x.Name)
		}
		stage := -1
		if x.Stage != "" {
			stage = slices.Index(stages, x.Stage)
			if x.Stack != comms.None {
				base, _ := stagename.Split(x.Stage)
				lines[base] = c.Stacks[x.Stack][0]
			}
		}
		held := int64(-1)
		if x.Exit > 0 {
			held = x.Exit - x.Enter
		}
		for col, v := range [colCount]int64{x.Step, int64(stage), int64(x.Group), int64(op), x.Seq, x.Count, x.Enter - before, held} {
			cols[col] = append(cols[col], v)
		}
		before = x.Enter
	}
	return ops, cols, lines
}
