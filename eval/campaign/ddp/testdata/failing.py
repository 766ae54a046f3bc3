"""The job with a failure around its recorder: failing.py FAILURE, then the
arguments of job.py.

Failures: hang (rank 3 stands still where its second window is gathered), full
(no file of rank 0 may grow beyond its first window, until the third is due), die
(rank 0 is killed in its third window).
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import time

import job
from sfstat_job import loop, run
from sfstat_recorder import TorchGroup

RANK = int(os.environ["RANK"])
PATIENCE_S = 1.5


def hang() -> None:
    calls = []
    tell = TorchGroup.tell

    def hanging(group: TorchGroup, message: bytes) -> bytes:
        calls.append(message)
        if RANK == 3 and len(calls) == 2:
            time.sleep(3 * PATIENCE_S)
        return tell(group, message)

    TorchGroup.tell = hanging  # type: ignore[method-assign]


def full() -> None:
    calls = []
    gather = TorchGroup.gather

    def filling(group: TorchGroup, payload: bytes):
        calls.append(payload)
        lines = gather(group, payload)
        if lines is not None and len(calls) == 1:
            limit(len(b"".join(lines)) + 100)
        elif lines is not None and len(calls) == 3:
            limit(resource.RLIM_INFINITY)
        return lines

    TorchGroup.gather = filling  # type: ignore[method-assign]


def limit(size: int) -> None:
    """No file grows beyond this; to the writer it is as a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def die() -> None:
    step = loop.Loop.step

    def dying(self, index, perf, events=0.0):
        if RANK == 0 and index == int(os.environ["DIE_AT"]):
            time.sleep(1)  # what was closed before is written
            os.kill(os.getpid(), signal.SIGKILL)
        step(self, index, perf, events)

    loop.Loop.step = dying


if __name__ == "__main__":
    {"hang": hang, "full": full, "die": die}[sys.argv[1]]()
    run.TorchGroup = lambda timeout_s: TorchGroup(PATIENCE_S)
    job.main(sys.argv[2:])
