"""Captures hold the training up by no more than docs/recorder.md says.

A job of every framework of eval/realjobs with a slow rank, which is captured. Where
PyTorch or a framework is not installed, that is said as a skipped test.
"""

from __future__ import annotations

import glob
import gzip
import json
import os
import subprocess
import sys
import tempfile
import unittest

from .test_unharmed import JOBS, missing

MOST_MS = 50.0
MEASURE = """
import json, sys
sys.path[:0] = sys.argv[1:3]
import jobs
jobs.preload()
json.dump(jobs.pauses(sys.argv[3], [sys.argv[4]]), sys.stdout)
"""


class PausesTest(unittest.TestCase):
    def held_up(self, framework):
        why = missing(framework)
        if why:
            self.skipTest(why)
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, "-c", MEASURE, JOBS, os.path.join(JOBS, "..", "..", "recorder"), folder, framework],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, timeout=300)
            self.assertEqual(done.returncode, 0, done.stderr)
            _, own = json.loads(done.stdout.splitlines()[-1])[framework]
            traces = glob.glob(os.path.join(folder, framework, "packets", "*.trace.json.gz"))
            self.assertEqual(len(traces), 2, "both ranks are captured")
            self.assertEqual(glob.glob(os.path.join(folder, framework, "packets", ".*part*")), [])
            functions = [event["name"] for path in traces for event in json.loads(gzip.open(path).read())["traceEvents"] if event.get("cat") == "python_function"]
        # Of processor time, which other work of the machine does not lengthen.
        self.assertLess(own, MOST_MS)
        self.assertIn("): fault", "".join(functions))

    def test_ddp(self):
        self.held_up("ddp")

    def test_fsdp(self):
        self.held_up("fsdp")

    def test_accelerate(self):
        self.held_up("accelerate")

    def test_trainer(self):
        self.held_up("trainer")

    def test_lightning(self):
        self.held_up("lightning")
