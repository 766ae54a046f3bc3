package simulated

import (
	"fmt"
	"iter"
	"math/rand/v2"
)

// worker is one rank on its way through the job.
type worker struct {
	job                           *Job
	id                            int
	tensor, data, pipeline, world *group
	host                          int64         // time on the host
	queue                         map[int]int64 // until when queues are busy
	pending                       map[int]*call // the last call on a queue, whose end may not be known yet
	calls                         map[string]int
	correlation                   int
	events                        []map[string]any
	rng                           *rand.Rand
	points                        map[string]*point
	pause                         func() // lets the others go on
}

// point is a collective, or a send with its receive.
type point struct {
	came      int
	last, end int64
	over      bool
}

// call is a member's part in a synchronisation point.
type call struct {
	*point
	start int64
	queue int
	event map[string]any
}

// computing is the queue of what computes.
const computing = 7

// play lets the workers run, each until it needs to know what another does.
func play(workers []*worker) {
	next := make([]func() (struct{}, bool), len(workers))
	for i, w := range workers {
		var stop func()
		next[i], stop = iter.Pull(func(yield func(struct{}) bool) {
			w.pause = func() { yield(struct{}{}) }
			w.run()
		})
		defer stop()
	}
	for idle := 0; ; {
		running, before := 0, progress(workers)
		for _, n := range next {
			if _, more := n(); more {
				running++
			}
		}
		if running == 0 {
			return
		}
		if idle++; progress(workers) != before {
			idle = 0
		}
		if idle > 2 {
			panic("the ranks of the job wait for each other for ever")
		}
	}
}

func progress(workers []*worker) (n int) {
	for _, w := range workers {
		n += len(w.events)
	}
	return n
}

// run is the program of a rank.
func (w *worker) run() {
	for s := range w.job.Steps {
		from := w.host
		w.passes(s)
		w.reduce()
		w.update(s)
		w.host += 20_000
		w.annotate(fmt.Sprintf("ProfilerStep#%d", s+3), 1000, from)
	}
}

// passes are the microsteps of a step, one forward and one backward by turns
// once the pipeline is full (1F1B).
func (w *worker) passes(step int) {
	_, _, stage := w.job.coordinates(w.id)
	n := w.job.microsteps()
	ahead := min(n, w.job.pp()-1-stage)
	for m := range ahead {
		w.forward(Place{w.id, step, m, Forward})
	}
	for m := range n {
		if m+ahead < n {
			w.forward(Place{w.id, step, m + ahead, Forward})
		}
		w.backward(Place{w.id, step, m, Backward})
	}
}

