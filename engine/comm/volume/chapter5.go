package volume

import "github.com/sfstat/sfstat/trace/nccl"

// Observed5 is what chapter 5 of the NCCL Trace Profiler (Heidelberg 2026, figures 5.4 to 5.26) observed of one layout: all
// calls of four ranks in 10 iterations, and those before and after.
type Observed5 struct {
	Name  string
	Model Model
	Ops   []ObservedOp
}

// ObservedGB is the unit of its bytes, found from the numbers: with it the model gives 1.43, 3.75 and 8.75 to the digit, and 5.71 of 5.72.
const ObservedGB = 1 << 30

// ObservedOp is one operation: calls, bytes as logged in units of [ObservedGB], and what part of all they are, in percent.
// Bytes below 0 are not stated, or only to be less than 10 MB.
type ObservedOp struct {
	Op           nccl.Op
	Calls        float64
	CallsPercent float64
	GB           float64
	GBPercent    float64
}

// Chapter5 are its eight layouts. The jobs with tensor parallelism have 8 layers, the others 16.
var Chapter5 = []Observed5{
	{"DP=4", thesisModel(16, Model{DP: 4}), []ObservedOp{
		{nccl.AllReduce, 220, 71.4, 5.72, 89.8}, {nccl.AllGather, 84, 27.3, -1, -1}, {nccl.Broadcast, 4, 1.3, 0.64, 10.0}}},
	{"DP=4, sharded optimizer", thesisModel(16, Model{DP: 4, Sharding: ShardedOptimizer}), []ObservedOp{
		{nccl.AllReduce, 220, 63.2, 0.01, 0.5}, {nccl.AllGather, 84, 24.1, -1, -1}, {nccl.ReduceScatter, 40, 11.5, 1.43, 68.8}, {nccl.Broadcast, 4, 1.1, 0.64, 30.8}}},
	{"PP=4", thesisModel(16, Model{PP: 4}), []ObservedOp{
		{nccl.Send, 1080, 72.4, 3.75, 46.9}, {nccl.AllReduce, 322, 21.6, 2.97, 37.2}, {nccl.AllGather, 84, 5.6, -1, -1}, {nccl.Broadcast, 4, 0.3, 1.27, 15.9}}},
	{"PP=4, 2 virtual stages", thesisModel(16, Model{PP: 4, Virtual: 2}), []ObservedOp{
		{nccl.Send, 4480, 91.5, 8.75, 61.4}, {nccl.AllReduce, 334, 6.8, 2.97, 20.8}, {nccl.AllGather, 84, 1.7, -1, -1}, {nccl.Broadcast, 8, 0.2, 2.53, 17.7}}},
	{"TP=4", thesisModel(8, Model{TP: 4}), []ObservedOp{
		{nccl.AllReduce, 23980, 88.3, 86.02, 97.1}, {nccl.Broadcast, 3204, 11.8, 2.57, 2.9}, {nccl.AllGather, 84, 0.3, -1, -1}}},
	{"TP=4, sequence parallel", thesisModel(8, Model{TP: 4, SequenceTP: true}), []ObservedOp{
		{nccl.AllGather, 32724, 54.8, 31.88, 54.4}, {nccl.ReduceScatter, 21120, 35.4, 20.62, 35.2}, {nccl.Broadcast, 3204, 5.4, 2.57, 4.4}, {nccl.AllReduce, 2900, 4.9, 3.52, 6.0}}},
	{"EP=4, all-to-all", thesisModel(16, Model{DP: 4, EP: 4, MoELayers: 4}), []ObservedOp{
		{nccl.Send, 7680, 82.5, 40.04, 76.8}, {nccl.AllGather, 1364, 14.7, -1, -1}, {nccl.AllReduce, 260, 2.8, 11.43, 21.9}, {nccl.Broadcast, 4, 0.04, 0.64, 1.2}}},
	{"EP=4, all-gather", thesisModel(16, Model{DP: 4, EP: 4, MoELayers: 4, Dispatcher: DispatchAllGather}), []ObservedOp{
		{nccl.AllGather, 5204, 55.9, 10.06, 31.3}, {nccl.ReduceScatter, 3840, 41.3, 10.04, 31.2}, {nccl.AllReduce, 260, 2.8, 11.43, 35.5}, {nccl.Broadcast, 4, 0.04, 0.64, 2.0}}},
}

// Job sums the flows of all ranks by operation: calls and bytes as the log counts them. Of messages those to other ranks
// count, at the sender.
func (m *Model) Job() map[nccl.Op]Flow {
	out := map[nccl.Op]Flow{}
	for rank := range int(m.Ranks()) {
		for _, f := range m.Flows(m.StageOf(rank), SendsAndReceives) {
			if f.Op == nccl.Recv {
				continue
			}
			if f.Op == nccl.Send {
				f.Calls, f.Logged = f.Calls*f.Sent/f.Logged, f.Sent
			}
			sum := out[f.Op]
			sum.Op, sum.Calls, sum.Logged, sum.Sent = f.Op, sum.Calls+f.Calls, sum.Logged+f.Logged, sum.Sent+f.Sent
			out[f.Op] = sum
		}
	}
	return out
}
