"""Training loops as people write them, which job.py runs beside those of the frameworks:
what makes ranks wait differs, and what lies outside of forward, backward and the
optimizer. None of them knows of the recorder.
"""

from __future__ import annotations

import contextlib
import os
import random
import tempfile
import time
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Tuple

import torch
import torch.distributed as dist

DATA, FORWARD, BACKWARD, OPTIMIZER, CALLBACKS = "data.next_wait", "model.fwd_loss_cpu_wall", "model.backward_cpu_wall", "optim.step_cpu_wall", "callbacks.cpu_wall"
OUTSIDE = "step.other_cpu_wall"
RARE = 10  # steps from one checkpoint, or one exchange of a local optimizer, to the next


def batches(loop: Any) -> Iterator[torch.Tensor]:
    from torch.utils.data import DistributedSampler

    return iter(loop.loader(DistributedSampler(loop.items, shuffle=False)))


@contextlib.contextmanager
def group() -> Iterator[None]:
    dist.init_process_group("gloo")
    yield
    dist.destroy_process_group()


def reduced(model: torch.nn.Module) -> torch.nn.Module:
    return torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=0.035)


def manual(loop: Any) -> None:
    """Gradients reduced in one tensor, a metric gathered, a barrier in every step."""
    with group():
        model, pace = loop.model, loop.pace
        optimizer = loop.optimizer(model.parameters())
        for x in batches(loop):
            loss = model(x).square().mean()
            loss.backward()
            pace.fault("flatten")
            flat = torch.cat([p.grad.flatten() for p in model.parameters()])
            dist.all_reduce(flat)
            at = 0
            for p in model.parameters():
                p.grad.copy_(flat[at : at + p.numel()].view_as(p) / dist.get_world_size())
                at += p.numel()
            optimizer.step()
            optimizer.zero_grad()
            pace.fault("metric")
            metrics = [torch.zeros(1) for _ in range(dist.get_world_size())]
            dist.all_gather(metrics, loss.detach().view(1))
            loop.losses.append(torch.cat(metrics).mean())
            pace.fault("log")
            dist.barrier()


def local(loop: Any) -> None:
    """Steps of each rank alone, and every tenth an outer one of what they differ in."""
    with group():
        model, pace = loop.model, loop.pace
        optimizer = loop.optimizer(model.parameters())
        outer = [p.detach().clone().requires_grad_() for p in model.parameters()]
        exchange = torch.optim.SGD(outer, lr=0.7, momentum=0.9, nesterov=True)
        for i, x in enumerate(batches(loop)):
            pace.fault("augment")
            loss = model(x).square().mean()
            loop.losses.append(loss.detach())
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            if i % RARE == RARE - 1:
                pace.fault("outer")
                for o, p in zip(outer, model.parameters()):
                    o.grad = o.detach() - p.detach()
                    dist.all_reduce(o.grad)
                exchange.step()
                with torch.no_grad():
                    for o, p in zip(outer, model.parameters()):
                        p.copy_(o)


def policy(loop: Any) -> None:
    """Generation in evaluation mode, rewards reduced, then four optimizer steps on them."""
    with group():
        pace, core = loop.pace, loop.model
        model = reduced(core)
        optimizer = loop.optimizer(model.parameters())
        for i, x in enumerate(batches(loop)):
            if i >= loop.options.steps // 4:
                break
            core.eval()
            with torch.no_grad():
                core(x)
                pace.fault("generation")
            core.train()
            pace.work(5)
            pace.fault("reward")
            rewards = torch.randn(16)
            dist.all_reduce(rewards)
            for _ in range(4):
                loss = (model(x).square() * rewards.mean()).mean()
                pace.fault("loss")
                loop.losses.append(loss.detach())
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()


def adversarial(loop: Any) -> None:
    """A generator and a discriminator, each with an optimizer, and averaged weights."""
    with group():
        pace, world = loop.pace, dist.get_world_size()
        generator = reduced(loop.model)
        width = loop.model.layers[0].in_features
        critic = reduced(torch.nn.Linear(width, width))
        own, its = loop.optimizer(generator.parameters()), torch.optim.SGD(critic.parameters(), lr=1e-3)
        average = [p.detach().clone() for p in loop.model.parameters()]
        for x in batches(loop):
            pace.fault("augment")
            fake = generator(x)
            loss = critic(fake.detach()).square().mean() - critic(x).square().mean()
            loss.backward()
            its.step()
            its.zero_grad()
            loss = critic(fake).square().mean() / world
            loop.losses.append(loss.detach())
            loss.backward()
            own.step()
            own.zero_grad()
            its.zero_grad()
            pace.fault("average")
            with torch.no_grad():
                for a, p in zip(average, loop.model.parameters()):
                    a.lerp_(p, 0.01)


