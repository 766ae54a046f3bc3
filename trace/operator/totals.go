package operator

import (
	"github.com/sfstat/sfstat/trace"
)

// Totals are the operators of a run summed up by name: how often each ran in
// a step on a rank, and for how long. It takes the memory of the names, not of
// the instances, and says who is slow in what; not in which order.
type Totals struct {
	Run    string
	Ranks  []trace.Rank // ascending by ID
	Steps  []int64      // step indices, ascending
	Stages []string     // as the windows of the run call them; "" for what no stage launched
	Names  []string     // distinct, whole
	Rows   []Total

	// Functions says that the names are functions of the host's program and the lines
	// that they stand at: "sleep at train.py:40". Times are without those that they
	// called, and with what they waited.
	Functions bool
}

// Total is what the operators of one name, launched by one stage of one rank
// in one step, took together.
type Total struct {
	Rank, Step, Stage, Name int32 // positions in the tables; no two rows agree in all
	Count                   int32 // launches
	Communicates            int32 // those of them that communicate
	Joined                  int32 // those that were found on the other members, so that Wait is known
	Dur                     int64 // ns
	Wait                    int64 // part of Dur before the last member came, ns
}

// RunName implements [trace.Recording].
func (t *Totals) RunName() string { return t.Run }
