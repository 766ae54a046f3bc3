"""When this rank entered each collective, from PyTorch's Flight Recorder.

Stage times cannot show who is late inside a stage in which all ranks wait for
each other; the times at which the ranks entered its collectives do. PyTorch
keeps those of the last collectives in a ring. The writer's thread reads the
ring when a window ends and writes what is new beside the stage times.

Reading holds the interpreter lock, for as long as the ring is large, so the
ring is read only as often as keeps that below ``BUDGET`` of the time. What it
lost between two readings is counted.
"""

from __future__ import annotations

import functools
import logging
import pickle
import sys
import threading
import time
from array import array
from bisect import bisect_right
from collections import deque
from dataclasses import dataclass, field
from typing import Any, Callable, Deque, Dict, Iterable, List, Optional, Sequence, Set, Tuple, Union
from weakref import WeakKeyDictionary, ref

try:
    from typing import Protocol
except ImportError:  # pragma: no cover
    Protocol = object  # type: ignore[assignment]

from .dynamo import stand_in

_log = logging.getLogger("sfstat_recorder")

BUDGET = 0.0005
"""The part of the time for which reading may hold the interpreter lock."""

_MOST_STEPS = 20_000  # whose times are kept, for entries that are read later
_MOST_ENTRIES = 20_000  # in one packet
_MOST_CALLS = 65_536  # kept by CallRing between two readings
_SLACK_NS = 20_000  # an entry so close to a stage is in it: two clocks are compared


@dataclass
class Entry:
    """One collective, send or receive, as this rank entered it."""

    record: int  # counts up; a gap is what the ring lost
    enter_ns: int  # since the epoch
    group: str
    desc: str
    op: str
    seq: int
    elements: int  # of the first input; -1: not known
    held_ns: int = -1  # until the rank knew that it was done; -1: not known


@dataclass
class Reading:
    """What a ring held. ``records`` are the numbers of all that stand in it, also of what
    are no entries of the training: the recorder's own.
    """

    records: range = range(0)
    entries: List[Entry] = field(default_factory=list)
    members: Dict[str, List[int]] = field(default_factory=dict)  # global ranks, by group
    silent: Set[str] = field(default_factory=set)  # groups whose sends and receives are counted and not recorded
    messages: List[Entry] = field(default_factory=list)  # new ones, which the ring itself lacks


class Ring(Protocol):
    """Where entries come from."""

    source: str

    def read(self) -> Reading:
        """All that it holds, oldest first."""


class FlightRecorder:
    """PyTorch's ring. Stacks are not read: finding them costs seconds."""

    source = "flight_recorder"

    def __init__(
        self,
        dump: Callable[[], bytes],
        members: Callable[[], Dict[str, List[int]]],
        own: Callable[[], Iterable[str]],
        messages: Optional["Messages"] = None,
    ) -> None:
        self._dump = dump
        self._members = members
        self._known = members()  # also of groups that are destroyed before the ring is read
        self._own = own  # groups of the recorder itself
        self._messages = messages

    @classmethod
    def detect(cls, own: Callable[[], Iterable[str]] = lambda: ()) -> Optional["FlightRecorder"]:
        """None where there is no process group or no ring. Imports nothing."""
        dist: Any = sys.modules.get("torch.distributed")
        core: Any = sys.modules.get("torch._C._distributed_c10d")
        if dist is None or core is None or not dist.is_available() or not dist.is_initialized():
            return None
        backend = str(dist.get_backend())
        dump = _dump_of(core, backend)
        if dump is None:
            return None
        return cls(dump, lambda: _members(dist), own, None if "nccl" in backend else Messages(dist))

    def read(self) -> Reading:
        held: Dict[str, Any] = pickle.loads(self._dump())  # made by this process a moment ago
        own = set(self._own())
        entries = []
        records: List[int] = []
        for raw in held.get("entries") or []:
            records.append(_record(raw))
            entry = _entry(raw)
            if entry is not None and entry.group not in own:
                entries.append(entry)
        self._known.update(self._members())
        messages, whole = self._messages.taken() if self._messages is not None else ([], False)
        messages = [e for e in messages if e.group not in own]
        silent = set() if whole else _silent(held.get("pg_status") or {}, entries)
        return Reading(_span(records), entries, dict(self._known), silent, messages)