def experts(loop: Any) -> None:
    """Tokens exchanged all to all before and after the experts of each rank."""

    class Exchange(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            out = torch.empty_like(x)
            dist.all_to_all_single(out, x.contiguous())
            return out

        @staticmethod
        def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
            return Exchange.forward(ctx, gradients[0])

    class Mixture(torch.nn.Module):
        def __init__(self, model: torch.nn.Module, experts: torch.nn.Module) -> None:
            super().__init__()
            self.model, self.experts = model, experts

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = Exchange.apply(self.model(x).repeat(dist.get_world_size(), 1))
            loop.pace.work(8)
            loop.pace.fault("expert")
            return Exchange.apply(self.experts(x))  # type: ignore[no-any-return]

    with group():
        width = loop.model.layers[0].in_features
        model = reduced(Mixture(loop.model, torch.nn.Linear(width, width)))
        optimizer = loop.optimizer(model.parameters())
        for x in batches(loop):
            loss = model(x).square().mean()
            loop.losses.append(loss.detach())
            loss.backward()
            loop.pace.fault("clip")
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()


def saved(loop: Any) -> None:
    """A checkpoint by rank 0 before a barrier, every tenth step."""
    with group(), tempfile.TemporaryDirectory() as folder:
        pace = loop.pace
        model = reduced(loop.model)
        optimizer = loop.optimizer(model.parameters())
        for i, x in enumerate(batches(loop)):
            loss = model(x).square().mean()
            loop.losses.append(loss.detach())
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            pace.fault("log")
            if i % RARE == RARE - 1:
                if dist.get_rank() == 0:
                    torch.save(loop.model.state_dict(), os.path.join(folder, "c.pt"))
                    pace.fault("save")
                dist.barrier()


def sharded(loop: Any) -> None:
    """ZeRO's first stage: the optimizer's state over the ranks."""
    from torch.distributed.optim import ZeroRedundancyOptimizer

    with group():
        pace = loop.pace
        model = reduced(loop.model)
        optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=1e-3)
        for x in batches(loop):
            loss = model(x).square().mean()
            loop.losses.append(loss.detach())
            loss.backward()
            pace.fault("clip")
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()


def accumulated(loop: Any) -> None:
    """Three batches to a step, reduced with the last."""
    with group():
        pace = loop.pace
        model: Any = reduced(loop.model)
        optimizer = loop.optimizer(model.parameters())
        for i, x in enumerate(batches(loop)):
            last = i % 3 == 2
            with contextlib.nullcontext() if last else model.no_sync():
                loss = model(x).square().mean() / 3
                loop.losses.append(loss.detach())
                loss.backward()
            if last:
                pace.fault("scheduler")
                optimizer.step()
                optimizer.zero_grad()


