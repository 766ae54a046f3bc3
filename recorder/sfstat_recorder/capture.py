"""When to start a heavy profiler, and on which ranks.

Rank 0 looks at every gathered window. Where step times vary by more than a
threshold, the ranks that stand out and a few others by lot are asked to
profile some steps. This is a hint where to look, not a verdict: that is
sfstat's.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import random
import statistics
import threading
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Tuple

try:
    from typing import Protocol
except ImportError:  # pragma: no cover
    Protocol = object  # type: ignore[assignment]

_log = logging.getLogger("sfstat_recorder")


@dataclass(frozen=True)
class Trigger:
    """What sets off a capture.

    ``threshold`` is the coefficient of variation of the step times of a window
    (standard deviation over mean, of each step's slowest rank) from which on it
    counts. ``suspects`` and ``peers`` are how many ranks that stand out, and
    how many others by lot, are profiled for ``steps`` steps; after that,
    ``cooldown`` windows pass before the next capture.
    """

    threshold: float = 0.25
    suspects: int = 2
    peers: int = 2
    steps: int = 5
    cooldown: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.threshold > 0:
            raise ValueError("threshold is %r, expected more than 0" % self.threshold)
        if min(self.suspects, self.peers, self.cooldown) < 0 or self.steps < 1:
            raise ValueError("a trigger needs at least one step, and no number below 0: %r" % (self,))


@dataclass(frozen=True)
class Plan:
    """Which ranks profile how many steps, and of which window it was learnt."""

    window: int
    ranks: Tuple[int, ...]
    steps: int


class Watch:
    """Rank 0's eye on the gathered windows."""

    def __init__(self, trigger: Trigger) -> None:
        self._trigger = trigger
        self._quiet_until = 0

    def look(self, packets: Sequence[Dict[str, Any]]) -> Optional[Plan]:
        """The plan that follows from the packets of one window, by rank."""
        t = self._trigger
        steps = max((len(p["wall_ns"]) for p in packets), default=0)
        packets = [p for p in packets if len(p["wall_ns"]) == steps]
        if steps < 2 or packets[0]["window"] < self._quiet_until:
            return None
        slowest = [max(walls) for walls in zip(*(p["wall_ns"] for p in packets))]
        mean = statistics.fmean(slowest)
        if mean <= 0 or statistics.pstdev(slowest) < t.threshold * mean:
            return None
        window: int = packets[0]["window"]
        ranks = _standing_out(packets)[:t.suspects]
        others = sorted(p["rank"] for p in packets if p["rank"] not in ranks)
        lot = random.Random("%d %d" % (t.seed, window))
        ranks += lot.sample(others, min(t.peers, len(others)))
        self._quiet_until = window + 1 + t.cooldown
        return Plan(window, tuple(sorted(ranks)), t.steps)


def _standing_out(packets: Sequence[Dict[str, Any]]) -> List[int]:
    """Ranks by how much longer than the median rank they took in some stage of
    some step, most first. Victims do not: most ranks wait with them.
    """
    worst: Dict[int, float] = {p["rank"]: 0.0 for p in packets}
    for rows in zip(*(p["durations_ns"] for p in packets)):
        for stage in zip(*rows):
            usual = statistics.median(stage)
            for p, ns in zip(packets, stage):
                worst[p["rank"]] = max(worst[p["rank"]], ns - usual)
    return [rank for rank, excess in sorted(worst.items(), key=lambda item: (-item[1], item[0])) if excess > 0]


class Profiler(Protocol):
    """A heavy profiler that can be switched on for a few steps."""

    def start(self, label: str) -> None:
        """Begins; the label is for the name of its output."""

    def stop(self) -> None:
        """Ends, and sees to the output."""


class TorchProfiler:
    """torch.profiler, with a Chrome trace per capture in ``folder``.

    Stopping collects the events on the training thread; the trace is written
    by a thread of its own, to a temporary name first.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._running: Any = None
        self._label = ""

    def start(self, label: str) -> None:
        profiler: Any = importlib.import_module("torch.profiler")
        self._label = label
        self._running = profiler.profile(activities=list(profiler.supported_activities()))
        self._running.__enter__()

    def stop(self) -> None:
        running, self._running = self._running, None
        if running is not None:
            running.__exit__(None, None, None)
            threading.Thread(target=self._export, args=(running, self._label), daemon=True).start()

    def _export(self, running: Any, label: str) -> None:
        try:
            os.makedirs(self._folder, exist_ok=True)
            path = os.path.join(self._folder, label + ".trace.json")
            running.export_chrome_trace(path + ".tmp")
            os.replace(path + ".tmp", path)
        except Exception as error:
            _log.warning("the captured trace could not be written: %s", error)


class Capture:
    """The rank's side: starts and stops the profiler between steps."""

    def __init__(self, profiler: Profiler, run: str, rank: int) -> None:
        self._profiler: Optional[Profiler] = profiler
        self._name = "%s.rank%05d" % (run.replace(os.sep, "_"), rank)
        self._rank = rank
        self._plan: Optional[Plan] = None  # handed over by the writer's thread
        self._left = 0

    def request(self, plan: Plan) -> None:
        if self._rank in plan.ranks:
            self._plan = plan

    def step(self) -> None:
        """A step begins. A profiler that fails is not used again."""
        if self._left == 0 and self._plan is None:
            return
        try:
            if self._left > 1:
                self._left -= 1
            elif self._left == 1:
                self.stop()
            elif self._profiler is not None and self._plan is not None:
                plan, self._plan = self._plan, None
                self._profiler.start("%s.window%06d" % (self._name, plan.window))
                self._left = plan.steps
        except Exception as error:
            self._profiler, self._plan, self._left = None, None, 0
            _log.warning("the profiler failed and is not used again: %s", error)

    def stop(self) -> None:
        """Ends a capture that is running."""
        running, self._left, self._plan = self._left > 0, 0, None
        if running and self._profiler is not None:
            self._profiler.stop()


def pack(plan: Optional[Plan]) -> Dict[str, Any]:
    """The plan as it travels in rank 0's answer."""
    return {} if plan is None else {"window": plan.window, "ranks": list(plan.ranks), "steps": plan.steps}


def unpack(message: Dict[str, Any]) -> Optional[Plan]:
    if not message:
        return None
    return Plan(int(message["window"]), tuple(int(r) for r in message["ranks"]), int(message["steps"]))


def parse(line: bytes) -> Dict[str, Any]:
    """A packet as the watch reads it."""
    packet: Dict[str, Any] = json.loads(line)
    return packet
