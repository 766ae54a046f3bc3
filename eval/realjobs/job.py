"""One rank of a real PyTorch job, in which a rank may be slow: see jobs.py.

    torchrun --nproc-per-node 4 job.py --framework ddp --family backward --slow 2 --ms 50 --steps 50

The work of a step is a small model and, in each stage, a sleep that stands for
the rest: eight ranks share the cores of one machine. A slow rank sleeps, or
computes, for longer inside the stage that --family names. With --packets the
job records itself, by the three lines of the recorder; without, it knows
nothing of it, and `python -m sfstat_recorder job.py …` records it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import sys
import time
from typing import Any, Callable, ContextManager, Iterator, List, Optional

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset, DistributedSampler

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from styles import STYLES  # noqa: E402

BATCH, WIDTH, LAYERS = 4, 64, 4
DATA_MS, FORWARD_MS, BACKWARD_MS, OPTIMIZER_MS = 5.0, 22.0, 35.0, 3.0


class Pace:
    """How long the stages of this rank take: the work that all ranks have, and
    what a slow one adds.
    """

    def __init__(self, options: argparse.Namespace, rank: int) -> None:
        self._options = options
        self._slow = str(rank) in options.slow.split(",")
        self._calls = 0
        self._draw = random.Random(options.seed * 1000 + rank)

    def work(self, ms: float) -> None:
        time.sleep(max(0.0, self._draw.gauss(ms, 0.04 * ms)) / 1e3)

    def fault(self, family: str) -> None:
        """Called once a step where the family's delay would be."""
        if not self._slow or family != self._options.family:
            return
        self._calls += 1
        if self._calls % self._options.every:
            return
        ms = self._options.ms
        if self._options.grows:
            ms *= 2 * min(1.0, self._calls / (self._options.steps * self._options.grows))
        seconds = self._draw.gauss(ms, 0.03 * ms) / 1e3
        if not self._options.compute:
            time.sleep(seconds)
            return
        end, a = time.perf_counter() + seconds, torch.randn(64, 64)
        while time.perf_counter() < end:
            a = torch.tanh(a @ a)


class Items(Dataset[torch.Tensor]):
    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, i: int) -> torch.Tensor:
        return torch.full((WIDTH,), float(i % 7))


class _Backward(torch.autograd.Function):
    """Passes values on, and in backward works for a while."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, work: Callable[[], None]) -> torch.Tensor:
        ctx.work = work
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        ctx.work()
        return gradients[0], None


class Model(torch.nn.Module):
    """Layers that work between one another, in forward and in backward."""

    def __init__(self, pace: Pace) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)])
        self._pace = pace

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for i, layer in enumerate(self.layers):
            x = torch.relu(layer(x))
            self._pace.work(FORWARD_MS / LAYERS)
            if i == 1:
                self._pace.fault("forward")
            x = _Backward.apply(x, self._backward_of(i))
        return x

    def _backward_of(self, layer: int) -> Callable[[], None]:
        def work() -> None:
            self._pace.work(BACKWARD_MS / LAYERS)
            if layer == LAYERS - 1:
                self._pace.fault("backward")  # before the first bucket
            if layer == 1:
                self._pace.fault("backward_late")  # between buckets

        return work


class Loop:
    """What the loops of all frameworks have in common."""

    def __init__(self, options: argparse.Namespace) -> None:
        rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        torch.set_num_threads(1)
        torch.manual_seed(options.seed)
        self.options = options
        self.pace = Pace(options, rank)
        self.model = Model(self.pace)
        self.items = Items(options.steps * BATCH * world)
        self.losses: List[torch.Tensor] = []

    def slowed(self, x: torch.Tensor, ms: float, family: str = "") -> torch.Tensor:
        """Passes values on, for whose gradients backward works for a while."""

        def work() -> None:
            self.pace.work(ms)
            self.pace.fault(family)

        return _Backward.apply(x, work)  # type: ignore[no-untyped-call, no-any-return]

    def collate(self, items: List[torch.Tensor]) -> torch.Tensor:
        self.pace.work(DATA_MS)
        self.pace.fault("data")
        return torch.stack(items)

    def loader(self, sampler: Optional[DistributedSampler[torch.Tensor]]) -> DataLoader[torch.Tensor]:
        return DataLoader(self.items, batch_size=BATCH, sampler=sampler, collate_fn=self.collate)

    def optimizer(self, parameters: Iterator[torch.nn.Parameter]) -> torch.optim.Optimizer:
        pace = self.pace

        class Optimizer(torch.optim.SGD):
            def step(self, closure: Optional[Callable[[], Any]] = None) -> Any:
                loss = closure() if closure is not None else None  # Lightning's forward and backward
                pace.work(OPTIMIZER_MS)
                pace.fault("optimizer")
                super().step()
                return loss

        return Optimizer(parameters, lr=1e-3)

    def recorder(self) -> Any:
        if not self.options.packets:
            return NoRecorder()
        from sfstat_recorder import Recorder

        return Recorder(self.options.packets, window=self.options.window)

    def learnt(self) -> str:
        """Every bit of the losses and of the weights after them, and what was compiled."""
        digest = hashlib.sha256()
        for value in [*self.losses, *self.model.parameters()]:
            digest.update(getattr(value, "to_local", lambda: value)().detach().numpy().tobytes())
        graphs = sys.modules["torch._dynamo.utils"].counters["stats"]["unique_graphs"] if "torch._dynamo.utils" in sys.modules else 0
        return "%d losses, %d graphs, %s" % (len(self.losses), graphs, digest.hexdigest())


class NoRecorder:
    """Where the recorder's lines would be."""

    def stage(self, _: str) -> ContextManager[None]:
        from contextlib import nullcontext

        return nullcontext()

    def step(self) -> ContextManager[None]:
        return self.stage("")

    def batches(self, loader: Any) -> Any:
        return loader

    def close(self) -> None:
        pass


