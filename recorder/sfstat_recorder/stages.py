"""The ordered stages of a step."""

from __future__ import annotations

import enum
from typing import Dict, Optional, Sequence, Tuple

DATA = "data.next_wait"
FORWARD = "model.fwd_loss_cpu_wall"
BACKWARD = "model.backward_cpu_wall"
CALLBACKS = "callbacks.cpu_wall"
OPTIMIZER = "optim.step_cpu_wall"

STAGES: Tuple[str, ...] = (DATA, FORWARD, BACKWARD, CALLBACKS, OPTIMIZER)
"""The stages of a plain loop, in their order."""

RESIDUAL = "step.other_cpu_wall"
"""What no stage covers. sfstat derives it; it cannot be recorded."""

_MAX_STAGES = 4096
_MAX_NAME = 512


class DataWait(enum.Enum):
    """To which step the recorded waits for data belong."""

    CONSUMING = "consuming"
    """To the step that consumes the batch: what this recorder does by itself."""
    PRECEDING = "preceding"
    """To the step before: a loop that times its own prefetching this way."""
    UNKNOWN = "unknown"
    """It cannot be told, and sfstat rests no strong claim on the data stage."""


class Stages:
    """The list of stages with accumulation unfolded.

    With ``accumulation`` k > 1, the stages in ``repeated``, which stand
    together in the list, happen k times in a step and become ``name@0`` …
    ``name@k-1``, microstep after microstep. By default those are the stages
    that begin with ``data.`` or ``model.``. With an empty ``repeated``, each
    stage keeps one column, which sums its microsteps, in any order.
    """

    __slots__ = ("names", "accumulation", "summed", "cells", "data_cells", "count", "_of_microstep")

    def __init__(self, names: Sequence[str] = STAGES, accumulation: int = 1, repeated: Optional[Sequence[str]] = None) -> None:
        _check(names, accumulation)
        if accumulation == 1:
            block = []
        elif repeated is None:
            block = [i for i, name in enumerate(names) if name.startswith(("data.", "model."))]
        else:
            block = [i for i, name in enumerate(names) if name in repeated]
        if block and block != list(range(block[0], block[-1] + 1)):
            raise ValueError("the repeated stages do not stand together in %s" % list(names))
        self.summed = accumulation > 1 and repeated is not None and not repeated
        if accumulation > 1 and not block and not self.summed:
            raise ValueError("accumulation is %d and no stage is repeated" % accumulation)
        unfolded = []
        for i, name in enumerate(names):
            if i not in block:
                unfolded.append(name)
            elif i == block[0]:
                unfolded += ["%s@%d" % (names[j], micro) for micro in range(accumulation) for j in block]
        if len(unfolded) > _MAX_STAGES:
            raise ValueError("%d stages with accumulation, at most %d can be written" % (len(unfolded), _MAX_STAGES))
        self.names = tuple(unfolded)
        self.accumulation = accumulation
        self.count = len(unfolded)
        # Of every name, with and without its index: the columns that it may
        # go to, ascending.
        self.cells: Dict[str, Tuple[int, ...]] = {}
        for cell, name in enumerate(unfolded):
            base = name.rsplit("@", 1)[0] if name not in names else name
            for known in {name, base}:
                self.cells[known] = self.cells.get(known, ()) + (cell,)
        self.data_cells = tuple(i for i, name in enumerate(unfolded) if name.startswith("data."))
        first = block[0] if block else 0
        # The columns of each microstep, none where they are not unfolded.
        self._of_microstep = tuple(range(first + k * len(block), first + (k + 1) * len(block)) for k in range(accumulation)) if block else ()

    def microsteps(self, begun: Sequence[int]) -> int:
        """How many microsteps a step had, by when each column began (-1: never); 0 where
        they are not told apart.
        """
        for k in range(len(self._of_microstep), 0, -1):
            if any(begun[cell] >= 0 for cell in self._of_microstep[k - 1]):
                return k
        return 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stages) and (self.names, self.accumulation) == (other.names, other.accumulation)

    def __hash__(self) -> int:
        return hash((self.names, self.accumulation))


def _check(names: Sequence[str], accumulation: int) -> None:
    if isinstance(names, str) or not names:
        raise ValueError("stages is %r, expected a list of at least one name" % (names,))
    if not 1 <= accumulation <= _MAX_STAGES:
        raise ValueError("accumulation is %r, expected 1 to %d" % (accumulation, _MAX_STAGES))
    for name in names:
        size = len(name.encode("utf-8"))  # refuses what UTF-8 cannot hold
        if not 0 < size <= _MAX_NAME - len("@4096"):
            raise ValueError("a stage has a name of %d bytes, expected 1 to %d" % (size, _MAX_NAME - len("@4096")))
        if name == RESIDUAL:
            raise ValueError("stage %r is derived from the wall time and cannot be recorded" % name)
    if len(set(names)) < len(names):
        raise ValueError("a stage is listed twice in %s" % list(names))
