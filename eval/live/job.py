"""One rank of a DDP job over Gloo, of which one rank becomes slow in the middle: see live.py."""

from __future__ import annotations

import argparse
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

    return Recorder(os.path.join(options.out, "job"), window=options.window, group=TorchGroup(), trigger=Trigger() if options.trigger else None)


def train(source: Any, one: Any, perf: Any, fault: Fault) -> None:
    for x in perf.batches(source):
        with perf.step():
            with perf.stage("model.fwd_loss_cpu_wall"):
                one.forward(x)
            with perf.stage("model.backward_cpu_wall"):
                one.backward()
            with perf.stage("optim.step_cpu_wall"):
                one.update()
        fault.step += 1


class Step:
    """The parts of a training step."""

    def __init__(self, model: torch.nn.Module) -> None:
        self._model, self._optimizer = model, torch.optim.SGD(model.parameters(), lr=1e-3)

    def forward(self, x: torch.Tensor) -> None:
        self._loss = self._model(x).square().mean()

    def backward(self) -> None:
        self._loss.backward()

    def update(self) -> None:
        self._optimizer.step()
        self._optimizer.zero_grad()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--window", type=int, default=20)
    parser.add_argument("--stage", default="", help="of the delay: data, backward")
    parser.add_argument("--slow", type=int, default=2)
    parser.add_argument("--ms", type=float, default=60)
    parser.add_argument("--after", type=int, default=0)
    parser.add_argument("--trigger", action="store_true", help="have late ranks profiled")
    options = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    fault = Fault(options, dist.get_rank())
    one = Step(torch.nn.parallel.DistributedDataParallel(Model(fault)))
    perf = recorder(options)
    train(batches(options.steps, fault), one, perf, fault)
    perf.close(20)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