def _dump_of(core: Any, backend: str) -> Optional[Callable[[], bytes]]:
    """The function that dumps the ring of the training's backend."""
    if "nccl" in backend:
        nccl = getattr(core, "_dump_nccl_trace", None)
        if nccl is not None:
            return lambda: bytes(nccl(includeCollectives=True, includeStackTraces=False, onlyActive=False))
    ring = getattr(core, "_dump_fr_trace", None)
    if ring is None:
        return None
    return lambda: bytes(ring(includeCollectives=True, includeStackTraces=False, onlyActive=False))


def _members(dist: Any) -> Dict[str, List[int]]:
    """The global ranks of each group, as PyTorch's own registry has them."""
    world = getattr(getattr(dist, "distributed_c10d", None), "_world", None)
    if world is None:
        return {}
    out: Dict[str, List[int]] = {}
    for group, ranks in list(world.pg_group_ranks.items()):
        name = world.pg_names.get(group)
        if name is not None:
            out[str(name)] = sorted(ranks, key=lambda r: int(ranks[r])) if ranks else []
    return out


def _record(raw: Dict[str, Any]) -> int:
    return int(raw.get("record_id", raw.get("id", 0)))


def _span(records: Sequence[int]) -> range:
    return range(min(records), max(records) + 1) if records else range(0)


def _entry(raw: Dict[str, Any]) -> Optional[Entry]:
    created = raw.get("time_created_ns")
    if not created:
        return None
    name, desc = (list(raw.get("process_group") or ()) + ["", ""])[:2]
    seq = raw.get("p2p_seq_id") if raw.get("is_p2p") else raw.get("collective_seq_id")
    sizes = raw.get("input_sizes") or raw.get("output_sizes")
    return Entry(_record(raw), int(created), str(name), str(desc),
                 str(raw.get("profiling_name", "")), -1 if seq is None else int(seq), _elements(sizes))


def _silent(status: Dict[Any, Dict[str, Any]], entries: Iterable[Entry]) -> Set[str]:
    """Groups of which PyTorch counts more calls than entries are numbered, as
    Gloo does with sends and receives.
    """
    last: Dict[str, int] = {}
    for e in entries:
        last[e.group] = max(last.get(e.group, 0), e.seq)
    return {str(name) for name, s in status.items() if str(name) in last and int(s.get("last_enqueued_collective", -1)) > last[str(name)] + 2}


def _elements(sizes: Any) -> int:
    if not sizes:
        return -1
    n = 1
    for extent in sizes[0]:
        n *= int(extent)
    return n


class Wrapped:
    """Functions of ``torch.distributed`` that note when this rank enters them."""

    def __init__(self, dist: Any, clock: Callable[[], int] = time.time_ns) -> None:
        self._dist = dist
        self._clock = clock
        self._count = 0
        self._seq: Dict[str, int] = {}
        self._entries: Deque[Entry] = deque(maxlen=_MOST_CALLS)
        self._originals: List[Tuple[Any, str, Any]] = []

    def remove(self) -> None:
        """Puts PyTorch's functions back."""
        for owner, name, original in self._originals:
            setattr(owner, name, original)

    def _replace(self, owner: Any, name: str, by: Callable[[Any], Any]) -> None:
        original = getattr(owner, name, None)
        if original is not None:
            self._originals.append((owner, name, original))
            setattr(owner, name, by(original))

    def _note(self, add: Callable[[], Any]) -> None:
        try:
            add()
        except Exception as error:  # never into the training
            _log.debug("a call could not be noted: %s", error)

    def _add(self, numbered: str, group: Any, op: str) -> Entry:
        now = self._clock()
        if group is getattr(getattr(self._dist, "group", None), "WORLD", None):
            group = None
        where = str(getattr(group, "group_name", None) or "0")
        desc = "default_pg" if group is None else str(getattr(group, "group_desc", None) or "")
        count = where + " message" if numbered == "message" else where
        self._seq[count] = self._seq.get(count, 0) + 1
        entry = Entry(self._count, now, where, desc, op, self._seq[count], -1)
        self._entries.append(entry)
        self._count += 1
        return entry


