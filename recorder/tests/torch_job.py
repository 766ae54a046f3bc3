"""One rank of a real DDP job over Gloo on the CPU: python3 -m tests.torch_job FOLDER FAULT.

Faults: none; hang (rank 1's gather stops for a while); die (rank 0 ends without
a word once the first window is written). "polled-hang" and the like wait as a
group over NCCL does.
"""

from __future__ import annotations

import datetime
import os
import sys
import time

import torch
import torch.distributed as dist

from sfstat_recorder import BACKWARD, FORWARD, OPTIMIZER, Recorder, TorchGroup
from sfstat_recorder.gather import wait_for


class Polled(TorchGroup):
    """Gives up by itself, and not because the backend does."""

    def _make(self, backend, timeout_s):
        return self._dist.new_group(backend=backend, timeout=datetime.timedelta(days=1))

    def _wait(self, work, group):
        wait_for(work, self._seconds[id(group)])


def main(folder: str, fault: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    group = (Polled if fault.startswith("polled-") else TorchGroup)(timeout_s=1.0)
    fault = fault.replace("polled-", "")
    if fault == "hang" and rank == 1:
        tell = group.tell
        calls = []

        def hang(message: bytes) -> bytes:
            calls.append(message)
            if len(calls) == 2:
                time.sleep(2.5)
            return tell(message)

        group.tell = hang  # type: ignore[method-assign]
    slowest = 0.0
    perf = Recorder(folder, role={"dp": rank}, window=5, group=group)
    for i, batch in enumerate(perf.batches(torch.randn(20, 8, 64))):
        begin = time.perf_counter()
        with perf.step():
            with perf.stage(FORWARD):
                loss = model(batch).square().mean()
            with perf.stage(BACKWARD):
                loss.backward()
            with perf.stage(OPTIMIZER):
                optimizer.step()
                optimizer.zero_grad()
        slowest = max(slowest, time.perf_counter() - begin)
        if fault == "die" and i == 9:
            dist.barrier()
            time.sleep(0.5)  # the first window is written
            if rank == 0:
                os._exit(0)
            break
    perf.close(timeout_s=20)
    print("slowest step %.3f s" % slowest)
    os._exit(0)  # without waiting for peers that are gone


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
