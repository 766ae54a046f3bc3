"""Bringing the packets of a window together on rank 0.

A :class:`Group` is what the writer needs of a communication library: two
collective calls that give up after a time. :class:`TorchGroup` is the one over
``torch.distributed``.
"""

from __future__ import annotations

import datetime
import importlib
from typing import Any, List, Optional

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
    """Process groups over Gloo of its own, apart from those of the training.

    Making one is a collective call: do it on all ranks at the same place, after
    ``init_process_group``. A rank that does not come within ``timeout_s``
    makes the call fail on the others; a Gloo group is of no use after that.
    """

    def __init__(self, timeout_s: float = 30.0) -> None:
        self._torch: Any = importlib.import_module("torch")
        self._dist: Any = importlib.import_module("torch.distributed")
        self._rank: int = self._dist.get_rank()
        self._world: int = self._dist.get_world_size()
        self._group = self._make(timeout_s)
        # Rank 0 may wait timeout_s for the last payload, and then writes. Who
        # waits for its answer must not give up before: the packet would be
        # written twice.
        self._patient = self._make(3 * timeout_s)
        # So that the recorder's own collectives are told from the training's.
        self.names = tuple(str(g.group_name) for g in (self._group, self._patient) if hasattr(g, "group_name"))

    def tell(self, message: bytes) -> bytes:
        return self._broadcast(message, self._group)

    def answer(self, message: bytes) -> bytes:
        return self._broadcast(message, self._patient)

    def gather(self, payload: bytes) -> Optional[List[bytes]]:
        everyone: Optional[List[Any]] = [None] * self._world if self._rank == 0 else None
        self._dist.gather_object(payload, everyone, dst=0, group=self._group)
        return everyone

    def _make(self, timeout_s: float) -> Any:
        return self._dist.new_group(backend="gloo", timeout=datetime.timedelta(seconds=timeout_s))

    def _broadcast(self, message: bytes, group: Any) -> bytes:
        """A length and then the bytes: the others do not know how many come."""
        torch = self._torch
        size = torch.tensor([len(message)], dtype=torch.int64)
        self._dist.broadcast(size, src=0, group=group)
        data = torch.zeros(int(size.item()), dtype=torch.uint8)
        if self._rank == 0:
            data = torch.tensor(list(message), dtype=torch.uint8)
        if len(data) > 0:
            self._dist.broadcast(data, src=0, group=group)
        return bytes(data.tolist())
