"""Which steps are recorded, where not all are."""

from __future__ import annotations

import contextlib
import random
from typing import Any, Dict


class Sampling:
    """One window of every ``every``, at a place by lot that is the same on all
    ranks: nothing that comes back at regular times is always met, or never.
    """

    def __init__(self, every: int, window: int, run: str) -> None:
        if every < 1:
            raise ValueError("every is %r, expected 1 or more" % every)
        self._window = window
        self._span = every * window
        self._run = run
        self._block = -1
        self._from = 0

    def takes(self, step: int) -> bool:
        """Whether a step is recorded."""
        if self._span == self._window:
            return True
        block = step // self._span
        if block != self._block:
            self._block = block
            lot = random.Random("%s %d" % (self._run, block))
            self._from = block * self._span + lot.randrange(self._span - self._window + 1)
        return 0 <= step - self._from < self._window


class Idle(Dict[str, Any]):
    """The stages of a step that is not recorded: whatever the name, nothing."""

    _NOTHING = contextlib.nullcontext()

    def __missing__(self, name: str) -> Any:
        return self._NOTHING
