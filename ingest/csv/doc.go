// Package csv reads and writes windows as wide CSV: a header, then one row per
// window, step and rank, with one column per stage. Tables of the same columns
// in Parquet, and tables with one row per stage (long format), are read too, and
// tables with one row per operator, with start and duration, whose operators
// become stages (program); both also as one JSON object per line. Tables with a column for each
// rank and stage, with ranks numbered on each host, and in a file for each rank, are brought into
// that form, and so is what spreadsheets and trackers make of numbers, units and empty cells.
//
//	run,window,step,rank,world_size,data.next_wait,model.fwd_loss_cpu_wall,wall_ns,host
//	job-42,0,20,0,2,16058079,61898237,78001204,n0
//	job-42,0,20,1,2,16107388,59685408,78004410,n0
//
// Columns are known by name, in any order and any case, and all but step, rank
// and one time may be left out:
//
//	run          the run; by default the name of the file
//	window       number of the window; by default 0
//	step, rank   whole numbers from 0
//	world_size   ranks of the job; by default the largest rank of the window, plus 1
//	wall_ns      wall time of the step; empty when not recorded; the stage step.whole where there is no other
//	host         empty when not known
//	local_rank   empty when not known
//	role         coordinates, as "dp=3,pp=1"; empty when not declared
//	accumulation microsteps of a step; by default 1
//	gather_ok    true or false: whether the recorder could gather the window on this rank; by default true
//	data_wait    consuming, preceding or unknown; by default consuming
//	X, X.ready   a side channel X: a sample, empty where none was taken, and whether it was ready
//	anything else is a stage, in the order of the columns: whole nanoseconds; a row with an empty one is left out
//
// Times are in the unit that ends the name of their column (data_ms), or the
// caller's. Names that other programs use for the same are known (iteration,
// global_rank); columns without a name, as pandas writes its index, and those
// whose name is of no stage (epoch, loss) are left out and noted.
//
// Of columns that are sums of others (package sums) one is the wall time, where none is
// named, and the rest are left out and noted.
//
// A prefix says what a column is where its name alone would not: "stage:run"
// is a stage called "run", "side:X" and "ready:X" are a channel. docs/inputs.md is
// the format's page.
//
// Rows of one window stand together, by step or by rank or in any order; the
// reader holds one window. A window closes where run or window change, where a
// step is missing on every rank (input.NoteStepGap), and where trace.Join
// closes it.
package csv

import (
	"slices"

	"github.com/sfstat/sfstat/trace"
)

// kind is what a column holds.
type kind uint8

const (
	stage kind = iota
	step
	rank
	window
	wall
	value // of a side channel
	ready // of a side channel
	ignored
	attr    // what does not change from row to row
	numAttr = 8
)

// The attributes, columns whose cells are compared before they are parsed.
const (
	attrRun = iota
	attrWorld
	attrHost
	attrLocal
	attrRole
	attrAccumulation
	attrGather
	attrDataWait
)

// The prefixes that say what a column is.
const (
	prefixStage = "stage:"
	prefixSide  = "side:"
	prefixReady = "ready:"
)

// readySuffix ends the name of the second column of a side channel.
const readySuffix = ".ready"

// column is what a column of the table holds: which stage, channel or
// attribute is at index.
type column struct {
	kind  kind
	index int
	unit  Unit
}

// layout is the meaning of a header.
type layout struct {
	names     []string // as they stand in the header
	columns   []column
	stages    []string
	channels  []string
	channelOf map[string]int
	has       [numAttr]bool
	ignored   []string
	units     map[Unit][]string // columns by the unit that their name says
	unsaid    []string          // stages whose column says none
	guessed   string            // how times without a unit are read; "": as nanoseconds
	texts     []string          // columns that are left out because no cell is a number
	clocks    []string          // columns that are left out because they tell the time of day
	numbers   numbers
	added     int  // columns that are not in the file
	own       bool // a Writer wrote the table
}

// numbersWindows reports whether a column numbers the windows.
func (l *layout) numbersWindows() bool {
	return slices.ContainsFunc(l.columns, func(c column) bool { return c.kind == window })
}

// maxColumns bounds a table: the stages that a window may have, as many side
// channels, and the rest.
const maxColumns = 3*trace.MaxStages + 32
