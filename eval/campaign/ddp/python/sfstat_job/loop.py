"""The training loop of one rank."""

from __future__ import annotations

import contextlib
import time
from typing import Any, ContextManager, Dict, List, Optional

import torch
import torch.distributed as dist

from sfstat_recorder import BACKWARD, FORWARD, OPTIMIZER, CudaEvents, Recorder

from .device import CudaDevice, Device, EmulatedDevice
from .model import BATCH, WIDTH, Delay, Layers, Pace, parallel, slow_reduce
from .plan import Amount, Op, Plan
from .profiler import Marks

_NOTHING: ContextManager[Any] = contextlib.nullcontext()


class Loop:
    """Carries the steps of a plan out, under a recorder or without."""

    def __init__(self, plan: Plan, gpu: Optional[int] = None, profiler: Optional[Marks] = None) -> None:
        self._plan = plan
        self._profiler = profiler
        torch.manual_seed(plan.seed % 2**63)
        place = self.place = torch.device("cpu") if gpu is None else torch.device("cuda", gpu)
        self.device: Device = EmulatedDevice() if gpu is None else CudaDevice(torch, CudaEvents(torch.cuda))
        self._pace = Pace()
        self._ddp = parallel(Layers(self._pace).to(place), [] if gpu is None else [gpu])
        self._comm = Delay()
        if plan.delays_comm:
            self._ddp.register_comm_hook(self._comm, slow_reduce)
        self._optimizer = torch.optim.SGD(self._ddp.parameters(), lr=0.01)
        self._batch = torch.randn(BATCH, WIDTH, device=place)
        self._loss: Any = None
        self._runs: Dict[str, Any] = {FORWARD: self._forward, BACKWARD: self._backward, OPTIMIZER: self._optimize}

    def step(self, index: int, perf: Optional[Recorder], events: float = 0.0) -> None:
        """One step, recorded where there is a recorder, with device times in
        this fraction of the steps.
        """
        amounts = self._plan.amounts(index)
        if perf is None:
            for op, amount in zip(self._plan.ops, amounts):
                with _NOTHING:
                    self._launch(op, amount)
                    self._carry_out(op, amount)
            return
        with self._profiled_step(index), perf.step(index):
            for op, amount in zip(self._plan.ops, amounts):
                with perf.stage(op.name), self._profiled(op):
                    with _events(perf, op, events):
                        self._launch(op, amount)
                    self._carry_out(op, amount)

    def _profiled_step(self, index: int) -> ContextManager[Any]:
        return _NOTHING if self._profiler is None else self._profiler.step(index)

    def _profiled(self, op: Op) -> ContextManager[Any]:
        return _NOTHING if self._profiler is None else self._profiler.stage(op.stage)

    def _launch(self, op: Op, amount: Amount) -> None:
        """The host does not see device work where it is launched."""
        if op.device is not None:
            self.device.launch(amount.device)

    def _carry_out(self, op: Op, amount: Amount) -> None:
        if op.await_device:
            self.device.wait()
        run = self._runs.get(op.stage)
        if run is not None:
            run(op, amount)
        elif amount.host > 0:
            time.sleep(amount.host)
        if op.meets and op.stage != BACKWARD:
            dist.barrier()

    def _forward(self, op: Op, amount: Amount) -> None:
        self._pace.forward = amount.host
        with self._synchronising(op):
            self._loss = self._ddp(self._batch).square().mean() * op.share

    def _backward(self, op: Op, amount: Amount) -> None:
        self._pace.backward, self._comm.seconds = amount.host, amount.comm
        with self._synchronising(op):
            self._loss.backward()
        self._loss = None

    def _optimize(self, _: Op, amount: Amount) -> None:
        self._optimizer.step()
        self._optimizer.zero_grad()
        time.sleep(amount.host)

    def _synchronising(self, op: Op) -> ContextManager[Any]:
        """Under no_sync where the microstep does not end in the all-reduce.
        DDP wants forward to know, too.
        """
        return _NOTHING if self._backward_of(op).meets else self._ddp.no_sync()

    def _backward_of(self, op: Op) -> Op:
        ops: List[Op] = self._plan.ops
        return next(o for o in ops[ops.index(op):] if o.stage == BACKWARD)


def _events(perf: Recorder, op: Op, fraction: float) -> ContextManager[Any]:
    if op.device is None or fraction <= 0:
        return _NOTHING
    stem = op.stage[:-len("_cpu_wall")] if op.stage.endswith("_cpu_wall") else op.stage
    return perf.cuda_event_sample(stem + "_cuda_event_ms", fraction)
