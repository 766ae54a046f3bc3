package calls

import (
	"iter"
	"math"

	"github.com/sfstat/sfstat/engine/comm"
	"github.com/sfstat/sfstat/engine/comm/align"
	"github.com/sfstat/sfstat/trace/comms"
)

// Row is one call. The tags are the columns; a nil pointer is null, which stands for what is not known. Times are nanoseconds: stamps as the log has them, times of
// kernels on the clock of the first rank; GB are 10⁹ bytes.
type Row struct {
	Rank   int64  `json:"rank" parquet:"rank"`
	Host   string `json:"host" parquet:"host,dict"`
	PID    int64  `json:"pid" parquet:"pid"`
	Device *int64 `json:"device" parquet:"device,optional"`

	Era      string  `json:"era" parquet:"era,dict"`
	Step     *int64  `json:"step" parquet:"step,optional"`
	StepName *string `json:"step_name" parquet:"step_name,optional,dict"`

	Op           string  `json:"op" parquet:"op,dict"`
	Communicator *string `json:"communicator" parquet:"communicator,optional,dict"`
	Kind         *string `json:"kind" parquet:"kind,optional,dict"`
	NRanks       *int64  `json:"nranks" parquet:"nranks,optional"`
	CommRank     *int64  `json:"rank_in_communicator" parquet:"rank_in_communicator,optional"`
	Launch       *int64  `json:"op_count" parquet:"op_count,optional"`
	Count        *int64  `json:"count" parquet:"count,optional"`
	Datatype     string  `json:"dtype" parquet:"dtype,dict"`
	Bytes        *int64  `json:"bytes" parquet:"bytes,optional"`
	Reduction    *string `json:"reduction" parquet:"reduction,optional,dict"`
	Root         *int64  `json:"root" parquet:"root,optional"`
	Send         *uint64 `json:"sendbuff" parquet:"sendbuff,optional"`
	Recv         *uint64 `json:"recvbuff" parquet:"recvbuff,optional"`
	LogStream    *uint64 `json:"log_stream" parquet:"log_stream,optional"`
	Thread       *int64  `json:"thread" parquet:"thread,optional"`
	Logged       *int64  `json:"logged_ns" parquet:"logged_ns,optional"`
	Algorithm    *string `json:"algorithm" parquet:"algorithm,optional,dict"`
	Protocol     *string `json:"protocol" parquet:"protocol,optional,dict"`
	Channels     *int64  `json:"channels" parquet:"channels,optional"`

	NoKernel    *string `json:"no_kernel" parquet:"no_kernel,optional,dict"` // why it launches none
	Kernel      *string `json:"kernel" parquet:"kernel,optional,dict"`
	Start       *int64  `json:"start_ns" parquet:"start_ns,optional"`
	Duration    *int64  `json:"kernel_ns" parquet:"kernel_ns,optional"`
	LaunchDelay *int64  `json:"queued_ns" parquet:"queued_ns,optional"` // from the launch to the start
	Stream      *int64  `json:"stream" parquet:"stream,optional"`
	Correlation *int64  `json:"correlation_id" parquet:"correlation_id,optional"`
	KernelCalls *int64  `json:"kernel_calls" parquet:"kernel_calls,optional"` // that the kernel ran
	KernelBytes *int64  `json:"kernel_bytes" parquet:"kernel_bytes,optional"`
	Grid        *int64  `json:"grid" parquet:"grid,optional"`
	Block       *int64  `json:"block" parquet:"block,optional"`
	Registers   *int64  `json:"registers" parquet:"registers,optional"`
	Static      *int64  `json:"static_shared_bytes" parquet:"static_shared_bytes,optional"`
	Dynamic     *int64  `json:"dynamic_shared_bytes" parquet:"dynamic_shared_bytes,optional"`
	Local       *int64  `json:"local_bytes" parquet:"local_bytes,optional"`
	Certain     *bool   `json:"certain" parquet:"certain,optional"`

	Wait                *int64   `json:"wait_ns" parquet:"wait_ns,optional"`
	Transfer            *int64   `json:"transfer_ns" parquet:"transfer_ns,optional"`
	AlgorithmGBps       *float64 `json:"algorithm_gbps" parquet:"algorithm_gbps,optional"`
	BusGBps             *float64 `json:"bus_gbps" parquet:"bus_gbps,optional"`
	LimitLink           *string  `json:"limit_link" parquet:"limit_link,optional,dict"`
	LimitGBps           *float64 `json:"limit_gbps" parquet:"limit_gbps,optional"`
	AlgorithmLimit      *float64 `json:"algorithm_limit_gbps" parquet:"algorithm_limit_gbps,optional"`
	BusLimit            *float64 `json:"bus_limit_gbps" parquet:"bus_limit_gbps,optional"`
	AlgorithmEfficiency *float64 `json:"algorithm_efficiency" parquet:"algorithm_efficiency,optional"`
	BusEfficiency       *float64 `json:"bus_efficiency" parquet:"bus_efficiency,optional"`

	File string `json:"file" parquet:"file,dict"`
	Line int64  `json:"line" parquet:"line"`
}

