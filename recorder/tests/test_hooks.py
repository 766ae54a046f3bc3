"""The hooks for trainers, called as the trainers call them. The trainers
themselves are stand-ins: what is tested is which time goes to which stage.
"""

from __future__ import annotations

import os
import sys
import tempfile
import types
import unittest
from unittest import mock

from sfstat_recorder import huggingface, lightning

from .support import Clock, packets

SLOW = dict(data=5, forward=10, backward=20, optimizer=3, callbacks=7, between=2)


def module(name, **content):
    found = types.ModuleType(name)
    found.__dict__.update(content)
    return found


class Base:
    """A trainer's callback class: it has hooks that we do not have."""

    def on_fit_start(self, *_):
        return "the trainer's own"


class HooksTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = os.path.join(temporary.name, "job")
        self.clock = Clock()


class LightningTest(HooksTest):
    def fit(self, steps, accumulation=1, validate_after=(), epochs=1, own=0):
        """The order of calls of Lightning 2, automatic optimization."""
        clock, spend = self.clock, self.clock.spend

        class Slow(Base):
            def on_train_batch_end(self, *_):
                spend(SLOW["callbacks"])

        fake = {"lightning": module("lightning"), "lightning.pytorch": module("lightning.pytorch", Callback=Base)}
        with mock.patch.dict(sys.modules, fake):
            callbacks = lightning.callbacks(self.folder, [Slow()], clock=clock, window=100)

        def call(hook, *args):
            for c in callbacks:
                getattr(c, hook, lambda *_: None)(*args)

        net = types.SimpleNamespace()
        if own:
            net.on_train_batch_end = lambda *_: spend(own)
        trainer = types.SimpleNamespace(global_rank=1, world_size=2, local_rank=1, global_step=40, accumulate_grad_batches=accumulation, lightning_module=net)
        self.assertEqual(callbacks[0].on_fit_start(trainer), "the trainer's own")
        call("on_train_start", trainer, None)
        for _ in range(epochs):
            call("on_train_epoch_start", trainer, None)
            for batch in range(steps * accumulation):
                spend(SLOW["data"])
                call("on_train_batch_start", trainer, None, None, batch)
                spend(SLOW["forward"])
                call("on_before_backward", trainer, None, None)
                spend(SLOW["backward"])
                call("on_after_backward", trainer, None)
                if (batch + 1) % accumulation == 0:
                    call("on_before_optimizer_step", trainer, None, None)
                    spend(SLOW["optimizer"])
                call("on_train_batch_end", trainer, None, None, None, batch)
                if own:
                    net.on_train_batch_end(None, None, batch)
                if batch in validate_after:
                    call("on_validation_start", trainer, None)
                    spend(100_000)
                    call("on_validation_end", trainer, None)
            spend(50_000)
            call("on_train_epoch_end", trainer, None)
        call("on_train_end", trainer, None)
        return packets(self.folder)

    def test_stages(self):
        (packet,) = self.fit(3)
        self.assertEqual(packet["stages"], ["data.next_wait", "model.fwd_loss_cpu_wall", "model.backward_cpu_wall", "optim.step_cpu_wall", "callbacks.cpu_wall"])
        self.assertEqual(packet["durations_ns"], [[5, 10, 20, 3, 7]] * 3)
        self.assertEqual(packet["wall_ns"][:2], [45, 45])
        self.assertEqual((packet["run"], packet["rank"], packet["world_size"], packet["first_step"]), ("job", 1, 2, 40))
        self.assertNotIn("notes", packet)

    def test_accumulation(self):
        (packet,) = self.fit(2, accumulation=2)
        # Callbacks are called after each batch, and the optimizer steps in the last.
        self.assertEqual(packet["durations_ns"], [[5, 10, 20, 0, 7, 5, 10, 20, 3, 7]] * 2)
        self.assertEqual(packet["wall_ns"][0], 2 * (5 + 10 + 20 + 7) + 3)

    def test_hook_of_the_module(self):
        """It runs after those of callbacks, and is no wait for data."""
        (packet,) = self.fit(3, own=9)
        self.assertEqual(packet["durations_ns"], [[5, 10, 20, 3, 7 + 9]] * 3)

    def test_validation_belongs_to_no_step(self):
        got = self.fit(4, validate_after=(1,))
        self.assertEqual([p["durations_ns"] for p in got], [[[5, 10, 20, 3, 7]] * 2] * 2)
        self.assertEqual([p["wall_ns"] for p in got][0], [45, 45])

    def test_epochs(self):
        got = self.fit(2, epochs=2)
        self.assertEqual([(p["first_step"], p["durations_ns"]) for p in got], [(40, [[5, 10, 20, 3, 7]] * 2), (42, [[5, 10, 20, 3, 7]] * 2)])

    def test_lightning_is_not_there(self):
        with mock.patch.dict(sys.modules, {"lightning": None, "lightning.pytorch": None, "pytorch_lightning": None}):
            with self.assertRaisesRegex(ImportError, "none of lightning.pytorch, pytorch_lightning can be imported"):
                lightning.callbacks(self.folder)


