"""Recording a script that knows nothing of the recorder."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock

from sfstat_recorder import BACKWARD, DATA, FORWARD, OPTIMIZER, Identity, Recorder
from sfstat_recorder.auto import Loop

from .support import Clock, packets

MS = 1_000_000
COSTS = {DATA: 5 * MS, FORWARD: 10 * MS, BACKWARD: 20 * MS, OPTIMIZER: 2 * MS}


class LoopTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name
        self.clock = Clock()
        self.options = {}
        self.loop = Loop(lambda **found: Recorder(self.folder, Identity("run"), clock=self.clock, arrivals=False, **found, **self.options))

    def do(self, stage, optimizer=1):
        if self.loop.begin(stage):
            self.clock.spend(COSTS[stage])
            self.loop.end(stage, optimizer)

    def step(self, microsteps=1, stages=(DATA, FORWARD, BACKWARD)):
        for _ in range(microsteps):
            for stage in stages:
                self.do(stage)
                self.clock.spend(MS)  # what the loop does besides
        self.do(OPTIMIZER)
        self.clock.spend(3 * MS)

    def got(self):
        self.loop.perf.close()
        return packets(self.folder)

    def test_a_plain_loop(self):
        for _ in range(8):
            self.step()
        (p,) = self.got()
        self.assertEqual((p["stages"], p["first_step"]), ([DATA, FORWARD, BACKWARD, OPTIMIZER], 3))
        self.assertEqual(p["durations_ns"], [list(COSTS.values())] * 5)
        self.assertEqual(p["wall_ns"][:-1], [(5 + 10 + 20 + 2 + 3 + 3) * MS] * 4)
        self.assertNotIn("notes", p)

    def test_microsteps(self):
        for _ in range(6):
            self.step(microsteps=2)
        (p,) = self.got()
        self.assertEqual((p["accumulation"], p["stages"][:4]), (2, [DATA + "@0", FORWARD + "@0", BACKWARD + "@0", DATA + "@1"]))
        self.assertEqual(p["durations_ns"], [list(COSTS.values())[:3] * 2 + [COSTS[OPTIMIZER]]] * 3)

    def test_a_loop_without_a_loader(self):
        """Its packets have the stages of other ranks, which may have one, as in a pipeline."""
        for _ in range(5):
            self.step(stages=(FORWARD, BACKWARD))
        (p,) = self.got()
        self.assertEqual(p["durations_ns"], [[0, COSTS[FORWARD], COSTS[BACKWARD], COSTS[OPTIMIZER]]] * 2)
        self.assertIn("no DataLoader", self.loop.found)

    def test_an_optimizer_that_calls_a_closure(self):
        for calls in (1, 3):
            with self.subTest(calls=calls):
                self.setUp()
                closure = self.loop.around(lambda: [self.do(stage) for stage in (FORWARD, BACKWARD)])
                for _ in range(6):
                    self.do(DATA)
                    self.loop.begin_optimizer(1)
                    for _ in range(calls):
                        closure()
                        self.clock.spend(COSTS[OPTIMIZER])
                    self.loop.end_optimizer(1)
                (p,) = self.got()
                self.assertEqual((p["stages"], p["accumulation"]), ([DATA, FORWARD, BACKWARD, OPTIMIZER], calls))
                self.assertEqual(p["durations_ns"], [[COSTS[DATA]] + [calls * COSTS[stage] for stage in (FORWARD, BACKWARD, OPTIMIZER)]] * 3)
                self.assertNotIn("notes", p)
                self.assertIn("closure", self.loop.found)

    def test_a_process_that_steps_no_optimizer(self):
        """A worker of a parameter server clears its gradients at the end of each step. Its
        windows end where those of a rank do that is recorded from the fourth step on.
        """
        self.options = {"window": 8}
        for _ in range(13):
            for stage in (DATA, FORWARD, BACKWARD):
                self.do(stage)
            self.loop.cleared()
        p, q = self.got()
        self.assertEqual((p["first_step"], p["durations_ns"]), (9, [list(COSTS.values())[:3] + [0]] * 2))
        self.assertEqual((q["window"], q["first_step"]), (1, 3 + 8))
        self.assertIn("no optimizer step", self.loop.found)

    def test_clearing_gradients_ends_no_step_of_an_optimizer(self):
        for _ in range(12):
            self.loop.cleared()
            self.step()
        (p,) = self.got()
        self.assertEqual((p["first_step"], len(p["durations_ns"])), (3, 9))

    def test_an_optimizer_whose_turn_comes_rarely(self):
        for i in range(12):
            self.step()
            if i % 5 == 4:
                for stage in (FORWARD, BACKWARD):
                    self.do(stage)
                self.do(OPTIMIZER, 2)
        rows = [row for p in self.got() for row in p["durations_ns"]]
        self.assertEqual([row[0] for row in rows], [COSTS[DATA]] * 2 + [0] + [COSTS[DATA]] * 5 + [0] + [COSTS[DATA]] * 2)
        self.assertEqual({tuple(row[1:]) for row in rows}, {tuple(list(COSTS.values())[1:])})

    def test_optimizers_inside_backward(self):
        for _ in range(6):
            self.do(DATA)
            self.do(FORWARD)
            self.assertTrue(self.loop.begin(BACKWARD))
            for optimizer in (1, 2):
                self.clock.spend(COSTS[BACKWARD] // 2)
                self.loop.begin_optimizer(optimizer)
                self.loop.end_optimizer(optimizer)
            self.loop.end(BACKWARD)
        (p,) = self.got()
        self.assertEqual(p["durations_ns"], [[COSTS[DATA], COSTS[FORWARD], COSTS[BACKWARD], 0]] * 3)

    def test_an_optimizer_step_that_raises(self):
        for _ in range(4):
            self.step()
        for stage in (DATA, FORWARD, BACKWARD):
            self.do(stage)
        self.loop.begin_optimizer(1)  # its end is never said
        for _ in range(3):
            self.step()
        self.assertEqual(self.loop.steps, 4)

    def test_a_base_class_with_a_step_of_its_own(self):
        for _ in range(5):
            for stage in (DATA, FORWARD, BACKWARD):
                self.do(stage)
            self.loop.begin_optimizer(1)
            self.loop.begin_optimizer(1)
            self.clock.spend(COSTS[OPTIMIZER] - MS)
            self.loop.end_optimizer(1)
            self.clock.spend(MS)
            self.loop.end_optimizer(1)
        (p,) = self.got()
        self.assertEqual(p["durations_ns"], [list(COSTS.values())] * 2)

    def test_what_was_seen_where_nothing_is_recorded(self):
        for _ in range(7):
            for stage in (DATA, FORWARD, BACKWARD):
                self.do(stage)
        with self.assertLogs("sfstat_recorder", "WARNING") as said:
            self.loop.finish()
        self.assertIn("7 batches, 7 forward passes, 7 backward passes, 0 optimizer steps", said.output[0])

    def test_two_optimizers(self):
        for _ in range(8):
            for optimizer in (1, 2):
                self.do(DATA)
                self.do(FORWARD)
                self.do(BACKWARD)
                self.do(OPTIMIZER, optimizer)
        (p,) = self.got()
        self.assertEqual((p["accumulation"], len(p["stages"]), len(p["wall_ns"])), (2, 8, 5))
        self.assertEqual(p["durations_ns"], [list(COSTS.values()) * 2] * 5)

    def test_the_batches_of_an_evaluation_belong_to_no_step(self):
        for _ in range(4):
            self.step()
        for _ in range(10):
            self.do(DATA)  # no forward in training mode follows
            self.clock.spend(50 * MS)
        for _ in range(3):
            self.step()
        first, second = self.got()
        self.assertEqual((len(first["wall_ns"]), len(second["wall_ns"])), (1, 3))
        self.assertEqual(first["wall_ns"], [(5 + 10 + 20 + 2 + 3 + 3) * MS])  # nothing of it
        self.assertEqual(second["durations_ns"], [list(COSTS.values())] * 3)

    def test_what_is_inside_a_stage_is_part_of_it(self):
        for _ in range(4):
            self.step()
        self.assertTrue(self.loop.begin(FORWARD))
        self.assertFalse(self.loop.begin(DATA))
        self.assertFalse(self.loop.begin(FORWARD))
        self.loop.end(FORWARD)

    def test_training_in_a_thread(self):
        """As launchers have it that keep the main thread for themselves."""
        thread = threading.Thread(target=lambda: [self.step() for _ in range(9)])
        thread.start()
        thread.join()
        (p,) = self.got()
        self.assertGreaterEqual(len(p["durations_ns"]), 5)
        self.assertEqual(p["durations_ns"][0], list(COSTS.values()))

    def test_says_what_spawned_processes_lack(self):
        with unittest.mock.patch.dict(sys.modules, {"multiprocessing.popen_spawn_posix": object()}), self.assertLogs("sfstat_recorder", "WARNING") as said:
            self.loop.finish()
        self.assertIn("mp.spawn", said.output[0])

    def test_another_thread_is_left_alone(self):
        began = []
        thread = threading.Thread(target=lambda: began.append(self.loop.begin(FORWARD)))
        thread.start()
        thread.join()
        self.assertEqual(began, [False])

    def test_a_trainer_takes_over(self):
        for _ in range(5):
            self.step()
        self.loop.hand_over()
        self.step()
        self.assertFalse(self.loop.begin(FORWARD))
        self.assertEqual(sum(len(p["wall_ns"]) for p in packets(self.folder)), 2)

    def test_options_that_cannot_be(self):
        loop = Loop(lambda **found: Recorder(self.folder, window=0, **found))
        self.loop = loop
        with self.assertLogs("sfstat_recorder", "WARNING"):
            for _ in range(5):
                self.step()
        self.assertTrue(loop.given_up)


SCRIPT = """
import sys, torch
from torch.utils.data import DataLoader, TensorDataset
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
data = TensorDataset(torch.randn(64, 8))
for i, (batch,) in enumerate(DataLoader(data, batch_size=4)):
    loss = model(batch).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if i == 9:
        model.eval()
        with torch.no_grad():
            for (batch,) in DataLoader(data, batch_size=32):
                model(batch)
        model.train()
