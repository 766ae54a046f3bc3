"""Bringing the packets of a window together on rank 0.

A :class:`Group` is what the writer needs of a communication library: two
collective calls that give up after a time. :class:`TorchGroup` is the one over
``torch.distributed``.
"""

from __future__ import annotations

import contextlib
import ctypes
import datetime
import importlib
import time
from typing import Any, ContextManager, List, Optional

try:
    from typing import Protocol
except ImportError:  # pragma: no cover
    Protocol = object  # type: ignore[assignment]


class Group(Protocol):
    """All ranks of the run. Both calls are made by all ranks in the same
    order, from the writer's thread, and raise when a rank does not come.
    """

    def tell(self, message: bytes) -> bytes:
        """Rank 0's message, on all ranks."""

    def gather(self, payload: bytes) -> Optional[List[bytes]]:
        """All ranks' payloads by rank on rank 0, None elsewhere."""

    def answer(self, message: bytes) -> bytes:
        """As tell, but waits longer than gather may take on rank 0."""


class TorchGroup:
    """Process groups of its own, apart from those of the training.

    Making one is a collective call: do it on all ranks at the same place, after
    ``init_process_group``. A rank that does not come within ``timeout_s``
    makes the call fail on the others; the group is of no use after that.

    ``backend`` is "gloo", over the hosts' network, or "nccl", over the devices,
    for clusters where only those can reach each other: packets then pass
    through the memory of the current device, on a stream of their own.
    """

    def __init__(self, timeout_s: float = 30.0, backend: str = "gloo") -> None:
        if backend not in ("gloo", "nccl"):
            raise ValueError("backend is %r, expected gloo or nccl" % backend)
        self._torch: Any = importlib.import_module("torch")
        self._dist: Any = importlib.import_module("torch.distributed")
        self._rank: int = self._dist.get_rank()
        self._world: int = self._dist.get_world_size()
        # The writer's thread has a current device of its own, which would be the first one.
        self._device: Any = self._torch.device("cpu") if backend == "gloo" else self._torch.device("cuda", self._torch.cuda.current_device())
        self._stream: Any = None if backend == "gloo" else self._torch.cuda.Stream(self._device)
        self._group = self._make(backend, timeout_s)
        # Rank 0 may wait timeout_s for the last payload, and then writes. Who
        # waits for its answer must not give up before: the packet would be
        # written twice.
        self._patient = self._make(backend, 3 * timeout_s)
        self._seconds = {id(self._group): timeout_s, id(self._patient): 3 * timeout_s}
        # So that the recorder's own collectives are told from the training's.
        self.names = tuple(str(g.group_name) for g in (self._group, self._patient) if hasattr(g, "group_name"))

    def tell(self, message: bytes) -> bytes:
        with self._placed():
            return self._broadcast(message, self._group)

    def answer(self, message: bytes) -> bytes:
        with self._placed():
            return self._broadcast(message, self._patient)

    def gather(self, payload: bytes) -> Optional[List[bytes]]:
        with self._placed():
            return self._gather(payload)

    def _make(self, backend: str, timeout_s: float) -> Any:
        # NCCL's own timeout ends the process, so that it must never come; see _wait.
        limit = datetime.timedelta(seconds=timeout_s) if backend == "gloo" else datetime.timedelta(days=365)
        return self._dist.new_group(backend=backend, timeout=limit)

    def _placed(self) -> ContextManager[Any]:
        if self._stream is None:
            return contextlib.nullcontext()
        stack = contextlib.ExitStack()
        stack.enter_context(self._torch.cuda.device(self._device))
        stack.enter_context(self._torch.cuda.stream(self._stream))
        return stack

    def _wait(self, work: Any, group: Any) -> None:
        if self._stream is None:
            work.wait()  # raises when the group's time is over
        else:
            wait_for(work, self._seconds[id(group)])

    def _gather(self, payload: bytes) -> Optional[List[bytes]]:
        """Lengths first, then all payloads at the length of the longest."""
        torch, dist, group = self._torch, self._dist, self._group
        size = torch.tensor([len(payload)], dtype=torch.int64, device=self._device)
        sizes = [torch.zeros_like(size) for _ in range(self._world)]
        self._wait(dist.all_gather(sizes, size, group=group, async_op=True), group)
        lengths = [int(n.item()) for n in sizes]
        data = self._tensor(payload, max(lengths))
        everyone = [torch.zeros_like(data) for _ in range(self._world)] if self._rank == 0 else None
        self._wait(dist.gather(data, everyone, dst=0, group=group, async_op=True), group)
        return [_bytes(d[:n]) for d, n in zip(everyone, lengths)] if everyone is not None else None

    def _broadcast(self, message: bytes, group: Any) -> bytes:
        """A length and then the bytes: the others do not know how many come."""
        torch = self._torch
        size = torch.tensor([len(message)], dtype=torch.int64, device=self._device)
        self._wait(self._dist.broadcast(size, src=0, group=group, async_op=True), group)
        data = self._tensor(message, len(message)) if self._rank == 0 else torch.zeros(int(size.item()), dtype=torch.uint8, device=self._device)
        if len(data) > 0:
            self._wait(self._dist.broadcast(data, src=0, group=group, async_op=True), group)
        return _bytes(data)

    def _tensor(self, text: bytes, length: int) -> Any:
        """The bytes, with zeros up to a length."""
        return self._torch.frombuffer(bytearray(text.ljust(length, b"\0")), dtype=self._torch.uint8).to(self._device) if length > 0 else \
            self._torch.zeros(0, dtype=self._torch.uint8, device=self._device)


def _bytes(data: Any) -> bytes:
    host = data.cpu()
    return ctypes.string_at(host.data_ptr(), len(host)) if len(host) > 0 else b""


def wait_for(work: Any, timeout_s: float) -> None:
    """Waits for an operation on a device, and raises when that takes too long,
    in which its group's own timeout would end the process.
    """
    deadline = time.monotonic() + timeout_s
    pause = 1e-4
    while not work.is_completed():
        if time.monotonic() > deadline:
            raise TimeoutError("the group did not come together within %g s" % timeout_s)
        time.sleep(pause)
        pause = min(0.05, 1.5 * pause)
    work.wait()  # orders the stream behind it, and raises where it failed
