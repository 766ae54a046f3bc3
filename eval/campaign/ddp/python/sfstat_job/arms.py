"""What the recorder costs: each window under every arm."""

from __future__ import annotations

import contextlib
import os
import statistics
import tempfile
import time
from dataclasses import dataclass
from typing import Any, Callable, ContextManager, Dict, List, Mapping, Optional, Sequence

import torch
import torch.distributed as dist

from sfstat_recorder import Cost, Recorder

from . import machine
from .loop import Loop
from .plan import Plan
from .rounds import EVENTS, SAMPLE, Chunk, chunk_of, orders, rows, write

_CALLS, _REPETITIONS = 20_000, 9
_PATIENCE_S = 30.0


@dataclass(frozen=True)
class Machine:
    """What this rank reads of its machine: all of it on one rank of each, nothing elsewhere."""

    reads: bool
    monitor: Optional[machine.Monitor]  # of arm sample

    def throttled(self) -> Optional[int]:
        return machine.throttled_ns() if self.reads and torch.cuda.is_available() else None

    def processors(self) -> Optional[machine.Processors]:
        return machine.processors() if self.reads else None

    def monitor_ns(self) -> int:
        return self.monitor.used_ns() if self.monitor is not None else 0


class Arms:
    """Carries each window of a plan out once under every arm, with the same draws of
    work, in the same processes and over the same connections.

    A chunk begins at a barrier, with a step that is neither timed nor recorded. Its
    time is that of the slowest rank, by a clock of its own. A recorder writes the
    window of its chunk before while a chunk is timed, and is done when the next begins.
    So the first window is the warm-up of all arms, in which nothing is written.
    """

    def __init__(self, plan: Plan, loop: Loop, arms: Sequence[str], recorders: Mapping[str, Recorder], host: Machine) -> None:
        self._plan, self._loop, self._arms, self._recorders, self._machine = plan, loop, arms, recorders, host
        self._events = 1 / plan.side_every if plan.side_every > 0 else 0.0

    def run(self, path: str, warm: Callable[[], None]) -> None:
        """All rounds; rank 0 writes what they took. ``warm`` is called after the warm-up."""
        schedule = self._plan.schedule
        for step in range(schedule.warmup):
            self._loop.step(step, None)
        warm()
        taken: List[Dict[str, Chunk]] = []
        for window, order in enumerate(orders(self._plan.seed, self._arms, schedule.windows)):
            first = schedule.warmup + window * (schedule.steps + schedule.gap)
            chunks = {arm: self._chunk(arm, place, first, window) for place, arm in enumerate(order)}
            taken.append({arm: chunks[arm] for arm in self._arms})
        if self._plan.rank == 0:
            call = stage_call_ns(self._plan)
            write(path, [row for number, chunks in enumerate(taken) if number > 0 for row in rows(self._plan.run, number, chunks, call)])
        dist.barrier()

    def _chunk(self, arm: str, place: int, first: int, window: int) -> Chunk:
        """Carries the steps of a window out and times them."""
        steps, perf, host = self._plan.schedule.steps, self._recorders.get(arm), self._machine
        events = self._events if arm == EVENTS else 0.0
        if arm == SAMPLE and host.monitor is not None:
            host.monitor.go()
        throttled = host.throttled()
        dist.barrier()
        self._loop.step(first, None)
        cost = perf.cost() if perf is not None else Cost()
        monitor, processors = host.monitor_ns(), host.processors()
        thread, process, wall = time.thread_time_ns(), time.process_time_ns(), time.perf_counter_ns()
        for step in range(first, first + steps):
            self._loop.step(step, perf, events)
        if perf is not None:
            perf.pause()
        wall = time.perf_counter_ns() - wall
        thread, process = time.thread_time_ns() - thread, time.process_time_ns() - process
        after = host.processors()
        monitor = host.monitor_ns() - monitor
        if arm == SAMPLE and host.monitor is not None:
            host.monitor.stand()
        if perf is not None:
            cost = since(cost, settled(perf, window))
        slowest = self._over_ranks(dist.ReduceOp.MAX, wall, cost.closing_ns, cost.writing_ns)
        sums = self._over_ranks(
            dist.ReduceOp.SUM, thread, process, monitor, *difference(processors, after), *counted(throttled, host.throttled()))
        return chunk_of(place, steps, dist.get_world_size(), slowest, sums)

    def _over_ranks(self, op: Any, *values: int) -> List[int]:
        together = torch.tensor(values, dtype=torch.int64, device=self._loop.place)
        dist.all_reduce(together, op=op)
        return [int(value) for value in together.tolist()]


def difference(before: Optional[machine.Processors], after: Optional[machine.Processors]) -> List[int]:
    """How many machines were read, their busy time and what was stolen of it."""
    if before is None or after is None:
        return [0, 0, 0]
    return [1, after.busy - before.busy, after.steal - before.steal]


def counted(before: Optional[int], after: Optional[int]) -> List[int]:
    """How many machines count throttling, and how much came up."""
    return [0, 0] if before is None or after is None else [1, after - before]


def since(before: Cost, after: Cost) -> Cost:
    """What came up between two readings."""
    return Cost(after.windows - before.windows, after.closing_ns - before.closing_ns, after.writing_ns - before.writing_ns)


def settled(perf: Recorder, windows: int) -> Cost:
    """What recording has cost when so many windows are written, so that nothing of it is
    left for the chunk that follows.
    """
    deadline = time.monotonic() + _PATIENCE_S
    cost = perf.cost()
    while cost.windows < windows and time.monotonic() < deadline:
        time.sleep(0.001)
        cost = perf.cost()
    return cost


def stage_call_ns(plan: Plan) -> float:
    """Processor time of an empty stage: the median of repetitions, less that of an empty
    statement.
    """
    with tempfile.TemporaryDirectory() as folder:
        with Recorder(os.path.join(folder, "calls"), stages=plan.stages, accumulation=plan.accumulation, repeated=plan.repeated or None,
                      arrivals=False) as perf:
            name = plan.ops[0].name
            nothing: ContextManager[Any] = contextlib.nullcontext()
            with perf.step():
                return statistics.median(_each(lambda: perf.stage(name)) - _each(lambda: nothing) for _ in range(_REPETITIONS))


def _each(span: Callable[[], ContextManager[Any]]) -> float:
    begin = time.thread_time_ns()
    for _ in range(_CALLS):
        with span():
            pass
    return (time.thread_time_ns() - begin) / _CALLS
