"""The recorder that a training loop talks to."""

from __future__ import annotations

import atexit
import logging
import math
import os
import re
import sys
import time
import weakref
from array import array
from collections import deque
from dataclasses import dataclass
from threading import get_ident
from typing import Any, Callable, Deque, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, TypeVar, Union

from .arrivals import Timing, Wanted, watcher
from .capture import Capture, Profiler
from .dynamo import keep_out
from .events import Channels, EventTimer, Pending
from .gather import Group
from .identity import Identity
from .leave import await_at_exit, forget, watch
from .packet import Form, Window
from .router import Router, Trigger
from .sampling import Idle, Sampling
from .spans import AheadSpan, Batches, EventSpan, Fault, OnFault, ProbeSpan, Span, StageError, StepSpan, Unrecorded
from .stages import DATA, STAGES, DataWait, Stages
from .torchprofiler import TorchProfiler
from .writer import Writer

T = TypeVar("T")

_log = logging.getLogger("sfstat_recorder")

# Files that are not the training loop's own: this package and installed ones.
_OTHERS = re.compile(r"[\\/](sfstat_recorder|site-packages|dist-packages)[\\/]|^<")
_MAX_STEP = (1 << 62)
_MAX_WINDOW = 100_000
_MAX_AHEAD = 10_000
_MAX_UNKNOWN = 256
_MAX_PROBES = 64
_CLOSE_S = 180.0

_AnySpan = Union[Span, AheadSpan]


@dataclass(frozen=True)
class Cost:
    """What the windows of a recorder have cost, in nanoseconds of the wall clock."""

    windows: int = 0  # that the writer's thread is done with
    closing_ns: int = 0  # of the training thread, which closes windows and hands them over
    writing_ns: int = 0  # of the writer's thread, which encodes, gathers and writes; training does not wait for it