// rowsOf returns the rows of a job, by rank, in the order of the logs.
func rowsOf(r *comm.Result) iter.Seq[*Row] {
	return func(yield func(*Row) bool) {
		steps := comm.StepsOf(r)
		for x := range comm.CallDetails(r, steps.Places) {
			if !yield(rowOf(r, steps, x)) {
				return
			}
		}
	}
}

func rowOf(r *comm.Result, steps *comm.Steps, x *comm.CallDetail) *Row {
	k, c := &r.Ranks[x.Rank], &r.Calls[x.Call]
	row := &Row{Rank: int64(k.Rank), Host: k.Host, PID: k.PID, Device: nilIfUnknown(k.Device), Era: x.Place.Era.String(), Op: c.Op.String(), Launch: nilIfUnknown(c.Launch),
		Count: nilIfUnknown(c.Count), Datatype: c.Datatype.String(), Bytes: nilIfUnknown(c.Bytes), Root: nilIfUnknown(int64(c.Peer)), Send: nonzero(c.Send), Recv: nonzero(c.Recv),
		LogStream: nonzero(c.Stream), Thread: nonzero(c.Thread), File: r.Recorded.Sources[c.Source].Name, Line: c.Line}
	if x.Place.Era == comm.InStep {
		row.Step, row.StepName = pointerTo(int64(x.Place.Step)), pointerTo(steps.Names[x.Place.Step])
	}
	if c.HasEnter {
		row.Logged = pointerTo(c.Enter)
	}
	if c.Op.Reduces() {
		row.Reduction = pointerTo(c.Reduction.String())
	}
	if x.Communicator != comms.None {
		g := &r.Communicators[x.Communicator]
		row.Communicator, row.Kind, row.NRanks, row.CommRank = pointerTo(g.ID), pointerTo(g.Kind.String()), pointerTo(int64(g.NRanks)), nilIfUnknown(int64(r.Groups[c.Group].Rank))
	}
	row.tune(c, x)
	if x.Reason != align.Launches {
		row.NoKernel = pointerTo(x.Reason.String())
	}
	if x.Kernel != comms.None {
		row.ran(r, x)
		row.addSpeed(x)
	}
	return row
}

func (row *Row) tune(c *comms.Call, x *comm.CallDetail) {
	u := c.Tuning
	if u == nil {
		u = x.Tuning
	}
	if u != nil {
		row.Algorithm, row.Protocol, row.Channels = pointerTo(u.Algo.String()), pointerTo(u.Protocol.String()), nonzero(int64(u.Channels))
	}
}

// ran adds the kernel.
func (row *Row) ran(r *comm.Result, x *comm.CallDetail) {
	n := &r.Kernels(x.Rank)[x.Kernel]
	row.Stream, row.Correlation, row.Certain = pointerTo(n.Stream), pointerTo(n.Correlation), pointerTo(x.Certain)
	row.Grid, row.Block = nonzero(int64(n.Grid)), nonzero(int64(n.Block))
	row.KernelCalls, row.KernelBytes = pointerTo(int64(x.Moved.Calls)), pointerTo(x.Moved.Bytes)
	row.Kernel = pointerTo(n.Op.String())
	if !r.Timeless {
		if at, known := r.FirstClockTime(x.Rank, n.Start); known {
			row.Start = pointerTo(at)
		}
	}
	row.Duration = pointerTo(n.End - n.Start)
	if n.HasLaunch {
		row.LaunchDelay = pointerTo(n.Start - n.Launch)
	}
	if f := n.Config; f != nil {
		row.Kernel = pointerTo(f.Name)
		row.Registers, row.Static, row.Dynamic, row.Local = nilIfUnknown(f.Registers), nilIfUnknown(f.StaticShared), nilIfUnknown(f.DynamicShared), nilIfUnknown(f.Local)
	}
}

// addSpeed adds how fast data moved.
func (row *Row) addSpeed(x *comm.CallDetail) {
	if x.Parts > 0 {
		row.Wait = pointerTo(max(x.Begin-x.Moved.Start, 0))
	}
	if x.Limit.Bandwidth > 0 {
		row.LimitLink, row.LimitGBps = pointerTo(x.Limit.Source()), pointerTo(x.Limit.Bandwidth)
		row.AlgorithmLimit, row.BusLimit = positive(x.Moved.Algorithm), positive(x.Moved.Bus)
	}
	m := x.Measure
	if m == nil {
		return
	}
	row.Transfer, row.AlgorithmGBps, row.BusGBps = pointerTo(m.Transfer), positive(m.Algorithm), positive(m.Bus)
	if row.AlgorithmLimit != nil && row.BusLimit != nil {
		row.AlgorithmEfficiency, row.BusEfficiency = positive(m.Algorithm/x.Moved.Algorithm), positive(m.Bus/x.Moved.Bus)
	}
}

func pointerTo[T any](v T) *T { return &v }

// nilIfUnknown returns nil for −1.
func nilIfUnknown(n int64) *int64 {
	if n < 0 {
		return nil
	}
	return &n
}

func nonzero[T int64 | uint64](n T) *T {
	if n == 0 {
		return nil
	}
	return &n
}

func positive(f float64) *float64 {
	if !(f > 0) || math.IsInf(f, 0) {
		return nil
	}
	return &f
}
