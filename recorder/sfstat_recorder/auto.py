"""Recording a training script without changing a line of it.

    torchrun --nproc-per-node 8 -m sfstat_recorder -o runs/job-42 train.py --epochs 3

The stages are found where PyTorch itself passes: waits of a ``DataLoader``,
calls of the outermost module, ``Tensor.backward``, steps of an ``Optimizer``.
The first optimizer steps are only watched, to learn how many microsteps a step
has. A Trainer of Transformers or Lightning gets the callbacks of this package
instead. What does not fit is left out and counted: nothing is timed wrongly
so that everything is timed.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import logging
import sys
from threading import get_ident
from typing import Any, Callable, Dict, List, Optional, Sequence, Set

from .recorder import Recorder
from .stages import BACKWARD, DATA, FORWARD, OPTIMIZER

_log = logging.getLogger("sfstat_recorder")

LOOKED_AT = 3
"""Optimizer steps that are watched before the first one is recorded."""


class Loop:
    """What is known of the training loop, and its recorder once that is enough.

    The patches below call ``begin`` and ``end`` around data, forward, backward
    and optimizer; what happens inside one of them is part of it.
    """

    def __init__(self, make: Callable[..., Recorder]) -> None:
        self._make = make
        self._thread = get_ident()
        self._inside = ""
        self._span: Any = None
        self.given_up = False
        self.perf: Optional[Recorder] = None
        self.found = ""  # in words, once the recorder is made
        # While the loop is only watched.
        self._backwards = 0
        self._waits = 0
        self._optimizers: List[int] = []  # in the order of their steps
        self._counts: List[int] = []  # backwards before each of these
        # While it is recorded.
        self._last_optimizer = 0  # whose step ends the loop's
        self._waited = False  # a batch came that no forward has used

    def begin(self, stage: str) -> bool:
        """Whether the stage begins here: not inside another, nor in a thread
        other than the script's own.
        """
        if self._inside or self.given_up or get_ident() != self._thread:
            return False
        self._inside = stage
        perf = self.perf
        if perf is None:
            return True
        if not perf.in_step:
            if stage == DATA:
                if self._waited:
                    perf.pause()  # the batch before went to an evaluation
            elif stage == FORWARD:
                perf.begin_step()
            else:
                return True
        if stage in perf.stages.cells:
            self._span = perf.stage(stage)
            self._span.__enter__()
        return True

    def end(self, stage: str, optimizer: int = 0) -> None:
        """The stage that began ends. Of the optimizer, which one it was."""
        self._inside = ""
        span, self._span = self._span, None
        if span is not None:
            span.__exit__(None, None, None)
        if self.perf is None:
            self._watch(stage, optimizer)
            return
        if stage == DATA:
            self._waited = not self.perf.in_step
        elif stage == FORWARD:
            self._waited = False
        elif stage == OPTIMIZER and optimizer == self._last_optimizer and self.perf.in_step:
            self.perf.end_step()

    def exhausted(self) -> None:
        """The loader has no further batch."""
        self._inside = ""
        span, self._span = self._span, None
        if span is not None and self.perf is not None:
            self.perf._cancel(span)

    def hand_over(self) -> None:
        """A trainer's callbacks record instead."""
        self.given_up = True
        if self.perf is not None:
            self.perf.close()

    def _watch(self, stage: str, optimizer: int) -> None:
        if stage == DATA:
            self._waits += 1
        elif stage == BACKWARD:
            self._backwards += 1
        elif stage == OPTIMIZER:
            self._optimizers.append(optimizer)
            self._counts.append(self._backwards)
            self._backwards = 0
            several = len(set(self._optimizers))
            if len(self._optimizers) >= LOOKED_AT * several:
                self._start(several)

    def _start(self, several: int) -> None:
        """Makes the recorder for the loop that was seen: the last ``several``
        optimizer steps were one step of it.
        """
        microsteps = max(1, sum(self._counts[-several:]))
        names = ([DATA] if self._waits > 0 else []) + [FORWARD, BACKWARD, OPTIMIZER]
        repeated = names if several > 1 else names[:-1]
        self._last_optimizer = self._optimizers[-1]
        options: Dict[str, Any] = {"stages": names, "first_step": len(self._optimizers) // several}
        if microsteps > 1:
            options.update(accumulation=microsteps, repeated=repeated)
        try:
            self.perf = self._make(**options)
        except Exception as error:
            self.given_up = True
            _log.warning("nothing is recorded: %s", error)
            return
        self.found = "data, forward, backward, optimizer" if self._waits > 0 else "forward, backward, optimizer (no DataLoader)"
        if microsteps > 1:
            self.found += "; %d microsteps a step" % microsteps
        if several > 1:
            self.found += "; %d optimizers" % several
        if self.perf.identity.rank == 0:
            _log.info("found %s", self.found)


def install(loop: Loop, torch: Any) -> None:
    """Puts the loop's marks into PyTorch."""
    _patch_loader(loop, importlib.import_module("torch.utils.data.dataloader"))
    _patch_forward(loop, torch)
    for owner, name in ((torch.autograd, "backward"), (torch.Tensor, "backward")):
        setattr(owner, name, _around(loop, BACKWARD, getattr(owner, name)))
    _patch_optimizer(loop, torch)


def _around(loop: Loop, stage: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def timed(*args: Any, **kwargs: Any) -> Any:
        if not loop.begin(stage):
            return original(*args, **kwargs)
        try:
            return original(*args, **kwargs)
        finally:
            loop.end(stage)

    timed.__wrapped__ = original  # type: ignore[attr-defined]
    timed.__name__ = getattr(original, "__name__", stage)
    timed.__doc__ = original.__doc__
    return timed


def _patch_loader(loop: Loop, dataloader: Any) -> None:
    base = dataloader._BaseDataLoaderIter
    original = base.__next__

    def following(self: Any) -> Any:
        if not loop.begin(DATA):
            return original(self)
        try:
            batch = original(self)
        except BaseException:
            loop.exhausted()
            raise
        loop.end(DATA)
        return batch

    base.__next__ = following
    first = dataloader.DataLoader.__iter__

    def start(self: Any) -> Any:  # starting its workers delays the first batch
        if not loop.begin(DATA):
            return first(self)
        try:
            return first(self)
        finally:
            loop.exhausted()

    dataloader.DataLoader.__iter__ = start


def _patch_forward(loop: Loop, torch: Any) -> None:
    module, original, enabled = torch.nn.Module, torch.nn.Module.__call__, torch.is_grad_enabled

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if loop._inside or not self.training or not enabled() or not loop.begin(FORWARD):
            return original(self, *args, **kwargs)
        try:
            return original(self, *args, **kwargs)
        finally:
            loop.end(FORWARD)

    module.__call__ = call


def _patch_optimizer(loop: Loop, torch: Any) -> None:
    optim = importlib.import_module("torch.optim.optimizer")
    running: Set[int] = set()

    def before(optimizer: Any, *_: Any) -> None:
        if loop.begin(OPTIMIZER):
            running.add(id(optimizer))

    def after(optimizer: Any, *_: Any) -> None:
        if id(optimizer) in running:
            running.discard(id(optimizer))
            loop.end(OPTIMIZER, id(optimizer))

    optim.register_optimizer_step_pre_hook(before)
    optim.register_optimizer_step_post_hook(after)
    scaler = getattr(getattr(torch, "amp", None), "GradScaler", None)
    if scaler is None:
        return
    original = scaler.step

    def step(self: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Ends a step of the loop even where it skips that of the optimizer."""
        if not loop.begin(OPTIMIZER):
            return original(self, optimizer, *args, **kwargs)
        try:
            return original(self, optimizer, *args, **kwargs)
        finally:
            loop.end(OPTIMIZER, id(optimizer))

    scaler.step = step


class Trainers(importlib.abc.MetaPathFinder):
    """Gives the trainers of Transformers and Lightning this package's
    callbacks when their modules are imported.
    """

    MODULES = ("transformers.trainer", "lightning.pytorch.trainer.trainer", "pytorch_lightning.trainer.trainer")

    def __init__(self, loop: Loop, folder: str, options: Dict[str, Any]) -> None:
        self._loop = loop
        self._folder = folder
        self._options = options

    def find_spec(self, name: str, path: Optional[Sequence[str]], target: Any = None) -> Optional[importlib.machinery.ModuleSpec]:
        if name not in self.MODULES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return None
        run = spec.loader.exec_module

        def exec_module(module: Any) -> None:
            run(module)
            self._change(name, module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec

    def install(self) -> None:
        """Changes the trainers that are imported already, and those that will be."""
        for name in self.MODULES:
            if name in sys.modules:
                self._change(name, sys.modules[name])
        sys.meta_path.insert(0, self)

    def _change(self, name: str, module: Any) -> None:
        try:
            (self._huggingface if name.startswith("transformers") else self._lightning)(module)
        except Exception as error:
            _log.warning("%s is not recorded by its callbacks: %s", name, error)

    def _huggingface(self, module: Any) -> None:
        original = module.Trainer.train

        def train(trainer: Any, *args: Any, **kwargs: Any) -> Any:
            from . import huggingface

            self._loop.hand_over()
            trainer.add_callback(huggingface.callback(self._folder, **self._options))
            return original(trainer, *args, **kwargs)

        module.Trainer.train = train

    def _lightning(self, module: Any) -> None:
        original = module.Trainer.fit

        def fit(trainer: Any, *args: Any, **kwargs: Any) -> Any:
            from . import lightning

            if trainer.lightning_module is None or getattr(trainer, "_sfstat", None) is None:
                self._loop.hand_over()
                trainer.callbacks = lightning.callbacks(self._folder, trainer.callbacks, **self._options)
                trainer._sfstat = True
            return original(trainer, *args, **kwargs)

        module.Trainer.fit = fit


def watch(folder: str, options: Dict[str, Any]) -> Optional[Loop]:
    """Prepares this process for the training script; None without PyTorch."""
    if importlib.util.find_spec("torch") is None:
        _log.warning("PyTorch is not installed here: nothing is recorded")
        return None
    torch: Any = importlib.import_module("torch")

    def make(**found: Any) -> Recorder:
        return Recorder(folder, **{**found, **options})

    loop = Loop(make)
    install(loop, torch)
    Trainers(loop, folder, options).install()
    return loop
