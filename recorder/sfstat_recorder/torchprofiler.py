"""torch.profiler as a Profiler."""

from __future__ import annotations

import contextlib
import gzip
import importlib
import json
import logging
import os
import re
import shutil
import threading
from typing import Any, ContextManager, Optional, Tuple

from .sampler import Sampler

_log = logging.getLogger("sfstat_recorder")

_MOST_BYTES = 64 << 20
_FINISH_S = 30.0


class TorchProfiler:
    """torch.profiler, with a Chrome trace per capture in ``folder``, packed, and
    the Python functions that ran, of the training thread, as a sampler sees them. A
    trace of more than ``most_bytes`` is not kept.

    Its first start takes PyTorch seconds: constructing one starts it once.
    Stopping collects the operators on the training thread, some 10 µs each: with
    every call of a function recorded, as torch.profiler can, jobs stood still for
    seconds. The trace is written by a thread of its own, to a temporary name first.
    """

    def __init__(self, folder: str, most_bytes: int = _MOST_BYTES) -> None:
        self._folder = folder
        self._most_bytes = most_bytes
        self._running: Any = None
        self._sampler: Optional[Sampler] = None
        self._writing: Optional[threading.Thread] = None
        self._parts: Tuple[str, ...] = ()
        self._label = ""
        self._profiler: Any = None
        try:
            self._profiler = importlib.import_module("torch.profiler")
            with self._made():
                pass
        except Exception as error:
            _log.warning("the profiler of PyTorch cannot be used: %s", error)

    def start(self, label: str) -> None:
        self._label = label
        running = self._made()
        running.__enter__()
        self._running = running
        self._sampler = Sampler()

    def mark(self, name: str) -> ContextManager[Any]:
        marked: ContextManager[Any] = self._profiler.record_function(name)
        return marked

    def stop(self) -> None:
        running, self._running = self._running, None
        if running is not None:
            if self._sampler is not None:
                self._sampler.stop()
            running.__exit__(None, None, None)
            self._writing = threading.Thread(target=self._export, args=(running, self._sampler, self._label), daemon=True)
            self._writing.start()

    @property
    def busy(self) -> bool:
        """Whether a trace is still being written: a profiler that ran meanwhile would trace that."""
        return self._writing is not None and self._writing.is_alive()

    def finish(self) -> None:
        """Waits for the trace that is being written; one that takes too long is left out."""
        if self._writing is not None:
            self._writing.join(_FINISH_S)
            if self._writing.is_alive():
                _log.warning("a captured trace was not written within %g s: %s", _FINISH_S, self._label)
                for part in self._parts:
                    with contextlib.suppress(OSError):
                        os.remove(part)

    def _made(self) -> Any:
        return self._profiler.profile(activities=list(self._profiler.supported_activities()))

    def _export(self, running: Any, sampler: Optional[Sampler], label: str) -> None:
        path = os.path.join(self._folder, label + ".trace.json.gz")
        part, trace = (os.path.join(self._folder, "." + label + ".part" + ending) for ending in (".gz", ".json"))
        self._parts = (part, trace)
        try:
            os.makedirs(self._folder, exist_ok=True)
            try:
                running.export_chrome_trace(trace)
                _pack(trace, part, sampler)
            finally:
                with contextlib.suppress(OSError):
                    os.remove(trace)
            if os.path.getsize(part) > self._most_bytes:
                os.remove(part)
                _log.warning("a captured trace of more than %d bytes is not kept: %s", self._most_bytes, label)
                return
            os.replace(part, path)
        except Exception as error:
            _log.warning("the captured trace could not be written: %s", error)


_BASE = re.compile(rb'"baseTimeNanoseconds":\s*(\d+)')
_EVENTS = re.compile(rb'"traceEvents":\s*\[')
_HEAD = 1 << 20  # bytes in which a trace says where its times begin


def _pack(trace: str, packed: str, sampler: Optional[Sampler]) -> None:
    """Packs a trace, with the functions that the sampler saw as its first events."""
    with open(trace, "rb") as source, gzip.open(packed, "wb", compresslevel=4) as target:
        head = source.read(_HEAD)
        base, events = _BASE.search(head), _EVENTS.search(head)
        if sampler is not None and events is not None:
            seen = sampler.events(int(base.group(1)) if base else 0)
            target.write(head[:events.end()])
            target.write("".join(json.dumps(event) + "," for event in seen).encode())
            head = head[events.end():]
        target.write(head)
        shutil.copyfileobj(source, target, 1 << 20)