func (w *worker) forward(at Place) {
	_, _, stage := w.job.coordinates(w.id)
	if stage == 0 {
		from := w.host
		w.host += w.around(200_000, Place{at.Rank, at.Step, at.Micro, Data})
		w.annotate("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 1000, from)
	}
	from := w.host
	if stage > 0 {
		w.need(w.transfer("recv", stage-1, 30))
	}
	w.layers("gemm_forward", Millisecond, at)
	if stage+1 < w.job.pp() {
		w.transfer("send", stage+1, 31)
	}
	w.annotate("DistributedDataParallel.forward", 1000, from)
}

func (w *worker) backward(at Place) {
	_, _, stage := w.job.coordinates(w.id)
	from := w.host
	if stage+1 < w.job.pp() {
		w.need(w.transfer("recv", stage+1, 32))
	}
	w.layers("gemm_backward", 2*Millisecond, at)
	if stage > 0 {
		w.transfer("send", stage-1, 33)
	}
	w.annotate("backward", 1000, from)
}

// layers computes a pass, and exchanges what the shards of each layer hold.
func (w *worker) layers(name string, ns int64, at Place) {
	for layer := range w.job.layers() {
		kernel := name
		if w.job.Kernel != nil {
			kernel = w.job.Kernel(at, layer)
		}
		w.launch(kernel, w.around(ns, at))
		if len(w.tensor.ranks) > 1 {
			w.need(w.collective(w.tensor, "allreduce", 100_000))
		}
	}
}

// reduce is the all-reduce of the gradients, and of a job in several groups the
// one of their norm.
func (w *worker) reduce() {
	from := w.host
	if len(w.data.ranks) > 1 {
		w.need(w.collective(w.data, "allreduce", Millisecond))
	}
	w.annotate("backward", 1000, from)
}

// update is the optimizer, after which the host waits for the device.
func (w *worker) update(step int) {
	from := w.host
	if !w.job.Flat && len(w.world.ranks) > len(w.data.ranks) {
		w.need(w.collective(w.world, "allreduce", 20_000))
	}
	w.launch("adamw", w.around(300_000, Place{w.id, step, 0, Optimizer}))
	for q := range w.pending {
		w.settle(q)
	}
	for _, until := range w.queue {
		w.host = max(w.host, until+5000)
	}
	w.annotate("Optimizer.step#AdamW.step", 1000, from)
}

// launch runs a kernel when the queue is free, 10 µs of host.
func (w *worker) launch(name string, ns int64) {
	w.correlation++
	w.event("cuda_runtime", "cudaLaunchKernel", 1000, w.host, w.host+8000, map[string]any{"correlation": w.correlation})
	start := max(w.queue[computing], w.host+5000)
	w.event("kernel", name, computing, start, start+ns, map[string]any{"correlation": w.correlation, "stream": computing})
	w.queue[computing] = start + ns
	w.host += 10_000
}

// collective calls one, which comes after what was computed.
func (w *worker) collective(g *group, op string, ns int64) *call {
	key := fmt.Sprint(g.name, " ", w.calls[g.name])
	w.calls[g.name]++
	return w.sync(key, len(g.ranks), ns, g.stream, w.arguments(g, op), "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)")
}

// transfer sends to a stage, or receives from one, at its end of the queue.
func (w *worker) transfer(op string, peer, queue int) *call {
	_, _, own := w.job.coordinates(w.id)
	args := w.arguments(w.pipeline, op)
	from, to := own, peer
	args["Rank"] = peer
	if op == "recv" {
		from, to = peer, own
		args["Src Rank"] = w.pipeline.ranks[peer]
	} else {
		args["Dst Rank"] = w.pipeline.ranks[peer]
	}
	edge := fmt.Sprint(w.pipeline.name, " ", from, ">", to)
	key := fmt.Sprint(edge, " ", w.calls[edge])
	w.calls[edge]++
	return w.sync(key, 2, 150_000, queue, args, "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)")
}

// sync joins a synchronisation point; the end is known once all have come.
func (w *worker) sync(key string, members int, ns int64, queue int, args map[string]any, kernel string) *call {
	w.settle(queue)
	w.correlation++
	w.event("cpu_op", "record_param_comms", 1000, w.host, w.host+9000, args)
	w.event("cuda_runtime", "cudaLaunchKernel", 1000, w.host+1000, w.host+8000, map[string]any{"correlation": w.correlation})
	start := max(w.queue[queue], w.host+5000)
	if args["Collective name"] != "recv" {
		start = max(start, w.queue[computing])
	}
	w.host += 10_000
	m := w.points[key]
	if m == nil {
		m = &point{}
		w.points[key] = m
	}
	m.came++
	m.last = max(m.last, start)
	if m.came == members {
		m.over, m.end = true, m.last+ns
	}
	made := map[string]any{"correlation": w.correlation, "stream": queue}
	for k, v := range args {
		made[k] = v
	}
	c := &call{point: m, start: start, queue: queue, event: w.event("kernel", kernel, queue, start, start, made)}
	w.pending[queue] = c
	return c
}

// settle waits until the end of the last call on a queue is known.
func (w *worker) settle(queue int) {
	c := w.pending[queue]
	if c == nil {
		return
	}
	for !c.over {
		w.pause()
	}
	c.event["dur"] = micros(c.end - c.start)
	w.queue[queue] = c.end
	delete(w.pending, queue)
}

// need lets what is computed next wait for a call.
func (w *worker) need(c *call) {
	w.settle(c.queue)
	w.queue[computing] = max(w.queue[computing], c.end)
}
