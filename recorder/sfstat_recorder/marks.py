"""Stages from a trainer's hooks: where one ends, the next begins."""

from __future__ import annotations

import importlib
from typing import Any, Callable, Optional, Sequence, Tuple, Union

from .gather import Group
from .identity import Identity
from .recorder import Recorder
from .spans import Span, Unrecorded
from .stages import BACKWARD, CALLBACKS, DATA, FORWARD, OPTIMIZER

TRAINER_STAGES: Tuple[str, ...] = (DATA, FORWARD, BACKWARD, OPTIMIZER, CALLBACKS)
"""The stages of trainers, which call back after the optimizer."""

MakeGroup = Callable[[], Group]
"""Makes the group over which packets are gathered, such as TorchGroup."""


class Marks:
    """At most one open stage of a recorder, moved on by hooks."""

    def __init__(self, perf: Recorder) -> None:
        self.perf = perf
        self._open: Optional[Union[Span, Unrecorded]] = None

    def to(self, stage: str) -> None:
        """The open stage ends here and this one begins."""
        self.end()
        self._open = self.perf.stage(stage)
        self._open.__enter__()

    def end(self) -> None:
        """The open stage ends here."""
        span, self._open = self._open, None
        if span is not None:
            span.__exit__(None, None, None)

    def drop(self) -> None:
        """The open stage did not happen: its time is residual."""
        span, self._open = self._open, None
        if span is not None:
            self.perf._cancel(span)

    def pause(self) -> None:
        """No step since the end of the last: trainers call back after a checkpoint or in an evaluation."""
        self.drop()
        self.perf._pause(self.perf._until)

    def close(self) -> None:
        self.drop()
        self.perf.close()


def derive(hooks: type, modules: Sequence[str], base: str) -> type:
    """The hooks as a subclass of a trainer's own callback class, which is
    looked for when it is asked for. Trainers call hooks that we do not have.
    """
    missing: Optional[ImportError] = None
    for module in modules:
        try:
            parent: Any = getattr(importlib.import_module(module), base)
        except ImportError as error:
            missing = error
            continue
        return type(hooks.__name__, (hooks, parent), {})
    raise ImportError("none of %s can be imported" % ", ".join(modules)) from missing


def place(run: str, rank: int, world_size: int, local_rank: int) -> Identity:
    """The identity that a trainer knows, with the host and the restart count
    of the environment.
    """
    found = Identity.detect(run)
    return Identity(run=found.run, rank=rank, world_size=world_size, local_rank=local_rank, host=found.host)
