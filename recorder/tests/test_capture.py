"""When a profiler is started, and on whom."""

from __future__ import annotations

import logging
import os
import tempfile
import threading
import unittest

from sfstat_recorder import FORWARD, Recorder, Trigger
from sfstat_recorder.capture import Capture, Plan, Watch

from .support import Clock, Hub, place, ranks


def window(index, world=8, steps=10, slow=None, every=1, by=4000, usual=1000):
    """Packets of a window: two stages, the second of which waits for all."""
    packets = []
    for rank in range(world):
        rows, walls = [], []
        for t in range(steps):
            late = slow is not None and t % every == 0
            first = usual + (by if late and rank == slow else 0)
            end = 2 * usual + (by if late else 0)
            rows.append([first, end - first])
            walls.append(end)
        packets.append({"rank": rank, "window": index, "durations_ns": rows, "wall_ns": walls})
    return packets


class WatchTest(unittest.TestCase):
    def test_steps_that_vary_start_a_capture_of_the_culprit_and_some_others(self):
        plan = Watch(Trigger(suspects=1, peers=2, steps=7)).look(window(3, slow=5, every=5))
        self.assertEqual((plan.window, plan.steps, len(plan.ranks)), (3, 7, 3))
        self.assertIn(5, plan.ranks)

    def test_steady_steps_do_not(self):
        self.assertIsNone(Watch(Trigger()).look(window(0)))
        self.assertIsNone(Watch(Trigger()).look(window(0, slow=5, every=1)))

    def test_the_threshold(self):
        # Steps of 3 000 and 2 000 by turns: a mean of 2 500, a deviation of 500.
        packets = window(0, slow=5, every=2, by=1000)
        self.assertIsNotNone(Watch(Trigger(threshold=0.19)).look(packets))
        self.assertIsNone(Watch(Trigger(threshold=0.21)).look(packets))

    def test_the_lot_is_seeded(self):
        plans = {Watch(Trigger(seed=s, suspects=1)).look(window(0, world=64, slow=5, every=5)) for s in (1, 1, 2, 3)}
        self.assertEqual(len(plans), 3)

    def test_cooldown(self):
        watch = Watch(Trigger(cooldown=2))
        got = [watch.look(window(w, slow=5, every=5)) is not None for w in range(7)]
        self.assertEqual(got, [True, False, False, True, False, False, True])

    def test_a_rank_with_fewer_steps_is_left_aside(self):
        packets = window(0, slow=5, every=5)
        packets[2] = window(0, steps=3)[2]
        self.assertIsNotNone(Watch(Trigger()).look(packets))

    def test_windows_that_are_too_short(self):
        self.assertIsNone(Watch(Trigger()).look(window(0, steps=1)))

    def test_triggers_that_make_no_sense(self):
        for options in ({"threshold": 0}, {"threshold": float("nan")}, {"steps": 0}, {"peers": -1}):
            with self.subTest(options), self.assertRaises(ValueError):
                Trigger(**options)
        with tempfile.TemporaryDirectory() as folder, self.assertRaises(ValueError):
            Recorder(folder, place(), trigger=Trigger())  # without a group nobody sees all ranks


class Log:
    """A profiler that notes when it ran."""

    def __init__(self, fail=False):
        self.events, self.fail = [], fail

    def start(self, label):
        if self.fail:
            raise RuntimeError("CUPTI is in use")
        self.events.append("start " + label)

    def stop(self):
        self.events.append("stop")


class CaptureTest(unittest.TestCase):
    def test_runs_for_the_steps_of_the_plan(self):
        log = Log()
        capture = Capture(log, "job", 3)
        capture.step()
        capture.request(Plan(7, (1, 3), 2))
        counts = []
        for _ in range(4):
            capture.step()
            counts.append(len(log.events))
        self.assertEqual(counts, [1, 1, 2, 2])
        self.assertEqual(log.events, ["start job.rank00003.window000007", "stop"])

    def test_only_the_ranks_of_the_plan(self):
        log = Log()
        capture = Capture(log, "job", 2)
        capture.request(Plan(7, (1, 3), 2))
        capture.step()
        self.assertEqual(log.events, [])

    def test_a_profiler_that_fails_is_not_tried_again(self):
        log = Log(fail=True)
        capture = Capture(log, "job", 1)
        self.addCleanup(logging.disable, logging.NOTSET)
        logging.disable(logging.CRITICAL)
        for _ in range(3):
            capture.request(Plan(7, (1,), 2))
            capture.step()
        log.fail = False
        capture.request(Plan(8, (1,), 2))
        capture.step()
        self.assertEqual(log.events, [])

    def test_the_end_of_training_stops_it(self):
        log = Log()
        capture = Capture(log, "job", 1)
        capture.stop()
        capture.request(Plan(7, (1,), 5))
        capture.step()
        capture.stop()
        self.assertEqual(log.events[-1], "stop")
        self.assertEqual(len(log.events), 2)

    def test_from_the_window_to_the_profiler(self):
        hub = Hub(4)
        logs = [Log() for _ in range(4)]
        with tempfile.TemporaryDirectory() as folder:
            def one(rank):
                clock = Clock()
                perf = Recorder(os.path.join(folder, "run"), place(rank, 4), window=10, clock=clock, group=hub.rank(rank),
                                trigger=Trigger(suspects=1, peers=1, steps=2), profiler=logs[rank])
                asked, request = threading.Event(), perf._capture.request
                perf._capture.request = lambda plan: (request(plan), asked.set())
                for t in range(11):
                    with perf.step():
                        with perf.stage(FORWARD):
                            clock.spend(9_000 if t == 4 and rank == 2 else 1_000)
                        with perf.stage("model.backward_cpu_wall"):
                            clock.spend(9_000 if t == 4 and rank != 2 else 1_000)
                self.assertTrue(asked.wait(10))
                for _ in range(4):
                    with perf.step():
                        clock.spend(1)
                perf.close()

            ranks(4, one)
        ran = [rank for rank, log in enumerate(logs) if log.events]
        self.assertEqual(len(ran), 2)
        self.assertIn(2, ran)
        for rank in ran:
            self.assertEqual(logs[rank].events, ["start run.rank%05d.window000000" % rank, "stop"])


if __name__ == "__main__":
    unittest.main()
