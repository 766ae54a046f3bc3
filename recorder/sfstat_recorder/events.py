"""Side channels beside the stages: sampled device times from CUDA events, and
host times of probes.

An event pair is recorded on the current stream and read after the window is
closed, by the writer's thread. The training thread never waits for the device.
"""

from __future__ import annotations

import importlib
import logging
import math
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

from .packet import Sample

try:
    from typing import Protocol
except ImportError:  # pragma: no cover
    Protocol = object  # type: ignore[assignment]

_log = logging.getLogger("sfstat_recorder")

Pair = Any
"""A pair of events, as an EventTimer made it."""


class EventTimer(Protocol):
    """Times work on a device without waiting for it."""

    def begin(self) -> Pair:
        """Marks where the work begins on the current stream."""

    def end(self, pair: Pair) -> None:
        """Marks where it ends."""

    def elapsed_ms(self, pair: Pair) -> Optional[float]:
        """Milliseconds between the marks; None while they are not reached."""


class CudaEvents:
    """CUDA events of PyTorch. Pairs are used again once they were read."""

    def __init__(self, cuda: Any) -> None:
        self._event: Callable[..., Any] = cuda.Event
        self._free: List[Tuple[Any, Any]] = []

    @classmethod
    def detect(cls) -> Optional["CudaEvents"]:
        """None where there is no PyTorch or no CUDA device."""
        try:
            cuda = importlib.import_module("torch.cuda")
            return cls(cuda) if cuda.is_available() else None
        except Exception:  # whatever a broken installation raises
            return None

    def begin(self) -> Pair:
        try:
            pair = self._free.pop()
        except IndexError:
            pair = (self._event(enable_timing=True), self._event(enable_timing=True))
        pair[0].record()
        return pair

    def end(self, pair: Pair) -> None:
        pair[1].record()

    def elapsed_ms(self, pair: Pair) -> Optional[float]:
        begin, end = pair
        if not end.query():
            return None
        ms = float(begin.elapsed_time(end))
        self._free.append(pair)
        return ms


class Channels:
    """The event pairs and probe times of the window that is being recorded, by channel."""

    def __init__(self, timer: Optional[EventTimer] = None) -> None:
        self._timer = timer
        self._looked = timer is not None
        self._pairs: Dict[str, List[Tuple[int, Pair]]] = {}
        self._spent: Dict[str, Dict[int, int]] = {}  # ns by step

    @property
    def timer(self) -> Optional[EventTimer]:
        """What times the device; looked for when it is first needed."""
        if not self._looked:
            self._looked = True
            self._timer = CudaEvents.detect()
            if self._timer is None:
                _log.warning("no CUDA device: the event channels stay empty")
        return self._timer

    def give_up(self, error: BaseException) -> None:
        """Turns the channels off after a failure of the device."""
        self._timer = None
        self._pairs = {}
        _log.warning("CUDA events failed, the event channels stay empty from here: %s", error)

    def add(self, channel: str, step: int, pair: Pair) -> None:
        self._pairs.setdefault(channel, []).append((step, pair))

    def spend(self, channel: str, step: int, ns: int) -> None:
        """Adds the time of a probe to its step."""
        spent = self._spent.setdefault(channel, {})
        spent[step] = spent.get(step, 0) + ns

    def forget(self, step: int) -> None:
        """Drops what was recorded of a step that is not kept."""
        for channel, pairs in self._pairs.items():
            self._pairs[channel] = [p for p in pairs if p[0] != step]
        for spent in self._spent.values():
            spent.pop(step, None)

    def take(self, first: int, end: int) -> "Pending":
        """Hands over what there is of the steps from ``first`` to before ``end``
        and begins anew. A probe may have run ahead of the next step, in its data
        stage: that stays.
        """
        pairs, self._pairs = self._pairs, {}
        spent, self._spent = self._spent, {}
        for channel, steps in spent.items():
            for step in [s for s in steps if not first <= s < end]:
                ns = steps.pop(step)
                if step == end:
                    self.spend(channel, step, ns)
        return Pending(self._timer, pairs, spent)


class Pending:
    """Probe times, and pairs whose times are read once the device has passed them."""

    def __init__(
        self,
        timer: Optional[EventTimer] = None,
        pairs: Optional[Dict[str, List[Tuple[int, Pair]]]] = None,
        spent: Optional[Dict[str, Dict[int, int]]] = None,
    ) -> None:
        self._timer = timer
        self._pairs = pairs or {}
        self._spent = spent or {}

    def read(self, patience_s: float, pause: Callable[[float], None] = time.sleep) -> Dict[str, List[Sample]]:
        """The samples, a step's pairs summed. What the device has not reached
        after ``patience_s`` is not ready, and says so.
        """
        deadline = time.perf_counter() + patience_s
        side = {name: [Sample(step, ns / 1e6) for step, ns in sorted(steps.items())] for name, steps in self._spent.items()}
        side.update({name: self._channel(pairs, deadline, pause) for name, pairs in self._pairs.items()})
        return side

    def _channel(self, pairs: List[Tuple[int, Pair]], deadline: float, pause: Callable[[float], None]) -> List[Sample]:
        samples: List[Sample] = []
        for step, pair in pairs:
            ms = self._one(pair, deadline, pause)
            if not samples or samples[-1].step != step:
                samples.append(Sample(step, ms))
            elif ms is None or samples[-1].ms is None:
                samples[-1].ms = None
            else:
                samples[-1].ms += ms
        return samples

    def _one(self, pair: Pair, deadline: float, pause: Callable[[float], None]) -> Optional[float]:
        while self._timer is not None:
            try:
                ms = self._timer.elapsed_ms(pair)
            except Exception as error:
                _log.warning("a CUDA event could not be read: %s", error)
                return None
            if ms is not None:
                return ms if math.isfinite(ms) and ms >= 0 else None
            if time.perf_counter() >= deadline:
                return None
            pause(0.01)
        return None


def is_sampled(step: int, fraction: float) -> bool:
    """Whether a step is among the sampled ones: evenly spread, the same on
    all ranks, step 0 among them.
    """
    return math.floor(step * fraction) != math.floor((step - 1) * fraction)
