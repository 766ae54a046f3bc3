"""The device of a rank: work that is launched and drains by itself.

Both kinds can time spans of it, as the recorder's ``EventTimer`` wants.
"""

from __future__ import annotations

import time
from typing import Any, Callable, List, Optional, Tuple

try:
    from typing import Protocol
except ImportError:  # pragma: no cover
    Protocol = object  # type: ignore[assignment]


class Device(Protocol):
    """A queue of work that runs beside the host."""

    def launch(self, seconds: float) -> None:
        """Queues work that takes so long; does not wait."""

    def wait(self) -> None:
        """Returns when all that was launched is done."""

    def begin(self) -> Any:
        """Marks the place in the queue."""

    def end(self, pair: Any) -> None:
        """Marks the other end."""

    def elapsed_ms(self, pair: Any) -> Optional[float]:
        """Milliseconds between the marks; None while they are not reached."""


class EmulatedDevice:
    """A queue that drains with time: what is launched begins when all before
    it is done. A mark is reached at the moment in which the queue up to it is
    empty, as a CUDA event is.
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter, sleep: Callable[[float], None] = time.sleep) -> None:
        self._clock = clock
        self._sleep = sleep
        self._free = 0.0  # when all that was launched is done

    def launch(self, seconds: float) -> None:
        self._free = self._reached() + seconds

    def wait(self) -> None:
        rest = self._free - self._clock()
        if rest > 0:
            self._sleep(rest)

    def begin(self) -> List[float]:
        return [self._reached()]

    def end(self, pair: List[float]) -> None:
        pair.append(self._reached())

    def elapsed_ms(self, pair: List[float]) -> Optional[float]:
        begin, end = pair
        return (end - begin) * 1e3 if self._clock() >= end else None

    def _reached(self) -> float:
        """When a mark that is made now will be reached."""
        return max(self._clock(), self._free)


class CudaDevice:
    """The current stream of a GPU, kept busy by a kernel that spins."""

    _CALIBRATION = 50_000_000  # cycles

    def __init__(self, torch: Any, events: Any) -> None:
        self._cuda: Any = torch.cuda
        self._events = events  # the recorder's CudaEvents
        self._cycles_per_s = self._calibrate()

    def _calibrate(self) -> float:
        pair: Tuple[Any, Any] = (self._cuda.Event(enable_timing=True), self._cuda.Event(enable_timing=True))
        pair[0].record()
        self._cuda._sleep(self._CALIBRATION)
        pair[1].record()
        self._cuda.synchronize()
        return self._CALIBRATION / (float(pair[0].elapsed_time(pair[1])) / 1e3)

    def launch(self, seconds: float) -> None:
        if seconds > 0:
            self._cuda._sleep(int(seconds * self._cycles_per_s))

    def wait(self) -> None:
        self._cuda.synchronize()

    def begin(self) -> Any:
        return self._events.begin()

    def end(self, pair: Any) -> None:
        self._events.end(pair)

    def elapsed_ms(self, pair: Any) -> Optional[float]:
        ms: Optional[float] = self._events.elapsed_ms(pair)
        return ms
