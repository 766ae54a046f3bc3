"""Hooks for the Trainer of Hugging Face Transformers.

    from sfstat_recorder.huggingface import callback
    trainer = Trainer(..., callbacks=[callback("runs/job-42")])
"""

from __future__ import annotations

import importlib
import os
from typing import Any, Callable, List, Optional

from .dynamo import nothing, stand_in
from .marks import TRAINER_STAGES, MakeGroup, Marks, derive, place
from .recorder import Recorder
from .stages import BACKWARD, CALLBACKS, DATA, FORWARD, OPTIMIZER


def callback(folder: "str | os.PathLike[str]", gather: Optional[MakeGroup] = None, **options: Any) -> Any:
    """The callback to give to a Trainer.

    ``gather`` is called on all ranks when training starts; ``options`` go to
    the Recorder. Forward ends where ``loss.backward()`` is called, so that a loss
    that is computed after the model is part of it.
    The optimizer is a stage of its own where the Trainer has the events for
    it (Transformers 4.46 and later), else it is part of backward. Logging is
    residual; evaluation, checkpoints and the time between epochs belong to no
    step.
    """
    hooks = derive(Hooks, ("transformers",), "TrainerCallback")()
    hooks.configure(os.fspath(folder), gather, options)
    return hooks


class Hooks:
    """The events of the Trainer. ``marks`` is None outside training."""

    marks: Optional[Marks] = None

    def configure(self, folder: str, gather: Optional[MakeGroup], options: Any) -> None:
        self._folder = folder
        self._gather = gather
        self._options = options
        self._handles: List[Any] = []
        self._called = False  # Tensor.backward was, in a step
        self._restore: Callable[[], None] = nothing

    def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        identity = place(os.path.basename(os.path.abspath(self._folder)), args.process_index, args.world_size, args.local_process_index)
        options = {
            "stages": TRAINER_STAGES,
            "accumulation": args.gradient_accumulation_steps,
            "repeated": (FORWARD, BACKWARD),
            "first_step": state.global_step,
            "group": self._gather() if self._gather is not None else None,
        }
        options.update(self._options)
        self.marks = Marks(Recorder(self._folder, identity, **options))
        if model is not None:
            self._handles = [model.register_forward_pre_hook(self._forward), model.register_forward_hook(self._forwarded)]
        self._watch_backward()

    def on_epoch_begin(self, *_: Any, **__: Any) -> None:
        self._to(DATA)

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        if self.marks is not None:
            self.marks.end()
            self.marks.perf.begin_step()

    def on_substep_end(self, *_: Any, **__: Any) -> None:
        if self.marks is not None:
            self.marks.end()

    def on_pre_optimizer_step(self, *_: Any, **__: Any) -> None:
        self._to(OPTIMIZER)

    def on_optimizer_step(self, *_: Any, **__: Any) -> None:
        self._to(CALLBACKS)

    def on_step_end(self, *_: Any, **__: Any) -> None:
        if self.marks is not None:
            self.marks.end()
            self.marks.perf.end_step()
            self.marks.to(DATA)

    def on_log(self, *_: Any, **__: Any) -> None:
        if self.marks is not None and not self.marks.perf.in_step:
            self.marks.drop()
            self.marks.to(DATA)

    def on_prediction_step(self, *_: Any, **__: Any) -> None:
        if self.marks is not None:
            self.marks.pause()

    def on_evaluate(self, *_: Any, **__: Any) -> None:
        self._resume()

    def on_save(self, *_: Any, **__: Any) -> None:
        self._resume()

    def on_epoch_end(self, *_: Any, **__: Any) -> None:
        if self.marks is not None:
            self.marks.pause()

    def on_train_end(self, *_: Any, **__: Any) -> None:
        marks, self.marks = self.marks, None
        for handle in self._handles:
            handle.remove()
        self._restore()
        if marks is not None:
            marks.close()

    def _watch_backward(self) -> None:
        """Marks the calls of ``Tensor.backward``, which the Trainer ends in, until training ends."""
        try:
            tensor: Any = importlib.import_module("torch").Tensor
            original = tensor.backward
        except (ImportError, AttributeError):
            return

        def backward(loss: Any, *args: Any, **kwargs: Any) -> Any:
            if self.marks is not None and self.marks.perf.in_step:
                self._called = True
                self.marks.to(BACKWARD)
            return original(loss, *args, **kwargs)

        def restore() -> None:
            if tensor.backward is backward:
                tensor.backward = original
            self._restore = nothing

        tensor.backward = stand_in(backward, original)
        self._restore = restore

    def _resume(self) -> None:
        if self.marks is not None:
            self.marks.pause()
            self.marks.to(DATA)

    def _to(self, stage: str) -> None:
        if self.marks is not None:
            self.marks.to(stage)

    def _forward(self, *_: Any) -> None:
        if self.marks is not None and self.marks.perf.in_step:
            self.marks.to(FORWARD)

    def _forwarded(self, *_: Any) -> None:
        if self.marks is not None and self.marks.perf.in_step and not self._called:
            self.marks.to(BACKWARD)  # as far as is known: something else may run it

    stand_in(_forward, nothing)
    stand_in(_forwarded, nothing)
