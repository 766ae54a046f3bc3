"""The model: real parameters, gradients and buckets; the time that computing
would take is slept, piece by piece between the layers, so that a bucket is
reduced while the layers before it still "compute".
"""

# No postponed annotations here: DDP reads those of its hook as types.

import time
from typing import Any, Callable, List

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

LAYERS = 4
WIDTH = 256
BATCH = 8
BUCKET_MB = 0.5  # two layers of 256 KiB


class Pace:
    """How long the layers sleep in the pass that runs, in seconds."""

    def __init__(self) -> None:
        self.forward = 0.0
        self.backward = 0.0


class _Work(torch.autograd.Function):
    """Passes values and gradients on, after a while."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, pace: Pace) -> torch.Tensor:
        ctx.pace = pace
        _sleep(pace.forward / LAYERS)
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        _sleep(ctx.pace.backward / LAYERS)
        return gradients[0], None


_work: Callable[[torch.Tensor, Pace], torch.Tensor] = _Work.apply


def _sleep(seconds: float) -> None:
    if seconds > 0:
        time.sleep(seconds)


class Layers(torch.nn.Module):
    """Linear layers; the gradient of each follows its sleep in backward."""

    def __init__(self, pace: Pace) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)])
        self._pace = pace

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = torch.relu(_work(layer(x), self._pace))
        return x


class Delay:
    """How long this rank waits before the last bucket, in seconds."""

    def __init__(self) -> None:
        self.seconds = 0.0


def slow_reduce(delay: Delay, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:  # type: ignore[name-defined]
    """The all-reduce of DDP, with a wait before the last bucket of a pass."""
    if bucket.is_last():
        _sleep(delay.seconds)
    world = dist.get_world_size()
    work: Any = dist.all_reduce(bucket.buffer(), async_op=True)
    average: Callable[[Any], Any] = lambda future: future.value()[0].div_(world)
    averaged: torch.futures.Future[torch.Tensor] = work.get_future().then(average)
    return averaged


def parallel(model: Layers, devices: List[int]) -> DistributedDataParallel:
    """The model under DDP, on a GPU where one is given."""
    return DistributedDataParallel(model, device_ids=devices or None, bucket_cap_mb=BUCKET_MB)
