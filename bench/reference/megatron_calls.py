"""What Megatron-LM calls when it trains a GPT model, counted by running its schedule.

    python3 bench/reference/megatron_calls.py                  the layouts of the NCCL Trace Profiler beside the published counts
    python3 bench/reference/megatron_calls.py calls > FILE     lines, calls, kernels and bytes by job, rank and operation, as CSV

Written from pretrain_gpt.py, megatron/training and megatron/core of release
core_r0.13.0 (commit 73a28a1), not from sfstat's tables: every rank of a job is
walked through setting up, iterations, microbatches, layers and the end, and each
collective is issued on its group, one by one, in the order of the script. Only
shapes and groups are kept; nothing is computed. A call on a group of one rank is
logged and launches no kernel; calls issued as one batch launch one; the first rank
of a group has a second line for each collective, which says how it runs.

engine/comm/megatron/testdata/calls.csv is what `calls` prints.
"""

import collections
import csv
import math
import sys

DENSE = dict(L=16, h=512, s=1024, V=50257, b=4, batch=64, fp16=True, I=10, skipped=10, tp=1, pp=1, dp=1, ep=1, v=1,
             sp=False, zero=False, experts=0, every=0, k=1, dispatcher="alltoall", bias=True, recompute=False)
MOE = dict(DENSE, fp16=False, skipped=0, bias=False, experts=4, every=2, k=2, dp=4, ep=4)
JOBS = {
    "DP=4": dict(DENSE, dp=4),
    "DP=4, sharded optimizer": dict(DENSE, dp=4, zero=True),
    "PP=4": dict(DENSE, pp=4),
    "PP=4, 2 virtual stages": dict(DENSE, pp=4, v=2),
    "TP=4": dict(DENSE, L=8, tp=4),
    "TP=4, sequence parallel": dict(DENSE, L=8, tp=4, sp=True),
    "EP=4, all-to-all": MOE,
    "EP=4, all-gather": dict(MOE, dispatcher="allgather"),
    # Tables 4.1 and 4.2: 4 layers, and 2 sequences in a microbatch of the first
    "Table 4.1": dict(DENSE, L=4, tp=2, pp=2, b=2),
    "Table 4.2": dict(DENSE, L=4, tp=4, sp=True),
    # all dimensions at once
    "bf16, TP, PP, DP": dict(DENSE, L=8, h=256, tp=2, pp=2, dp=2, sp=True, zero=True, fp16=False, skipped=0, I=3),
    "fp16, 3 skipped of 5": dict(DENSE, L=12, h=64, s=128, V=1000, tp=2, pp=3, dp=2, v=2, b=1, batch=24, I=5, skipped=3),
    "experts, PP, recompute": dict(MOE, L=8, h=64, s=128, V=1000, pp=2, ep=2, b=1, batch=16, I=2, recompute=True),
    "experts, sharded optimizer": dict(MOE, L=4, h=64, s=128, V=1000, ep=2, b=1, batch=16, I=2, zero=True),
}


