"""The context managers of the recorder.

A stage is entered hundreds of times a second on the training thread, so the
work is written out in `__enter__` and `__exit__` instead of being called. One
object serves all spans of a stage: stages do not nest, and so a recorder has
at most one open.
"""

from __future__ import annotations

import enum
from threading import get_ident
from typing import TYPE_CHECKING, Any, Generic, Iterable, Iterator, Optional, Tuple, TypeVar

from .events import EventTimer, Pair, is_sampled

if TYPE_CHECKING:
    from .recorder import Recorder

T = TypeVar("T")


class StageError(RuntimeError):
    """A span that cannot be recorded, with ``OnFault.RAISE``."""


class OnFault(enum.Enum):
    """What to do with a span that cannot be recorded."""

    COUNT = "count"
    """Leave it out, so that its time is residual, and say how many in the packet."""
    RAISE = "raise"
    """Raise StageError: for tests of a training script."""


class Fault(enum.Enum):
    """Why a span was not recorded."""

    NESTED = "inside another stage"
    ORDER = "after a stage that comes later in the list"
    UNKNOWN = "of a stage that is not in the list"
    OUTSIDE = "outside a step"
    THREAD = "in another thread"
    UNCLOSED = "still open when the step ended"
    NESTED_STEP = "a step inside a step"
    ABORTED = "a step that an exception ended"


class Span:
    """``with perf.stage(name):``. An exception inside passes; its time counts."""

    __slots__ = ("_recorder", "name", "cells", "first", "data")

    def __init__(self, recorder: "Recorder", name: str) -> None:
        self._recorder = recorder
        self.name = name
        self.cells = recorder.stages.cells[name]
        self.first = self.cells[0]
        self.data = self.first in recorder.stages.data_cells

    def __enter__(self) -> None:
        r = self._recorder
        cell = self.first
        if r._open is not None or get_ident() != r._owner or not (r._inside or self.data):
            return r._refuse(self)
        if cell < r._last and not r.stages.summed:
            # In the list, the next of this name: a further microstep.
            for cell in self.cells:
                if cell >= r._last:
                    break
            else:
                return r._refuse(self)
        r._open = self
        r._cell = cell
        r._began = r._clock()
        return None

    def __exit__(self, *_: Any) -> None:
        r = self._recorder
        now = r._clock()
        if r._open is not self or r._nested or get_ident() != r._owner:
            return r._left(self)
        r._open = None
        began, cell = r._began, r._cell
        if r._begun[cell] < 0:
            r._begun[cell] = began
        r._row[cell] += now - began
        r._last = cell
        if r._start < 0:
            r._start = began
        return None


class Unrecorded:
    """Stands in for a stage that is not in the list."""

    __slots__ = ("_recorder", "name")

    def __init__(self, recorder: "Recorder", name: str) -> None:
        self._recorder = recorder
        self.name = name

    def __enter__(self) -> None:
        self._recorder._fault(Fault.UNKNOWN, self.name)

    def __exit__(self, *_: Any) -> None:
        return None


class AheadSpan:
    """A wait for a batch that is consumed ``ahead`` batches later.

    It is moved, in its stage and in the wall time, to the step that consumes
    the batch.
    """

    __slots__ = ("_recorder", "name", "cells", "ahead", "data")

    def __init__(self, recorder: "Recorder", name: str, cells: Tuple[int, ...], ahead: int) -> None:
        self._recorder = recorder
        self.name = name
        self.cells = cells
        self.ahead = ahead
        self.data = True

    def __enter__(self) -> None:
        r = self._recorder
        if r._open is not None or get_ident() != r._owner:
            return r._refuse(self)
        r._open = self
        r._began = r._clock()
        return None

    def __exit__(self, *_: Any) -> None:
        r = self._recorder
        now = r._clock()
        if r._open is not self or r._nested or get_ident() != r._owner:
            return r._left(self)
        r._open = None
        r._wait_ahead(now - r._began, self)
        return None


class StepSpan:
    """``with perf.step():``."""

    __slots__ = ("_recorder", "index")

    def __init__(self, recorder: "Recorder") -> None:
        self._recorder = recorder
        self.index: Optional[int] = None

    def __enter__(self) -> None:
        index, self.index = self.index, None
        self._recorder.begin_step(index)

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if kind is None:
            self._recorder.end_step()
        else:
            self._recorder.abort_step(error)


class EventSpan:
    """``with perf.cuda_event_sample(name, fraction):``."""

    __slots__ = ("_recorder", "_name", "_fraction", "_timer", "_pair", "_step")

    def __init__(self, recorder: "Recorder", name: str, fraction: float) -> None:
        self._recorder = recorder
        self._name = name
        self._fraction = fraction
        self._timer: Optional[EventTimer] = None
        self._pair: Pair = None
        self._step = -1

    def __enter__(self) -> None:
        r = self._recorder
        if not r._inside or self._timer is not None or get_ident() != r._owner or not is_sampled(r._step, self._fraction):
            return
        timer = r._channels.timer
        if timer is None:
            return
        try:
            self._pair, self._step = timer.begin(), r._step
            self._timer = timer
        except Exception as error:
            r._channels.give_up(error)

    def __exit__(self, *_: Any) -> None:
        timer, self._timer = self._timer, None
        r = self._recorder
        if timer is None or get_ident() != r._owner:
            self._timer = timer
            return
        try:
            timer.end(self._pair)
            if r._inside and r._step == self._step:
                r._channels.add(self._name, self._step, self._pair)
        except Exception as error:
            r._channels.give_up(error)


class ProbeSpan:
    """``with perf.probe(name):``. Of probes of one name inside each other the
    outermost counts.
    """

    __slots__ = ("_recorder", "_channel", "_began", "_depth")

    def __init__(self, recorder: "Recorder", channel: str) -> None:
        self._recorder = recorder
        self._channel = channel
        self._began = 0
        self._depth = 0

    def __enter__(self) -> None:
        r = self._recorder
        if get_ident() != r._owner:
            return r._fault(Fault.THREAD, self._channel)
        self._depth += 1
        if self._depth == 1:
            self._began = r._clock()
        return None

    def __exit__(self, *_: Any) -> None:
        r = self._recorder
        now = r._clock()
        if self._depth == 0 or get_ident() != r._owner:
            return
        self._depth -= 1
        if self._depth == 0:
            r._channels.spend(self._channel, r._step, now - self._began)


class Batches(Generic[T]):
    """An iterable whose waits are recorded; all else is the loader's own."""

    def __init__(self, recorder: "Recorder", loader: Iterable[T], span: "Span | AheadSpan | Unrecorded") -> None:
        self._recorder = recorder
        self._loader = loader
        self._span = span

    def __iter__(self) -> Iterator[T]:
        r, span = self._recorder, self._span
        batches: Optional[Iterator[T]] = None
        while True:
            with span:
                try:
                    if batches is None:  # starting the loader delays the first batch
                        batches = iter(self._loader)
                    batch = next(batches)
                except StopIteration:
                    r._cancel(span)  # no step consumes the end
                    return
            yield batch

    def __len__(self) -> int:
        return len(self._loader)  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)