class Model:
    """A module with hooks."""

    def __init__(self):
        self.before, self.after = [], []

    def register_forward_pre_hook(self, hook):
        return self._add(self.before, hook)

    def register_forward_hook(self, hook):
        return self._add(self.after, hook)

    def _add(self, hooks, hook):
        hooks.append(hook)
        return types.SimpleNamespace(remove=lambda: hooks.remove(hook))

    def __call__(self, work):
        for hook in self.before:
            hook(self, ())
        work()
        for hook in self.after:
            hook(self, (), None)


class HuggingFaceTest(HooksTest):
    def train(self, steps, accumulation=1, evaluate_after=(), log_after=(), save_after=(), loss=0, old=False):
        """The order of events of Transformers 4.46 (old: of 4.30)."""
        spend = self.clock.spend

        class Tensor:
            def backward(self):
                spend(SLOW["backward"])

        torch = mock.patch.dict(sys.modules, {"torch": module("torch", Tensor=Tensor)})
        torch.start()
        self.addCleanup(torch.stop)
        plain = Tensor.backward
        with mock.patch.dict(sys.modules, {"transformers": module("transformers", TrainerCallback=Base)}):
            hooks = huggingface.callback(self.folder, clock=self.clock, window=100)
        model = Model()
        args = types.SimpleNamespace(process_index=0, world_size=1, local_process_index=0, gradient_accumulation_steps=accumulation)
        state, control = types.SimpleNamespace(global_step=0), None

        def event(name):
            if hasattr(hooks, name):
                getattr(hooks, name)(args, state, control, model=model)

        event("on_train_begin")
        event("on_epoch_begin")
        for step in range(steps):
            spend(SLOW["data"])
            event("on_step_begin")
            for micro in range(accumulation):
                model(lambda: spend(SLOW["forward"]))
                spend(loss)
                Tensor().backward()
                if micro + 1 < accumulation:
                    event("on_substep_end")
            if not old:
                event("on_pre_optimizer_step")
            spend(SLOW["optimizer"])
            if not old:
                event("on_optimizer_step")
            spend(SLOW["callbacks"])
            state.global_step += 1
            event("on_step_end")
            if step in log_after:
                spend(13)
                event("on_log")
            if step in evaluate_after:
                for _ in range(2):
                    model(lambda: spend(40_000))
                    event("on_prediction_step")
                event("on_evaluate")
            if step in save_after:
                spend(30_000)
                event("on_save")
        event("on_epoch_end")
        event("on_train_end")
        self.assertIs(Tensor.backward, plain)
        self.assertEqual(model.before + model.after, [])
        return packets(self.folder)

    def test_stages(self):
        (packet,) = self.train(3)
        self.assertEqual(packet["durations_ns"], [[5, 10, 20, 3, 7]] * 3)
        self.assertEqual(packet["wall_ns"], [45] * 3)
        self.assertNotIn("notes", packet)

    def test_accumulation(self):
        (packet,) = self.train(2, accumulation=2)
        self.assertEqual(packet["durations_ns"], [[5, 10, 20, 10, 20, 3, 7]] * 2)

    def test_evaluation_belongs_to_no_step(self):
        got = self.train(4, evaluate_after=(1,))
        self.assertEqual([(p["first_step"], p["durations_ns"]) for p in got], [(0, [[5, 10, 20, 3, 7]] * 2), (2, [[5, 10, 20, 3, 7]] * 2)])

    def test_checkpoints_belong_to_no_step(self):
        """The Trainer calls back after it has saved."""
        got = self.train(4, save_after=(1,))
        self.assertEqual([(p["first_step"], p["wall_ns"]) for p in got], [(0, [45, 45]), (2, [45, 45])])

    def test_loss_after_the_model(self):
        """It is part of forward from the first step on whose backward was seen."""
        (packet,) = self.train(3, loss=4)
        self.assertEqual(packet["durations_ns"], [[5, 10, 24, 3, 7]] + [[5, 14, 20, 3, 7]] * 2)

    def test_logging_is_residual(self):
        (packet,) = self.train(3, log_after=(0,))
        self.assertEqual(packet["durations_ns"], [[5, 10, 20, 3, 7]] * 3)
        self.assertEqual(packet["wall_ns"], [45 + 13, 45, 45])

    def test_without_the_events_of_the_optimizer(self):
        (packet,) = self.train(2, old=True)
        self.assertEqual(packet["durations_ns"], [[5, 10, 20 + 3 + 7, 0, 0]] * 2)


if __name__ == "__main__":
    unittest.main()
