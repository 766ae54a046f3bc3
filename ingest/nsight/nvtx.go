package nsight

import (
	"strings"

	"github.com/sfstat/sfstat/trace/comms"
	"github.com/sfstat/sfstat/trace/nccl"
)

// step is what a range of NCCL does to the groups of its thread.
type step uint8

const (
	aCall step = iota
	opens
	closes
	makes  // a communicator
	parts  // makes one of another's ranks
	unsaid // the file does not have the range's name
)

// carries reports whether NCCL attaches something to such ranges.
func (s step) carries() bool { return s != opens && s != closes }

// apiRange is a range of NCCL's domain.
type apiRange struct {
	step        step
	op          nccl.Op
	told        bool // by a payload
	reduction   nccl.Reduction
	enter, exit int64
	thread      int64
	event       int64  // by which the tables of payloads call it
	row         int64  // of the table
	comm        uint64 // as call has it
	bytes, peer int64
	rank, ranks int64 // of a communicator that is made
}

// call returns the call that the range is of.
func (a *apiRange) call() call {
	c := call{Call: comms.UnknownCall(0), comm: a.comm}
	c.Op, c.Enter, c.HasEnter, c.Exit, c.Thread, c.Line = a.op, a.enter, true, a.exit, a.thread, a.row
	c.Bytes, c.Peer, c.Reduction = a.bytes, int(a.peer), a.reduction
	return c
}

// maxRanges bounds the ranges of NCCL that are held, of one file.
const maxRanges = maxKernels

// addAPIRange takes a range of NCCL's own: a call, a bound of a group, or the making of a
// communicator. Where the name is "", the layout of the payload tells it.
func (c *communication) addAPIRange(e *event, name string) {
	start, end, ok := c.r.axis(e.start, e.end)
	if !ok || c.ranges >= maxRanges {
		return
	}
	a := apiRange{event: e.id, enter: start, exit: end, thread: e.thread.number(), row: e.row}
	if name == "" {
		name = functionOf(binarySchema(e.binary))
	}
	if !a.setStep(name) {
		return
	}
	x := unknownPayload()
	if a.step.carries() {
		x = c.payloadOf(e)
	}
	a.tell(x)
	c.ranges++
	c.api[e.thread.process()] = append(c.api[e.thread.process()], a)
}

// setStep takes the name of the function that the range is of, without "nccl"; false for one that does not matter.
func (a *apiRange) setStep(name string) bool {
	switch {
	case name == "":
		a.step = unsaid
	case name == "GroupStart":
		a.step = opens
	case name == "GroupEnd":
		a.step = closes
	case strings.HasPrefix(name, "CommInit"):
		a.step = makes
	case strings.HasPrefix(name, "CommSplit"), strings.HasPrefix(name, "CommShrink"), strings.HasPrefix(name, "CommGrow"):
		a.step = parts
	default:
		a.step, a.op = aCall, nccl.ParseOp(name)
		return a.op != nccl.UnknownOp && a.op != nccl.SendRecv && a.op != nccl.Generic
	}
	return true
}

// tell takes what NCCL attached to the range.
func (a *apiRange) tell(x payload) {
	a.told = x.found
	a.comm, a.bytes, a.peer, a.reduction, a.rank, a.ranks = x.comm, x.bytes, x.root, max(x.reduction, 0), x.rank, x.ranks
}

// keepMade keeps the making of a communicator.
func (p *commProcess) keepMade(a *apiRange) {
	switch {
	case a.comm == 0 || len(p.made) >= maxFields:
	case a.step == parts: // rank and size there are the parent's (NCCL 2.28)
		p.made = append(p.made, madeGroup{a.comm, unknown, unknown})
	default:
		p.made = append(p.made, madeGroup{a.comm, a.rank, a.ranks})
	}
}
