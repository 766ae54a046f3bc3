package export

import (
	"errors"
)

// Activity is something that a GPU did. Times are nanoseconds since the start
// of the session.
type Activity struct {
	Kind        ActivityKind
	Start, End  int64
	Device      int64 // CUDA index in its process
	Stream      int64
	Correlation int64 // of the launch, in its process
	Process     ProcessID
	Name        int64 // in StringIds: demangled, or else short; of kernels only
	GraphNode   int64 // node of a CUDA graph; of kernels only
}

// ActivityKind is what it was.
type ActivityKind uint8

const (
	Kernel ActivityKind = iota
	Copy
	Fill
	Graph // a whole CUDA graph, recorded as one
)

var activityTables = [...]string{Kernel: kernelTable, Copy: memcpyTable, Fill: memsetTable, Graph: graphTable}

// Call is a call of the CUDA runtime or driver.
type Call struct {
	Start       int64
	Thread      ThreadID
	Correlation int64
	Name        int64 // in StringIds
}

// Sink takes what a timeline yields. The values are reused.
type Sink struct {
	Call     func(*Call) error
	Activity func(*Activity) error
}

// Order says how Timeline comes to an order of time.
type Order uint8

const (
	AsStored Order = iota // tables must be in it; as fast as they can be read
	Sorted                // rows are sorted; 16 bytes of memory for each
)

// ErrUnordered says that a table is not in the order of time.
var ErrUnordered = errors.New("not in the order of time")

// Timeline hands over all API calls and everything that GPUs did, by start:
// what a call launched comes after it. Memory grows with the tables only where
// they are Sorted. AsStored ends with ErrUnordered at the first row that is before another; what
// was handed over until then is good for nothing. Rows without a start come
// first.
func (f *File) Timeline(order Order, to Sink) (err error) {
	call := &Call{}
	all := []*lane{{cursor: &cursor{table: runtimeTable, columns: call.columns()}, start: &call.Start, hand: func() error { return to.Call(call) }}}
	for kind, table := range activityTables {
		a := &Activity{Kind: ActivityKind(kind), Name: Absent, GraphNode: Absent}
		all = append(all, &lane{cursor: &cursor{table: table, columns: a.columns(f)}, start: &a.Start, hand: func() error { return to.Activity(a) }})
	}
	for _, l := range all {
		if err := l.open(f, order); err != nil {
			return err
		}
	}
	for {
		var first *lane
		for _, l := range all {
			if l.more && (first == nil || *l.start < *first.start) {
				first = l
			}
		}
		if first == nil {
			return nil
		}
		if err := first.place(first.hand()); err != nil {
			return err
		}
		if err := first.advance(); err != nil {
			return err
		}
	}
}

// lane is one table of a timeline.
type lane struct {
	*cursor
	start *int64       // of the row at hand
	hand  func() error // hands the row over
	more  bool
}

func (l *lane) advance() (err error) {
	last := *l.start
	if l.more, err = l.next(); err == nil && l.more && *l.start < last {
		return l.place(ErrUnordered)
	}
	return err
}

// open goes to the first row of the table.
func (l *lane) open(f *File, order Order) (err error) {
	by := ""
	if order == Sorted && f.Has(l.table, "start") {
		by = "start"
	}
	if l.cursor, err = f.open(l.table, by, append(l.columns, column{name: "start", num: l.start})...); err != nil {
		return err
	}
	return l.advance()
}

func (c *Call) columns() []column {
	return []column{{name: "globalTid", num: (*int64)(&c.Thread)}, {name: "correlationId", num: &c.Correlation}, {name: "nameId", num: &c.Name}}
}

// columns are those of the kind's table, without the start.
func (a *Activity) columns(f *File) []column {
	columns := []column{
		{name: "end", num: &a.End}, {name: "deviceId", num: &a.Device}, {name: "streamId", num: &a.Stream},
		{name: "correlationId", num: &a.Correlation}, {name: "globalPid", num: (*int64)(&a.Process)},
	}
	if a.Kind != Kernel {
		return columns
	}
	name := "demangledName"
	if !f.Has(kernelTable, name) {
		name = "shortName"
	}
	return append(columns, column{name: name, num: &a.Name}, column{name: "graphNodeId", num: &a.GraphNode})
}