def plain(loop: Loop, wrap: Callable[[torch.nn.Module], torch.nn.Module]) -> None:
    """A loop as the documentation shows it, with a metric that is reduced in
    every step.
    """
    dist.init_process_group("gloo")
    pace = loop.pace
    model = wrap(loop.model)
    optimizer = loop.optimizer(model.parameters())
    perf = loop.recorder()
    for x in perf.batches(loop.loader(DistributedSampler(loop.items, shuffle=False))):
        with perf.step():
            with perf.stage("model.fwd_loss_cpu_wall"):
                loss = model(x).square().mean()
                loop.losses.append(loss.detach())
            with perf.stage("model.backward_cpu_wall"):
                loss.backward()
            with perf.stage("callbacks.cpu_wall"):
                pace.fault("callback")
                metric = loss.detach().clone()
                dist.all_reduce(metric)
            with perf.stage("optim.step_cpu_wall"):
                optimizer.step()
                optimizer.zero_grad()
    perf.close()
    dist.destroy_process_group()


def ddp(loop: Loop) -> None:
    plain(loop, lambda model: torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=0.035))


def fsdp(loop: Loop) -> None:
    def wrap(model: torch.nn.Module) -> torch.nn.Module:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        mesh = init_device_mesh("cpu", (dist.get_world_size(),))
        for layer in model.layers:  # type: ignore[union-attr]
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
        return model

    plain(loop, wrap)


def compiled(loop: Loop) -> None:
    def wrap(model: torch.nn.Module) -> torch.nn.Module:
        layers = torch.nn.Sequential(*(layer for linear in model.layers for layer in (linear, torch.nn.GELU())))  # type: ignore[union-attr]
        whole: torch.nn.Module = torch.compile(torch.nn.parallel.DistributedDataParallel(layers), backend=loop.options.backend)  # type: ignore[assignment]
        return whole

    plain(loop, wrap)


def accelerate(loop: Loop) -> None:
    from accelerate import Accelerator

    pace = loop.pace
    accelerator = Accelerator(cpu=True)
    model, optimizer, loader = accelerator.prepare(loop.model, loop.optimizer(loop.model.parameters()), loop.loader(None))
    perf: Any = loop.recorder()
    for x in perf.batches(loader):
        with perf.step():
            with perf.stage("model.fwd_loss_cpu_wall"):
                loss = model(x).square().mean()
                loop.losses.append(loss.detach())
            with perf.stage("model.backward_cpu_wall"):
                accelerator.backward(loss)
            with perf.stage("callbacks.cpu_wall"):
                pace.fault("callback")
                accelerator.gather(loss.detach())
            with perf.stage("optim.step_cpu_wall"):
                optimizer.step()
                optimizer.zero_grad()
    perf.close()
    accelerator.end_training()


