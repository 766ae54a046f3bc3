"""The loops that the documentation shows are run."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import unittest

from sfstat_recorder import Recorder

from .support import packets

HERE = os.path.dirname(os.path.abspath(__file__))


class Thing:
    """Stands for a model, a loss or an optimizer."""

    def __call__(self, *_):
        return self

    def backward(self):
        return None

    step = zero_grad = backward


class DocsTest(unittest.TestCase):
    def test_the_first_loop_of_each_page(self):
        for page in ("../README.md", "../../docs/recorder.md", "../../README.md"):
            with self.subTest(page), open(os.path.join(HERE, page), encoding="utf-8") as f:
                program = re.search(r"```python\n(.*?)```", f.read(), re.S).group(1)
                with tempfile.TemporaryDirectory() as folder, inside(folder):
                    exec(program, {"loader": range(3), "model": Thing(), "optimizer": Thing()})
                    (packet,) = packets("runs/job-42")
                self.assertEqual((packet["run"], len(packet["wall_ns"])), ("job-42", 3))
                self.assertNotIn("notes", packet)
                self.assertTrue(all(row[i] > 0 for row in packet["durations_ns"] for i in (0, 1, 2, 4)), packet["durations_ns"])


class Tracker:
    """Has the methods of wandb, mlflow and a SummaryWriter, by their signatures."""

    def __init__(self):
        self.got = []

    def log(self, data, step=None, commit=None):
        self.got += [(name, x, 3) for name, x in data.items()]  # at the step of the loop's own

    def log_metrics(self, metrics, step=None):
        self.got += [(name, x, step) for name, x in metrics.items()]

    def add_scalar(self, tag, scalar_value, global_step=None):
        self.got.append((tag, scalar_value, global_step))


class TrackerTest(unittest.TestCase):
    def test_each_line_logs_five_scalars_of_a_window(self):
        with open(os.path.join(HERE, "../../docs/recorder.md"), encoding="utf-8") as f:
            lines = re.search(r"```python\n(perf\.log.*?)```", f.read(), re.S).group(1).splitlines()
        self.assertEqual(len(lines), 3)
        for line in lines:
            with self.subTest(line), tempfile.TemporaryDirectory() as folder:
                tracker = Tracker()
                perf = Recorder(folder, window=4)
                exec(line, {"perf": perf, "wandb": tracker, "mlflow": tracker, "writer": tracker})
                for _ in range(4):
                    with perf.step(), perf.stage("model.backward_cpu_wall"):
                        pass
                perf.close()
                names = ["sfstat/" + name for name in ("step_ms", "step_p95_ms", "data_ms", "longest_stage_ms", "outside_ms")]
                self.assertEqual(sorted(name for name, _, _ in tracker.got), sorted(names))
                self.assertTrue(all(isinstance(x, float) and step == 3 for _, x, step in tracker.got), tracker.got)


@contextlib.contextmanager
def inside(folder):
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


if __name__ == "__main__":
    unittest.main()
