"""Real processes, real DDP, real Gloo groups; skipped where PyTorch is not installed."""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
import tempfile
import unittest

from .support import packets

WORLD = 3


@unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not installed")
class TorchTest(unittest.TestCase):
    def job(self, fault):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        folder = os.path.join(temporary.name, "job")
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        ranks = [
            subprocess.Popen(
                [sys.executable, "-m", "tests.torch_job", folder, fault],
                cwd=os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                env=dict(os.environ, RANK=str(r), WORLD_SIZE=str(WORLD), LOCAL_RANK=str(r), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port)),
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
            for r in range(WORLD)
        ]
        said = []
        for rank in ranks:
            out, _ = rank.communicate(timeout=120)
            said.append(out)
            self.assertEqual(rank.returncode, 0, out)
        return packets(folder), sorted(os.listdir(folder)), said

    def slowest(self, said):
        return max(float(line.split()[2]) for out in said for line in out.splitlines() if line.startswith("slowest step"))

    def test_gathered_on_rank_0(self):
        got, names, _ = self.job("none")
        self.assertEqual(names, ["job.jsonl"])
        self.assertEqual([(p["window"], p["rank"], p["gather_ok"]) for p in got], [(w, r, True) for w in range(4) for r in range(WORLD)])
        for p in got:
            for row, wall in zip(p["durations_ns"], p["wall_ns"]):
                self.assertLessEqual(sum(row), wall)
                self.assertGreater(min(row[0], row[1], row[2], row[4]), 0)

    def test_a_rank_that_hangs_in_gather(self):
        got, names, said = self.job("hang")
        self.assertEqual([(p["window"], p["rank"]) for p in got], [(w, r) for w in range(4) for r in range(WORLD)])
        self.assertEqual({p["window"] for p in got if not p["gather_ok"]}, {1})
        self.assertEqual(len(names), 1 + WORLD)
        self.assertLess(self.slowest(said), 1.0)  # the training did not hang with it

    def test_waiting_without_a_timeout_of_the_backend(self):
        got, names, _ = self.job("polled-none")
        self.assertEqual(names, ["job.jsonl"])
        self.assertEqual([(p["window"], p["rank"], p["gather_ok"]) for p in got], [(w, r, True) for w in range(4) for r in range(WORLD)])
        got, _, said = self.job("polled-hang")
        self.assertEqual([(p["window"], p["rank"]) for p in got], [(w, r) for w in range(4) for r in range(WORLD)])
        self.assertEqual({p["window"] for p in got if not p["gather_ok"]}, {1})
        self.assertLess(self.slowest(said), 1.0)

    def test_unknown_backend(self):
        from sfstat_recorder import TorchGroup

        with self.assertRaisesRegex(ValueError, "expected gloo or nccl"):
            TorchGroup(backend="mpi")

    def test_rank_0_dies(self):
        got, _, _ = self.job("die")
        rest = [(p["window"], p["rank"]) for p in got if p["rank"] > 0]
        self.assertEqual(rest, [(w, r) for w in range(2) for r in range(1, WORLD)])
        self.assertEqual({p["gather_ok"] for p in got if p["window"] == 1 and p["rank"] > 0}, {False})


if __name__ == "__main__":
    unittest.main()
