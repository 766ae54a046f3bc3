"""How long the training thread was ready to run and waited for a processor.

Linux counts it for every thread, in the second field of
``/proc/self/task/TID/schedstat``: the time in the run queue of a processor
that ran something else, and the time for which a container's CPU limit held
the thread off. Where the file is absent, or says nothing, nothing is recorded.
"""

from __future__ import annotations

import os
import threading
from threading import get_ident

CHANNEL = "run_queue_ms"
"""The side channel of it: from the end of the step before to the end of the step."""

_UNIT_NS = 1_000  # what is written: whole microseconds


class RunQueue:
    """Reads the counter of the thread that calls it, about 1 µs a reading."""

    __slots__ = ("_file", "_thread", "_total")

    def __init__(self) -> None:
        self._file = -1  # descriptor; -1: none
        self._thread = 0
        self._total = -1  # at the latest reading, ns; -1: nothing is being measured

    def __del__(self) -> None:
        self._close()

    def begin(self) -> None:
        """Measures from here, where nothing is being measured yet."""
        if self._total < 0 or get_ident() != self._thread:
            self._total = self._read()

    def stop(self) -> None:
        """What follows is nobody's."""
        self._total = -1

    def since(self) -> int:
        """Nanoseconds of waiting since it was asked before, or since ``begin``;
        -1: not known.
        """
        before = self._total
        if before < 0 or get_ident() != self._thread:
            self._total = -1
            return -1
        self._total = total = self._read()
        return (total - before) // _UNIT_NS * _UNIT_NS if total >= before else -1

    def _read(self) -> int:
        try:
            if get_ident() != self._thread:
                self._open()
            return int(os.pread(self._file, 64, 0).split()[1]) if self._file >= 0 else -1
        except (OSError, AttributeError, ValueError, IndexError):  # of another system
            if self._file >= 0:
                self._thread = 0  # it has ended, and another has its identifier: open that one's
            self._close()
            return -1

    def _open(self) -> None:
        """Opens the counter of this thread, once: where there is none, or the
        kernel does not count, it is not tried again.
        """
        self._close()
        self._thread = get_ident()
        file = os.open("/proc/self/task/%d/schedstat" % threading.get_native_id(), os.O_RDONLY)
        try:
            if os.pread(file, 64, 0).split() != [b"0"] * 3:  # which a kernel writes that does not count
                self._file, file = file, -1
        finally:
            if file >= 0:
                os.close(file)

    def _close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
