"""Who records: the run, and this process's place in it."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass, field
from typing import Mapping, Optional

_RANK = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
_WORLD = ("WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE")
_LOCAL = ("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID")

# The names of runs, hosts and role axes are cut here, in bytes of UTF-8;
# sfstat refuses longer ones.
_MAX_NAME = 4096
_MAX_AXES = 64
_MAX_WORLD = 1 << 20


@dataclass(frozen=True)
class Identity:
    """One rank of one run.

    ``run`` must be the same on all ranks and another one for each launch: a
    run in which a rank reports a step twice is refused. ``role`` holds the
    coordinates of the rank (dp, pp, tp, ep, cp); ranks that differ in dp alone
    are peers. ``local_rank`` is -1 where it is not known.
    """

    run: str
    rank: int = 0
    world_size: int = 1
    local_rank: int = -1
    host: str = ""
    role: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 1 <= self.world_size <= _MAX_WORLD:
            raise ValueError("world_size is %d, expected 1 to %d" % (self.world_size, _MAX_WORLD))
        if not 0 <= self.rank < self.world_size:
            raise ValueError("rank %d in a world of %d: ranks count from 0" % (self.rank, self.world_size))
        if len(self.role) > _MAX_AXES or any(not axis or not 0 <= n < 1 << 31 for axis, n in self.role.items()):
            raise ValueError("role is %r, expected at most %d axes with an index from 0" % (dict(self.role), _MAX_AXES))
        for name in ("run", "host"):
            object.__setattr__(self, name, _clean(getattr(self, name)))
        object.__setattr__(self, "role", {_clean(axis): int(n) for axis, n in self.role.items()})

    @classmethod
    def detect(cls, run: str, role: Optional[Mapping[str, int]] = None) -> "Identity":
        """The place that torchrun, Slurm or MPI gave this process.

        A launcher that restarts a job counts the restarts; from the first one
        on, the count is appended to the name of the run.
        """
        attempt = max(_number(("TORCHELASTIC_RESTART_COUNT",), 0), _number(("SLURM_RESTART_COUNT",), 0))
        rank = max(0, _number(_RANK, 0))
        world = max(1, _number(_WORLD, 1))
        return cls(
            run="%s.%d" % (run, attempt) if attempt > 0 else run,
            rank=rank,
            world_size=max(world, rank + 1),
            local_rank=_number(_LOCAL, -1),
            host=socket.gethostname(),
            role=role or {},
        )


def _number(names: "tuple[str, ...]", otherwise: int) -> int:
    for name in names:
        try:
            return int(os.environ[name])
        except (KeyError, ValueError):
            continue
    return otherwise


def _clean(name: str) -> str:
    """The name as UTF-8 can hold it, and not too long."""
    return str(name).encode("utf-8", "replace")[:_MAX_NAME].decode("utf-8", "ignore")
