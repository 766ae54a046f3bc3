"""What the tests share: a clock that is told the time, ranks as threads, a
group without a network.
"""

from __future__ import annotations

import glob
import json
import os
import threading
import time
from typing import Any, Callable, Dict, List, Optional

from sfstat_recorder import Identity, Recorder


class Clock:
    """Nanoseconds that pass when the test says so."""

    def __init__(self, now: int = 1_000) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now

    def spend(self, ns: int) -> None:
        self.now += ns


def spend(perf: Recorder, clock: Clock, stage: str, ns: int) -> None:
    with perf.stage(stage):
        clock.spend(ns)


def packets(folder: str) -> List[Dict[str, Any]]:
    """All packets under the folder, by window and rank."""
    found = []
    for path in sorted(glob.glob(os.path.join(folder, "*.jsonl"))):
        with open(path, encoding="utf-8") as f:
            found += [json.loads(line) for line in f]
    return sorted(found, key=lambda p: (p["window"], p["rank"], p["first_step"]))


class Hub:
    """An in-process stand-in for a communication library, with its way to
    fail: a call that waits too long raises, and the rank's later ones too.
    """

    def __init__(self, world: int, timeout_s: float = 5.0) -> None:
        self.world = world
        self.timeout_s = timeout_s
        self._changed = threading.Condition()
        self._messages: Dict[int, bytes] = {}
        self._payloads: Dict[int, Dict[int, bytes]] = {}

    def rank(self, rank: int) -> "HubGroup":
        return HubGroup(self, rank)

    def wait(self, what: Callable[[], Any], timeout_s: float, who: str) -> Any:
        with self._changed:
            if not self._changed.wait_for(lambda: what() is not None, timeout_s):
                raise TimeoutError("%s did not come within %g s" % (who, timeout_s))
            return what()

    def say(self, n: int, message: bytes) -> None:
        with self._changed:
            self._messages[n] = message
            self._changed.notify_all()

    def heard(self, n: int) -> Optional[bytes]:
        return self._messages.get(n)

    def give(self, n: int, rank: int, payload: bytes) -> None:
        with self._changed:
            self._payloads.setdefault(n, {})[rank] = payload
            self._changed.notify_all()

    def all(self, n: int) -> Optional[List[bytes]]:
        have = self._payloads.get(n, {})
        return [have[r] for r in range(self.world)] if len(have) == self.world else None


class HubGroup:
    """One rank's end of a hub."""

    def __init__(self, hub: Hub, rank: int) -> None:
        self._hub, self._rank = hub, rank
        self._calls = 0
        self.before: Callable[[str], None] = lambda call: None  # a test's hook

    def tell(self, message: bytes) -> bytes:
        self.before("tell")
        return self._broadcast(message, self._hub.timeout_s)

    def answer(self, message: bytes) -> bytes:
        self.before("answer")
        return self._broadcast(message, 3 * self._hub.timeout_s)

    def gather(self, payload: bytes) -> Optional[List[bytes]]:
        self.before("gather")
        n = self._next()
        self._hub.give(n, self._rank, payload)
        if self._rank > 0:
            return None
        return self._hub.wait(lambda: self._hub.all(n), self._hub.timeout_s, "a rank")

    def _broadcast(self, message: bytes, timeout_s: float) -> bytes:
        n = self._next()
        if self._rank == 0:
            self._hub.say(n, message)
        return self._hub.wait(lambda: self._hub.heard(n), timeout_s, "rank 0")

    def _next(self) -> int:
        self._calls += 1
        return self._calls


def ranks(world: int, body: Callable[[int], None]) -> None:
    """Runs the body once per rank, each in a thread, and waits for all."""
    errors: List[BaseException] = []

    def one(rank: int) -> None:
        try:
            body(rank)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=one, args=(r,)) for r in range(world)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if errors:
        raise errors[0]


def place(rank: int = 0, world: int = 1, run: str = "run") -> Identity:
    return Identity(run=run, rank=rank, world_size=world)


def until(condition: Callable[[], bool], timeout_s: float = 10.0) -> bool:
    """Waits for what another thread does."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True
