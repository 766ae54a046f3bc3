"""Arms, their orders and what becomes of chunks, without PyTorch."""

from __future__ import annotations

import collections
import os
import tempfile
import unittest
from unittest import mock

from sfstat_job import machine
from sfstat_job.rounds import ARMS, HEADER, Chunk, arms_of, chunk_of, orders, rows, write


class OrdersTest(unittest.TestCase):
    def test_every_window_has_every_arm_once(self):
        for order in orders(3, ARMS, 50):
            self.assertEqual(sorted(order), sorted(ARMS))

    def test_the_seed_decides(self):
        self.assertEqual(orders(3, ARMS, 8), orders(3, ARMS, 8))
        self.assertNotEqual(orders(3, ARMS, 8), orders(4, ARMS, 8))
        self.assertEqual(orders(3, ARMS, 8)[:5], orders(3, ARMS, 5))

    def test_every_order_is_drawn_equally_often(self):
        # 6 orders of 3 arms, 1,000 draws each; chi-squared with 5 degrees of freedom is below 20.5 with p = 0.999.
        drawn = collections.Counter(tuple(order) for seed in range(600) for order in orders(seed, ("off", "wall", "events"), 10))
        self.assertEqual(len(drawn), 6)
        self.assertLess(sum((n - 1000) ** 2 / 1000 for n in drawn.values()), 20.5)

    def test_lists_of_arms(self):
        self.assertEqual(arms_of("off,wall"), ("off", "wall"))
        for text in ("", "off", "wall,events", "off,on", "off,wall,wall", "off, wall"):
            with self.assertRaisesRegex(ValueError, "expected off and some of wall, events, sample"):
                arms_of(text)


def chunk(place, wall, **more):
    values = dict(thread=5, process=9, others=3, steal=0, throttled=None, closing=1, writing=2)
    return Chunk(place=place, wall=wall, **dict(values, **more))


class ChunkTest(unittest.TestCase):
    def test_sums_become_means_of_ranks_and_steps(self):
        # 4 ranks, 5 steps: 200 of thread are 10 a step and rank. 900 busy less 400 of ranks and 50 of the monitor are 90 a step.
        got = chunk_of(2, 5, 4, (1000, 25, 35), (200, 400, 50, 1, 900, 15, 1, 20))
        self.assertEqual(got, Chunk(place=2, wall=200, thread=10, process=20, others=90, steal=3, throttled=4, closing=5, writing=7))

    def test_what_nobody_measured(self):
        got = chunk_of(0, 5, 4, (1000, 0, 0), (200, 400, 0, 0, 0, 0, 0, 0))
        self.assertEqual((got.others, got.steal, got.throttled), (None, None, None))

    def test_ticks_may_lag_behind_ranks(self):
        self.assertEqual(chunk_of(0, 5, 4, (1000, 0, 0), (200, 400, 0, 1, 390, 0, 0, 0)).others, 0)


class RowsTest(unittest.TestCase):
    def test_each_arm_stands_beside_the_chunk_without(self):
        chunks = {"off": chunk(1, 200, closing=0, writing=0), "wall": chunk(0, 204, thread=6), "events": chunk(2, 206, others=None, throttled=7)}
        self.assertEqual([",".join(row) for row in rows("job", 4, chunks, 612.6)], [
            "job,wall,200,204,4,1,0,5,6,9,9,3,3,0,0,,,1,2,613",
            "job,events,200,206,4,1,2,5,5,9,9,3,,0,0,,7,1,2,613",
        ])

    def test_a_file_has_a_header(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rounds.csv")
            write(path, rows("job", 1, {"off": chunk(0, 200), "wall": chunk(1, 201)}, 5.0))
            with open(path, encoding="utf-8") as file:
                lines = file.read().splitlines()
        self.assertEqual(lines[0], ",".join(HEADER))
        self.assertEqual(len(lines[1].split(",")), len(HEADER))


class MachineTest(unittest.TestCase):
    def file(self, text):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, "stat")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def test_processors(self):
        # proc(5): user nice system idle iowait irq softirq steal guest guest_nice, in ticks; guest is in user.
        path = self.file("cpu  100 20 30 4000 500 6 7 8 90 10\ncpu0 1 2\n")
        tick = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
        self.assertEqual(machine.processors(path), machine.Processors(busy=163 * tick, steal=8 * tick))

    def test_no_processors(self):
        for text in ("", "cpu 1 2\n", "intr 1 2 3 4 5 6 7 8 9\n", "cpu a b c d e f g h\n"):
            self.assertIsNone(machine.processors(self.file(text)), text)
        self.assertIsNone(machine.processors("/no/such/file"))

    def test_a_process_and_its_children(self):
        root = tempfile.TemporaryDirectory()
        self.addCleanup(root.cleanup)
        os.mkdir(os.path.join(root.name, "7"))
        with open(os.path.join(root.name, "7", "stat"), "w", encoding="utf-8") as file:
            file.write("7 (a ) b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 20 0\n")  # 14th to 17th field: utime stime cutime cstime
        tick = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
        self.assertEqual(machine.process_ns(7, root.name), (11 + 12 + 13 + 14) * tick)
        self.assertEqual(machine.process_ns(8, root.name), 0)

    def test_throttling(self):
        done = mock.Mock(returncode=0, stdout="1, 0, 20, 300\n4000, 0, 0, 0\n")
        with mock.patch("subprocess.run", return_value=done):
            self.assertEqual(machine.throttled_ns(), 4_321_000)
        for stdout in ("[N/A], 0, 0, 0\n", "No devices were found\n"):
            with mock.patch("subprocess.run", return_value=mock.Mock(returncode=0, stdout=stdout)):
                self.assertIsNone(machine.throttled_ns())
        with mock.patch("subprocess.run", return_value=mock.Mock(returncode=6, stdout="")):
            self.assertIsNone(machine.throttled_ns())
        self.assertIsNone(machine.throttled_ns("no-such-program"))


if __name__ == "__main__":
    unittest.main()
