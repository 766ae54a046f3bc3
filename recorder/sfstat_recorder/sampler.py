"""Which Python functions a thread is in, seen every few milliseconds.

A profiler that records every call makes each of them longer, and holds the
thread up for all of them when it stops. A look at the stack costs the thread
nothing but the interpreter's lock for some microseconds.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any, Dict, List, Tuple

_INTERVAL_S = 0.005
_MOST = 20_000  # looks
_BLIND = 20  # intervals without a look, as where a profiler starts: nothing is known of them

_Stack = Tuple[Any, ...]  # the code of the functions from the innermost to the outermost, and the line of the innermost
_Frame = Tuple[Any, int]  # a function's code; the line where it is now, 0: the whole function


class Sampler:
    """Looks at the thread that makes it, from a thread of its own, until ``stop``."""

    def __init__(self, interval: float = _INTERVAL_S, most: int = _MOST) -> None:
        self._interval = interval
        self._most = most
        self._thread = threading.get_ident()
        self._tid = threading.get_native_id()
        # Few and flat objects: many would set off the garbage collector, which holds the job up.
        self._looks: List[Tuple[int, _Stack]] = []
        self._known: Dict[_Stack, _Stack] = {}
        self._over = threading.Event()
        self._looking = threading.Thread(target=self._look, name="sfstat-sampler", daemon=True)
        self._looking.start()

    def stop(self) -> None:
        """Ends it without waiting."""
        self._over.set()

    def _look(self) -> None:
        while not self._over.wait(self._interval) and len(self._looks) < self._most:
            frame = sys._current_frames().get(self._thread)
            if frame is None:
                return
            stack = _stack(frame)
            self._looks.append((time.time_ns(), self._known.setdefault(stack, stack)))

    def events(self, base_ns: int) -> List[Dict[str, Any]]:
        """What it saw as events of a Chrome trace whose times count from
        ``base_ns``: functions from the look at which they were first on the stack
        to the one at which they were gone, and within the innermost the line where
        it stayed, as far as it looked. To be called after ``stop``.
        """
        self._looking.join()
        out: List[Dict[str, Any]] = []
        open_: List[Tuple[_Frame, int]] = []
        before, interval = 0, int(self._interval * 1e9)
        for t, seen in self._looks + [(self._looks[-1][0], ())] if self._looks else []:
            stack = _frames(seen)
            if before and t - before > _BLIND * interval:
                while open_:
                    frame, begin = open_.pop()
                    out.append(self._event(frame, begin - base_ns, before + interval - base_ns))
            before = t
            same = 0
            while same < min(len(open_), len(stack)) and open_[same][0] == stack[same]:
                same += 1
            while len(open_) > same:
                frame, begin = open_.pop()
                out.append(self._event(frame, begin - base_ns, t - base_ns))
            open_.extend((frame, t) for frame in stack[same:])
        return out

    def _event(self, frame: _Frame, begin: int, end: int) -> Dict[str, Any]:
        code, line = frame
        name = "%s(%d): %s" % (_short(code.co_filename), line or code.co_firstlineno, code.co_name)
        return {"ph": "X", "cat": "python_function", "name": name, "pid": os.getpid(), "tid": self._tid,
                "ts": begin / 1e3, "dur": (end - begin) / 1e3, "args": {}}


# Functions of the recorder, such as those around a loader, are nobody's time: that of what they call is the program's.
_OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep


def _stack(frame: Any) -> _Stack:
    line = 0
    codes: List[Any] = []
    while frame is not None:
        if not frame.f_code.co_filename.startswith(_OWN):
            line = line if codes else frame.f_lineno
            codes.append(frame.f_code)
        frame = frame.f_back
    return (*codes, line) if codes else ()


def _frames(seen: _Stack) -> List[_Frame]:
    """The functions from the outermost on, and last the line of the innermost."""
    if not seen:
        return []
    *codes, line = seen
    return [(code, 0) for code in reversed(codes)] + [(codes[0], line)]


def _short(path: str) -> str:
    """A file as a profiler names it: from the folder on that it was imported from."""
    folders = [folder for folder in sys.path if folder and path.startswith(folder.rstrip(os.sep) + os.sep)]
    return path[len(max(folders, key=len).rstrip(os.sep)) + 1:] if folders else path
