"""The tutorial: its program and its commands, with PyTorch where it is installed. What it shows of
its committed recordings is tested by the Go program, everywhere.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILT = os.path.join(ROOT, "bin", "sfstat")


def lacks() -> str:
    """Returns why the commands cannot be run here."""
    if importlib.util.find_spec("torch") is None:
        return "NOT RUN: the tutorial needs PyTorch"
    if not (os.environ.get("SFSTAT") or os.path.exists(BUILT)):
        return "NOT RUN: the tutorial needs the program: make build"
    return ""


def blocks(language):
    with open(os.path.join(ROOT, "docs", "tutorial.md"), encoding="utf-8") as f:
        return re.findall(rf"```{language}\n(.*?)```", f.read(), re.S)


class TutorialTest(unittest.TestCase):
    def test_it_is_short_and_whole(self):
        with open(os.path.join(ROOT, "docs", "tutorial.md"), encoding="utf-8") as f:
            self.assertLessEqual(len(f.read().split()), 900)
        (program,) = blocks("python")
        compile(program, "train.py", "exec")
        self.assertEqual(len(re.findall("^mine = .*", program, re.M)), 1, "the line that the fix replaces")
        install, *rest = blocks("sh")
        self.assertIn("pip install", install)
        self.assertEqual(len(rest), 2)

    @unittest.skipIf(lacks(), lacks())
    def test_its_commands(self):
        (program,) = blocks("python")
        record, fix = blocks("sh")[1:]
        with tempfile.TemporaryDirectory() as folder:
            bin = os.path.join(folder, "bin")
            os.mkdir(bin)
            shutil.copy(os.environ.get("SFSTAT") or BUILT, os.path.join(bin, "sfstat"))
            with open(os.path.join(bin, "torchrun"), "w", encoding="utf-8") as f:
                f.write(f'#!/bin/sh\nexec "{sys.executable}" -m torch.distributed.run --standalone "$@"\n')
            os.chmod(f.name, 0o755)
            with open(os.path.join(folder, "train.py"), "w", encoding="utf-8") as f:
                f.write(program)
            environment = dict(os.environ, PATH=os.pathsep.join((bin, os.environ["PATH"])), PYTHONPATH=os.path.dirname(HERE))

            def shell(commands):
                done = subprocess.run(["sh", "-e", "-c", commands], cwd=folder, env=environment, capture_output=True, encoding="utf-8", timeout=300)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                return done.stdout, done.stderr

            verdict, said = shell(record)
            self.assertIn("found data, forward, backward, optimizer", said)
            self.assertRegex(verdict, r"\ARank 1 \(.*delays\s+everyone\s+in\s+data")
            self.assertIn("[strong]", verdict)
            before = sorted(os.listdir(os.path.join(folder, "runs", "before")))
            self.assertEqual(before, ["before.rank00000.jsonl", "before.rank00001.jsonl"])
            compared, _ = shell(fix)  # by how much depends on the machine
            self.assertRegex(compared, r"(?m)^step time ")
            with open(os.path.join(folder, "fixed.py"), encoding="utf-8") as f:
                self.assertIn("\nmine = range(rank, len(documents), world)\n", f.read())


if __name__ == "__main__":
    unittest.main()
