"""Windows as lines of the schema ``sfstat.packet/1``."""

from __future__ import annotations

import enum
import json
import time
from array import array
from dataclasses import dataclass, field
from typing import Dict, List, Optional

from .arrivals import Arrivals, Timing, pack
from .identity import Identity
from .stages import DataWait, Stages

SCHEMA = "sfstat.packet/1"

_ROWS_AT_ONCE = 32
_MAX_NOTES = 16


class Gathered(enum.Enum):
    """What became of gathering a window on rank 0."""

    OK = "ok"
    """It was gathered, or nobody tried: every rank writes its own file."""
    FAILED = "failed"
    """It was tried and failed, and this rank wrote the packet itself."""


@dataclass
class Sample:
    """One reading of a side channel. ``ms`` is None while it is not ready."""

    step: int
    ms: Optional[float]


@dataclass
class Window:
    """One rank's share of a window, complete, as the writer gets it.

    ``durations`` are nanoseconds, a row per step with a column per stage;
    ``walls`` are nanoseconds, one per step.
    """

    index: int
    first_step: int
    durations: "array[int]"
    walls: "array[int]"
    side: Dict[str, List[Sample]] = field(default_factory=dict)
    notes: List[str] = field(default_factory=list)
    timing: Timing = field(default_factory=Timing)
    epoch_ns: int = -1  # when the first step began; -1: not known
    arrivals: Optional[Arrivals] = None


@dataclass(frozen=True)
class Form:
    """What the packets of one recorder have in common."""

    identity: Identity
    stages: Stages
    data_wait: DataWait = DataWait.CONSUMING

    def head(self, window: int) -> str:
        """The beginning of a packet, up to its stages."""
        who = self.identity
        text = '{"schema":%s,"run":%s,"window":%d,"rank":%d,"world_size":%d' % (
            _json(SCHEMA), _json(who.run), window, who.rank, who.world_size)
        if who.host:
            text += ',"host":' + _json(who.host)
        if who.local_rank >= 0:
            text += ',"local_rank":%d' % who.local_rank
        if who.role:
            text += ',"role":' + _json(who.role)
        return text + ',"stages":' + _json(self.stages.names)


def encode(form: Form, window: Window, gathered: Gathered = Gathered.OK) -> bytes:
    """The window as one line, with its line end.

    The interpreter lock is offered to the training thread every few rows.
    """
    parts = [form.head(window.index), ',"first_step":%d,"durations_ns":[' % window.first_step]
    width = form.stages.count
    for row in range(0, len(window.walls), _ROWS_AT_ONCE):
        rows = range(row, min(row + _ROWS_AT_ONCE, len(window.walls)))
        parts.append("," if row else "")
        parts.append(",".join("[%s]" % _numbers(window.durations[i * width:(i + 1) * width]) for i in rows))
        time.sleep(0)
    parts.append('],"wall_ns":[%s]' % _numbers(window.walls))
    side = {name: _channel(samples) for name, samples in sorted(window.side.items()) if samples}
    if side:
        parts.append(',"side":' + _json(side))
    if window.epoch_ns >= 0:
        parts.append(',"epoch_ns":%d' % window.epoch_ns)
        if window.timing.lines:
            parts.append(',"lines":' + _json(window.timing.lines))
    if window.arrivals is not None:
        parts.append(',"arrivals":' + _json(pack(window.arrivals)))
    if window.notes:
        parts.append(',"notes":' + _json(window.notes[:_MAX_NOTES]))
    if form.data_wait is not DataWait.CONSUMING:
        parts.append(',"data_wait":' + _json(form.data_wait.value))
    parts.append(',"accumulation":%d,"gather_ok":%s}\n' % (form.stages.accumulation, _json(gathered is Gathered.OK)))
    return "".join(parts).encode("utf-8", "replace")


def _channel(samples: List[Sample]) -> Dict[str, object]:
    return {
        "steps": [s.step for s in samples],
        "ms": [s.ms for s in samples],
        "ready": [s.ms is not None for s in samples],
    }


def _numbers(values: "array[int]") -> str:
    return ",".join(map(str, values))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
