"""The loops that the documentation shows are run."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import unittest

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
