"""One rank of a launch of bench/overhead: the same DDP loop without the
recorder, with wall times, and with device times besides, in turns.

    python arms.py --spec spec.json --out DIR --rounds 6 --steps 10 --window 5 --seed 1

A round is a chunk of steps under each arm, in an order drawn by lot, the same
on all ranks. The chunks of a round carry out the same steps, with the same
draws of work, in the same processes and over the same connections. A chunk
begins at a barrier, with one step that is not timed; its time is taken around
all of its steps by two readings of the clock, in every arm alike. The
recorder closes windows, and its thread writes them, inside of the timed steps; what
is left over is written before the next chunk begins.

Writes DIR/rank00003.csv, a line for each chunk, and on rank 0 DIR/calls.json:
nanoseconds of processor time of one call of a stage.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import os
import random
import statistics
import time
from typing import Any, Callable, ContextManager, List, Optional

from job import end_with_launcher, require_torch

OFF, CPU, EVENTS = "off", "cpu", "events"
HEADER = ("round", "arm", "place", "steps", "begin_unix_ns", "end_unix_ns", "wall_ns", "thread_cpu_ns", "process_cpu_ns")
CALLS = 20_000


def main() -> None:
    options = _options()
    if os.environ.get("SFSTAT_HELD_BY_STDIN") == "1":
        end_with_launcher()
    require_torch()
    with open(options.spec, encoding="utf-8") as file:
        spec = json.load(file)
    Launch(spec, options).run()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--spec", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--steps", type=int, required=True, help="timed steps of a chunk")
    parser.add_argument("--window", type=int, required=True, help="steps of a window of the recorder")
    parser.add_argument("--seed", type=int, required=True, help="of the order of arms")
    parser.add_argument("--realtime", action="store_true", help="at real-time priority (Linux, with the right to it)")
    parser.add_argument("--backend", choices=("gloo", "nccl"), default="gloo")
    return parser.parse_args()


def orders(seed: int, rounds: int) -> List[List[str]]:
    """The arms of each round, in the order in which they run."""
    lot = random.Random("arms %d" % seed)
    return [lot.sample((OFF, CPU, EVENTS), 3) for _ in range(rounds)]


def realtime() -> None:
    """Puts all threads of this process, and those that it starts, before the
    other work of the machine, from here on.
    """
    try:
        for thread in os.listdir("/proc/self/task"):
            os.sched_setscheduler(int(thread), os.SCHED_FIFO, os.sched_param(1))
    except (AttributeError, OSError) as error:
        raise SystemExit("no real-time priority (%s): it needs Linux and CAP_SYS_NICE, as root has; leave -realtime out" % error)


class Launch:
    """One rank of one launch."""

    def __init__(self, spec: Any, options: argparse.Namespace) -> None:
        import torch.distributed
        from sfstat_job.loop import Loop
        from sfstat_job.plan import Plan
        from sfstat_job.run import connect

        self._dist: Any = torch.distributed
        gpu = connect(spec["ranks"], options.backend)
        self._options = options
        self._plan = Plan(spec, self._dist.get_rank())
        self._loop = Loop(self._plan, gpu)
        self._events = 1 / self._plan.side_every if self._plan.side_every > 0 else 0.0

    def run(self) -> None:
        warmup = self._plan.schedule.warmup
        for step in range(warmup):
            self._loop.step(step, None)
        if self._options.realtime:
            realtime()
        os.makedirs(self._options.out, exist_ok=True)
        with open(os.path.join(self._options.out, "rank%05d.csv" % self._plan.rank), "w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file)
            rows.writerow(HEADER)
            for number, order in enumerate(orders(self._options.seed, self._options.rounds)):
                for place, arm in enumerate(order):
                    first = warmup + number * (1 + self._options.steps)
                    rows.writerow([number, arm, place, self._options.steps] + self._chunk(arm, "%d-%s" % (number, arm), first))
        if self._plan.rank == 0:
            with open(os.path.join(self._options.out, "calls.json"), "w", encoding="utf-8") as file:
                json.dump({"stage_ns": self._stage_ns()}, file)
        self._dist.barrier()
        self._dist.destroy_process_group()

    def _chunk(self, arm: str, name: str, first: int) -> List[int]:
        """Times the steps of one chunk."""
        perf = None if arm == OFF else self._recorder(name, first)
        events = self._events if arm == EVENTS else 0.0
        step = self._loop.step
        self._dist.barrier()
        step(first, perf, events)
        begin = time.time_ns()
        thread, process, wall = time.thread_time_ns(), time.process_time_ns(), time.perf_counter_ns()
        for index in range(first + 1, first + 1 + self._options.steps):
            step(index, perf, events)
        wall = time.perf_counter_ns() - wall
        thread, process = time.thread_time_ns() - thread, time.process_time_ns() - process
        end = time.time_ns()
        if perf is not None and not perf.close():
            raise SystemExit("the packets of chunk %s could not be written" % name)
        return [begin, end, wall, thread, process]

    def _recorder(self, name: str, first: int) -> Any:
        from sfstat_recorder import Identity, Recorder

        return Recorder(
            os.path.join(self._options.out, "packets", name), Identity.detect(name, self._plan.role),
            stages=self._plan.stages, accumulation=self._plan.accumulation, repeated=self._plan.repeated or None,
            window=self._options.window, first_step=first, events=self._loop.device)

    def _stage_ns(self) -> float:
        """Processor time of one call of a stage: the median of repetitions,
        less that of an empty statement.
        """
        perf = self._recorder("calls", 0)
        name = self._plan.ops[0].name
        nothing: ContextManager[Any] = contextlib.nullcontext()
        with perf.step():
            return statistics.median(_each(lambda: perf.stage(name)) - _each(lambda: nothing) for _ in range(9))


def _each(span: Callable[[], ContextManager[Any]]) -> float:
    begin = time.thread_time_ns()
    for _ in range(CALLS):
        with span():
            pass
    return (time.thread_time_ns() - begin) / CALLS


if __name__ == "__main__":
    main()
