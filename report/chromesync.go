package report

import (
	"fmt"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/trace"
	"github.com/sfstat/sfstat/trace/comms"
)

// args is what is known of a kernel; false where no call is.
func (c *chrome) args(rank, kernel int, calls []comm.Match) (operationArgs, bool) {
	if len(calls) == 0 {
		return operationArgs{}, false
	}
	x := &c.r.Calls[calls[0].Call]
	a := operationArgs{Op: x.Op.String(), Calls: len(calls), Count: x.Count, Datatype: x.Datatype.String(), Certain: true,
		Call: fmt.Sprintf("%s:%d", c.r.Recorded.Sources[x.Source].Name, x.Line), kernelArgs: kernelArgsOf(&c.r.Kernels(rank)[kernel])}
	if x.Count < 0 { // bytes are elements of a type that nothing says
		a.Count = max(x.Bytes, 0)
	}
	for _, m := range calls {
		a.Bytes += max(c.r.Calls[m.Call].Bytes, 0)
		a.Certain = a.Certain && m.Certain
	}
	if p := c.steps.Places[calls[0].Call]; p.Era != comm.EraUnknown {
		a.Step = placeName(c.steps, p)
	}
	a.tellCall(x)
	if g, ok := c.r.CommunicatorOf(calls[0].Call); ok {
		of := &c.r.Communicators[g]
		a.Communicator, a.Kind, a.NRanks = of.ID, of.Kind.String(), of.NRanks
		a.Handle = pointer(c.r.Groups[x.Group].Handle)
	}
	u := x.Tuning
	if m := c.moved(rank, kernel); m != nil {
		a.tellMoved(m)
		if u == nil {
			u = m.Tuning
		}
	}
	if u != nil {
		a.Algorithm, a.Protocol, a.Channels = u.Algo.String(), u.Protocol.String(), u.Channels
	}
	return a, true
}

// tellCall adds what the log has of a call.
func (a *operationArgs) tellCall(x *comms.Call) {
	if x.Launch >= 0 {
		a.OpCount = &x.Launch
	}
	if x.Op.Reduces() {
		a.Reduction = x.Reduction.String()
	}
	if x.Op.Rooted() && x.Peer >= 0 {
		a.Root = &x.Peer
	}
	a.Send, a.Recv, a.LogStream = pointer(x.Send), pointer(x.Recv), pointer(x.Stream)
}

// pointer writes an address as logs do, "" for none.
func pointer(p uint64) string {
	if p == 0 {
		return ""
	}
	return fmt.Sprintf("%#x", p)
}

// tellMoved adds what the kernel took part in, beside what its link allows.
func (a *operationArgs) tellMoved(m *comm.Moved) {
	if m.Parts > 0 {
		a.Wait = known(float64(m.Begin-m.Start) / 1e3)
	}
	if len(m.Peers) > 0 {
		a.Peers = trace.RankList(m.Peers)
	}
	if m.Limit.Bandwidth > 0 {
		a.Link, a.Limit, a.AlgoLimit, a.BusLimit = m.Limit.Source(), known(m.Limit.Bandwidth), known(m.Algorithm), known(m.Bus)
	}
	if x := m.Measure; x != nil {
		a.Bandwidth, a.Algo = known(x.Bus), known(x.Algorithm)
		if x.Algorithm > 0 {
			a.Factor = known(x.Bus / x.Algorithm)
		}
		if m.Bus > 0 {
			a.AlgoEff, a.BusEff = known(x.Algorithm/m.Algorithm), known(x.Bus/m.Bus)
		}
	}
}

// kernelArgsOf is how a kernel was launched, as far as the export says.
func kernelArgsOf(k *comms.Kernel) kernelArgs {
	a := kernelArgs{Stream: k.Stream, Correlation: k.Correlation}
	f := k.Config
	if f == nil {
		return a
	}
	a.Kernel, a.Grid, a.Block = f.Name, dimensions(f.Grid), dimensions(f.Block)
	for _, x := range []struct {
		to   **int64
		from *int64
	}{{&a.Registers, &f.Registers}, {&a.Static, &f.StaticShared}, {&a.Dynamic, &f.DynamicShared}, {&a.Local, &f.Local}} {
		if *x.from >= 0 {
			*x.to = x.from
		}
	}
	return a
}

// dimensions is those that are known.
func dimensions(d [3]int64) (list []int64) {
	for _, n := range d {
		if n < 0 {
			break
		}
		list = append(list, n)
	}
	return list
}
