"""What the recorder costs: each window without it and with it."""

from __future__ import annotations

import csv
import random
import time
from typing import List, Optional, Tuple

import torch
import torch.distributed as dist

from sfstat_recorder import Recorder

from .loop import Loop
from .plan import Plan

OFF, ON = "off", "on"


def orders(seed: int, windows: int) -> List[List[str]]:
    """Which of the two comes first in each window; the same on all ranks."""
    lot = random.Random("recorder %d" % seed)
    return [lot.sample((OFF, ON), 2) for _ in range(windows)]


class Pairs:
    """Carries each window of a plan out twice, with the same draws of work, in
    the same processes and over the same connections.

    A chunk begins at a barrier, with a step that is neither timed nor recorded.
    Its time is that of the slowest rank, by a clock of its own. A window is
    gathered and written when the next recorded step begins, inside of what is
    timed; the last one at the end.
    """

    def __init__(self, plan: Plan, loop: Loop, perf: Recorder, events: float) -> None:
        self._plan, self._loop, self._perf, self._events = plan, loop, perf, events
        self._rows: List[Tuple[int, int, str]] = []

    def run(self) -> None:
        schedule = self._plan.schedule
        for step in range(schedule.warmup):
            self._loop.step(step, None)
        for window, order in enumerate(orders(self._plan.seed, schedule.windows)):
            first = schedule.warmup + window * (schedule.steps + schedule.gap)
            took = {arm: self._chunk(first, self._perf if arm == ON else None) for arm in order}
            self._rows.append((took[OFF], took[ON], order[0]))

    def _chunk(self, first: int, perf: Optional[Recorder]) -> int:
        """Nanoseconds of a step, on the slowest rank."""
        steps = self._plan.schedule.steps
        dist.barrier()
        self._loop.step(first, None)
        begin = time.perf_counter_ns()
        for step in range(first, first + steps):
            self._loop.step(step, perf, self._events)
        took = torch.tensor([time.perf_counter_ns() - begin])
        if perf is not None:
            perf.pause()
        dist.all_reduce(took, op=dist.ReduceOp.MAX)
        return int(took.item()) // steps

    def write(self, path: str) -> None:
        """The pairs as sfstat overhead reads them."""
        with open(path, "w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file)
            rows.writerow(("pair", "base_ns", "with_ns", "first"))
            rows.writerows((self._plan.run, off, on, first) for off, on, first in self._rows)
