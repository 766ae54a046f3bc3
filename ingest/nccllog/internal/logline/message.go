package logline

import (
	"bytes"
	"regexp"

	"github.com/sfstat/sfstat/trace/nccl"
)

// opCount stands behind the operation of every call.
var opCount = []byte(": opCount ")

// topologyLine begins a line of the topology: of a block, or the paths of a device. "NET/IB : Using …" is none.
var topologyLine = regexp.MustCompile(`^(?:=| *\+ |(?:CPU|GPU|NVS)/|NET/[0-9a-fA-F]+(?:-[0-9a-fA-F]+)? :)`)

// classify finds what a message of level INFO is, and reads it.
func (r *Record) classify(text []byte) {
	r.Kind = Other
	if len(text) == 0 {
		r.setDamaged("a head without a message")
		return
	}
	if i := bytes.Index(text[:min(len(text), 64)], opCount); i >= 0 {
		r.call(text, i)
		return
	}
	if !r.tuningLine(text) && !r.comm(text) && topologyLine.Match(text) {
		r.topology(text, bytes.TrimLeft(text, " "))
	}
}

// tuningLine reads tuning lines, which may name their operation: "256 Bytes -> Algo 0 …", "AllReduce: 8 Bytes -> …",
// "AllGather [Symmetric]: …".
func (r *Record) tuningLine(text []byte) bool {
	c, op := cursor{b: text}, nccl.UnknownOp
	if !isDecimal(text[0]) {
		if op = nccl.ParseOp(c.name()); op == nccl.UnknownOp {
			return false
		}
		if c.try(" [") {
			i := bytes.IndexByte(c.b, ']')
			if i < 0 {
				return false
			}
			c.b = c.b[i+1:]
		}
		c.word(": ")
	}
	n := c.dec()
	c.word(" Bytes -> ")
	if !c.bad {
		r.tuning(op, n, c)
	}
	return !c.bad
}

// setDamaged notes why the message cannot be read.
func (r *Record) setDamaged(why string) { r.Kind, r.Why = Damaged, why }

// call reads a call whose operation ends at colon. What stands before the operation
// is not the line's: heads are cut off already.
func (r *Record) call(text []byte, colon int) {
	from := colon
	for from > 0 && text[from-1]|0x20-'a' < 26 {
		from--
	}
	call := &r.Call
	if call.Op = nccl.ParseOp(text[from:colon]); call.Op == nccl.UnknownOp || call.Op >= nccl.SendRecv {
		r.setDamaged("a call of an operation that is not known")
		return
	}
	c := cursor{b: text[colon+len(opCount):]}
	call.OpCount = c.hex()
	c.word(" sendbuff ")
	call.Send = c.pointer()
	c.word(" recvbuff ")
	call.Recv = c.pointer()
	c.word(" count ")
	call.Count = uint64(c.dec())
	c.word(" datatype ")
	call.Datatype = c.datatype()
	c.word(" op ")
	call.Reduction = nccl.Reduction(c.dec())
	c.word(" root ")
	call.Root = c.int()
	c.word(" comm ")
	call.Comm = c.pointer()
	c.word(" [nranks=")
	call.Ranks = c.small()
	c.word("] stream ")
	call.Stream = c.pointer()
	call.Global = globalRank(c.b)
	if c.bad {
		r.setDamaged("a call that is cut short or overwritten")
		return
	}
	r.Kind = CallLine
}

// globalRank returns the number that RCCL puts behind a call: "task 3 globalrank 1"; -1 without one.
func globalRank(text []byte) int32 {
	const word = " globalrank "
	i := bytes.Index(text, []byte(word))
	if i < 0 {
		return -1
	}
	c := cursor{b: text[i+len(word):]}
	n := c.small()
	if c.bad {
		return -1
	}
	return n
}

// tuning reads what follows "Bytes -> " in every form since 2.20.
func (r *Record) tuning(op nccl.Op, bytes int64, c cursor) {
	t := &r.Tuning
	*t = Tuning{Op: op, Bytes: bytes}
	r.Kind = TuningLine
	switch {
	case c.try("cudaMemcpy"):
		t.CopyEngine = true
	case c.try("Kernel "):
		c.name()
		if c.try(" nchannels ") {
			t.Channels = c.small()
		}
	default:
		t.algorithm(&c)
	}
	if c.bad {
		r.setDamaged("a tuning line that is cut short or overwritten")
	}
}

// algorithm reads "Algo 0 proto 1 time 54.7", the numbers of up to 2.23, or "Algo
// TREE proto LL channel{Lo..Hi}={0..7}".
func (t *Tuning) algorithm(c *cursor) {
	c.word("Algo ")
	if len(c.b) > 0 && c.b[0]-'0' < 10 {
		t.Numeric = true
		t.Algo = nccl.AlgoNumber(c.dec())
		c.word(" proto ")
		t.Protocol = nccl.ProtocolNumber(c.dec())
		c.word(" time ")
		c.number()
		return
	}
	t.Algo = nccl.ParseAlgo(c.name())
	c.word(" proto ")
	t.Protocol = nccl.ParseProtocol(c.name())
	if c.try(" channel") {
		c.word("{Lo..Hi}={")
		first := c.small()
		c.word("..")
		if last := c.small(); last >= first && last < 1<<16 {
			t.Channels = last - first + 1
		}
		c.word("}")
	}
}

// Operation returns the operation that a message is named after, as calls and tuning lines are; UnknownOp if it is not.
func Operation(text []byte) nccl.Op {
	c := cursor{b: text}
	if op := nccl.ParseOp(c.name()); op != nccl.UnknownOp && (c.try(":") || c.try(" [")) {
		return op
	}
	return nccl.UnknownOp
}