print("arguments", sys.argv[1:])
"""


@unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not installed")
class ScriptTest(unittest.TestCase):
    def run_script(self, text, *arguments):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        with open(os.path.join(temporary.name, "train.py"), "w", encoding="utf-8") as f:
            f.write(text)
        here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        done = subprocess.run([sys.executable, "-m", "sfstat_recorder", "-o", "run", "train.py", *arguments], cwd=temporary.name,
                              env=dict(os.environ, PYTHONPATH=here), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout)
        return packets(os.path.join(temporary.name, "run")), done.stdout

    def test_a_script(self):
        got, said = self.run_script(SCRIPT, "--epochs", "3")
        self.assertIn("arguments ['--epochs', '3']", said)
        self.assertIn("found data, forward, backward, optimizer", said)
        self.assertEqual(sum(len(p["wall_ns"]) for p in got), 13)
        for p in got:
            self.assertEqual(p["stages"], [DATA, FORWARD, BACKWARD, OPTIMIZER])
            self.assertEqual(p["lines"][BACKWARD], "train.py:9")
            self.assertNotIn("notes", p)
            self.assertTrue(all(min(row) > 0 for row in p["durations_ns"]))

    def test_loops_of_other_kinds(self):
        head, loop = SCRIPT.split("for i,")[0], "for (batch,) in DataLoader(data, batch_size=4):\n"
        for name, body, found in (
            ("a closure", """
    def closure():
        optimizer.zero_grad()
        loss = model(batch).square().mean()
        loss.backward()
        return loss
    optimizer.step(closure)
""", "in a closure of the optimizer"),
            ("gradients that are returned", """
    for p, g in zip(model.parameters(), torch.autograd.grad(model(batch).square().mean(), list(model.parameters()))):
        p.grad = g
    optimizer.step()
""", "backward by torch.autograd.grad"),
            ("a model in evaluation mode", """
    model.eval()(batch).square().mean().backward()
    optimizer.step()
""", "forward in evaluation mode"),
        ):
            with self.subTest(name):
                got, said = self.run_script(head + loop + body)
                self.assertIn(found, said)
                self.assertEqual(sum(len(p["wall_ns"]) for p in got), 13)
                self.assertTrue(all(min(row) > 0 for p in got for row in p["durations_ns"]))
                self.assertFalse([p["notes"] for p in got if "notes" in p])

    def test_a_script_that_trains_nothing(self):
        got, said = self.run_script("import torch\n")
        self.assertEqual(got, [])
        self.assertIn("nothing is recorded", said)


if __name__ == "__main__":
    unittest.main()
