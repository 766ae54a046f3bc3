"""Hooks for Lightning, automatic optimization.

    from sfstat_recorder.lightning import callbacks
    trainer = Trainer(callbacks=callbacks("runs/job-42", [your, own, callbacks]))
"""

from __future__ import annotations

import os
from typing import Any, Callable, Dict, List, Optional, Sequence

from .dynamo import nothing, stand_in
from .marks import TRAINER_STAGES, MakeGroup, Marks, derive, place
from .recorder import Recorder
from .stages import BACKWARD, CALLBACKS, DATA, FORWARD, OPTIMIZER

_MODULES = ("lightning.pytorch", "pytorch_lightning")


def callbacks(
    folder: "str | os.PathLike[str]",
    others: Sequence[Any] = (),
    gather: Optional[MakeGroup] = None,
    **options: Any,
) -> List[Any]:
    """The callbacks to give to a Trainer: ``others`` between two of ours, so
    that their time after a batch is the stage ``callbacks.cpu_wall``, with that of the
    module's own ``on_train_batch_end``.

    ``gather`` is called on all ranks when training starts; ``options`` go to
    the Recorder. The wait for data runs from the end of a step, so loggers are
    part of it. Evaluation and the time between epochs belong to no step.
    """
    return around(os.fspath(folder), others, options, gather)


def around(folder: str, others: Sequence[Any], options: Dict[str, Any], gather: Optional[MakeGroup] = None) -> List[Any]:
    """The same, of options that are read when training starts: ``fit`` makes the
    process group over which ranks are captured.
    """
    state = _State(folder, gather, options)
    first = derive(First, _MODULES, "Callback")()
    last = derive(Last, _MODULES, "Callback")()
    first.state = last.state = state
    return [first, *others, last]


class _State:
    """What both callbacks share. ``marks`` is None outside training."""

    def __init__(self, folder: str, gather: Optional[MakeGroup], options: Dict[str, Any]) -> None:
        self._folder = folder
        self._gather = gather
        self._options = options
        self.marks: Optional[Marks] = None
        self.stepped = False  # the optimizer, in this batch
        self._restore: Callable[[], None] = nothing

    def start(self, trainer: Any) -> None:
        identity = place(os.path.basename(os.path.abspath(self._folder)), trainer.global_rank, trainer.world_size, getattr(trainer, "local_rank", -1))
        options = {
            "stages": TRAINER_STAGES,
            "accumulation": trainer.accumulate_grad_batches,
            "repeated": TRAINER_STAGES,  # there are callbacks after each batch
            "first_step": trainer.global_step,
            "group": self._gather() if self._gather is not None else None,
        }
        options.update(self._options)
        self.marks = Marks(Recorder(self._folder, identity, **options))
        self._follow(getattr(trainer, "lightning_module", None))

    def _follow(self, module: Any) -> None:
        """Ends a batch after the module's own hook, which runs after those of callbacks."""
        original = getattr(module, "on_train_batch_end", None)
        if not callable(original):
            return

        def on_train_batch_end(*args: Any, **kwargs: Any) -> Any:
            try:
                return original(*args, **kwargs)
            finally:
                self.ended()

        own = vars(module).get("on_train_batch_end")  # most modules' is of their class

        def restore() -> None:
            del vars(module)["on_train_batch_end"]
            if own is not None:
                vars(module)["on_train_batch_end"] = own
            self._restore = nothing

        vars(module)["on_train_batch_end"] = stand_in(on_train_batch_end, original)
        self._restore = restore

    @property
    def follows(self) -> bool:
        """Whether the module's own hook ends a batch."""
        return self._restore is not nothing

    def ended(self) -> None:
        """A batch is done: the wait for the next begins."""
        if self.marks is None:
            return
        self.marks.end()
        if self.stepped:
            self.marks.perf.end_step()
        self.marks.to(DATA)

    def stop(self) -> None:
        self._restore()
        marks, self.marks = self.marks, None
        if marks is not None:
            marks.close()


class First:
    """Comes before the user's callbacks."""

    state: _State

    def on_train_start(self, trainer: Any, *_: Any) -> None:
        self.state.start(trainer)

    def on_train_batch_start(self, *_: Any, **__: Any) -> None:
        marks = self.state.marks
        if marks is None:
            return
        marks.end()
        self.state.stepped = False
        if not marks.perf.in_step:
            marks.perf.begin_step()
        marks.to(FORWARD)

    def on_before_backward(self, *_: Any, **__: Any) -> None:
        if self.state.marks is not None:
            self.state.marks.to(BACKWARD)

    def on_after_backward(self, *_: Any, **__: Any) -> None:
        if self.state.marks is not None:
            self.state.marks.end()

    def on_before_optimizer_step(self, *_: Any, **__: Any) -> None:
        if self.state.marks is not None:
            self.state.stepped = True
            self.state.marks.to(OPTIMIZER)

    def on_train_batch_end(self, *_: Any, **__: Any) -> None:
        if self.state.marks is not None:
            self.state.marks.to(CALLBACKS)

    def on_validation_start(self, *_: Any) -> None:
        if self.state.marks is not None:
            self.state.marks.pause()


class Last:
    """Comes after the user's callbacks."""

    state: _State

    def on_train_epoch_start(self, *_: Any) -> None:
        self._wait()

    def on_train_batch_end(self, *_: Any, **__: Any) -> None:
        if not self.state.follows:
            self.state.ended()

    def on_validation_end(self, *_: Any) -> None:
        self._wait()

    def on_train_epoch_end(self, *_: Any) -> None:
        if self.state.marks is not None:
            self.state.marks.pause()

    def on_train_end(self, *_: Any) -> None:
        self.state.stop()

    def on_exception(self, *_: Any) -> None:
        self.state.stop()

    def _wait(self) -> None:
        if self.state.marks is not None:
            self.state.marks.to(DATA)
