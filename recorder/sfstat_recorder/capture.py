"""A rank's side of a capture: the profiler runs for the steps of a plan.

While it runs, the recorder's steps and stages are marked in the trace, so that
it comes down to the stages that the packets have.
"""

from __future__ import annotations

import json
import logging
import os
import time
from dataclasses import dataclass
from typing import Any, Callable, ContextManager, Dict, Iterable, List, Optional, Tuple

try:
    from typing import Protocol
except ImportError:  # pragma: no cover
    Protocol = object  # type: ignore[assignment]

from .spans import Span

_log = logging.getLogger("sfstat_recorder")


@dataclass(frozen=True)
class Plan:
    """Which ranks profile how many steps, and of which window it was learnt.

    The profiler starts with step ``first`` and marks the ``steps`` after it; it
    ends early after so many ``seconds``. ``why``: "late", "uneven", "slower",
    or "entries": nobody profiles, and all ranks read when they entered collectives.
    """

    window: int
    ranks: Tuple[int, ...]
    steps: int
    first: int = 0
    seconds: float = 30.0
    why: str = ""


class Profiler(Protocol):
    """A heavy profiler that can be switched on for a few steps. One that has a
    method ``mark``, of a name to a context, is told steps and stages; one that is
    ``busy`` is not started; ``finish`` is called once, at the end.
    """

    def start(self, label: str) -> None:
        """Begins; the label is for the name of its output."""

    def stop(self) -> None:
        """Ends, and sees to the output."""


class Capture:
    """Starts and stops the profiler between steps."""

    def __init__(self, profiler: Profiler, run: str, rank: int, spans: Callable[[], Iterable[Any]] = tuple) -> None:
        self._profiler: Optional[Profiler] = profiler
        self._mark: Optional[Callable[[str], ContextManager[Any]]] = getattr(profiler, "mark", None)
        self._name = "%s.rank%05d" % (run.replace(os.sep, "_"), rank)
        self._rank = rank
        self._spans = spans
        self._plan: Optional[Plan] = None  # handed over by the writer's thread
        self._masked = range(0)  # steps that a capture makes longer, on whichever rank
        self._running: Optional[Plan] = None
        self._until = 0.0
        self._last = 0
        self._note = ""
        self._open: List[ContextManager[Any]] = []  # the step's mark, and a stage's inside it

    def request(self, plan: Plan) -> None:
        """A plan that all ranks hear of."""
        if plan.ranks and plan.first > 0:
            # The profiler is stopped behind its last step, and in the one after that the others wait for it.
            self._masked = range(plan.first, plan.first + plan.steps + 2)
        if self._rank in plan.ranks:
            self._plan = plan

    def masks(self, step: int) -> bool:
        """Whether a step is none of the training's: a profiler runs in it, on this rank or another."""
        return step in self._masked

    def step(self, index: int) -> None:
        """A step begins."""
        plan = self._plan
        if plan is None or index < plan.first or self._running is not None:
            return
        self._plan = None
        if self._profiler is None or getattr(self._profiler, "busy", False) or plan.first > 0 and 2 * (index - plan.first) > plan.steps:
            return  # it was heard of too late, or the trace before is still being written
        try:
            self._profiler.start("%s.window%06d" % (self._name, plan.window))
            self._running = plan if plan.first > 0 else Plan(plan.window, plan.ranks, plan.steps, index, plan.seconds, plan.why)
            self._until = time.monotonic() + plan.seconds
            if self._mark is not None:
                _set(self._spans(), Span, MarkedSpan)
        except Exception as error:
            self._give_up(error)

    def stepped(self, index: int) -> None:
        """A step ended. What comes before the next one is the next one's, as in
        the recorder: so the profiler's first step has no mark.
        """
        plan = self._running
        if plan is None:
            return
        try:
            self._last = index
            self._leave(0)
            if index >= plan.first + plan.steps or time.monotonic() > self._until:
                self.stop()
            elif self._mark is not None:
                self._enter("ProfilerStep#%d" % (index + 1))
        except Exception as error:
            self._give_up(error)

    def stop(self) -> None:
        """Ends a capture that is running."""
        running, self._running, self._plan = self._running, None, None
        if running is not None:
            self._note = "the profiler ran on ranks %s in steps %d–%d" % (", ".join(map(str, running.ranks)), running.first, self._last)
            _set(self._spans(), MarkedSpan, Span)
            self._leave(0)
            if self._profiler is not None:
                self._profiler.stop()

    def close(self) -> None:
        """Ends a capture that is running, and waits for its trace."""
        self.stop()
        finish = getattr(self._profiler, "finish", None)
        if finish is not None:
            finish()

    def take_note(self) -> List[str]:
        """What the packets say of the last capture, once: its steps took longer."""
        note, self._note = self._note, ""
        return [note] if note else []

    def enter_stage(self, name: str) -> None:
        try:
            self._enter(name)
        except Exception as error:
            self._give_up(error)

    def leave_stage(self) -> None:
        try:
            self._leave(1)
        except Exception as error:
            self._give_up(error)

    def _enter(self, name: str) -> None:
        if self._mark is not None and (self._open or name.startswith("ProfilerStep#")):
            mark = self._mark(name)
            mark.__enter__()
            self._open.append(mark)

    def _leave(self, keep: int) -> None:
        while len(self._open) > keep:
            self._open.pop().__exit__(None, None, None)

    def _give_up(self, error: Exception) -> None:
        """A profiler that fails is not used again."""
        self._profiler, self._plan, self._running, self._open = None, None, None, []
        _set(self._spans(), MarkedSpan, Span)
        _log.warning("the profiler failed and is not used again: %s", error)


class MarkedSpan(Span):
    """A span while the profiler runs. Spans become it and are spans again, so
    that marks cost nothing at other times.
    """

    __slots__ = ()

    def __enter__(self) -> None:
        capture = self._recorder._capture
        if capture is not None and self._recorder._open is None:
            capture.enter_stage(self.name)
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        capture = self._recorder._capture
        if capture is not None and self._recorder._open is None:
            capture.leave_stage()


def _set(spans: Iterable[Any], before: type, after: type) -> None:
    for span in list(spans):
        if type(span) is before:
            span.__class__ = after


def pack(plan: Optional[Plan]) -> Dict[str, Any]:
    """The plan as it travels in rank 0's answer."""
    if plan is None:
        return {}
    return {"window": plan.window, "ranks": list(plan.ranks), "steps": plan.steps, "first": plan.first, "seconds": plan.seconds, "why": plan.why}


def unpack(message: Dict[str, Any]) -> Optional[Plan]:
    if not message:
        return None
    return Plan(int(message["window"]), tuple(int(r) for r in message["ranks"]), int(message["steps"]),
                int(message["first"]), float(message["seconds"]), str(message["why"]))


def parse(line: bytes) -> Dict[str, Any]:
    """A packet as the router reads it."""
    packet: Dict[str, Any] = json.loads(line)
    return packet
