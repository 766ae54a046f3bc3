"""The thread that turns windows into lines of files.

The training thread only ever puts a window into a bounded queue. Reading
events, encoding, gathering and writing happen here, and nothing that goes
wrong here reaches the training.
"""

from __future__ import annotations

import json
import logging
import queue
import threading
import time
from typing import Any, Dict, List, Optional, Set, Tuple

from .arrivals import Watcher
from .capture import Capture, Plan, pack, parse, unpack
from .events import Pending
from .files import PacketFile
from .gather import Group
from .packet import Form, Gathered, Window, encode
from .router import Router

_log = logging.getLogger("sfstat_recorder")

_Item = Tuple[Window, Pending]


class Losses:
    """Windows that were not written, by reason, until a packet has said so."""

    _MOST_REASONS = 8

    def __init__(self, rank: int) -> None:
        self._rank = rank
        self._lock = threading.RLock()  # a recorder that is dropped may count a loss in the middle of anything
        self._untold: Dict[str, int] = {}
        self._warned: Set[str] = set()
        self.total = 0

    def add(self, reason: str, windows: int = 1) -> None:
        reason = _one_line(reason)
        with self._lock:
            self.total += windows
            self._count(reason, windows)
            warn = reason not in self._warned and len(self._warned) < self._MOST_REASONS
            if warn:
                self._warned.add(reason)
        if warn:
            _log.warning("rank %d lost %s: %s", self._rank, "a window" if windows == 1 else "%d windows" % windows, reason)

    def take(self) -> Dict[str, int]:
        """What no packet has said yet; it counts as said."""
        with self._lock:
            taken, self._untold = self._untold, {}
        return taken

    def give_back(self, taken: Dict[str, int]) -> None:
        """The packet that was to say it was lost as well."""
        with self._lock:
            for reason, n in taken.items():
                self._count(reason, n)

    def notes(self, taken: Dict[str, int]) -> List[str]:
        return ["rank %d lost %d window%s before this one: %s" % (self._rank, n, "s" if n > 1 else "", reason)
                for reason, n in taken.items()]

    def _count(self, reason: str, n: int) -> None:
        if reason not in self._untold and len(self._untold) >= self._MOST_REASONS:
            reason = "other reasons"
        self._untold[reason] = self._untold.get(reason, 0) + n