class Rank:
    """Issues the calls of one rank and counts them."""

    def __init__(self, job, rank):
        self.__dict__.update(job)
        self.rank, self.world = rank, job["tp"] * job["dp"] * job["pp"]
        self.t, self.d, self.p = rank % self.tp, rank // self.tp % self.dp, rank // (self.tp * self.dp)
        at = lambda t, d, p: t + self.tp * (d + self.dp * p)
        T, D, P = range(self.tp), range(self.dp), range(self.pp)
        e0 = self.d // self.ep * self.ep
        self.groups = {
            "world": list(range(self.world)),
            "tp": [at(t, self.d, self.p) for t in T],
            "dp": [at(self.t, d, self.p) for d in D],
            "pp": [at(self.t, self.d, p) for p in P],
            "mp": [at(t, self.d, p) for p in P for t in T],
            "emb": sorted({at(self.t, self.d, 0), at(self.t, self.d, self.pp - 1)}),
            "ep": [at(self.t, d, self.p) for d in range(e0, e0 + self.ep)],
            "edp": [at(self.t, d, self.p) for d in range(self.d % self.ep, self.dp, self.ep)],
            "emp": [at(t, d, p) for p in P for d in range(e0, e0 + self.ep) for t in T],
        }
        self.lines, self.calls, self.kernels, self.bytes = (collections.Counter() for _ in range(4))
        self.e = 2
        self.g = 2 if self.fp16 else 4
        self.padded = math.ceil(self.V / (128 * self.tp)) * 128 * self.tp
        self.m = self.batch // (self.b * self.dp)

    # --- calls

    def issue(self, group, op, size):
        members = self.groups[group]
        assert self.rank in members
        self.calls[op] += 1
        self.bytes[op] += size
        self.lines[op] += 1
        if len(members) > 1 and op not in ("Send", "Recv"):
            self.kernels[op] += 1
            self.lines[op] += members[0] == self.rank

    def batch_p2p(self, *ops):
        """batch_isend_irecv: one kernel for what is in it, none for nothing."""
        for op, size in ops:
            self.issue("pp", op, size)
        if ops:
            self.kernels["SendRecv"] += 1

    def all_to_all(self, size):
        for op in ("Send", "Recv"):
            for _ in self.groups["ep"]:
                self.issue("ep", op, size / self.ep)
        self.kernels["SendRecv"] += 1

    def barrier(self):
        self.issue("world", "AllReduce", 4)

    # --- the script

    def pretrain(self):
        self.barrier(), self.barrier()                      # initialize: _compile_dependencies
        self.issue("world", "AllReduce", 8)                 # _TRAIN_START_TIME
        self.barrier()                                      # print_datetime
        self.barrier()                                      # timer of the model
        if self.pp > 1 and (self.first or self.last):
            self.issue("emb", "AllReduce", self.words * self.e)
        self.barrier()                                      # print_datetime
        self.barrier()                                      # timer of the data
        for _ in range(self.v):                             # each chunk has an iterator
            for _ in ("train", "valid", "test"):
                self.barrier()
            self.issue("world", "Broadcast", 24)
        self.barrier()                                      # print_datetime
        self.barrier()                                      # timers.log(barrier=True)
        self.issue("world", "AllGather", 2 * 4)
        self.barrier()                                      # interval-time
        self.barrier()                                      # print_datetime
        for i in range(self.I):
            self.train_step(skip=i < self.skipped)
            self.training_log()
        self.barrier()                                      # print_datetime
        return self

    @property
    def first(self):
        return self.p == 0

    @property
    def last(self):
        return self.p == self.pp - 1

    @property
    def words(self):
        return self.padded // self.tp * self.h

    @property
    def activation(self):
        """At a layer's border, on this rank."""
        return self.b * self.s * self.h * self.e // (self.tp if self.sp else 1)

    def layers_of(self, chunk):
        n = self.L // (self.pp * self.v)
        start = (chunk * self.pp + self.p) * n
        return range(start, start + n)

    def is_moe(self, layer):
        return self.experts > 0 and layer % self.every == 0

    def train_step(self, skip):
        if self.pp == 1:
            for _ in range(self.m):
                self.forward(0)
                self.backward(0)
        elif self.v == 1:
            self.one_f_one_b()
        else:
            self.interleaved()
        self.finalize_model_grads()
        self.step(skip)
        self.issue("mp", "AllReduce", 4)                    # logical_and_across_model_parallel_group
        self.issue("mp", "AllReduce", 4)                    # reduce_max_stat: grad_norm
        if self.last:
            self.issue("dp", "AllReduce", 8)                # sum of losses, tokens

    def training_log(self):
        self.issue("mp", "AllReduce", 4)                    # reduce_max_stat: learning_rate
        if self.experts:
            self.issue("pp", "AllReduce", 4 * self.L)       # track_moe_metrics
        self.issue("world", "AllGather", 24 * 4)            # timers.write
        self.barrier(), self.barrier()                      # interval-time elapsed(barrier=True): stop, start
        self.issue("world", "AllGather", 24 * 4)            # timers.log

    # --- schedules

    def recv_forward(self):
        if not self.first:
            self.batch_p2p(("Recv", self.activation))

    def send_forward(self):
        if not self.last:
            self.batch_p2p(("Send", self.activation))

    def recv_backward(self):
        if not self.last:
            self.batch_p2p(("Recv", self.activation))

    def send_backward(self):
        if not self.first:
            self.batch_p2p(("Send", self.activation))

    def send_forward_recv_backward(self):
        if not self.last:
            self.batch_p2p(("Send", self.activation), ("Recv", self.activation))

    def send_backward_recv_forward(self):
        if not self.first:
            self.batch_p2p(("Send", self.activation), ("Recv", self.activation))

    def one_f_one_b(self):
        warmup = min(self.pp - self.p - 1, self.m)
        remaining = self.m - warmup
        for _ in range(warmup):
            self.recv_forward()
            self.forward(0)
            self.send_forward()
        if remaining:
            self.recv_forward()
        for i in range(remaining):
            self.forward(0)
            self.send_forward_recv_backward()
            self.backward(0)
            if i == remaining - 1:
                self.send_backward()
            else:
                self.send_backward_recv_forward()
        for _ in range(warmup):
            self.recv_backward()
            self.backward(0)
            self.send_backward()

    def interleaved(self):
        """With overlap_p2p_comm, which is the default, each isend and irecv is by
        itself; what is sent and received does not depend on their order."""
        for chunk in range(self.v):
            model_first = self.first and chunk == 0
            model_last = self.last and chunk == self.v - 1
            for _ in range(self.m):
                if not model_first:
                    self.recv_forward_alone()
                self.forward(chunk)
                if not model_last:
                    self.send_alone()
                    self.recv_forward_alone()
                self.backward(chunk)
                if not model_first:
                    self.send_alone()

    def send_alone(self):
        self.batch_p2p(("Send", self.activation))

    def recv_forward_alone(self):
        self.batch_p2p(("Recv", self.activation))

    # --- the model

    def forward(self, chunk):
        self.get_batch()
        layers = self.layers_of(chunk)
        a = self.activation
        if layers[0] == 0 and self.tp > 1:
            self.issue("tp", "AllReduce", self.b * self.s * self.h * self.e)  # VocabParallelEmbedding; positions are added after it
        for layer in layers:
            self.layer_forward(layer)
        if layers[-1] == self.L - 1:
            if self.sp:
                self.issue("tp", "AllGather", a)            # output_layer
            for _ in ("logits_max", "predicted_logits", "sum_exp_logits"):
                self.issue("tp", "AllReduce", self.b * self.s * 4)

    def layer_forward(self, layer):
        for part in ("attention", "mlp"):
            if part == "mlp" and self.is_moe(layer):
                self.moe_forward()
            elif self.sp:
                self.issue("tp", "AllGather", self.activation)
                self.issue("tp", "ReduceScatter", self.activation)
            elif self.tp > 1:
                self.issue("tp", "AllReduce", self.activation)

    def backward(self, chunk):
        layers = self.layers_of(chunk)
        a = self.activation
        if layers[-1] == self.L - 1:
            if self.sp:
                self.issue("tp", "AllGather", a)            # the input again
                self.issue("tp", "ReduceScatter", a)
            elif self.tp > 1:
                self.issue("tp", "AllReduce", a)
        for layer in reversed(layers):
            if self.recompute:
                self.layer_forward(layer)
            for part in ("mlp", "attention"):
                if part == "mlp" and self.is_moe(layer):
                    self.moe_backward()
                elif self.sp:
                    self.issue("tp", "AllGather", a)        # of the row-parallel matrix: gradient of its output
                    self.issue("tp", "AllGather", a)        # of the column-parallel one: its input again
                    self.issue("tp", "ReduceScatter", a)
                elif self.tp > 1:
                    self.issue("tp", "AllReduce", a)
        if layers[0] == 0 and self.sp:
            self.issue("tp", "AllGather", a)                # scatter_to_sequence_parallel_region

    def moe_forward(self):
        tokens = self.b * self.s
        if self.ep == 1:
            return
        if self.dispatcher == "allgather":
            self.issue("ep", "AllGather", tokens * self.experts)             # routing_map, bool
            self.issue("ep", "AllGather", tokens * self.experts * self.e)    # probs
            self.issue("ep", "AllGather", tokens * self.h * self.e)
            self.issue("ep", "ReduceScatter", tokens * self.h * self.e)
            return
        self.issue("ep", "AllGather", self.experts * 8)                      # tokens per expert
        self.all_to_all(tokens * self.k * self.h * self.e)
        self.all_to_all(tokens * self.k * self.e)                            # probs
        self.all_to_all(tokens * self.k * self.h * self.e)                   # combine

    def moe_backward(self):
        tokens = self.b * self.s
        if self.ep == 1:
            return
        if self.dispatcher == "allgather":
            self.issue("ep", "AllGather", tokens * self.h * self.e)
            self.issue("ep", "ReduceScatter", tokens * self.h * self.e)
            self.issue("ep", "ReduceScatter", tokens * self.experts * self.e)
            return
        self.all_to_all(tokens * self.k * self.h * self.e)
        self.all_to_all(tokens * self.k * self.e)
        self.all_to_all(tokens * self.k * self.h * self.e)

    def get_batch(self):
        """get_batch_on_this_tp_rank."""
        if not (self.first or self.last):
            return
        n = self.b * self.s
        tokens, labels, loss_mask, attention_mask, position_ids = 8 * n, 8 * n, 4 * n, n * self.s, 8 * n
        if self.pp == 1:
            batch = (tokens, labels, loss_mask, attention_mask, position_ids)
        elif self.first:
            batch = (tokens, attention_mask, position_ids)
        else:
            batch = (labels, loss_mask, attention_mask)
        for size in batch:
            self.issue("tp", "Broadcast", size)

    # --- gradients

    def parameters(self, chunk):
        """(elements, of experts, of the embedding that two stages share, marked as sequence_parallel) of each."""
        h, tp, layers = self.h, self.tp, self.layers_of(chunk)
        out = []

        def add(n, moe=False, shared=False, seq=False):
            out.append((n, moe, shared, seq))

        def bias(n, **kw):
            if self.bias:
                add(n, **kw)

        if layers[0] == 0:
            add(self.words, shared=self.pp > 1)
            add(self.s * h)
        for layer in layers:
            add(h, seq=True), add(h, seq=True)
            add(3 * h * h // tp), bias(3 * h // tp)
            add(h * h // tp), bias(h, seq=True)
            add(h, seq=True), add(h, seq=True)
            if self.is_moe(layer):
                add(self.experts * h)
                for _ in range(self.experts // self.ep):
                    add(4 * h * h, moe=True), bias(4 * h, moe=True), add(4 * h * h, moe=True), bias(h, moe=True)
            else:
                add(4 * h * h // tp), bias(4 * h // tp), add(4 * h * h // tp), bias(h, seq=True)
        if layers[-1] == self.L - 1:
            add(h, seq=True), add(h, seq=True)
            if self.pp > 1:
                add(self.words, shared=True)
        return out

    def buckets(self, chunk, moe):
        """_ParamAndGradBuffer, which goes through parameters from the last to the first."""
        ranks = len(self.groups["edp" if moe else "dp"])
        sizes, start, at = [], 0, 0
        pad = lambda n, to: math.ceil(n / to) * to
        end = lambda n: pad(n, math.lcm(ranks, 128)) if self.zero else n
        for n, of_experts, shared, _ in reversed(self.parameters(chunk)):
            if of_experts != moe:
                continue
            if self.zero:
                at = pad(at, 64)
            alone = shared and self.zero
            if alone and at > start:
                at = end(at)
                sizes.append(at - start)
                start = at
            at += n
            if alone:
                at = end(at)
                sizes.append(at - start)
                start = at
        if at > start:
            sizes.append(end(at) - start)
        return sizes

    def finalize_model_grads(self):
        for chunk in range(self.v):
            for moe, group in ((False, "dp"), (True, "edp")):
                for n in self.buckets(chunk, moe):
                    if self.zero:
                        self.issue(group, "ReduceScatter", n // len(self.groups[group]) * self.g)
                    else:
                        self.issue(group, "AllReduce", n * self.g)
        if self.sp:
            marked = sum(n for chunk in range(self.v) for n, _, _, seq in self.parameters(chunk) if seq)
            self.issue("tp", "AllReduce", marked * self.g)
        if self.pp > 1 and (self.first or self.last):
            self.issue("emb", "AllReduce", self.words * self.g)

    def step(self, skip):
        """MixedPrecisionOptimizer, one for parameters and one for those of experts."""
        both = any(moe for chunk in range(self.v) for _, moe, _, _ in self.parameters(chunk))
        groups = ["mp", "emp"] if both else ["mp"]
        if self.zero:
            groups = ["world"] * len(groups)                # get_intra_distributed_optimizer_instance_group
        if self.fp16:
            for group in groups:
                self.issue(group, "AllReduce", 4)           # found_inf
        if skip:
            return
        for group in groups[:1] if self.zero else groups:   # one norm where the group is shared
            self.issue(group, "AllReduce", 4)
        if self.zero:
            for chunk in range(self.v):
                for moe, group in ((False, "dp"), (True, "edp")):
                    for n in self.buckets(chunk, moe):
                        self.issue(group, "AllGather", n // len(self.groups[group]) * self.e)


def ranks_of(job):
    return [Rank(job, r).pretrain() for r in range(job["tp"] * job["dp"] * job["pp"])]


def print_calls():
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["job", "rank", "operation", "lines", "calls", "kernels", "bytes"])
    for name, job in JOBS.items():
        for r in ranks_of(job):
            for op in sorted(set(r.calls) | set(r.kernels)):
                out.writerow([name, r.rank, op, r.lines[op], r.calls[op], r.kernels[op], round(r.bytes[op])])


# Chapter 5: kernels, and bytes as logged in units of 2^30, of four ranks.
PUBLISHED = {
    "DP=4": {"AllReduce": (220, 5.72), "AllGather": (84, None), "Broadcast": (4, 0.64)},
    "DP=4, sharded optimizer": {"AllReduce": (220, 0.01), "AllGather": (84, None), "ReduceScatter": (40, 1.43), "Broadcast": (4, 0.64)},
    "PP=4": {"Send": (1080, 3.75), "AllReduce": (322, 2.97), "AllGather": (84, None), "Broadcast": (4, 1.27)},
    "PP=4, 2 virtual stages": {"Send": (4480, 8.75), "AllReduce": (334, 2.97), "AllGather": (84, None), "Broadcast": (8, 2.53)},
    "TP=4": {"AllReduce": (23980, 86.02), "Broadcast": (3204, 2.57), "AllGather": (84, None)},
    "TP=4, sequence parallel": {"AllGather": (32724, 31.88), "ReduceScatter": (21120, 20.62), "Broadcast": (3204, 2.57), "AllReduce": (2900, 3.52)},
    "EP=4, all-to-all": {"Send": (7680, 40.04), "AllGather": (1364, None), "AllReduce": (260, 11.43), "Broadcast": (4, 0.64)},
    "EP=4, all-gather": {"AllGather": (5204, 10.06), "ReduceScatter": (3840, 10.04), "AllReduce": (260, 11.43), "Broadcast": (4, 0.64)},
}


def print_layouts():
    for name, ops in PUBLISHED.items():
        ranks = ranks_of(JOBS[name])
        for op, (count, gb) in ops.items():
            kernels = sum(r.kernels["SendRecv" if op == "Send" else op] for r in ranks)
            size = sum(r.bytes[op] for r in ranks) / 2**30
            same = kernels == count and (gb is None or "%.2f" % size == "%.2f" % gb)
            print("%-26s %-13s %6d %6d  %8.4f %6s%s" % (name, op, kernels, count, size, gb if gb is not None else "-", "" if same else "  *"))
    for name in ("Table 4.1", "Table 4.2"):
        for r in ranks_of(JOBS[name]):
            print(name, "rank", r.rank + 1, {op: (r.lines[op], r.kernels[op]) for op in sorted(set(r.lines) | set(r.kernels))})


if __name__ == "__main__":
    print_calls() if sys.argv[1:] == ["calls"] else print_layouts()