def parallel(loop: Any) -> None:
    """Tensor parallelism: layers whose partial sums are reduced in forward and backward."""

    class Reduce(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            x = x.clone()
            dist.all_reduce(x)
            return x

        @staticmethod
        def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
            return Reduce.forward(ctx, gradients[0])

    class Partial(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = loop.model.layers

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for layer in self.layers:
                loop.pace.work(6)
                loop.pace.fault("layer")
                x = Reduce.apply(torch.relu(layer(x)))
            return x

    with group():
        model = Partial()
        optimizer = loop.optimizer(model.parameters())
        for x in batches(loop):
            loss = model(x).square().mean()
            loop.losses.append(loss.detach())
            loss.backward()
            loop.pace.fault("unscale")
            optimizer.step()
            optimizer.zero_grad()


def pipelined(loop: Any) -> None:
    """Two stages of a pipeline, four micro-batches each, the gradients of a stage reduced."""
    with group():
        rank, world, pace = dist.get_rank(), dist.get_world_size(), loop.pace
        groups = [dist.new_group(list(range(stage, world, 2))) for stage in range(2)]
        peer, mine = rank ^ 1, groups[rank % 2]
        optimizer = loop.optimizer(loop.model.parameters())
        for x in batches(loop):
            sent, sending = [], []
            for _ in range(4):
                if rank % 2 == 0:
                    y = loop.model.layers[0](x)
                    pace.work(8)
                    pace.fault("micro")
                    dist.send(y.detach(), peer)
                    sent.append(y)
                else:
                    given = torch.empty_like(x)
                    dist.recv(given, peer)
                    given.requires_grad_()
                    pace.work(8)
                    pace.fault("micro")
                    loop.model.layers[1](given).square().mean().backward()
                    sending.append(dist.isend(given.grad, peer))
            for y in sent:
                gradient = torch.empty_like(y)
                dist.recv(gradient, peer)
                y.backward(gradient)
            for message in sending:
                message.wait()
            pace.fault("reduce")
            for p in loop.model.layers[rank % 2].parameters():
                dist.all_reduce(p.grad, group=mine)
            optimizer.step()
            optimizer.zero_grad()


def evaluated(loop: Any) -> None:
    """The Trainer with its own loss, evaluations and checkpoints."""
    from transformers import Trainer, TrainerCallback, TrainingArguments

    pace, options = loop.pace, loop.options

    class Wrapped(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = loop.model

        def forward(self, x: torch.Tensor, labels: Any = None) -> Any:
            y = self.model(x)
            return {"loss": y.square().mean(), "logits": y}

    class Own(Trainer):
        def compute_loss(self, *given: Any, **named: Any) -> Any:
            loss = super().compute_loss(*given, **named)
            pace.fault("loss")
            return loss

    class Logged(TrainerCallback):
        def on_step_end(self, *_: Any, **__: Any) -> None:
            pace.fault("callback")

    def collate(items: List[torch.Tensor]) -> Any:
        x = loop.collate(items)
        return {"x": x, "labels": x[:, 0]}

    model = Wrapped()
    arguments = TrainingArguments(
        options.scratch, per_device_train_batch_size=4, per_device_eval_batch_size=4, max_steps=options.steps, report_to=[], logging_steps=5, save_steps=30, eval_strategy="steps", eval_steps=20, use_cpu=True,
        disable_tqdm=True, remove_unused_columns=False)
    Own(model, arguments, train_dataset=loop.items, eval_dataset=torch.utils.data.Subset(loop.items, range(16)), data_collator=collate, callbacks=[Logged()],
        optimizers=(loop.optimizer(model.parameters()), None)).train()


def hooked(loop: Any) -> None:
    """Lightning: two batches to a step, validation, hooks of the module and of a callback."""
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

        def validation_step(self, batch: torch.Tensor, _: int) -> None:
            self.log("val", self.model(batch).square().mean(), sync_dist=True)

        def on_train_batch_end(self, *_: Any) -> None:
            pace.fault("hook")

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return loop.optimizer(self.parameters())  # type: ignore[no-any-return]

    class Logged(lt.Callback):
        def on_train_batch_end(self, *_: Any, **__: Any) -> None:
            pace.fault("callback")

    held = torch.utils.data.DataLoader(torch.utils.data.Subset(loop.items, range(8)), batch_size=4)
    lt.Trainer(accelerator="cpu", devices=int(os.environ["WORLD_SIZE"]), strategy="ddp", max_steps=options.steps // 2, accumulate_grad_batches=2, val_check_interval=20, callbacks=[Logged()],
               enable_progress_bar=False, enable_model_summary=False, logger=False, enable_checkpointing=False).fit(Module(), loop.loader(None), held)


def overlapped(loop: Any) -> None:
    """Gradients reduced by hooks as each is ready, and awaited before the optimizer."""
    with group():
        model, pace = loop.model, loop.pace
        optimizer = loop.optimizer(model.parameters())
        sending: List[Any] = []
        for p in model.parameters():
            p.register_post_accumulate_grad_hook(lambda q: sending.append(dist.all_reduce(q.grad, async_op=True)))
        for x in batches(loop):
            loss = model(x).square().mean()
            loss.backward()
            pace.fault("norm")
            while sending:
                sending.pop(0).wait()
            optimizer.step()
            optimizer.zero_grad()
            loop.losses.append(loss.detach())


def nested(loop: Any) -> None:
    """Gradients reduced among two ranks, then among the first of each two, and handed down."""
    with group():
        rank, world, model, pace = dist.get_rank(), dist.get_world_size(), loop.model, loop.pace
        nodes = [dist.new_group([i, i + 1]) for i in range(0, world, 2)]
        leaders, node = dist.new_group(list(range(0, world, 2))), nodes[rank // 2]
        optimizer = loop.optimizer(model.parameters())
        for x in batches(loop):
            model(x).square().mean().backward()
            pace.fault("flatten")
            flat = torch.nn.utils.parameters_to_vector(p.grad for p in model.parameters())
            dist.all_reduce(flat, group=node)
            if rank % 2 == 0:
                dist.all_reduce(flat, group=leaders)
            dist.broadcast(flat, rank - rank % 2, group=node)
            at = 0
            for p in model.parameters():
                p.grad.copy_(flat[at : at + p.numel()].view_as(p) / world)
                at += p.numel()
            optimizer.step()
            optimizer.zero_grad()
            pace.fault("log")


def ring(loop: Any) -> None:
    """Blocks of the sequence passed from rank to rank, then reduced gradients."""
    with group():
        rank, world, pace = dist.get_rank(), dist.get_world_size(), loop.pace
        model = reduced(loop.model)
        optimizer = loop.optimizer(model.parameters())
        for x in batches(loop):
            block = x
            for _ in range(world - 1):
                got = torch.empty_like(block)
                messages = [dist.P2POp(dist.isend, block, (rank + 1) % world), dist.P2POp(dist.irecv, got, (rank - 1) % world)]
                for message in dist.batch_isend_irecv(messages):
                    message.wait()
                pace.work(3)
                pace.fault("block")
                block = got
            loss = model(x + block).square().mean()
            loop.losses.append(loss.detach())
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()


def served(loop: Any) -> None:
    """Rank 0 gathers gradients, makes the step and hands the weights out."""
    with group():
        rank, world, model, pace = dist.get_rank(), dist.get_world_size(), loop.model, loop.pace
        optimizer = loop.optimizer(model.parameters())
        for x in batches(loop):
            model(x).square().mean().backward()
            pace.fault("compress")
            flat = torch.nn.utils.parameters_to_vector(p.grad for p in model.parameters())
            gathered = [torch.empty_like(flat) for _ in range(world)] if rank == 0 else None
            dist.gather(flat, gathered)
            if gathered is not None:
                mean, at = torch.stack(gathered).mean(0), 0
                for p in model.parameters():
                    p.grad.copy_(mean[at : at + p.numel()].view_as(p))
                    at += p.numel()
                optimizer.step()
            optimizer.zero_grad()
            pace.fault("outbox")
            weights = torch.nn.utils.parameters_to_vector(model.parameters()).detach()
            dist.broadcast(weights, 0)
            torch.nn.utils.vector_to_parameters(weights, model.parameters())


def threaded(loop: Any) -> None:
    """Batches made by a thread of the program's own, and taken from a queue."""
    import queue
    import threading

    with group():
        pace = loop.pace
        model = reduced(loop.model)
        optimizer = loop.optimizer(model.parameters())
        made: "queue.Queue[torch.Tensor]" = queue.Queue(maxsize=1)

        def produce() -> None:
            for i in range(loop.options.steps):
                time.sleep(0.09)  # longer than a step: batches are what it waits for
                pace.fault("tokens")
                made.put(torch.full((8, loop.model.layers[0].in_features), float(i % 7)))

        threading.Thread(target=produce, daemon=True).start()
        for _ in range(loop.options.steps):
            x = made.get()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            pace.fault("log")


def traced(loop: Any) -> None:
    """A compiled model, gradients clipped, and every fifth step a value gathered."""
    with group():
        pace, world = loop.pace, dist.get_world_size()
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*loop.model.layers))
        predict: Any = torch.compile(model, backend="eager")
        optimizer = loop.optimizer(model.parameters())
        best = float("inf")
        for i, x in enumerate(batches(loop)):
            pace.work(20)
            pace.fault("mask")
            loss = predict(x).square().mean()
            (loss / world).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            if i % 5 == 4:
                pace.fault("gather")
                value = loss.detach().clone()
                dist.all_reduce(value, op=dist.ReduceOp.MAX)
                best = min(best, float(value))


def gossiped(loop: Any) -> None:
    """Weights averaged with those of both neighbours in a ring, by messages alone."""
    with group():
        rank, world, model, pace = dist.get_rank(), dist.get_world_size(), loop.model, loop.pace
        optimizer = loop.optimizer(model.parameters())
        for x in batches(loop):
            pace.fault("augment")
            loss = model(x).square().mean()
            loop.losses.append(loss.detach())
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            mine = torch.nn.utils.parameters_to_vector(model.parameters()).detach()
            left, right = torch.empty_like(mine), torch.empty_like(mine)
            messages = [dist.isend(mine, (rank + 1) % world), dist.isend(mine, (rank - 1) % world)]
            dist.recv(left, (rank - 1) % world)
            dist.recv(right, (rank + 1) % world)
            for message in messages:
                message.wait()
            torch.nn.utils.vector_to_parameters((mine + left + right) / 3, model.parameters())


def streamed(loop: Any) -> None:
    """Local steps, and every eighth an outer one whose sums are awaited eight steps later."""
    with group():
        model, pace = loop.model, loop.pace
        optimizer = loop.optimizer(model.parameters())
        outer = torch.nn.utils.parameters_to_vector(model.parameters()).detach()
        sending: Any = None
        for i, x in enumerate(batches(loop)):
            pace.fault("augment")
            loss = model(x).square().mean()
            loop.losses.append(loss.detach())
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            if i % 8 == 7:
                if sending is not None:
                    sending.wait()
                    outer = outer - 0.7 * difference / dist.get_world_size()
                pace.fault("prepare")
                difference = outer - torch.nn.utils.parameters_to_vector(model.parameters()).detach()
                sending = dist.all_reduce(difference, async_op=True)
        if sending is not None:
            sending.wait()


def interleaved(loop: Any) -> None:
    """PyTorch's interleaved 1F1B: two stages of a pipeline on each rank, micro-batches of one sample."""
    from torch.distributed.pipelining import PipelineStage, ScheduleInterleaved1F1B

    class Chunk(torch.nn.Module):
        def __init__(self, index: int) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(loop.model.layers[0].in_features, loop.model.layers[0].out_features)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            loop.pace.work(4)
            loop.pace.fault("micro")
            return loop.slowed(torch.relu(self.layer(x)), 8)  # type: ignore[no-any-return]

    with group():
        rank, world, pace = dist.get_rank(), dist.get_world_size(), loop.pace
        chunks = [Chunk(rank), Chunk(rank + world)]
        stages = [PipelineStage(chunk, rank + i * world, 2 * world, torch.device("cpu")) for i, chunk in enumerate(chunks)]
        schedule = ScheduleInterleaved1F1B(stages, 4, loss_fn=lambda y, target: (y - target).square().mean())
        optimizer = loop.optimizer([p for chunk in chunks for p in chunk.parameters()])
        for x in batches(loop):
            pace.fault("log")
            if rank == 0:
                schedule.step(x)
            elif rank == world - 1:
                schedule.step(target=x, losses=loop.losses)
            else:
                schedule.step()
            optimizer.step()
            optimizer.zero_grad()


def meshed(loop: Any) -> None:
    """Two dimensions: layers split over two ranks, and what is left sharded over the others."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    class Block(torch.nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.up, self.down = torch.nn.Linear(width, 2 * width), torch.nn.Linear(2 * width, width)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            loop.pace.work(8)
            loop.pace.fault("block")
            return loop.slowed(x + self.down(torch.relu(self.up(x))), 12)  # type: ignore[no-any-return]

    with group():
        pace = loop.pace
        mesh = init_device_mesh("cpu", (dist.get_world_size() // 2, 2), mesh_dim_names=("dp", "tp"))
        model = torch.nn.Sequential(*(Block(loop.model.layers[0].in_features) for _ in range(3)))
        for block in model:
            parallelize_module(block, mesh["tp"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
            fully_shard(block, mesh=mesh["dp"])
        fully_shard(model, mesh=mesh["dp"])
        optimizer = loop.optimizer(model.parameters())
        for x in batches(loop):
            loss = model(x).square().mean()
            loop.losses.append(loss.detach())
            loss.backward()
            pace.fault("clip")
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()


def replicated(loop: Any) -> None:
    """Weights sharded over two ranks, replicated over the others, and two batches to a step."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    with group():
        pace, model = loop.pace, loop.model
        mesh = init_device_mesh("cpu", (dist.get_world_size() // 2, 2), mesh_dim_names=("replicate", "shard"))
        for layer in model.layers:
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
        optimizer = loop.optimizer(model.parameters())
        for i, x in enumerate(batches(loop)):
            last = i % 2 == 1
            model.set_requires_gradient_sync(last)
            loss = model(x).square().mean() / 2
            loop.losses.append(loss.detach())
            loss.backward()
            if last:
                pace.fault("clip")
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()


def staged(loop: Any) -> None:
    """PyTorch's 1F1B over two stages, whose gradients are reduced among the replicas of each."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B

    class Part(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(loop.model.layers[0].in_features, loop.model.layers[0].out_features)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            loop.pace.work(6)
            loop.pace.fault("micro")
            return loop.slowed(torch.relu(self.layer(x)), 10)  # type: ignore[no-any-return]

    with group():
        part: Any = Part()
        pace = loop.pace
        mesh = init_device_mesh("cpu", (dist.get_world_size() // 2, 2), mesh_dim_names=("dp", "pp"))
        index, replicas = mesh.get_local_rank("pp"), mesh.get_group("dp")
        stage = PipelineStage(part, index, 2, torch.device("cpu"), group=mesh.get_group("pp"))
        schedule = Schedule1F1B(stage, 4, loss_fn=lambda y, target: (y - target).square().mean())
        optimizer = loop.optimizer(part.parameters())
        for x in batches(loop):
            pace.fault("augment")
            if index == 0:
                schedule.step(x)
            else:
                schedule.step(target=x, losses=loop.losses)
            pace.fault("reduce")
            for p in part.parameters():
                dist.all_reduce(p.grad, group=replicas)
            optimizer.step()
            optimizer.zero_grad()


def gathered(loop: Any) -> None:
    """Context parallelism: keys and values gathered, of which a later block attends to more."""
    from torch.distributed.nn.functional import all_gather

    class Attention(torch.nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.query, self.pair = torch.nn.Linear(width, width), torch.nn.Linear(width, 2 * width)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            rank = dist.get_rank()
            loop.pace.work(3)
            loop.pace.fault("keys")
            pair = torch.cat(all_gather(self.pair(x)))  # type: ignore[no-untyped-call]
            loop.pace.work(3 + rank / 2)
            loop.pace.fault("attention")
            key, value = pair[: (rank + 1) * len(x)].chunk(2, dim=1)
            return loop.slowed(x + torch.softmax(self.query(x) @ key.T, dim=1) @ value, 6)  # type: ignore[no-any-return]

    with group():
        pace, width = loop.pace, loop.model.layers[0].in_features
        model = reduced(torch.nn.Sequential(Attention(width), Attention(width), loop.model))
        optimizer = loop.optimizer(model.parameters())
        for x in batches(loop):
            loss = model(x).square().mean()
            loop.losses.append(loss.detach())
            loss.backward()
            pace.fault("clip")
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()


def routed(loop: Any) -> None:
    """Experts that drop no token: as many are exchanged as each step routes to each rank."""
    from torch.distributed.nn.functional import all_to_all_single

    class Mixture(torch.nn.Module):
        def __init__(self, expert: torch.nn.Module, gate: torch.nn.Module) -> None:
            super().__init__()
            self.dense, self.gate, self.expert = loop.model, gate, expert

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            tokens = self.dense(x).repeat(16, 1)
            loop.pace.fault("route")
            scores = self.gate(tokens)
            to = torch.nn.functional.gumbel_softmax(scores, dim=1).argmax(dim=1)
            order, sent = to.argsort(), torch.bincount(to, minlength=dist.get_world_size())
            got = torch.empty_like(sent)
            dist.all_to_all_single(got, sent)
            mine = all_to_all_single(tokens.new_empty(int(got.sum()), tokens.shape[1]), tokens[order], got.tolist(), sent.tolist())  # type: ignore[no-untyped-call]
            loop.pace.work(8)
            loop.pace.fault("expert")
            back = all_to_all_single(torch.empty_like(tokens), self.expert(mine), sent.tolist(), got.tolist())  # type: ignore[no-untyped-call]
            return back[order.argsort()] * scores.softmax(dim=1).amax(dim=1, keepdim=True)  # type: ignore[no-any-return]

    with group():
        rank, world, pace, width = dist.get_rank(), dist.get_world_size(), loop.pace, loop.model.layers[0].in_features
        model = Mixture(torch.nn.Linear(width, width), torch.nn.Linear(width, world))
        optimizer = loop.optimizer(model.parameters())
        shared = [*model.dense.parameters(), *model.gate.parameters()]
        torch.manual_seed(rank)
        for x in batches(loop):
            loss = model(x).square().mean()
            loop.losses.append(loss.detach())
            loss.backward()
            pace.fault("grads")
            flat = torch.cat([p.grad.flatten() for p in shared])
            dist.all_reduce(flat)
            torch.nn.utils.vector_to_parameters(flat / world, [p.grad for p in shared])
            optimizer.step()
            optimizer.zero_grad()


def compressed(loop: Any) -> None:
    """A static graph, two batches to a step, gradients reduced as halves of their bytes."""
    from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook

    with group():
        pace = loop.pace
        model = torch.nn.parallel.DistributedDataParallel(loop.model, bucket_cap_mb=0.035, static_graph=True)
        model.register_comm_hook(None, fp16_compress_hook)
        optimizer = loop.optimizer(model.parameters())
        for i, x in enumerate(batches(loop)):
            last = i % 2 == 1
            with contextlib.nullcontext() if last or i == 0 else model.no_sync():  # the first learns the graph
                loss = model(x).square().mean() / 2
                loop.losses.append(loss.detach())
                loss.backward()
            if last:
                pace.fault("scheduler")
                optimizer.step()
                optimizer.zero_grad()


def joined(loop: Any) -> None:
    """Fewer batches on later ranks, which take part in what the others reduce until all are done."""
    with group():
        pace = loop.pace
        model: Any = reduced(loop.model)
        optimizer = loop.optimizer(model.parameters())
        count = len(loop.items) // dist.get_world_size() - 8 * dist.get_rank()
        with model.join():
            for x in loop.loader(range(count)):
                loss = model(x).square().mean()
                loop.losses.append(loss.detach())
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                pace.fault("log")


def embedded(loop: Any) -> None:
    """Indices from rank 0, looked up in the table of each rank, and the rows exchanged."""
    from torch.distributed.nn.functional import all_to_all_single

    class Table(torch.nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.rows = torch.nn.Embedding(1000, width)

        def forward(self, indices: torch.Tensor) -> torch.Tensor:
            rows = self.rows(indices)
            loop.pace.work(6)
            loop.pace.fault("lookup")
            return all_to_all_single(torch.empty_like(rows), rows)  # type: ignore[no-untyped-call, no-any-return]

    class Interaction(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.dense = loop.model

        def forward(self, x: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
            loop.pace.fault("interaction")
            return self.dense(x + rows.view(dist.get_world_size(), *x.shape).sum(dim=0))  # type: ignore[no-any-return]

    with group():
        pace, world = loop.pace, dist.get_world_size()
        table, model = Table(loop.model.layers[0].in_features), reduced(Interaction())
        optimizer = loop.optimizer([*table.parameters(), *model.parameters()])
        for x in batches(loop):
            indices = torch.randint(1000, (world * len(x),))
            pace.fault("indices")
            dist.broadcast(indices, 0)
            loss = model(x, table(indices)).square().mean()
            loop.losses.append(loss.detach())
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()


def validated(loop: Any) -> None:
    """An evaluation by rank 0 alone, every tenth step, while the others go on."""
    with group():
        pace, core = loop.pace, loop.model
        model = reduced(core)
        optimizer = loop.optimizer(model.parameters())
        held, best = torch.randn(8, core.layers[0].in_features), float("inf")
        for i, x in enumerate(batches(loop)):
            loss = model(x).square().mean()
            loop.losses.append(loss.detach())
            loss.backward()
            pace.fault("clip")
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            if i % RARE == RARE - 1 and dist.get_rank() == 0:
                core.eval()
                with torch.no_grad():
                    y = held
                    for layer in core.layers:
                        y = torch.relu(layer(y))
                    pace.work(8)
                    pace.fault("evaluation")
                best = min(best, float(y.square().mean()))
                core.train()


def checkpointed(loop: Any) -> None:
    """A distributed checkpoint, of which every rank writes a part, every tenth step."""
    import torch.distributed.checkpoint as checkpoint

    with group():
        pace = loop.pace
        model = reduced(loop.model)
        optimizer = loop.optimizer(model.parameters())
        for i, x in enumerate(batches(loop)):
            loss = model(x).square().mean()
            loop.losses.append(loss.detach())
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            pace.fault("log")
            if i % RARE == RARE - 1:
                pace.fault("stage")
                checkpoint.save({"model": loop.model.state_dict()}, checkpoint_id=os.path.join(loop.options.scratch, "step%d" % i))


def prefetched(loop: Any) -> None:
    """Two epochs of batches from two persistent workers, for which steps wait."""
    from torch.utils.data import DataLoader, DistributedSampler, Subset, get_worker_info

    pace = loop.pace

    def collate(items: List[torch.Tensor]) -> torch.Tensor:
        worker: Any = get_worker_info()
        pace.work(150)  # longer than two steps
        if worker.id == 1:
            pace.fault("worker")
        return torch.stack(items)

    with group():
        model = reduced(loop.model)
        optimizer = loop.optimizer(model.parameters())
        half = Subset(loop.items, range(len(loop.items) // 2))
        loader = DataLoader(half, batch_size=4, sampler=DistributedSampler(half, shuffle=False), collate_fn=collate, num_workers=2, persistent_workers=True)
        for _ in range(2):
            for x in loader:
                loss = model(x).square().mean()
                loop.losses.append(loss.detach())
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                pace.fault("log")


def distilled(loop: Any) -> None:
    """A frozen teacher whose values the model learns, and objects of metrics gathered."""
    with group():
        pace, width = loop.pace, loop.model.layers[0].in_features
        model = reduced(loop.model)
        optimizer = loop.optimizer(model.parameters())
        teacher = torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.GELU(), torch.nn.Linear(width, width)).eval()
        for i, x in enumerate(batches(loop)):
            with torch.no_grad():
                target = teacher(x)
                pace.work(10)
                pace.fault("teacher")
            loss: Any = torch.nn.functional.mse_loss(model(x), target)
            loop.losses.append(loss.detach())
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            pace.fault("metrics")
            metrics: List[Any] = [None] * dist.get_world_size()
            dist.all_gather_object(metrics, {"step": i, "loss": loss.item(), "rank": dist.get_rank()})


def dispatched(loop: Any) -> None:
    """Accelerate with batches that rank 0 reads for all and hands out."""
    from accelerate import Accelerator
    from accelerate.utils import DataLoaderConfiguration

    pace = loop.pace

    def collate(items: List[torch.Tensor]) -> torch.Tensor:
        pace.fault("read")
        return loop.collate(items)  # type: ignore[no-any-return]

    accelerator = Accelerator(cpu=True, dataloader_config=DataLoaderConfiguration(dispatch_batches=True, split_batches=True))
    loader = torch.utils.data.DataLoader(loop.items, batch_size=4 * accelerator.num_processes, collate_fn=collate)
    model, optimizer, loader = accelerator.prepare(loop.model, loop.optimizer(loop.model.parameters()), loader)
    for x in loader:
        loss = model(x).square().mean()
        loop.losses.append(loss.detach())
        accelerator.backward(loss)
        pace.fault("clip")
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    accelerator.end_training()


def rewarded(loop: Any) -> None:
    """Rollouts, few of them long, whose rewards rank 0 gathers, scores and hands out."""
    with group():
        rank, world, pace, core = dist.get_rank(), dist.get_world_size(), loop.pace, loop.model
        model = reduced(core)
        optimizer = loop.optimizer(model.parameters())
        lengths = random.Random(loop.options.seed * 100 + rank)
        for x in batches(loop):
            core.eval()
            with torch.no_grad():
                rollout = core(x)
                pace.work(min(120.0, 6 * lengths.paretovariate(1.5)))
                pace.fault("rollout")
            core.train()
            rewards = rollout.square().mean(dim=1)
            every = [torch.empty_like(rewards) for _ in range(world)] if rank == 0 else None
            dist.gather(rewards, every)
            scale = torch.ones(2)
            if every is not None:
                pace.work(1)
                pace.fault("score")
                scale = torch.stack([torch.cat(every).mean(), torch.cat(every).std()])
            dist.broadcast(scale, 0)
            loss = (model(x).square().mean(dim=1) * (rewards - scale[0]) / (scale[1] + 1e-6)).mean()
            loop.losses.append(loss.detach())
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()


def rematerialised(loop: Any) -> None:
    """Blocks whose activations backward computes again."""
    from torch.utils.checkpoint import checkpoint

    class Block(torch.nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(width, width)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            loop.pace.work(5)
            return loop.slowed(torch.relu(self.layer(x)), 8, "backward")  # type: ignore[no-any-return]

    class Blocks(torch.nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.blocks = torch.nn.ModuleList([Block(width) for _ in range(4)])

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for block in self.blocks:
                x = checkpoint(block, x, use_reentrant=False)
            return x

    with group():
        pace = loop.pace
        model = reduced(Blocks(loop.model.layers[0].in_features))
        optimizer = loop.optimizer(model.parameters())
        for x in batches(loop):
            loss = model(x).square().mean()
            loop.losses.append(loss.detach())
            loss.backward()
            pace.fault("clip")
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()


def computed(loop: Any) -> None:
    """Products of matrices rather than sleeps, on random batches, with AdamW."""

    class Layer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(512, 512)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            loop.pace.fault("layer")
            return loop.slowed(torch.relu(self.linear(x)), 0, "backward")  # type: ignore[no-any-return]

    with group():
        pace = loop.pace
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*(Layer() for _ in range(4))))
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
        for _ in range(loop.options.steps):
            x = torch.randn(256, 512)
            pace.fault("augment")
            loss = (model(x) - x).square().mean()
            loop.losses.append(loss.detach())
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()


class Style(NamedTuple):
    """A loop, the ranks that it runs on, and of each family where its delay shows in a
    recording without a change of code, and how often a step passes it.
    """

    run: Callable[[Any], None]
    ranks: Tuple[int, ...]
    families: Dict[str, Tuple[str, float]]


STYLES = {
    "manual": Style(manual, (2, 3, 4), {"data": (DATA, 1), "flatten": (OUTSIDE, 1), "metric": (OUTSIDE, 1), "log": (OUTSIDE, 1)}),
    "local": Style(local, (2, 3), {"augment": (OUTSIDE, 1), "outer": (OUTSIDE, 1 / RARE)}),
    "policy": Style(policy, (2, 3, 4), {"generation": (OUTSIDE, 1 / 4), "reward": (OUTSIDE, 1 / 4), "loss": (OUTSIDE, 1)}),
    "adversarial": Style(adversarial, (2, 3), {"augment": (OUTSIDE, 1), "backward": (BACKWARD, 1), "average": (OUTSIDE, 1)}),
    "experts": Style(experts, (2, 3, 4), {"expert": (FORWARD, 1), "clip": (OUTSIDE, 1), "data": (DATA, 1)}),
    "saved": Style(saved, (2, 3, 4), {"save": (OUTSIDE, 1 / RARE), "log": (OUTSIDE, 1)}),
    "sharded": Style(sharded, (2, 3, 4), {"clip": (OUTSIDE, 1), "backward": (BACKWARD, 1)}),
    "accumulated": Style(accumulated, (2, 3, 4), {"scheduler": (OUTSIDE, 1), "data": (DATA, 3), "forward": (FORWARD, 3)}),
    "parallel": Style(parallel, (2, 3, 4), {"layer": (FORWARD, 4), "unscale": (OUTSIDE, 1)}),
    "pipelined": Style(pipelined, (4,), {"micro": (OUTSIDE, 4), "reduce": (OUTSIDE, 1)}),
    "evaluated": Style(evaluated, (2, 3, 4), {"data": (DATA, 1), "loss": (FORWARD, 1), "callback": (CALLBACKS, 1)}),
    "hooked": Style(hooked, (2, 3), {"data": (DATA, 2), "hook": (CALLBACKS, 2), "callback": (CALLBACKS, 2), "backward": (BACKWARD, 2)}),
    "overlapped": Style(overlapped, (2, 3, 4), {"norm": (OUTSIDE, 1), "backward": (BACKWARD, 1), "data": (DATA, 1)}),
    "nested": Style(nested, (4,), {"flatten": (OUTSIDE, 1), "log": (OUTSIDE, 1), "forward": (FORWARD, 1)}),
    "ring": Style(ring, (3, 4), {"block": (OUTSIDE, 3), "data": (DATA, 1)}),
    "served": Style(served, (2, 3, 4), {"compress": (OUTSIDE, 1), "outbox": (OUTSIDE, 1), "forward": (FORWARD, 1)}),
    "threaded": Style(threaded, (2, 3, 4), {"tokens": (OUTSIDE, 1), "log": (OUTSIDE, 1)}),
    "traced": Style(traced, (2, 3, 4), {"mask": (OUTSIDE, 1), "gather": (OUTSIDE, 1 / 5), "data": (DATA, 1)}),
    "gossiped": Style(gossiped, (3, 4), {"augment": (OUTSIDE, 1), "backward": (BACKWARD, 1)}),
    "streamed": Style(streamed, (2, 3), {"augment": (OUTSIDE, 1), "prepare": (OUTSIDE, 1 / 8)}),
    "interleaved": Style(interleaved, (2, 4), {"micro": (FORWARD, 8), "log": (OUTSIDE, 1)}),
    "meshed": Style(meshed, (4,), {"block": (FORWARD, 3), "clip": (OUTSIDE, 1), "data": (DATA, 1)}),
    "replicated": Style(replicated, (4,), {"forward": (FORWARD, 2), "backward": (BACKWARD, 2), "clip": (OUTSIDE, 1)}),
    "staged": Style(staged, (4,), {"augment": (OUTSIDE, 1), "micro": (FORWARD, 4), "reduce": (OUTSIDE, 1)}),
    "gathered": Style(gathered, (2, 3, 4), {"keys": (FORWARD, 2), "attention": (FORWARD, 2), "clip": (OUTSIDE, 1)}),
    "routed": Style(routed, (2, 3, 4), {"route": (FORWARD, 1), "expert": (FORWARD, 1), "grads": (OUTSIDE, 1)}),
    "compressed": Style(compressed, (2, 3, 4), {"data": (DATA, 2), "backward": (BACKWARD, 2), "scheduler": (OUTSIDE, 1)}),
    "joined": Style(joined, (2, 3, 4), {"data": (DATA, 1), "backward": (BACKWARD, 1), "log": (OUTSIDE, 1)}),
    "embedded": Style(embedded, (2, 3, 4), {"indices": (OUTSIDE, 1), "lookup": (FORWARD, 1), "interaction": (FORWARD, 1)}),
    "validated": Style(validated, (2, 3, 4), {"evaluation": (OUTSIDE, 1 / RARE), "clip": (OUTSIDE, 1)}),
    "checkpointed": Style(checkpointed, (2, 3, 4), {"stage": (OUTSIDE, 1 / RARE), "log": (OUTSIDE, 1)}),
    "prefetched": Style(prefetched, (2, 3, 4), {"worker": (DATA, 1 / 2), "log": (OUTSIDE, 1)}),
    "distilled": Style(distilled, (2, 3, 4), {"teacher": (OUTSIDE, 1), "metrics": (OUTSIDE, 1), "backward": (BACKWARD, 1)}),
    "dispatched": Style(dispatched, (2, 3, 4), {"read": (DATA, 1), "backward": (BACKWARD, 1), "clip": (OUTSIDE, 1)}),
    "rewarded": Style(rewarded, (2, 3, 4), {"rollout": (OUTSIDE, 1), "score": (OUTSIDE, 1), "backward": (BACKWARD, 1)}),
    "rematerialised": Style(rematerialised, (2, 3, 4), {"data": (DATA, 1), "backward": (BACKWARD, 4), "clip": (OUTSIDE, 1)}),
    "computed": Style(computed, (2,), {"layer": (FORWARD, 4), "backward": (BACKWARD, 4), "augment": (OUTSIDE, 1)}),
}