class Writer:
    """Writes the windows of one rank, gathered on rank 0 where there is a group.

    A window that is gathered takes three collective calls: rank 0 says that it
    is there; the packets go to it; it answers whether they are written. Only a
    rank that heard rank 0 first sends its packet, and one that hears no good
    answer writes it to its own file, marked as not gathered. The first
    call that fails ends gathering for good: from there on every rank writes
    its own file.
    """

    def __init__(
        self,
        form: Form,
        folder: str,
        group: Optional[Group] = None,
        router: Optional[Router] = None,
        capture: Optional[Capture] = None,
        capacity: int = 4,
        event_patience_s: float = 1.0,
        arrivals: Optional[Watcher] = None,
    ) -> None:
        who = form.identity
        self._form = form
        self._rank = who.rank
        self._group = group if who.world_size > 1 else None
        self._router = router
        self._capture = capture
        self._patience = event_patience_s
        self._arrivals = arrivals
        self._own = PacketFile(folder, "%s.rank%05d" % (who.run, who.rank))
        self._shared = PacketFile(folder, who.run)
        self._queue: "queue.SimpleQueue[Optional[_Item]]" = queue.SimpleQueue()  # whose put may interrupt its get
        self._capacity = max(1, capacity)
        self._next = 0  # window that the group gathers next
        self._windows = 0  # in all, known at the end
        self.written = 0  # windows that this thread is done with
        self.writing_ns = 0  # that they took it
        self.closing = False  # set before the last window is offered
        self.losses = Losses(who.rank)
        self._thread: Optional[threading.Thread] = threading.Thread(target=self._run, name="sfstat-recorder", daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:  # the limit of processes is reached: the training goes on
            self._thread = None
            _log.warning("rank %d records nothing: %s", self._rank, error)

    def offer(self, window: Window, events: Pending) -> None:
        """Takes the window, or drops it if the queue is full; never waits."""
        if self._thread is None:
            self.losses.add("its writer could not be started")
            return
        if self._queue.qsize() >= self._capacity:
            self.losses.add("the queue of its writer was full")
            return
        self._queue.put((window, events))

    def end(self, windows: int) -> None:
        """No more windows come: there were so many. The thread ends when it has written them."""
        self._windows = windows
        self._queue.put(None)

    def close(self, timeout_s: float) -> bool:
        """Waits for the thread, which was told to end, for at most timeout_s; whether it was
        done.
        """
        if self._thread is None:
            return True  # what was lost is counted
        self._thread.join(timeout_s)
        if self._thread.is_alive():
            _log.warning("rank %d: the recorder was not done after %g s and is left behind", self._rank, timeout_s)
        return not self._thread.is_alive()

    def forked(self) -> None:
        """In a child, which has no such thread: it holds no file open that the parent writes."""
        for file in (self._own, self._shared):
            try:
                file.close()
            except OSError:
                pass

    def _run(self) -> None:
        while True:
            item = self._queue.get()
            if item is None:
                break
            began = time.perf_counter_ns()
            try:
                self._write(*item)
            except Exception as error:  # training goes on whatever happens here
                self.losses.add("%s: %s" % (type(error).__name__, error))
            self.writing_ns += time.perf_counter_ns() - began
            self.written += 1
        self._finish()

    def _finish(self) -> None:
        try:
            if self._group is not None:
                self._gather_without(self._group, self._windows)
        except Exception as error:
            _log.warning("rank %d: %s", self._rank, _one_line(str(error)))
        self._count_removed()
        for file in (self._own, self._shared):
            try:
                file.close()
            except OSError as error:
                _log.warning("rank %d: %s", self._rank, error)

    def _count_removed(self) -> None:
        """What was written and is gone with its file."""
        for file in (self._own, self._shared):
            windows = file.removed()
            if windows > 0:
                self.losses.add("the file that held it was removed: %s" % file.path, windows)

    def _write(self, window: Window, events: Pending) -> None:
        self._count_removed()
        window.side = events.read(self._patience)
        self._add_arrivals(window)
        lost = self.losses.take()
        window.notes = self.losses.notes(lost) + window.notes
        try:
            gathered = self._try_to_gather(window)
            if gathered is not Gathered.OK or self._group is None:
                self._own.append(encode(self._form, window, gathered))
        except Exception:
            self.losses.give_back(lost)
            raise

    def _add_arrivals(self, window: Window) -> None:
        """What the ring has that no packet had yet; at the end all of it."""
        watcher = self._arrivals
        if watcher is None or not window.timing.starts:
            return
        window.epoch_ns = watcher.epoch_ns(window.timing.starts[0])
        watcher.window(window.first_step, window.timing, window.durations, window.walls)
        window.arrivals = watcher.take_all() if self.closing and self._queue.qsize() <= 1 else watcher.take()

    def _try_to_gather(self, window: Window) -> Gathered:
        if self._group is None:
            return Gathered.OK
        try:
            if self._gather(self._group, window):
                return Gathered.OK
            window.notes.append("rank 0 could not write what it had gathered")
        except Exception as error:
            self._group = None
            # The same words on all ranks: sfstat shows each sentence once.
            window.notes.append("gathering ended here (%s): every rank writes its own file from here on" % type(error).__name__)
            _log.warning("rank %d could not gather window %d and writes its own file from here on: %s: %s",
                         self._rank, window.index, type(error).__name__, _one_line(str(error)))
        return Gathered.FAILED

    def _gather(self, group: Group, window: Window) -> bool:
        """Whether rank 0 has written the window. The others count windows too:
        those that this rank dropped are gathered without it.
        """
        self._gather_without(group, window.index)
        self._next = window.index + 1
        return self._round(group, encode(self._form, window))

    def _gather_without(self, group: Group, end: int) -> None:
        for _ in range(self._next, end):
            self._round(group, b"")

    def _round(self, group: Group, payload: bytes) -> bool:
        group.tell(b"here")
        lines = group.gather(payload)
        answer = b""
        if lines is not None:
            answer = json.dumps(self._take(lines)).encode()
        reply: Dict[str, Any] = json.loads(group.answer(answer))
        plan = unpack(reply["capture"])
        if plan is not None:
            if self._arrivals is not None:
                self._arrivals.urge()
            if self._capture is not None:
                self._capture.request(plan)
        return bool(reply["written"])

    def _take(self, lines: List[bytes]) -> Dict[str, Any]:
        """Rank 0 writes the packets of a window and makes up its answer."""
        try:
            if any(lines):
                self._shared.append(b"".join(lines))
        except OSError as error:
            _log.warning("rank 0 could not write a gathered window: %s", error)
            return {"written": False, "capture": {}}
        return {"written": True, "capture": pack(self._plan(lines))}

    def _plan(self, lines: List[bytes]) -> Optional[Plan]:
        router = self._router
        if router is None or not router.reads:
            return None
        packets = []
        for line in lines:
            if line:
                packets.append(parse(line))
                time.sleep(0)
        return router.look(packets) if packets else None


def _one_line(text: str) -> str:
    return " ".join(text.split())[:200]