class Messages(Wrapped):
    """Sends and receives, which the ring of Gloo lacks.

    They are seen in the methods of process groups, by which ``send``, ``isend``,
    ``batch_isend_irecv`` and ``torch.distributed.pipelining`` all go.
    A receive is entered where it is waited for: it may be posted long before.
    Who waits for a send that was made just before it, as in a batch, waits for both.
    """

    def __init__(self, dist: Any, clock: Callable[[], int] = time.time_ns) -> None:
        super().__init__(dist, clock)
        self._posted: "WeakKeyDictionary[Any, Tuple[Any, int]]" = WeakKeyDictionary()  # by the work to wait for: group, sender
        self._sent: Callable[[], Any] = lambda: None  # the work of the last send
        self._since: List[Any] = []  # receives posted after it, weakly
        self._entered: "WeakKeyDictionary[Any, Entry]" = WeakKeyDictionary()  # by the work to wait for
        groups, works = getattr(dist, "ProcessGroup", None), getattr(dist, "Work", None)
        if hasattr(groups, "send") and hasattr(groups, "recv") and hasattr(works, "wait"):
            self._replace(groups, "send", self._sending)
            self._replace(groups, "recv", self._posting)
            self._replace(works, "wait", self._waiting)

    def taken(self) -> Tuple[List[Entry], bool]:
        """Those since the last time, and whether they are all."""
        out: List[Entry] = []
        while self._entries:
            out.append(self._entries.popleft())
        return out, bool(self._originals) and len(out) < _MOST_CALLS

    def _sending(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def send(group: Any, tensors: Any, dstRank: int, *rest: Any, **named: Any) -> Any:  # named as PyTorch's
            entered: List[Entry] = []
            self._note(lambda: entered.append(self._message(group, "send", "->", dstRank)))
            work = original(group, tensors, dstRank, *rest, **named)
            self._note(lambda: self._send(work, entered[0]))
            return work

        return stand_in(send, original)

    def _posting(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def recv(group: Any, tensors: Any, srcRank: int, *rest: Any, **named: Any) -> Any:
            work = original(group, tensors, srcRank, *rest, **named)
            self._note(lambda: self._post(work, group, srcRank))
            return work

        return stand_in(recv, original)

    def _waiting(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def wait(work: Any, *args: Any, **kwargs: Any) -> Any:
            self._note(lambda: self._awaited(work))
            done = original(work, *args, **kwargs)
            self._note(lambda: self._done(work))
            return done

        return stand_in(wait, original)

    def _send(self, work: Any, entry: Entry) -> None:
        self._entered[work] = entry
        self._sent, self._since = ref(work), []

    def _post(self, work: Any, group: Any, sender: int) -> None:
        self._posted[work] = group, sender
        self._since.append(ref(work))

    def _awaited(self, work: Any) -> None:
        batch = [posted() for posted in self._since] if work is self._sent() else [work]
        for each in batch:
            posted = self._posted.pop(each, None) if each is not None else None
            if posted is not None:
                self._entered[each] = self._message(posted[0], "recv", "<-", posted[1])

    def _done(self, work: Any) -> None:
        entry = self._entered.pop(work, None)
        if entry is not None:
            entry.held_ns = max(0, self._clock() - entry.enter_ns)

    def _message(self, group: Any, op: str, arrow: str, peer: int) -> Entry:
        """A send or receive, with the ranks in the group at both ends."""
        return self._add("message", group, "%s %d%s%d" % (op, self._dist.get_rank(group), arrow, peer))


class CallRing(Messages):
    """Collectives that the training calls by ``torch.distributed``, and messages,
    for versions of PyTorch without a ring. What DDP or FSDP start below Python is
    not seen.
    """

    source = "calls"

    NAMES: Tuple[str, ...] = (
        "all_reduce", "all_gather", "all_gather_into_tensor", "all_gather_object", "reduce_scatter", "reduce_scatter_tensor",
        "broadcast", "broadcast_object_list", "reduce", "gather", "scatter", "all_to_all", "all_to_all_single", "barrier",
    )

    def __init__(self, dist: Any, own: Callable[[], Iterable[str]] = lambda: (), clock: Callable[[], int] = time.time_ns) -> None:
        super().__init__(dist, clock)
        self._own = own
        self._inside = threading.local()
        for name in self.NAMES:
            self._replace(dist, name, functools.partial(self._wrap, name))

    @classmethod
    def detect(cls, own: Callable[[], Iterable[str]] = lambda: ()) -> Optional["CallRing"]:
        dist: Any = sys.modules.get("torch.distributed")
        return None if dist is None or not dist.is_available() else cls(dist, own)

    def read(self) -> Reading:
        own = set(self._own())
        held = list(self._entries)
        return Reading(_span([e.record for e in held]), [e for e in held if e.group not in own], _members(self._dist))

    def _wrap(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def entered(*args: Any, **kwargs: Any) -> Any:
            if getattr(self._inside, "call", False):
                return original(*args, **kwargs)
            self._inside.call = True
            try:
                self._note(lambda: self._add(name, kwargs.get("group"), name))
                return original(*args, **kwargs)
            finally:
                self._inside.call = False

        entered.__wrapped__ = original  # type: ignore[attr-defined]
        return stand_in(entered, original)


@dataclass
class Timing:
    """When the steps of a window and their stages began: nanoseconds of the
    recorder's clock, per step, and per step and stage (-1: not in it); and the
    line of the training loop that enters each stage ("train.py:66").
    """

    starts: "array[int]" = field(default_factory=lambda: array("q"))
    begins: "array[int]" = field(default_factory=lambda: array("q"))
    lines: Dict[str, str] = field(default_factory=dict)


@dataclass
class Arrivals:
    """What is new in a ring, each entry with its step and stage."""

    source: str
    lost: int
    entries: List[Tuple[Entry, int, int]]  # entry, step (-1: none), stage (-1: none)
    members: Dict[str, List[int]]
    silent: Set[str] = field(default_factory=set)


class Watcher:
    """Reads a ring at the end of windows, in the writer's thread."""

    def __init__(
        self,
        detect: Callable[[], Optional[Ring]],
        stages: int,
        clock: Callable[[], int] = time.perf_counter_ns,
        epoch: Callable[[], int] = time.time_ns,
    ) -> None:
        self._detect = detect
        self._stages = stages
        self._clock = clock
        self._epoch = epoch
        self._ring = self._found()  # now, if it is there: a short job destroys its group before the first reading
        self._next = 0  # the first record not yet taken
        self._begun = False
        self._read_at = 0.0
        self._urged = False
        self._cost = 0.0
        self._lost = 0
        self._failures = 0
        self._waiting: List[Entry] = []  # of steps whose window is not there yet
        self._members: Dict[str, List[int]] = {}
        self._silent: Set[str] = set()
        # Steps by their start, with the times of their stages.
        self._starts: List[int] = []
        self._ends: List[int] = []
        self._rows: List[Tuple[int, Sequence[int], Sequence[int]]] = []

    def window(self, first_step: int, timing: Timing, durations: Sequence[int], walls: Sequence[int]) -> None:
        """Keeps the times of a window's steps."""
        n = self._stages
        for i, start in enumerate(timing.starts[:len(walls)]):
            self._starts.append(start)
            self._ends.append(start + walls[i])
            self._rows.append((first_step + i, timing.begins[i * n:(i + 1) * n], durations[i * n:(i + 1) * n]))
        extra = len(self._rows) - _MOST_STEPS
        if extra > 0:
            del self._starts[:extra], self._ends[:extra], self._rows[:extra]

    def epoch_ns(self, start: int) -> int:
        """A time of the recorder's clock since the epoch."""
        return start + self._epoch() - self._clock()

    def take(self) -> Optional[Arrivals]:
        """What is new of the windows so far; None where there is nothing, or
        reading now would cost more than its budget.
        """
        if self._begun and not self._urged and time.monotonic() - self._read_at < self._cost / BUDGET:
            return None
        self._urged = False
        self._read()
        return self._settled(self._ends[-1] if self._ends else 0)

    def urge(self) -> None:
        """The next window is read whatever that costs: it is worth a profiler."""
        self._urged = True

    def take_all(self) -> Optional[Arrivals]:
        """What is left, whatever reading costs: no window follows."""
        self._read()
        return self._settled(None)

    def _found(self) -> Optional[Ring]:
        try:
            return self._detect()
        except Exception as error:
            _log.debug("the ring of collectives could not be looked for: %s", error)
            return None

    def _read(self) -> None:
        if self._failures > 2:
            return
        try:
            if self._ring is None:
                self._ring = self._detect()
            if self._ring is None:
                return
            begin = time.perf_counter()
            reading = self._ring.read()
            self._cost = time.perf_counter() - begin
            self._read_at = time.monotonic()
            self._add(reading)
        except Exception as error:
            self._failures += 1
            _log.warning("the times of collectives could not be read: %s: %s", type(error).__name__, error)

    def _add(self, reading: Reading) -> None:
        """Keeps what was not seen before."""
        self._silent |= reading.silent
        self._members.update(reading.members)  # a group that was destroyed is still that of its entries
        entries = [e for e in reading.entries if e.record >= self._next or not self._begun]
        if reading.messages:
            entries = sorted(entries + reading.messages, key=lambda e: e.enter_ns)
        if not reading.records:
            self._waiting += reading.messages
            return
        if self._begun:
            self._lost += max(0, reading.records.start - self._next)
        self._begun, self._next = True, max(self._next, reading.records.stop)
        self._waiting += entries
        extra = len(self._waiting) - _MOST_ENTRIES
        if extra > 0:
            self._lost += extra
            del self._waiting[:extra]

    def _settled(self, end: Optional[int]) -> Optional[Arrivals]:
        """The entries before a time of the recorder's clock, with their steps
        and stages. Later ones wait for the window that they are in.
        """
        ahead = self._epoch() - self._clock()
        ready = [e for e in self._waiting if end is None or e.enter_ns - ahead < end]
        if not ready and self._lost == 0:
            return None
        self._waiting = [] if end is None else [e for e in self._waiting if e.enter_ns - ahead >= end]
        placed = []
        for i, e in enumerate(ready):
            placed.append((e, *self._place(e.enter_ns - ahead)))
            if i % 64 == 63:
                time.sleep(0)  # offers the interpreter lock
        lost, self._lost = self._lost, 0
        source = self._ring.source if self._ring is not None else ""
        return Arrivals(source, lost, placed, dict(self._members), set(self._silent))

    def _place(self, at: int) -> Tuple[int, int]:
        """The step and the stage in which the recorder's clock showed a time."""
        i = bisect_right(self._starts, at) - 1
        if i < 0 or at >= self._ends[i] + _SLACK_NS:
            return -1, -1
        step, begins, durations = self._rows[i]
        found = -1
        for cell, begin in enumerate(begins):
            if begin >= 0 and begin - _SLACK_NS <= at < begin + durations[cell] + _SLACK_NS:
                found = cell
        return step, found


def pack(arrivals: Arrivals) -> Dict[str, object]:
    """The arrivals as they stand in a packet: columns of equal length, with
    groups and operations listed once. ``enter_ns`` of the first entry is since
    the epoch, of each other one since the entry before it. ``held_ns`` is there
    where it is known of any.
    """
    groups: List[Tuple[str, str]] = []
    ops: List[str] = []
    columns: Dict[str, List[int]] = {name: [] for name in ("step", "stage", "group", "op", "seq", "elements", "enter_ns")}
    before = 0
    for entry, step, stage in arrivals.entries:
        row = (step, stage, _index(groups, (entry.group, entry.desc)), _index(ops, entry.op), entry.seq, entry.elements, entry.enter_ns - before)
        for column, value in zip(columns.values(), row):
            column.append(value)
        before = entry.enter_ns
    listed: List[Dict[str, object]] = []
    for name, desc in groups:
        group: Dict[str, object] = {"name": name}
        if desc:
            group["desc"] = desc
        if arrivals.members.get(name):
            group["ranks"] = arrivals.members[name]
        listed.append(group)
    out: Dict[str, object] = {"version": 1, "source": arrivals.source, "lost": arrivals.lost, "groups": listed, "ops": ops}
    held = [entry.held_ns for entry, _, _ in arrivals.entries]
    if any(ns >= 0 for ns in held):
        columns["held_ns"] = held
    silent = [i for i, (name, _) in enumerate(groups) if name in arrivals.silent]
    if silent:
        out["silent"] = silent
    out.update(columns)
    return out


def _index(known: List[Any], value: Any) -> int:
    try:
        return known.index(value)
    except ValueError:
        known.append(value)
        return len(known) - 1


def _grouped() -> bool:
    """Whether there is a process group: a ring would be there by now."""
    dist: Any = sys.modules.get("torch.distributed")
    return dist is not None and dist.is_available() and bool(dist.is_initialized())


Wanted = Union[bool, str]
"""``arrivals`` of a Recorder: "auto" and True read the ring, and wrap
``torch.distributed`` where there is a process group without one; "calls" wraps
it from the start, False records none.
"""


def watcher(wanted: Wanted, stages: int, clock: Callable[[], int], own: Callable[[], Iterable[str]]) -> Optional[Watcher]:
    """What reads the arrivals that a recorder is asked for."""
    if wanted is False:
        return None
    if wanted == "calls":
        ring: List[Optional[CallRing]] = []

        def calls() -> Optional[Ring]:
            if not ring:
                ring.append(CallRing.detect(own))
            return ring[0]

        calls()  # from now on, not from the first window's end
        return Watcher(calls, stages, clock)
    if wanted is True or wanted == "auto":
        return Watcher(lambda: FlightRecorder.detect(own) or (CallRing.detect(own) if _grouped() else None), stages, clock)
    raise ValueError("arrivals is %r, expected True, False, 'auto' or 'calls'" % (wanted,))
