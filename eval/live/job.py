"""One rank of a DDP job over Gloo, of which one rank becomes slow in the middle: see live.py."""

from __future__ import annotations

import argparse
import json
import os
import time
from typing import Any, Iterator

import torch
import torch.distributed as dist


class Fault:
    """Loses time in one stage of one rank, from a step on."""

    def __init__(self, options: argparse.Namespace, rank: int) -> None:
        self._options, self._mine = options, rank == options.slow
        self.step = 0

    def strike(self, stage: str) -> None:
        o = self._options
        if self._mine and stage == o.stage and self.step >= o.after:
            if self.step == o.after:
                with open(os.path.join(o.out, "fault"), "w", encoding="utf-8") as f:
                    f.write(str(time.time()))
            self.lose_time()

    def lose_time(self) -> None:
        time.sleep(self._options.ms / 1e3)


class Backward(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, fault: Fault) -> torch.Tensor:
        ctx.fault = fault
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        ctx.fault.strike("backward")
        return gradients[0], None


class Model(torch.nn.Module):
    def __init__(self, fault: Fault) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(128, 128) for _ in range(4)])
        self._fault = fault

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = torch.relu(layer(x))
            time.sleep(0.015)  # stands for the rest of a layer's work: the ranks share two cores
        return Backward.apply(x, self._fault)  # type: ignore[no-any-return]


def batches(steps: int, fault: Fault) -> Iterator[torch.Tensor]:
    for _ in range(steps):
        time.sleep(0.010)
        fault.strike("data")
        yield torch.randn(16, 128)


def recorder(options: argparse.Namespace) -> Any:
    from sfstat_recorder import Recorder, TorchGroup, Trigger

    trigger = {"router": Trigger(), "plan": Trigger(threshold=None)}.get(options.trigger)
    return Recorder(os.path.join(options.out, "job"), window=options.window, group=TorchGroup(), trigger=trigger)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--window", type=int, default=20)
    parser.add_argument("--stage", default="", help="of the delay: data, backward")
    parser.add_argument("--slow", type=int, default=2)
    parser.add_argument("--ms", type=float, default=60)
    parser.add_argument("--after", type=int, default=0)
    parser.add_argument("--trigger", default="", help="router, plan or nothing")
    parser.add_argument("--no-recorder", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    fault = Fault(options, dist.get_rank())
    model = torch.nn.parallel.DistributedDataParallel(Model(fault))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    perf = None if options.no_recorder else recorder(options)
    source: Any = batches(options.steps, fault)
    ends = [time.perf_counter()]
    for x in source if perf is None else perf.batches(source):
        if perf is None:
            model(x).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
        else:
            with perf.step():
                with perf.stage("model.fwd_loss_cpu_wall"):
                    loss = model(x).square().mean()
                with perf.stage("model.backward_cpu_wall"):
                    loss.backward()
                with perf.stage("optim.step_cpu_wall"):
                    optimizer.step()
                    optimizer.zero_grad()
        fault.step += 1
        ends.append(time.perf_counter())
    if perf is not None:
        perf.close(20)
    if dist.get_rank() == 0:
        with open(os.path.join(options.out, "steps.json"), "w", encoding="utf-8") as f:
            json.dump([b - a for a, b in zip(ends, ends[1:])], f)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