class Recorder:
    """Records one rank's stage times and writes them to ``folder``.

    ``folder`` is made when the first packet is written. The run is named after
    it unless ``identity`` says otherwise. All ranks need the same ``stages``,
    ``accumulation`` and ``window``, the number of steps in a packet. A window ends earlier where the number of microsteps
    of a step changes.

    Only the constructor raises, for arguments that make no sense. After that
    nothing that the recorder meets stops the training: spans that cannot be
    recorded are left out and counted (see OnFault), windows that cannot be
    written are lost and counted, and the packets say so.

    ``arrivals`` says whether packets hold when this rank entered each
    collective: "auto" and True read PyTorch's Flight Recorder where it runs,
    "calls" wraps the functions of ``torch.distributed`` instead, False does
    neither.

    ``every`` is the sampling interval: of so many windows one is recorded, at a
    place by lot that is the same on all ranks. The other steps cost next to
    nothing.

    One thread records: the one that begins the step. Spans in other threads
    are left out. The clock is monotonic and in nanoseconds.
    """

    def __init__(
        self,
        folder: "str | os.PathLike[str]",
        identity: Optional[Identity] = None,
        *,
        role: Optional[Mapping[str, int]] = None,
        stages: Sequence[str] = STAGES,
        accumulation: int = 1,
        repeated: Optional[Sequence[str]] = None,
        window: int = 100,
        every: int = 1,
        first_step: int = 0,
        data_wait: DataWait = DataWait.CONSUMING,
        group: Optional[Group] = None,
        trigger: Optional[Trigger] = None,
        profiler: Optional[Profiler] = None,
        events: Optional[EventTimer] = None,
        on_fault: OnFault = OnFault.COUNT,
        queue: int = 4,
        arrivals: Wanted = "auto",
        clock: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        if not 1 <= window <= _MAX_WINDOW:
            raise ValueError("window is %r steps, expected 1 to %d" % (window, _MAX_WINDOW))
        if not 0 <= first_step < _MAX_STEP:
            raise ValueError("first_step is %r, expected a number from 0" % first_step)
        if trigger is not None and group is None:
            raise ValueError("a trigger needs a group: only rank 0, which gathers, sees all ranks")
        place = os.path.abspath(os.fspath(folder))
        self.stages = Stages(stages, accumulation, repeated)
        self.identity = identity or _detected(place, role)
        self._form = Form(self.identity, self.stages, data_wait)
        self._window_steps = window
        self._sampling = Sampling(every, window, self.identity.run)
        self._on_fault = on_fault
        self._clock = clock
        self._pid = os.getpid()
        keep_out()

        # The step that is recorded, or will be next.
        self._owner = get_ident()
        self._inside = False
        self._step = first_step
        self._row: List[int] = [0] * self.stages.count
        self._unbegun = array("q", [-1]) * self.stages.count
        self._begun = self._unbegun[:]  # when each stage of it began
        self._start = -1  # when it began; -1: nothing of it yet
        self._last = -1  # the latest column of it that was recorded
        self._open: Optional[_AnySpan] = None
        self._began = 0
        self._cell = 0
        self._nested = 0  # spans inside the open one
        self._depth = 0  # steps inside the step

        # The step before, whose wall time runs until the next one begins.
        self._since = -1
        self._until = -1
        self._shift = 0  # waits moved into this wall time, less those moved out
        self._ahead: Deque[int] = deque()
        self._ahead_of: Optional[AheadSpan] = None

        self._log_to: Optional[Callable[[Dict[str, float], int], Any]] = None
        self._microsteps = 0  # of the step before: where that changes, a window ends
        self._missed = 0  # steps of the first window, which began later here than on other ranks
        self._windows = 0
        self._closing_ns = 0
        self._held: Optional[Tuple[Window, Pending]] = None
        self._lines: Dict[str, str] = {}
        self._begin_window()
        self._channels = Channels(events)
        self._faults: Dict[Fault, int] = {}
        self._example = ""
        self._spans: Dict[str, Union[Span, Unrecorded]] = {}
        self._event_spans: Dict[str, EventSpan] = {}
        self._idle = Idle()
        self._active: Dict[str, Any] = self._spans  # of the step: these or idle
        self._skips = False  # the step is not recorded
        self._probes: Dict[str, ProbeSpan] = {}
        self._step_span = StepSpan(self)
        self._capture: Optional[Capture] = None
        router: Optional[Router] = None
        if trigger is not None:
            self._capture = Capture(profiler or TorchProfiler(place), self.identity.run, self.identity.rank, self._spans.values)
            router = Router(trigger, lambda: self._step)
        own = tuple(getattr(group, "names", ()))
        self._writer: Optional[Writer] = Writer(
            self._form, place, group, router, self._capture, queue,
            arrivals=watcher(arrivals, self.stages.count, clock, lambda: own))
        self._paid: Writer = self._writer
        self._choose()
        self._at_exit = _closer(weakref.ref(self))
        atexit.register(self._at_exit)
        watch(self)

    # What a loop calls.

    def step(self, index: Optional[int] = None) -> StepSpan:
        """One optimizer step. Without ``index``, steps count on by one; where
        an index leaves a gap, the window is closed.

        A step that an exception leaves is dropped, and so is its number.
        """
        span = self._step_span
        if not self._inside:
            span.index = index
        return span

    def stage(self, name: str) -> "Span | Unrecorded":
        """One stage of the step. With accumulation, ``name@k`` is that of
        microstep k; without ``@k``, going back in the list of stages begins
        the next microstep. A stage whose name begins with ``data.`` may stand
        before the step that it belongs to, the others only inside.
        """
        try:
            return self._active[name]  # type: ignore[no-any-return]
        except KeyError:
            return self._span(name)

    def batches(self, loader: Iterable[T], ahead: int = 0, stage: str = DATA) -> "Batches[T]":
        """The loader, with the wait for each batch recorded in the step that
        consumes it. ``ahead`` is for a loop, or a prefetcher around this, that
        asks for batch n + ahead while it works on batch n.
        """
        return Batches(self, loader, self.data_wait(ahead, stage))

    def data_wait(self, ahead: int = 0, stage: str = DATA) -> "Span | AheadSpan | Unrecorded":
        """A wait for one batch, where ``batches`` does not fit."""
        if not 0 <= ahead <= _MAX_AHEAD:
            raise ValueError("ahead is %r batches, expected 0 to %d" % (ahead, _MAX_AHEAD))
        span = self._spans.get(stage) or self._span(stage)
        if ahead == 0 or isinstance(span, Unrecorded):
            return span
        return AheadSpan(self, stage, self.stages.cells[stage], ahead)

    def cuda_event_sample(self, name: str, fraction: float) -> EventSpan:
        """Times what is inside on the device, in this fraction of the steps.

        A channel ``X_cuda_event_ms`` belongs to the stage ``X_cpu_wall``. In a
        step with several such spans, as in accumulation, they are summed.
        Without a CUDA device nothing is recorded.
        """
        try:
            return self._event_spans[name]
        except KeyError:
            return self._event_span(name, fraction)

    def probe(self, name: str) -> "ProbeSpan | Unrecorded":
        """Times what is inside beside the stages: it may stand inside a stage
        or another probe. Its time is still its stage's. In a step with
        several such spans they are summed, in the channel ``NAME_probe_ms``.
        """
        try:
            return self._probes[name]
        except KeyError:
            if len(self._probes) >= _MAX_PROBES or not name:
                return Unrecorded(self, str(name))
            span = self._probes[name] = ProbeSpan(self, "%.50s_probe_ms" % name)
            return span

    def pause(self) -> None:
        """What follows until the next step belongs to no step: an evaluation,
        a checkpoint. It closes the window, which is written when the next step
        begins, or at the end. Call it on all ranks or none.
        """
        self._pause(self._clock())

    def _pause(self, now: int) -> None:
        if self._pid != os.getpid() or self._inside:
            return
        if self._since >= 0:
            self._end_wall(now)
        if self._walls:
            self._release()
            self._held = self._cut()
        self._channels.forget(self._step)
        self._clear_step()

    def log(self, to: Optional[Callable[[Dict[str, float], int], Any]]) -> None:
        """Calls ``to(scalars, step)`` with five scalars of this rank whenever a window
        ends, in the thread of the loop: ``perf.log(wandb.log)`` or
        ``perf.log(mlflow.log_metrics)``. None takes it back.

        Of the steps of the window, in milliseconds: ``sfstat/step_ms`` and
        ``sfstat/step_p95_ms``, mean and 95th percentile of their length;
        ``sfstat/data_ms``, mean wait for data; ``sfstat/longest_stage_ms``, mean of the
        stage that takes longest; ``sfstat/outside_ms``, mean time in no stage.
        """
        self._log_to = to

    def _tell(self, window: Window) -> None:
        to = self._log_to
        if to is None:
            return
        try:
            to(scalars(window, self.stages), window.first_step + len(window.walls) - 1)
        except Exception as error:  # never into the training
            self._log_to = None
            _log.warning("nothing more is logged: %s: %s", type(error).__name__, error)

    def cost(self) -> Cost:
        """What recording has cost so far, beside the calls of the loop themselves."""
        return Cost(self._paid.written, self._closing_ns, self._paid.writing_ns)

    def close(self, timeout_s: float = _CLOSE_S) -> bool:
        """Writes what is left, for at most ``timeout_s``; whether it was all
        written. Safe to call twice, and in a forked child.
        """
        writer = self._end()
        if writer is None:
            return True
        if self._capture is not None:
            try:
                self._capture.close()
            except Exception as error:
                _log.warning("the profiler failed: %s", error)
        writer.end(self._windows)
        done = writer.close(timeout_s)
        return done and writer.losses.total == 0

    def _end(self) -> Optional[Writer]:
        """Hands what is left to the writer, and returns that; None: that was done before."""
        writer = getattr(self, "_writer", None)  # the constructor may have raised
        if writer is None or self._pid != os.getpid():
            return None
        atexit.unregister(self._at_exit)
        forget(self)
        writer.closing = True
        self._settle(self._until)
        self._flush()
        self._writer = None
        return writer

    def __del__(self) -> None:
        """Dropped without close: nobody waits, and the writer's thread ends when all is written."""
        try:
            self._log_to = None  # a tracker is not called from wherever this happens
            writer = self._end()
            if writer is not None:
                writer.end(self._windows)
                await_at_exit(writer)
        except Exception as error:
            _log.warning("a recorder was dropped without close: %s: %s", type(error).__name__, error)

    def forked(self) -> None:
        """In a child, which records nothing here: windows are its parent's."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.forked()

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    # Steps, for loops that a with statement does not fit.

    def begin_step(self, index: Optional[int] = None) -> None:
        """Begins a step; ``end_step`` ends it. See ``step``."""
        now = self._clock()
        if self._inside:
            if get_ident() == self._owner:
                self._fault(Fault.NESTED_STEP, str(self._step))  # may raise
                self._depth += 1
            else:
                self._fault(Fault.THREAD, "step")
            return
        if self._open is not None:
            self._unclosed()
        self._owner = get_ident()
        if self._start < 0:
            self._start = now
        self._settle(self._start)
        if index is not None and index != self._step and 0 <= index < _MAX_STEP:
            self._flush()
            self._first = self._step = index
            self._skips = self._skips or not self._sampling.takes(index) or self._capture is not None and self._capture.masks(index)
        if self._capture is not None:
            self._capture.step(self._step)
        self._inside = True

    def end_step(self) -> None:
        """Ends the step and keeps it."""
        now = self._clock()
        if not self._leaves():
            return
        if self._ahead:
            self._consume()
        if self._skips:
            self._skip()
            return
        microsteps = self.stages.microsteps(self._begun)
        if microsteps != self._microsteps and self._walls:
            self._flush()
        self._microsteps = microsteps
        self._durations.extend(self._row)
        self._timing.starts.append(self._start)
        self._timing.begins.extend(self._begun)
        self._since, self._until = self._start, now
        self._next_step()
        if self._capture is not None:
            self._capture.stepped(self._step)
        self._step += 1
        self._choose()

    def _skip(self) -> None:
        """Ends a step that is not recorded."""
        self._channels.forget(self._step)
        self._shift = 0
        self._next_step()
        if self._capture is not None:
            self._capture.stepped(self._step)
        self._step += 1
        self._flush()
        self._choose()

    def _choose(self) -> None:
        """Whether the next step is recorded, before its first wait for data. That
        of the step after a recorded one says when that ended.
        """
        idle = not self._sampling.takes(self._step)
        self._skips = idle or self._capture is not None and self._capture.masks(self._step)
        self._active = self._idle if idle and self._since < 0 else self._spans

    def abort_step(self, error: Optional[BaseException] = None) -> None:
        """Ends the step and drops it. The window is closed before it: between
        the steps around it lies time that belongs to none.
        """
        if not self._leaves():
            return
        if not isinstance(error, (StopIteration, GeneratorExit, KeyboardInterrupt)):
            self._faults[Fault.ABORTED] = self._faults.get(Fault.ABORTED, 0) + 1
            self._example = self._example or "step %d" % self._step
        self._channels.forget(self._step)
        self._shift = 0
        self._next_step()
        self._flush()

    @property
    def in_step(self) -> bool:
        """Whether a step is open."""
        return self._inside

    def _leaves(self) -> bool:
        """Whether this end is the end of the step that is open."""
        if not self._inside or get_ident() != self._owner:
            return False
        if self._depth > 0:
            self._depth -= 1
            return False
        if self._open is not None:
            self._unclosed()
        return True

    def _next_step(self) -> None:
        self._inside = False
        self._clear_step()

    def _clear_step(self) -> None:
        self._row = [0] * self.stages.count
        self._begun = self._unbegun[:]
        self._start, self._last = -1, -1

    # Spans.

    def _span(self, name: str) -> "Span | Unrecorded":
        if name in self.stages.cells:
            span: "Span | Unrecorded" = Span(self, name)
            self._note_line(name)
        else:
            span = Unrecorded(self, str(name))
            if len(self._spans) >= self.stages.count * 2 + _MAX_UNKNOWN:
                return span  # made-up names must not fill the memory
        self._spans[name] = span
        return span

    def _note_line(self, name: str) -> None:
        """Keeps the line that entered a stage first, so that the verdict can name it."""
        frame = sys._getframe(1)
        while frame is not None and _OTHERS.search(frame.f_code.co_filename):
            frame = frame.f_back  # type: ignore[assignment]
        if frame is not None:
            self._lines[name] = "%s:%d" % (os.path.basename(frame.f_code.co_filename), frame.f_lineno)

    def _event_span(self, name: str, fraction: float) -> EventSpan:
        if not (0 <= fraction <= 1) or math.isnan(fraction):
            fraction = 0.0
            _log.warning("the channel %s has a fraction outside [0, 1] and stays empty", name)
        span = EventSpan(self, name, fraction)
        if len(self._event_spans) < _MAX_UNKNOWN:
            self._event_spans[name] = span
        return span

    def _refuse(self, span: _AnySpan) -> None:
        """Says why a span cannot be entered, and leaves it out."""
        if get_ident() != self._owner:
            self._fault(Fault.THREAD, span.name)
        elif self._open is not None:
            self._fault(Fault.NESTED, "%s in %s" % (span.name, self._open.name))  # may raise
            self._nested += 1
        elif not self._inside and not span.data:
            self._fault(Fault.OUTSIDE, span.name)
        else:
            self._fault(Fault.ORDER, span.name)

    def _left(self, span: _AnySpan) -> None:
        """The end of a span that was left out."""
        if self._nested > 0 and get_ident() == self._owner:
            self._nested -= 1

    def _cancel(self, span: "_AnySpan | Unrecorded") -> None:
        """The open span did not happen."""
        if self._open is span and self._nested == 0 and get_ident() == self._owner:
            self._open = None

    def _unclosed(self) -> None:
        if self._open is not None:
            self._faults[Fault.UNCLOSED] = self._faults.get(Fault.UNCLOSED, 0) + 1
            self._example = self._example or self._open.name
        self._open, self._nested = None, 0

    def _fault(self, fault: Fault, what: str) -> None:
        if self._on_fault is OnFault.RAISE:
            raise StageError("step %d: %s is %s" % (self._step, what, fault.value))
        self._faults[fault] = self._faults.get(fault, 0) + 1
        if not self._example:
            self._example = "%s in step %d" % (what[:200], self._step)

    # Waits for batches that later steps consume.

    def _wait_ahead(self, ns: int, span: AheadSpan) -> None:
        self._ahead_of = span
        self._ahead.append(ns)
        while len(self._ahead) > span.ahead + self.stages.accumulation:
            self._ahead.popleft()  # batches that no step consumed
        if self._inside or self._since >= 0:
            self._shift -= ns

    def _consume(self) -> None:
        """The step has consumed the batches that ``ahead`` others have
        followed.
        """
        span = self._ahead_of
        assert span is not None
        for cell in span.cells:
            if len(self._ahead) <= span.ahead:
                return
            ns = self._ahead.popleft()
            self._row[cell] += ns
            self._shift += ns

    # Windows.

    def _begin_window(self) -> None:
        self._timing = Timing(lines=self._lines)
        self._durations: "array[int]" = array("q")
        self._walls: "array[int]" = array("q")
        self._first = self._step

    def _settle(self, now: int) -> None:
        """The step before ended when this one began: what lies between is its
        residual. A window that is full with it is closed.
        """
        if self._since < 0:
            self._release()
            return
        self._end_wall(now)
        if len(self._walls) + self._missed >= self._window_steps:
            self._missed = 0
            self._flush()

    def _end_wall(self, now: int) -> None:
        self._walls.append(max(0, now - self._since + self._shift))
        self._since, self._until, self._shift = -1, -1, 0

    def _flush(self) -> None:
        """Hands the window to the writer and begins the next one."""
        self._release()
        if self._walls:
            self._held = self._cut()
            self._release()
        else:
            self._begin_window()

    def _cut(self) -> Tuple[Window, Pending]:
        """The window so far; the next one begins."""
        began = time.perf_counter_ns()
        window = Window(self._windows, self._first, self._durations, self._walls, notes=self._notes(), timing=self._timing)
        events = self._channels.take(self._first, self._first + len(self._walls))
        self._tell(window)
        self._windows += 1
        self._begin_window()
        self._closing_ns += time.perf_counter_ns() - began
        return window, events

    def _release(self) -> None:
        """Hands a window that was held back to the writer. One before a pause
        is held until it is known whether it is the last: with that, all that
        is left of the arrivals is written.
        """
        held, self._held = self._held, None
        if held is not None and self._writer is not None:
            began = time.perf_counter_ns()
            self._writer.offer(*held)
            self._closing_ns += time.perf_counter_ns() - began

    def _notes(self) -> List[str]:
        notes = self._capture.take_note() if self._capture is not None else []
        if not self._faults:
            return notes
        faults, self._faults = self._faults, {}
        example, self._example = self._example, ""
        counts = ", ".join("%d %s" % (n, fault.value) for fault, n in sorted(faults.items(), key=_by_count))
        total = sum(faults.values())
        return notes + ["rank %d left out %d span%s: %s; the first: %s" % (self.identity.rank, total, "s" if total > 1 else "", counts, example)]


_again: Dict[Tuple[int, str], int] = {}  # recorders of a process and folder that found out their place themselves


def scalars(window: Window, stages: Stages) -> Dict[str, float]:
    """What ``Recorder.log`` gives of a window."""
    steps, walls, n = len(window.walls), sorted(window.walls), stages.count
    means: Dict[str, float] = {}
    for cell, name in enumerate(stages.names):
        base = name.split("@")[0]
        means[base] = means.get(base, 0.0) + sum(window.durations[cell::n]) / steps / 1e6
    data = sum(means[base] for base in means if base.startswith("data."))
    step = sum(walls) / steps / 1e6
    return {
        "sfstat/step_ms": step,
        "sfstat/step_p95_ms": walls[min(steps - 1, (95 * steps) // 100)] / 1e6,
        "sfstat/data_ms": data,
        "sfstat/longest_stage_ms": max(means.values(), default=0.0),
        "sfstat/outside_ms": step - sum(means.values()),
    }


def _detected(place: str, role: Optional[Mapping[str, int]]) -> Identity:
    """The place of this process. A second recording of one process into the
    same folder, as of a notebook's cell that is run again, is another run.
    """
    key = (os.getpid(), place)
    n = _again[key] = _again.get(key, 0) + 1
    name = os.path.basename(place) or "run"
    return Identity.detect(name if n == 1 else "%s-%d" % (name, n), role)


def _by_count(item: Tuple[Fault, int]) -> Tuple[int, str]:
    return -item[1], item[0].value


def _closer(reference: "weakref.ReferenceType[Recorder]") -> Callable[[], None]:
    def at_exit() -> None:
        recorder = reference()
        if recorder is not None:
            recorder.close()

    return at_exit
