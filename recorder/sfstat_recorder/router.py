"""On which ranks, and when, a heavy profiler is worth its cost.

Rank 0 looks at every gathered window. Let P[r][b] be the sum of the stages of
rank r up to the end of stage b. The frontier of a step is max over r of
P[r][b]; its slack is what the others wait at the next synchronisation point.
A rank is late by the mean over the window's steps of P[r][b] less the median of
its peers, at the stage where that is largest: a constant straggler counts as
much as one that strikes now and then. Inside a stage in which all ranks wait
for each other all record the same; there the rank is late by its entries of
collectives, where packets hold them.

This is a hint where to look, not a verdict: that is sfstat's.
"""

from __future__ import annotations

import json
import random
import statistics
import time
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple

from .capture import Plan

_AHEAD_S = 0.5  # in which every rank has heard of a plan
_MOST_STEPS = 100  # of a capture

_Packet = Dict[str, Any]


@dataclass(frozen=True)
class Trigger:
    """What sets off a capture.

    ``threshold`` is the part of the step time that must be lost: to a rank
    that is late, to steps that are longer than the usual one, or since an
    earlier window.

    ``suspects`` and ``peers`` are how many late ranks, and how many others by
    lot, are profiled for ``steps`` steps or ``seconds``, whichever ends first;
    ``cooldown`` windows pass before others are captured by lot again, and there are
    ``captures`` at most. The same rank is not captured twice for being late.
    """

    threshold: float = 0.1
    suspects: int = 2
    peers: int = 2
    steps: int = 4
    cooldown: int = 10
    seed: int = 0
    captures: int = 3
    seconds: float = 5.0

    def __post_init__(self) -> None:
        if not 0 < self.threshold < 1:
            raise ValueError("threshold is %r, expected a part of the step time, between 0 and 1" % self.threshold)
        if min(self.suspects, self.peers, self.cooldown, self.captures) < 0 or not 1 <= self.steps <= _MOST_STEPS or not self.seconds > 0:
            raise ValueError("a trigger needs 1 to %d steps, some time, and no number below 0: %r" % (_MOST_STEPS, self))


class Router:
    """Rank 0's eye on the gathered windows. ``now`` is the step that the training is in."""

    def __init__(self, trigger: Trigger, now: Callable[[], int] = lambda: 0) -> None:
        self._trigger = trigger
        self._now = now
        self._quiet_until = 0
        self._taken = 0
        self._captured: Set[Tuple[str, int]] = set()
        self._usual = 0.0  # the shortest median step of a window
        self._enters = False  # packets hold when ranks enter collectives, now and then
        self._slower = 0  # windows in a row that were slower
        self._asked_for = 0  # how often such a reading was asked for

    @property
    def reads(self) -> bool:
        """Whether the packets of windows are needed."""
        return self._taken < self._trigger.captures

    def look(self, packets: Sequence[_Packet]) -> Optional[Plan]:
        """The plan that follows from the packets of one window, by rank."""
        t = self._trigger
        steps = max((len(p["wall_ns"]) for p in packets), default=0)
        packets = [p for p in packets if len(p["wall_ns"]) == steps]
        if steps < 2:
            return None
        slowest = [max(walls) for walls in zip(*(p["wall_ns"] for p in packets))]
        mean, median = statistics.fmean(slowest), statistics.median(slowest)
        usual, self._usual = self._usual, min(self._usual or median, median)
        window: int = packets[0]["window"]
        self._enters = self._enters or any(p.get("arrivals") for p in packets)
        if self._taken >= t.captures or mean <= 0:
            return None
        late = _late(packets)
        for rank, ns in _entered(packets).items():
            late[rank] = max(late.get(rank, 0.0), ns)
        least = t.threshold * mean
        order = sorted(late, key=lambda r: (-late[r], r))
        suspects = [r for r in order if 2 * late[r] >= least][:t.suspects]
        why = ""
        if suspects and late[suspects[0]] >= least and ("late", suspects[0]) not in self._captured:
            why = "late"
        elif mean - median >= least:
            why, suspects = "uneven", _standing_out(packets)[:t.suspects]
        elif usual > 0 and median - usual >= t.threshold * median and ("slower", -1) not in self._captured:
            why, suspects = "slower", []
        self._slower = self._slower + 1 if why == "slower" else 0
        if not why:
            return None
        if why != "late" and self._enters and self._asked_for < t.captures and not _entered_now(packets):
            self._asked_for += 1
            return Plan(window, (), t.steps, 0, t.seconds, "entries")  # which of the next window show who is late
        if why != "late" and window < self._quiet_until or self._slower == 1:
            return None  # chance, perhaps
        self._captured.add((why, suspects[0] if why == "late" else -1))
        return self._plan(window, suspects, (t.steps, mean / 1e9), [p["rank"] for p in packets], why)

    def _plan(self, window: int, ranks: List[int], pace: Tuple[int, float], everyone: Sequence[int], why: str) -> Plan:
        """Adds others by lot. ``pace`` is steps to profile, and seconds of one."""
        t = self._trigger
        steps, seconds = pace
        others = sorted(set(everyone) - set(ranks))
        lot = random.Random("%d %d %d" % (t.seed, window, self._taken))
        by_lot = t.peers if why != "slower" else t.suspects + t.peers
        ranks = ranks + lot.sample(others, min(by_lot, len(others)))
        self._taken += 1
        self._quiet_until = window + 1 + t.cooldown
        first = self._now() + 2 + min(_MOST_STEPS, int(_AHEAD_S / max(seconds, 1e-4)))
        return Plan(window, tuple(sorted(ranks)), steps, first, t.seconds, why)