def trainer(loop: Loop) -> None:
    from transformers import Trainer, TrainerCallback, TrainingArguments

    pace, options = loop.pace, loop.options

    class Wrapped(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = loop.model

        def forward(self, x: torch.Tensor, labels: Optional[torch.Tensor] = None) -> Any:
            y = self.model(x)
            loss = y.square().mean()
            loop.losses.append(loss.detach())
            return {"loss": loss, "logits": y}

    class Callback(TrainerCallback):
        def on_step_end(self, *_: Any, **__: Any) -> None:
            pace.fault("callback")

    def collate(items: List[torch.Tensor]) -> Any:
        x = loop.collate(items)
        return {"x": x, "labels": x[:, 0]}

    callbacks: List[Any] = [Callback()]
    if options.packets:
        from sfstat_recorder.huggingface import callback

        callbacks.append(callback(options.packets, window=options.window))
    model = Wrapped()
    arguments = TrainingArguments(
        options.scratch, per_device_train_batch_size=BATCH, max_steps=options.steps, report_to=[], logging_steps=10_000,
        save_strategy="no", use_cpu=True, disable_tqdm=True, remove_unused_columns=False, max_grad_norm=0.0)
    Trainer(model, arguments, train_dataset=loop.items, data_collator=collate, callbacks=callbacks,
            optimizers=(loop.optimizer(model.parameters()), None)).train()


def lightning(loop: Loop) -> None:
    import lightning as lt

    pace, options = loop.pace, loop.options

    class Module(lt.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.model = loop.model

        def training_step(self, batch: torch.Tensor, _: int) -> torch.Tensor:
            loss: torch.Tensor = self.model(batch).square().mean()
            loop.losses.append(loss.detach())
            return loss

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return loop.optimizer(self.parameters())

        def train_dataloader(self) -> Any:
            return loop.loader(None)

    class Callback(lt.Callback):
        def on_train_batch_end(self, *_: Any, **__: Any) -> None:
            pace.fault("callback")

    callbacks: List[Any] = [Callback()]
    if options.packets:
        from sfstat_recorder.lightning import callbacks as recorded

        callbacks = recorded(options.packets, callbacks, window=options.window)
    lt.Trainer(accelerator="cpu", devices=int(os.environ["WORLD_SIZE"]), strategy="ddp", max_steps=options.steps, callbacks=callbacks,
               enable_progress_bar=False, enable_model_summary=False, logger=False, enable_checkpointing=False).fit(Module())


def main(arguments: Optional[List[str]] = None) -> None:
    frameworks = {"ddp": ddp, "fsdp": fsdp, "compiled": compiled, "accelerate": accelerate, "trainer": trainer, "lightning": lightning, **{name: style.run for name, style in STYLES.items()}}
    parser = argparse.ArgumentParser(description="One rank of a real PyTorch job with a rank that may be slow.")
    parser.add_argument("--framework", choices=sorted(frameworks), required=True)
    parser.add_argument("--family", default="", help="place of the delay: data, forward, backward, backward_late, callback, optimizer, or one of styles.py")
    parser.add_argument("--slow", default="", help="ranks, with commas")
    parser.add_argument("--ms", type=float, default=50.0)
    parser.add_argument("--every", type=int, default=1, help="steps from one delay to the next")
    parser.add_argument("--grows", type=float, default=0.0, help="delays a step, where the delay grows from nothing to twice --ms at the end")
    parser.add_argument("--compute", action="store_true", help="compute instead of sleeping")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--packets", default="", help="folder in which the job records itself")
    parser.add_argument("--window", type=int, default=100)
    parser.add_argument("--scratch", default="/tmp/sfstat-job", help="folder that the Trainer wants")
    parser.add_argument("--backend", default="inductor", help="of torch.compile")
    parser.add_argument("--learnt", default="", help="where each rank writes what it learnt: this and RANK.txt")
    parser.add_argument("--queue", default="", help="where each rank says how long it waited for a processor: this and RANK.json")
    options = parser.parse_args(arguments)
    begin, waited = time.monotonic_ns(), waited_ns()
    loop = Loop(options)
    frameworks[options.framework](loop)
    if options.learnt:
        with open("%s%s.txt" % (options.learnt, os.environ["RANK"]), "w", encoding="utf-8") as file:
            file.write(loop.learnt())
    if options.queue:
        with open("%s%s.json" % (options.queue, os.environ["RANK"]), "w", encoding="utf-8") as file:
            json.dump({"wall_ns": time.monotonic_ns() - begin, "waited_ns": waited_ns() - waited}, file)


def waited_ns() -> int:
    """How long the main thread was ready to run, and did not, by the kernel."""
    try:
        with open("/proc/self/schedstat", encoding="ascii") as file:
            return int(file.read().split()[1])
    except OSError:  # not Linux
        return 0


if __name__ == "__main__":
    main()
