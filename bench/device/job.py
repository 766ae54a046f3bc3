"""One rank of a DDP job whose ranks share one GPU, for check.py.

    torchrun --nproc-per-node 2 job.py FOLDER FAULT DEVICE

Gradients are reduced over Gloo, for NCCL refuses two ranks on one device. FAULT is
none, device (rank 1 has more matrix products in forward) or host (rank 1 waits in
forward). FOLDER gets packets with device times of every step and, of each rank, a
trace of torch.profiler of four steps. On DEVICE cpu nothing is timed on a device.
"""

from __future__ import annotations

import os
import sys
import time

import torch
import torch.distributed as dist

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "recorder"))
from sfstat_recorder import BACKWARD, FORWARD, OPTIMIZER, Recorder, TorchGroup  # noqa: E402

STEPS, WARMUP, WINDOW = 60, 10, 25
TRACED = range(40, 44)
DELAY_S = 0.03
WIDTH = {"cuda": 2048, "cpu": 128}


def products_in(seconds: float, a: torch.Tensor) -> int:
    """How many products of a with itself take about that long on its device."""

    def wait() -> None:
        if a.is_cuda:
            torch.cuda.synchronize()

    a @ a
    wait()
    begin, n = time.perf_counter(), 20
    for _ in range(n):
        a @ a
    wait()
    return max(1, int(seconds * n / (time.perf_counter() - begin)))


def main(folder: str, fault: str, kind: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    device = torch.device(kind, 0) if kind == "cuda" else torch.device(kind)
    width = WIDTH[kind]
    layers = [torch.nn.Linear(width, width) for _ in range(4)]
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers).to(device))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    batch = torch.randn(64, width, device=device)
    extra = torch.randn(width, width, device=device)
    products = products_in(DELAY_S, extra)
    activities = [torch.profiler.ProfilerActivity.CPU] + ([torch.profiler.ProfilerActivity.CUDA] if kind == "cuda" else [])
    profiler = torch.profiler.profile(activities=activities, schedule=torch.profiler.schedule(wait=TRACED.start, warmup=0, active=len(TRACED)),
                                      on_trace_ready=lambda p: p.export_chrome_trace(os.path.join(folder, "trace-rank%d.json.gz" % rank)))
    os.makedirs(folder, exist_ok=True)
    perf = Recorder(os.path.join(folder, "packets"), role={"dp": rank}, window=WINDOW, first_step=0, group=TorchGroup())
    with profiler:
        for step in range(STEPS):
            with perf.step():
                with perf.stage(FORWARD), perf.cuda_event_sample("model.fwd_loss_cuda_event_ms", 1.0):
                    if rank == 1 and step >= WARMUP:
                        if fault == "device":
                            for _ in range(products):
                                extra @ extra
                        elif fault == "host":
                            time.sleep(DELAY_S)
                    loss = model(batch).square().mean()
                with perf.stage(BACKWARD):
                    loss.backward()
                with perf.stage(OPTIMIZER):
                    optimizer.step()
                    optimizer.zero_grad()
            profiler.step()
    if not perf.close(timeout_s=30):
        print("rank %d: not all windows were written" % rank, file=sys.stderr)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:4])
