"""Real jobs compute with the recorder, bit for bit, what they compute without it.

Every framework of eval/realjobs, alone, recorded by the API and by -m
sfstat_recorder. Where PyTorch or a framework is not installed, that is said as
a skipped test.
"""

from __future__ import annotations

import glob
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from .support import packets

JOBS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "eval", "realjobs")
NEEDS = {"ddp": "torch", "fsdp": "torch.distributed.fsdp", "compiled": "torch._dynamo", "accelerate": "accelerate", "trainer": "transformers", "lightning": "lightning"}
WORLD = 2
RECORDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LAUNCH = """
import os, sys
here, recorder, framework, world, steps, out, *recordings = sys.argv[1:]
sys.path[:0] = [here, recorder]
import jobs
jobs.preload()
for recording in recordings:
    os.mkdir(os.path.join(out, recording))
    if not jobs.launch(jobs.Job("job", framework, "", int(world), (), 0.0, 1, False, int(steps), 5, recording, 7, True), os.path.join(out, recording)):
        sys.exit(1)
"""


def missing(framework):
    """Why this framework cannot be run here."""
    if not os.path.isdir(JOBS):
        return "without eval/realjobs there are no jobs"
    for need in {"torch", NEEDS[framework]}:
        try:
            if importlib.util.find_spec(need) is None:
                raise ImportError
        except ImportError:
            return "%s is not installed" % need
    if framework == "compiled" and shutil.which("g++") is None:
        return "torch.compile has no compiler"
    return ""


@unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not installed")
class UnharmedTest(unittest.TestCase):
    def learnt(self, framework, recordings, steps=14):
        """What each rank learnt under each kind of recording, and the packets.
        The jobs have one process, which forks the ranks: PyTorch is imported once.
        """
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        folders = {recording: os.path.join(temporary.name, recording) for recording in recordings}
        done = subprocess.run(
            [sys.executable, "-c", LAUNCH, JOBS, RECORDER, framework, str(WORLD), str(steps), temporary.name, *recordings],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, timeout=600)
        logs = "".join(text(path) for path in glob.glob(os.path.join(temporary.name, "*", "rank*.log")))
        self.assertEqual(done.returncode, 0, done.stdout + logs)
        return {recording: [text(os.path.join(folder, "learnt%d.txt" % r)) for r in range(WORLD)] for recording, folder in folders.items()}, {
            recording: packets(os.path.join(folder, "packets")) for recording, folder in folders.items()}

    def same(self, framework):
        why = missing(framework)
        if why:
            self.skipTest(why)
        recordings = ("none", "module") if framework == "compiled" else ("none", "api", "module")
        learnt, got = self.learnt(framework, recordings)
        self.assertIn("14 losses", learnt["none"][0])
        self.assertEqual(got["none"], [])
        for recording in recordings[1:]:
            with self.subTest(recording):
                self.assertEqual(learnt[recording], learnt["none"])
                self.assertEqual({p["rank"] for p in got[recording]}, set(range(WORLD)))

    def test_ddp(self):
        self.same("ddp")

    def test_fsdp(self):
        self.same("fsdp")

    def test_compiled(self):
        self.same("compiled")

    def test_accelerate(self):
        self.same("accelerate")

    def test_trainer(self):
        self.same("trainer")

    def test_lightning(self):
        self.same("lightning")


def text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


if __name__ == "__main__":
    unittest.main()
