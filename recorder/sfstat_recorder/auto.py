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

from .dynamo import keep_out, nothing, stand_in
from .recorder import Recorder
from .stages import BACKWARD, DATA, FORWARD, OPTIMIZER

_log = logging.getLogger("sfstat_recorder")

LOOKED_AT = 3
"""Optimizer steps that are watched before the first one is recorded."""

CLEARED_AT = 3 * LOOKED_AT
"""Gradients cleared, each after a backward pass, before a process without an optimizer
step counts as one whose weights another steps."""

_FUSED = -1  # optimizers that step inside backward, as one
_CLEARED = -2  # the end of a step where the process steps no optimizer
_NAMES = {DATA: "batches", FORWARD: "forward passes", BACKWARD: "backward passes", OPTIMIZER: "optimizer steps"}


# Modules that are there once a process was started that way, and what is recorded of it.
_ELSEWHERE = {
    "multiprocessing.popen_spawn_posix": "processes that were spawned (mp.spawn) begin anew and are not recorded: start them by torchrun, or use sfstat_recorder.Recorder in them",
    "multiprocessing.popen_fork": "processes that were forked record for themselves",
}


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
        self._stepping: List[int] = []  # the optimizer whose step runs, once for each of its calls inside each other
        self._fused = False  # an optimizer stepped inside this backward
        self.given_up = False
        self.perf: Optional[Recorder] = None
        self.found = ""  # in words, once the recorder is made
        self.steps = 0  # recorded
        self.any_mode = False  # forward passes count in evaluation mode too
        self.by_grad = False  # torch.autograd.grad is the backward
        # While the loop is only watched.
        self._seen = {stage: 0 for stage in (DATA, FORWARD, BACKWARD, OPTIMIZER)}
        self._evaluations = 0  # forward passes with gradients, in evaluation mode
        self._grads = 0
        self._closures = 0
        self._backwards = 0  # since the last optimizer step
        self._optimizers: List[int] = []  # in the order of their steps
        self._counts: List[int] = []  # backwards before each of these
        self._cleared: List[int] = []  # backwards before gradients were cleared
        # While it is recorded.
        self._known: Set[int] = set()  # the optimizers of a step
        self._last_optimizer = 0  # whose step ends the loop's
        self._waited = False  # a batch came that no forward has used

    @property
    def free(self) -> bool:
        """Whether a forward may begin here: quick, for every module asks."""
        return self._inside in ("", OPTIMIZER)

    def begin(self, stage: str) -> bool:
        """Whether the stage begins here: not inside another, nor in a thread
        other than the script's own.
        """
        if self.given_up or get_ident() != self._thread and not self._trains_here(stage):
            return False
        if self._inside:
            if self._inside != OPTIMIZER or stage == OPTIMIZER:
                return False
            self._stepping.clear()  # its step raised
            self._close()
        self._inside = stage
        perf = self.perf
        if perf is None:
            return True
        if not perf.in_step:
            if stage != DATA:
                perf.begin_step()
            elif self._waited:
                perf._settle(perf._start)  # the batch before went to an evaluation
                perf.pause()
        self._open(stage)
        return True

    def _trains_here(self, stage: str) -> bool:
        """Whether the script trains in this thread and not in its own, as launchers have it: a
        backward pass says so.
        """
        if stage != BACKWARD or self.perf is not None or self._seen[BACKWARD] > 0:
            return False
        self._thread, self._inside = get_ident(), ""
        return True

    def end(self, stage: str, optimizer: int = 0) -> None:
        """The stage that began ends. Of the optimizer, which one it was."""
        if self._inside != stage:
            return
        self._close()
        if self.perf is None:
            self._watch(stage, optimizer)
        elif stage == OPTIMIZER:
            self._stepped(optimizer)
        else:
            self._waited = stage == DATA and not self.perf.in_step
        if stage == BACKWARD and self._fused:
            self._fused = False
            if self.perf is None:
                self._watch(OPTIMIZER, _FUSED)
            else:
                self._stepped(_FUSED)

    def begin_optimizer(self, optimizer: int) -> None:
        """The step of an optimizer begins; it may call that of its base class."""
        if self._inside == BACKWARD and get_ident() == self._thread:
            self._fused = True
        elif self._stepping and self._stepping[0] == optimizer or self.begin(OPTIMIZER):
            self._stepping.append(optimizer)

    def end_optimizer(self, optimizer: int) -> None:
        if self._stepping and self._stepping[0] == optimizer:
            self._stepping.pop()
            if not self._stepping:
                self.end(OPTIMIZER, optimizer)

    def around(self, closure: Callable[..., Any]) -> Callable[..., Any]:
        """A closure whose stages count, and not as part of the optimizer that
        calls it.
        """

        def call(*args: Any, **kwargs: Any) -> Any:
            if self._inside != OPTIMIZER or get_ident() != self._thread:
                return closure(*args, **kwargs)
            stepping, self._stepping = self._stepping, []
            self._closures += 1
            if self.perf is not None and not self.perf.stages.summed:
                self._drop()  # the optimizer comes after its closure
            else:
                self._close()
            try:
                return closure(*args, **kwargs)
            finally:
                self._stepping, self._inside = stepping, OPTIMIZER
                self._open(OPTIMIZER)

        return call

    def cleared(self) -> None:
        """Gradients were cleared: the end of a step where another process, such as a
        parameter server, steps the optimizer.
        """
        if self._inside or self.given_up or get_ident() != self._thread:
            return
        if self.perf is not None:
            if self._last_optimizer == _CLEARED:
                self._stepped(_CLEARED)
        elif not self._optimizers and self._backwards > 0:
            self._cleared.append(self._backwards)
            self._backwards = 0
            if len(self._cleared) == CLEARED_AT:
                self._optimizers, self._counts = [_CLEARED] * CLEARED_AT, self._cleared
                self._start(1)

    def exhausted(self) -> None:
        """The loader has no further batch."""
        self._drop()

    def hand_over(self) -> None:
        """A trainer's callbacks record instead."""
        self.given_up = True
        if self.perf is not None:
            self.perf.close()

    def evaluated(self) -> None:
        """A forward pass with gradients, in evaluation mode."""
        if not self._inside and self.perf is None:
            self._evaluations += 1

    def differentiated(self) -> None:
        """Gradients that ``torch.autograd.grad`` returned."""
        if not self._inside and self.perf is None:
            self._grads += 1
            self._backwards += self._seen[BACKWARD] == 0

    def close(self) -> None:
        """Ends the recording before the script does."""
        if self.perf is not None and not self.given_up:
            self._close()
            self.given_up = True
            self.perf.close()

    def finish(self) -> None:
        """Says at the end of the script what was found, if nothing is recorded."""
        if self.given_up or self.steps > 0:
            return
        seen = ", ".join("%d %s" % (self._seen[stage], name) for stage, name in _NAMES.items())
        if self.perf is not None:
            seen = "found %s, but no step that fits" % self.found
        elsewhere = "".join("; " + what for module, what in _ELSEWHERE.items() if module in sys.modules)
        _log.warning(
            "nothing is recorded of this process: %s; %d optimizer steps are watched first%s. A loop that trains otherwise can time its stages with sfstat_recorder.Recorder",
            seen, LOOKED_AT, elsewhere)

    def _open(self, stage: str) -> None:
        perf = self.perf
        if perf is not None and (perf.in_step or stage == DATA) and stage in perf.stages.cells:
            self._span = perf.stage(stage)
            self._span.__enter__()

    def _drop(self) -> None:
        self._inside = ""
        span, self._span = self._span, None
        if span is not None and self.perf is not None:
            self.perf._cancel(span)

    def _close(self) -> None:
        self._inside = ""
        span, self._span = self._span, None
        if span is not None:
            span.__exit__(None, None, None)

    def _stepped(self, optimizer: int) -> None:
        """The last optimizer of a step ends it; so does one that was never
        seen before, such as that of a generator, whose turn comes rarely.
        """
        if self.perf is not None and self.perf.in_step and (optimizer == self._last_optimizer or optimizer not in self._known):
            self.perf.end_step()
            self.steps += 1

    def _watch(self, stage: str, optimizer: int) -> None:
        self._seen[stage] += 1
        if stage == BACKWARD:
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
        names = [DATA, FORWARD, BACKWARD, OPTIMIZER]
        self._known, self._last_optimizer = set(self._optimizers), self._optimizers[-1]
        self.any_mode = self._seen[FORWARD] == 0 and self._evaluations > 0
        self.by_grad = self._seen[BACKWARD] == 0 and self._grads > 0
        options: Dict[str, Any] = {"stages": names, "first_step": len(self._optimizers) // several}
        if microsteps > 1 and self._closures > 0:  # as many as the optimizer wants
            options.update(accumulation=max(self._counts), repeated=())
        elif microsteps > 1:
            options.update(accumulation=microsteps, repeated=names if several > 1 else names[:-1])
        try:
            self.perf = self._make(**options)
        except Exception as error:
            self.given_up = True
            _log.warning("nothing is recorded: %s", error)
            return
        if self._last_optimizer == _CLEARED:
            self.perf._missed = CLEARED_AT - LOOKED_AT  # so that windows end where those of other ranks do
        self.found = self._words(microsteps, several)
        if self.perf.identity.rank == 0:
            _log.info("found %s", self.found)

    def _words(self, microsteps: int, several: int) -> str:
        text = "data, forward, backward, optimizer" if self._seen[DATA] > 0 else "forward, backward, optimizer (no DataLoader)"
        if self._closures > 0:
            text += "; forward and backward in a closure of the optimizer"
            text += ", summed over its calls" if microsteps > 1 else ""
        elif microsteps > 1:
            text += "; %d microsteps a step" % microsteps
        if several > 1:
            text += "; %d optimizers" % several
        if self._optimizers[-1] == _FUSED:
            text += "; optimizers step inside backward"
        if self._optimizers[-1] == _CLEARED:
            text += "; no optimizer step, a step ends where gradients are cleared"
        if self.any_mode:
            text += "; forward in evaluation mode"
        if self.by_grad:
            text += "; backward by torch.autograd.grad"
        return text


def install(loop: Loop, torch: Any) -> None:
    """Puts the loop's marks into PyTorch."""
    keep_out()
    _patch_loader(loop, importlib.import_module("torch.utils.data.dataloader"))
    _patch_forward(loop, torch)
    for owner, name in ((torch.autograd, "backward"), (torch.Tensor, "backward")):
        setattr(owner, name, _around(loop, BACKWARD, getattr(owner, name)))
    _patch_grad(loop, torch)
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
    return stand_in(timed, original)


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

    base.__next__ = stand_in(following, original)
    first = dataloader.DataLoader.__iter__

    def start(self: Any) -> Any:  # starting its workers delays the first batch
        if not loop.begin(DATA):
            return first(self)
        try:
            return first(self)
        finally:
            loop.exhausted()

    dataloader.DataLoader.__iter__ = stand_in(start, first)


def _patch_forward(loop: Loop, torch: Any) -> None:
    module, original, enabled = torch.nn.Module, torch.nn.Module.__call__, torch.is_grad_enabled

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not loop.free or not enabled():
            return original(self, *args, **kwargs)
        if not self.training and not loop.any_mode:
            loop.evaluated()
            return original(self, *args, **kwargs)
        if not loop.begin(FORWARD):
            return original(self, *args, **kwargs)
        try:
            return original(self, *args, **kwargs)
        finally:
            loop.end(FORWARD)

    module.__call__ = stand_in(call, original)


def _patch_grad(loop: Loop, torch: Any) -> None:
    """Gradients that are taken beside a backward, such as a penalty, are not one."""
    original = torch.autograd.grad
    timed = _around(loop, BACKWARD, original)

    def grad(*args: Any, **kwargs: Any) -> Any:
        if loop.by_grad:
            return timed(*args, **kwargs)
        loop.differentiated()
        return original(*args, **kwargs)

    torch.autograd.grad = stand_in(grad, original)


def _patch_optimizer(loop: Loop, torch: Any) -> None:
    optim = importlib.import_module("torch.optim.optimizer")

    def before(optimizer: Any, args: Any, kwargs: Any) -> Any:
        loop.begin_optimizer(id(optimizer))
        if len(args) > 1 and callable(args[1]):  # optimizer, closure
            return (args[0], loop.around(args[1]), *args[2:]), kwargs
        if callable(kwargs.get("closure")):
            return args, {**kwargs, "closure": loop.around(kwargs["closure"])}
        return None

    def after(optimizer: Any, *_: Any) -> None:
        loop.end_optimizer(id(optimizer))

    clear = optim.Optimizer.zero_grad

    def zero_grad(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return clear(self, *args, **kwargs)
        finally:
            loop.cleared()

    optim.Optimizer.zero_grad = stand_in(zero_grad, clear)
    optim.register_optimizer_step_pre_hook(stand_in(before, nothing))
    optim.register_optimizer_step_post_hook(stand_in(after, nothing))
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

    scaler.step = stand_in(step, original)


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
                trainer.callbacks = lightning.around(self._folder, trainer.callbacks, self._options)
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
