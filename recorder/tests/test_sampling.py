from __future__ import annotations

import tempfile
import unittest

from sfstat_recorder import Identity, Recorder
from sfstat_recorder.sampling import Sampling

from .support import Clock, packets, spend

STAGES = ("data.a", "b")


def recorded(steps: int, **options):
    """The packets of a loop whose step n takes n + 1 ns in each stage."""
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        with Recorder(folder, Identity("run", 0, 1), stages=STAGES, clock=clock, arrivals=False, queue=100, **options) as perf:
            for n in range(steps):
                spend(perf, clock, "data.a", n + 1)
                with perf.step():
                    spend(perf, clock, "b", n + 1)
        return packets(folder)


class TestSampling(unittest.TestCase):
    def test_one_window_of_every_block(self):
        for seed in range(20):
            sampling = Sampling(5, 10, "run %d" % seed)
            for block in range(4):
                taken = [s for s in range(50 * block, 50 * (block + 1)) if sampling.takes(s)]
                self.assertEqual(taken, list(range(taken[0], taken[0] + 10)))

    def test_the_place_is_by_lot_and_the_same_on_all_ranks(self):
        starts = {min(s for s in range(50) if Sampling(5, 10, "run %d" % seed).takes(s)) for seed in range(200)}
        self.assertGreater(len(starts), 30)  # of 41
        self.assertTrue(min(starts) <= 2 and max(starts) >= 38)
        one, other = Sampling(5, 10, "run"), Sampling(5, 10, "run")
        self.assertEqual([one.takes(s) for s in range(200)], [other.takes(s) for s in reversed(range(200))][::-1])

    def test_every_step(self):
        self.assertTrue(all(Sampling(1, 7, "run").takes(s) for s in range(50)))
        with self.assertRaises(ValueError):
            Sampling(0, 7, "run")

    def test_recorded_steps_are_whole(self):
        found = recorded(240, window=10, every=4)
        self.assertEqual(len(found), 6)
        for packet in found:
            first = packet["first_step"]
            self.assertEqual(packet["durations_ns"], [[n + 1, n + 1] for n in range(first, first + 10)])
            self.assertEqual(packet["wall_ns"], [2 * (n + 1) for n in range(first, first + 10)])
            self.assertNotIn("notes", packet)
        self.assertEqual([p["first_step"] // 40 for p in found], list(range(6)))
        self.assertEqual([p["window"] for p in found], list(range(6)))

    def test_windows_are_those_of_a_loop_that_records_all(self):
        self.assertEqual([p["first_step"] for p in recorded(60, window=10)], [0, 10, 20, 30, 40, 50])

    def test_a_loader_made_while_nothing_is_recorded(self):
        clock = Clock()

        def loader():
            for n in range(80):
                clock.spend(n + 1)
                yield n

        with tempfile.TemporaryDirectory() as folder:
            with Recorder(folder, Identity("run", 0, 1), stages=STAGES, clock=clock, arrivals=False, queue=100, window=10, every=4) as perf:
                for _ in perf.batches(loader(), stage="data.a"):
                    with perf.step():
                        spend(perf, clock, "b", 5)
            found = packets(folder)
        self.assertEqual(len(found), 2)
        for packet in found:
            first = packet["first_step"]
            self.assertEqual(packet["durations_ns"], [[n + 1, 5] for n in range(first, first + 10)])


if __name__ == "__main__":
    unittest.main()
