"""What a rank does in which step, from the resolved specification of a run.

The specification is the JSON that sfstat writes (docs/campaign.md has its
keys); sfstat has checked it. Nothing in this module needs PyTorch.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Tuple

NS_PER_MS = 1e6

DEVICE = "forward_device"
COMM = "backward_comm"
_FAMILIES = ("data", "backward", COMM, DEVICE, "forward_host", "callback_sync", "callback_host", "optimizer_host")


@dataclass(frozen=True)
class Dist:
    """A distribution of lengths of time: mean and deviation in milliseconds,
    whatever the shape. Draws are cut at 0.
    """

    mean: float = 0.0
    sd: float = 0.0
    shape: str = "constant"

    @classmethod
    def of(cls, spec: Optional[Mapping[str, Any]]) -> "Dist":
        spec = spec or {}
        return cls(float(spec.get("mean_ms", 0)), float(spec.get("sd_ms", 0)), str(spec.get("shape", "constant")))

    def draw(self, lot: random.Random) -> float:
        """Milliseconds."""
        mean, sd = self.mean, self.sd
        if sd == 0 or self.shape == "constant":
            return mean
        if self.shape == "normal":
            x = lot.gauss(mean, sd)
        elif self.shape == "lognormal":
            v = math.log1p((sd / mean) ** 2)
            x = lot.lognormvariate(math.log(mean) - v / 2, math.sqrt(v))
        elif self.shape == "gamma":
            x = lot.gammavariate((mean / sd) ** 2, sd * sd / mean)
        elif self.shape == "exponential":
            x = mean - sd + lot.expovariate(1 / sd)
        else:
            raise ValueError("shape is %r, expected constant, normal, lognormal, gamma or exponential" % self.shape)
        return max(0.0, x)


@dataclass(frozen=True)
class Fault:
    """A delay in some recorded steps of some ranks."""

    family: str
    stage: str
    ranks: Tuple[int, ...]
    delay_ms: float
    first: int  # recorded step
    until: int  # recorded step after the last; 0: the end
    windows: Tuple[int, ...]  # empty: all
    every: int

    @classmethod
    def of(cls, spec: Mapping[str, Any]) -> "Fault":
        if spec["family"] not in _FAMILIES:
            raise ValueError("fault family is %r, expected one of %s" % (spec["family"], ", ".join(_FAMILIES)))
        return cls(
            family=spec["family"], stage=spec["stage"], ranks=tuple(spec["ranks"]), delay_ms=float(spec["delay_ms"]),
            first=int(spec.get("from", 0)), until=int(spec.get("until", 0)), windows=tuple(spec.get("windows") or ()),
            every=int(spec.get("every", 0)))

    def strikes(self, index: int, window: int) -> bool:
        """Whether it is active in a recorded step."""
        if index < self.first or (self.until > 0 and index >= self.until):
            return False
        if self.windows and window not in self.windows:
            return False
        return self.every <= 1 or (index - self.first) % self.every == 0


@dataclass(frozen=True)
class Schedule:
    """Which steps are recorded: after ``warmup`` steps, ``windows`` times
    ``steps`` with ``gap`` unrecorded ones between two windows.
    """

    windows: int
    steps: int
    warmup: int
    gap: int

    @property
    def total(self) -> int:
        """Steps in all."""
        return self.warmup + self.windows * self.steps + (self.windows - 1) * self.gap

    def recorded(self, step: int) -> Optional[Tuple[int, int]]:
        """The index of a step among the recorded ones and its window, or None."""
        at = step - self.warmup
        if at < 0:
            return None
        window, inside = divmod(at, self.steps + self.gap)
        if inside >= self.steps or window >= self.windows:
            return None
        return window * self.steps + inside, window


@dataclass(frozen=True)
class Op:
    """One stage of a step, or one of its microsteps, with all that a rank
    needs to carry it out. Factors and fractions are those of this rank.
    """

    stage: str
    name: str  # as recorded: the stage, or "stage@2"
    share: float  # of the stage's work: 1/k
    meets: bool  # ends in a meeting of all ranks
    await_device: bool
    work: Dist
    device: Optional[Dist]
    factor: float


@dataclass(frozen=True)
class Amount:
    """What one op takes in one step, in seconds."""

    host: float
    device: float
    comm: float


class Plan:
    """A run as one of its ranks sees it."""

    def __init__(self, spec: Mapping[str, Any], rank: int) -> None:
        self.run: str = spec["run"]
        self.ranks: int = spec["ranks"]
        self.rank = rank
        self.seed: int = spec["seed"]
        self.microsteps: int = max(1, spec.get("accumulation", 1))
        self.schedule = Schedule(**{key: spec["schedule"][key] for key in ("windows", "steps", "warmup", "gap")})
        self.role = _coordinates(spec["layout"], rank)
        self.stages: List[str] = [stage["name"] for stage in spec["stages"]]
        self.repeated: List[str] = [s["name"] for s in spec["stages"] if s.get("per_microstep")] if self.microsteps > 1 else []
        self.side_every: int = spec["side"]["every"]
        self.faults = [Fault.of(fault) for fault in spec.get("faults") or ()]
        self._work = spec.get("work") or ()
        self.ops = self._ops(spec["stages"])

    @property
    def accumulation(self) -> int:
        """What the recorder is told: 1 where no stage is repeated."""
        return self.microsteps if self.repeated else 1

    @property
    def delays_comm(self) -> bool:
        """Whether some rank's all-reduce is delayed at some time."""
        return any(fault.family == COMM for fault in self.faults)

    def amounts(self, step: int) -> List[Amount]:
        """What the ops take in an absolute step, in their order. The same seed
        gives the same amounts; ranks and steps differ.
        """
        lot = random.Random("%d/%d/%d" % (self.seed, self.rank, step))
        amounts = []
        for op, delay in zip(self.ops, self.delays(step)):
            host = op.work.draw(lot) * op.share * op.factor + delay.host * 1e3
            device = op.device.draw(lot) * op.share * op.factor if op.device else 0.0
            amounts.append(Amount(host / 1e3, device / 1e3 + delay.device, delay.comm))
        return amounts

    def delays(self, step: int) -> List[Amount]:
        """What faults add to the ops of an absolute step on this rank."""
        place = self.schedule.recorded(step)
        striking = [f for f in self.faults if place and self.rank in f.ranks and f.strikes(*place)]
        return [self._delay(op, striking) for op in self.ops]

    def _delay(self, op: Op, striking: List[Fault]) -> Amount:
        host = device = comm = 0.0
        for fault in striking:
            if fault.stage != op.stage:
                continue
            if fault.family == COMM:
                meetings = sum(o.meets for o in self.ops if o.stage == op.stage)
                comm += fault.delay_ms / meetings if op.meets else 0.0
            elif fault.family == DEVICE:
                device += fault.delay_ms * op.share
            else:
                host += fault.delay_ms * op.share
        return Amount(host / 1e3, device / 1e3, comm / 1e3)

    def _ops(self, stages: List[Mapping[str, Any]]) -> List[Op]:
        """The stages in order of execution, microsteps unfolded: neighbours
        that are repeated run together, microstep after microstep.
        """
        ops: List[Op] = []
        block = [s for s in stages if s["name"] in self.repeated]
        for stage in stages:
            if stage not in block:
                ops.append(self._op(stage, None))
            elif stage is block[0]:
                ops += [self._op(s, micro) for micro in range(self.microsteps) for s in block]
        return ops

    def _op(self, stage: Mapping[str, Any], micro: Optional[int]) -> Op:
        name: str = stage["name"]
        last = micro is None or micro == self.microsteps - 1
        return Op(
            stage=name,
            name=name if micro is None else "%s@%d" % (name, micro),
            share=1.0 if micro is None else 1 / self.microsteps,
            meets=any(last or not meeting.get("last_microstep") for meeting in stage.get("meetings") or ()),
            await_device=bool(stage.get("await_device")),
            work=Dist.of(stage["work"]),
            device=Dist.of(stage["device"]) if stage.get("device") else None,
            factor=self._factor(name))

    def _factor(self, stage: str) -> float:
        factor = 1.0
        for work in self._work:
            here = all(self.role.get(axis) == at for axis, at in (work.get("where") or {}).items())
            if here and self.rank in (work.get("ranks") or [self.rank]) and stage in (work.get("stages") or [stage]):
                factor *= work["factor"]
        return factor


def _coordinates(layout: List[Mapping[str, Any]], rank: int) -> Dict[str, int]:
    """The coordinates of a rank, the fastest axis first."""
    role = {}
    for axis in layout:
        rank, role[axis["axis"]] = divmod(rank, axis["size"])
    return role
