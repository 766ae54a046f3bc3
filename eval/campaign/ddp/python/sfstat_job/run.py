"""One rank from its first connection to its last packet."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from typing import Any, Mapping, Optional

import torch
import torch.distributed as dist

from sfstat_recorder import Identity, Recorder, TorchGroup

from .arms import Arms, Machine
from .loop import Loop
from .machine import Monitor, realtime
from .plan import Plan
from .rounds import OFF, SAMPLE
from .profiler import Marks, Profiler, Ranges


def run(spec: Mapping[str, Any], options: Namespace) -> None:
    """Carries the whole schedule out, as the arguments of the job say. Packets
    go to the folder ``out``.
    """
    out: str = options.out
    gpu = connect(spec["ranks"], options.backend)
    plan = Plan(spec, dist.get_rank())
    profiler: Optional[Marks] = Profiler(options.profile, plan.rank) if options.profile else None
    if options.nvtx:
        profiler = Ranges()
    loop = Loop(plan, gpu, profiler)
    if options.arms:
        written = under_arms(plan, loop, options)
    else:
        perf = None if options.recording == "off" else recorder(plan, loop, out, options.group)
        once(plan, loop, perf, 1 / plan.side_every if options.recording == "events" and plan.side_every > 0 else 0.0)
        written = perf is None or perf.close()
    if profiler is not None:
        profiler.close()
    dist.barrier()  # nobody leaves before all have recorded
    dist.destroy_process_group()
    if not written:
        sys.exit("rank %d could not write all packets: see the notes of those that are there, and the space left in %s" % (plan.rank, out))


def under_arms(plan: Plan, loop: Loop, options: Namespace) -> bool:
    """Carries every window out under each arm. Packets go to a folder for each; whether
    all were written.
    """
    out: str = options.out
    os.makedirs(out, exist_ok=True)
    reads = os.environ.get("LOCAL_RANK", "0") == "0"
    monitor = Monitor(options.sfstat, os.path.join(out, "sample.prom")) if reads and SAMPLE in options.arms else None
    recorders = {arm: recorder(plan, loop, os.path.join(out, arm), options.group) for arm in options.arms if arm != OFF}
    arms = Arms(plan, loop, options.arms, recorders, Machine(reads, monitor))
    arms.run(os.path.join(out, "rounds.csv"), realtime if options.realtime else lambda: None)
    if monitor is not None:
        monitor.close()
    return all([perf.close() for perf in recorders.values()])


def once(plan: Plan, loop: Loop, perf: Optional[Recorder], events: float) -> None:
    """All steps, those of windows under the recorder."""
    before = False  # whether the step before was recorded
    for step in range(plan.schedule.total):
        recorded = plan.schedule.recorded(step) is not None
        if perf is not None and before and not recorded:
            perf.pause()
        loop.step(step, perf if recorded else None, events)
        before = recorded


def connect(ranks: int, backend: str) -> Optional[int]:
    """Joins the process group. The number of the GPU, or None on a CPU."""
    torch.set_num_threads(1)
    gpu = None
    if backend == "nccl":
        gpu = int(os.environ.get("LOCAL_RANK", "0"))
        here = torch.cuda.device_count()
        if gpu >= here:
            sys.exit("local rank %d has no GPU: %d on this machine; one for each of its ranks is needed, or --backend gloo" % (gpu, here))
        torch.cuda.set_device(gpu)
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world != ranks:
        sys.exit("%d processes were started for a specification of %d ranks: start one for each" % (world, ranks))
    dist.init_process_group(backend)
    return gpu


def recorder(plan: Plan, loop: Loop, out: str, group: str) -> Recorder:
    return Recorder(
        out,
        Identity.detect(plan.run, plan.role),
        stages=plan.stages,
        accumulation=plan.accumulation,
        repeated=plan.repeated or None,
        window=plan.schedule.steps,
        first_step=plan.schedule.warmup,
        group=TorchGroup(timeout_s=30) if group == "gather" else None,
        events=loop.device,
    )