def _peers(packets: Sequence[_Packet]) -> List[List[_Packet]]:
    """Ranks that do the same work: of one role, but for their replica."""
    groups: Dict[str, List[_Packet]] = {}
    for p in packets:
        role = {k: v for k, v in (p.get("role") or {}).items() if k != "dp"}
        groups.setdefault(json.dumps(role, sort_keys=True), []).append(p)
    return [g for g in groups.values() if len(g) > 1]


def _late(packets: Sequence[_Packet]) -> Dict[int, float]:
    """By how much each rank is behind the median of its peers at the end of the
    stage where that is most, ns a step.
    """
    worst: Dict[int, float] = {}
    for group in _peers(packets):
        steps = len(group[0]["wall_ns"])
        prefix = [[0] * steps for _ in group]
        for b in range(min((len(p["durations_ns"][0]) for p in group), default=0)):
            for reached, p in zip(prefix, group):
                for t, row in enumerate(p["durations_ns"]):
                    reached[t] += row[b]
            middles = [statistics.median_low(at) for at in zip(*prefix)]
            total = sum(middles)
            for reached, p in zip(prefix, group):
                worst[p["rank"]] = max(worst.get(p["rank"], 0.0), (sum(reached) - total) / steps)
            time.sleep(0)  # offers the interpreter lock
    return worst


def _entered(packets: Sequence[_Packet]) -> Dict[int, float]:
    """By how much each rank enters collectives behind the median of the ranks of
    its host, whose clock is one: in each step at the call where it is most apart,
    ns a step.
    """
    calls: Dict[Tuple[str, int, str, int], List[Tuple[int, int]]] = {}
    for p in packets:
        a = p.get("arrivals")
        if not a:
            continue
        at = 0
        for step, group, op, seq, since in zip(a["step"], a["group"], a["op"], a["seq"], a["enter_ns"]):
            at += since
            if step >= 0 and "->" not in a["ops"][op] and "<-" not in a["ops"][op]:
                calls.setdefault((p.get("host", ""), step, a["groups"][group]["name"], seq), []).append((at, p["rank"]))
        time.sleep(0)
    apart: Dict[Tuple[str, int], List[Tuple[int, int]]] = {}  # the call of a step that is most apart
    for (host, step, _, _), entries in calls.items():
        before = apart.get((host, step))
        if len(entries) > 1 and (before is None or _spread(entries) > _spread(before)):
            apart[host, step] = entries
    sums: Dict[int, float] = {}
    steps: Dict[str, int] = {}
    for (host, _), entries in apart.items():
        middle = statistics.median_low([at for at, _ in entries])
        steps[host] = steps.get(host, 0) + 1
        for at, rank in entries:
            sums[rank] = sums.get(rank, 0.0) + at - middle
    hosts = {p["rank"]: p.get("host", "") for p in packets}
    return {rank: ns / steps[hosts[rank]] for rank, ns in sums.items()}


def _entered_now(packets: Sequence[_Packet]) -> bool:
    """Whether the entries of a window are among those in its packets."""
    return all(p.get("arrivals") and max(p["arrivals"]["step"], default=-1) >= p["first_step"] for p in packets)


def _spread(entries: Sequence[Tuple[int, int]]) -> int:
    return max(entries)[0] - min(entries)[0]


def _standing_out(packets: Sequence[_Packet]) -> List[int]:
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
