"""The rounds of a run: every window under each arm, and what that took.

Nothing in this module needs PyTorch.
"""

from __future__ import annotations

import csv
import random
from dataclasses import dataclass
from typing import Dict, Iterable, List, Optional, Sequence, Tuple

OFF, WALL, EVENTS, SAMPLE = "off", "wall", "events", "sample"
ARMS = (OFF, WALL, EVENTS, SAMPLE)

HEADER = (
    "pair", "arm", "base_ns", "with_ns", "round", "base_place", "with_place", "base_thread_cpu_ns", "with_thread_cpu_ns",
    "base_process_cpu_ns", "with_process_cpu_ns", "base_others_ns", "with_others_ns", "base_steal_ns", "with_steal_ns",
    "base_throttled_ns", "with_throttled_ns", "closing_ns", "writing_ns", "stage_call_ns")


@dataclass(frozen=True)
class Chunk:
    """The timed steps of a window under an arm. Times are nanoseconds per step; None
    was not measured.
    """

    place: int  # in the order of the round, from 0
    wall: int  # of the slowest rank
    thread: int  # processor time of the training thread, mean of ranks
    process: int  # processor time of all threads of a rank, mean of ranks
    others: Optional[int]  # processor time of the machines that the job did not use
    steal: Optional[int]  # processor time that hosts of virtual machines took away
    throttled: Optional[int]  # time for which heat or power slowed a GPU
    closing: int  # of the training thread, which closes windows, slowest rank
    writing: int  # of the writer's thread, slowest rank


def arms_of(text: str) -> Tuple[str, ...]:
    """The arms of a list such as off,wall,events; ValueError where it is none."""
    arms = tuple(text.split(","))
    if OFF not in arms or len(arms) < 2 or len(set(arms)) < len(arms) or not set(arms) <= set(ARMS):
        raise ValueError("arms are %r, expected off and some of wall, events, sample, each once" % text)
    return arms


def orders(seed: int, arms: Sequence[str], windows: int) -> List[List[str]]:
    """The order of the arms in each window, drawn by the seed; the same on all ranks."""
    lot = random.Random("arms %d" % seed)
    return [lot.sample(list(arms), len(arms)) for _ in range(windows)]


def chunk_of(place: int, steps: int, ranks: int, slowest: Sequence[int], sums: Sequence[int]) -> Chunk:
    """A chunk from what its ranks took, in nanoseconds of all steps. ``slowest`` is the
    longest wall time, closing and writing. ``sums`` are processor times of training
    threads, ranks and monitors; how many machines were read, their busy and stolen
    time; how many count throttling, and for how long.
    """
    wall, closing, writing = (value // steps for value in slowest)
    thread, process, monitor, read, busy, steal, counting, throttled = sums
    others = max(0, busy - process - monitor)
    return Chunk(
        place, wall, thread // (ranks * steps), process // (ranks * steps),
        others // steps if read > 0 else None, steal // steps if read > 0 else None, throttled // steps if counting > 0 else None,
        closing, writing)


def rows(run: str, number: int, chunks: Dict[str, Chunk], stage_call: float) -> List[List[str]]:
    """The lines of a round: each arm beside the chunk without the recorder."""
    base = chunks[OFF]
    out = []
    for arm, chunk in chunks.items():
        if arm == OFF:
            continue
        cells: List[Optional[float]] = [base.wall, chunk.wall, number]
        for a, b in ((base.place, chunk.place), (base.thread, chunk.thread), (base.process, chunk.process), (base.others, chunk.others),
                     (base.steal, chunk.steal), (base.throttled, chunk.throttled)):
            cells += [a, b]
        cells += [chunk.closing, chunk.writing, round(stage_call)]
        out.append([run, arm] + ["" if cell is None else str(cell) for cell in cells])
    return out


def write(path: str, lines: Iterable[List[str]]) -> None:
    """The rounds as sfstat reads them."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(HEADER)
        table.writerows(lines)
