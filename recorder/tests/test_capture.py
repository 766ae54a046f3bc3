"""When a profiler is started, and on whom."""

from __future__ import annotations

import contextlib
import logging
import os
import tempfile
import threading
import unittest

from sfstat_recorder import FORWARD, Recorder, Trigger
from sfstat_recorder.capture import Capture, Plan
from sfstat_recorder.router import Router

from .support import Clock, Hub, packets, place, ranks


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
        packets.append({"rank": rank, "window": index, "first_step": 0, "durations_ns": rows, "wall_ns": walls})
    return packets


def stalling(packet):
    """The packet with one long step, long on all ranks alike."""
    packet["durations_ns"][3] = [9000, 9000]
    packet["wall_ns"][3] = 18_000
    return packet


def late_inside(packet, slow, by):
    """The packet with one collective a step, before which a rank loses time."""
    steps, late = len(packet["wall_ns"]), by if packet["rank"] == slow else 0
    enter = [10**18 + t * packet["wall_ns"][0] + late for t in range(steps)]
    return dict(packet, arrivals={
        "groups": [{"name": "0"}], "ops": ["gloo:all_reduce"], "step": list(range(steps)), "group": [0] * steps, "op": [0] * steps,
        "seq": list(range(steps)), "enter_ns": [b - a for a, b in zip([0] + enter, enter)]})


class RouterTest(unittest.TestCase):
    def test_a_constant_straggler_is_captured_once(self):
        # The stage in which the others wait hides nothing from the frontier: 3 000 against 1 000 in every step.
        router = Router(Trigger(suspects=1, peers=2, steps=7, cooldown=0))
        plan = router.look(window(3, slow=5, by=2000))
        self.assertEqual((plan.window, plan.steps, len(plan.ranks), plan.why), (3, 7, 3, "late"))
        self.assertIn(5, plan.ranks)
        self.assertIsNone(router.look(window(4, slow=5, by=2000)))
        self.assertIn(2, router.look(window(5, slow=2, by=2000)).ranks)

    def test_the_threshold_is_a_part_of_the_step(self):
        # 250 of 2 250 in every step; 1 000 of 2 200 in one step of five: 200 of 2 200 on average.
        for every, by, part in ((1, 250, 0.111), (5, 1000, 0.0909)):
            with self.subTest(every=every):
                packets = window(0, slow=5, every=every, by=by)
                self.assertIn(5, Router(Trigger(threshold=part - 0.002)).look(packets).ranks)
                self.assertIsNone(Router(Trigger(threshold=part + 0.002)).look(packets))

    def test_even_steps_are_not_captured(self):
        router = Router(Trigger())
        self.assertEqual([router.look(window(w)) for w in range(4)], [None] * 4)

    def test_entries_of_collectives_show_who_is_late_where_all_wait(self):
        packets = [late_inside(p, 3, 500) for p in window(0)]
        plan = Router(Trigger(suspects=1, peers=0)).look(packets)
        self.assertEqual((plan.ranks, plan.why), ((3,), "late"))
        self.assertIsNone(Router(Trigger()).look([late_inside(p, 3, 100) for p in window(0)]))

    def test_clocks_of_different_hosts_are_not_compared(self):
        packets = [dict(late_inside(p, p["rank"], 900 * p["rank"]), host="n%d" % p["rank"]) for p in window(0)]
        self.assertIsNone(Router(Trigger()).look(packets))

    def test_work_that_is_uneven_by_design_is_no_lateness(self):
        packets = window(0, slow=5, by=2000)
        for p in packets:
            p["role"] = {"dp": p["rank"] % 2, "pp": p["rank"] // 2}
        packets[4]["durations_ns"] = packets[5]["durations_ns"]
        self.assertIsNone(Router(Trigger()).look(packets))

    def test_steps_that_become_longer_on_all_ranks_are_captured_by_lot(self):
        router = Router(Trigger(suspects=1, peers=2))
        self.assertIsNone(router.look(window(0)))
        self.assertIsNone(router.look(window(1, usual=1500)))  # two windows in a row
        plan = router.look(window(2, usual=1500))
        self.assertEqual((len(plan.ranks), plan.why), (3, "slower"))

    def test_entries_are_read_before_ranks_are_captured_by_lot(self):
        router = Router(Trigger(suspects=1, peers=1))
        self.assertIsNone(router.look([late_inside(p, -1, 0) for p in window(0)]))
        plan = router.look(window(1, usual=1500))  # the ring was not read for this window
        self.assertEqual((plan.ranks, plan.why), ((), "entries"))
        plan = router.look([late_inside(p, 3, 900) for p in window(2, usual=1500)])
        self.assertEqual((3 in plan.ranks, plan.why), (True, "late"))

    def test_the_lot_is_seeded(self):
        plans = {Router(Trigger(seed=s, suspects=1)).look(window(0, world=64, slow=5)) for s in (1, 1, 2, 3)}
        self.assertEqual(len(plans), 3)

    def test_captures_are_bounded_in_number_and_apart(self):
        router = Router(Trigger(cooldown=2, captures=3))
        got = [w for w in range(12) if router.look(window(w, slow=w % 8, every=7, by=20_000)) is not None]
        self.assertEqual(got, [0, 1, 2])  # late, each another rank
        self.assertFalse(router.reads)
        router = Router(Trigger(cooldown=2, captures=2))
        got = [w for w in range(12) if router.look([stalling(p) for p in window(w)]) is not None]
        self.assertEqual(got, [0, 3])  # uneven

    def test_a_plan_begins_when_all_ranks_have_heard_of_it(self):
        plan = Router(Trigger(), now=lambda: 40).look(window(0, slow=5, usual=10_000_000, by=80_000_000))
        self.assertEqual(plan.first, 40 + 2 + 5)  # half a second at 100 ms a step

    def test_a_rank_with_fewer_steps_is_left_aside(self):
        packets = window(0, slow=5)
        packets[2] = window(0, steps=3)[2]
        self.assertIsNotNone(Router(Trigger()).look(packets))

    def test_windows_that_are_too_short(self):
        self.assertIsNone(Router(Trigger()).look(window(0, steps=1)))

    def test_triggers_that_make_no_sense(self):
        for options in ({"threshold": 0}, {"threshold": float("nan")}, {"threshold": 1}, {"steps": 0}, {"steps": 1000}, {"peers": -1}, {"seconds": 0}):
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


def run(capture, step):
    capture.step(step)
    capture.stepped(step)


class Marker(Log):
    """A profiler that notes what is marked, too."""

    @contextlib.contextmanager
    def mark(self, name):
        self.events.append("+" + name)
        yield
        self.events.append("-" + name)


class CaptureTest(unittest.TestCase):
    def test_runs_for_the_steps_of_the_plan(self):
        log = Log()
        capture = Capture(log, "job", 3)
        run(capture, 0)
        capture.request(Plan(7, (1, 3), 2, first=3))
        counts = []
        for step in range(1, 8):
            run(capture, step)
            counts.append(len(log.events))
        self.assertEqual(counts, [0, 0, 1, 1, 2, 2, 2])  # steps 3 to 5, of which the first is not marked
        self.assertEqual(log.events, ["start job.rank00003.window000007", "stop"])
        self.assertEqual(capture.take_note(), ["the profiler ran on ranks 1, 3 in steps 3–5"])
        self.assertEqual(capture.take_note(), [])

    def test_only_the_ranks_of_the_plan(self):
        log = Log()
        capture = Capture(log, "job", 2)
        capture.request(Plan(7, (1, 3), 2))
        run(capture, 0)
        self.assertEqual(log.events, [])

    def test_a_profiler_that_fails_is_not_tried_again(self):
        log = Log(fail=True)
        capture = Capture(log, "job", 1)
        self.addCleanup(logging.disable, logging.NOTSET)
        logging.disable(logging.CRITICAL)
        for step in range(3):
            capture.request(Plan(7, (1,), 2))
            run(capture, step)
        log.fail = False
        capture.request(Plan(8, (1,), 2))
        run(capture, 3)
        self.assertEqual(log.events, [])

    def test_a_plan_that_is_heard_of_too_late_is_dropped(self):
        log = Log()
        capture = Capture(log, "job", 1)
        capture.request(Plan(7, (1,), 4, first=3))
        for step in range(6, 12):
            run(capture, step)
        self.assertEqual(log.events, [])

    def test_it_ends_when_its_time_is_over(self):
        log = Log()
        capture = Capture(log, "job", 1)
        capture.request(Plan(7, (1,), 50, seconds=1e-9))
        for step in range(3):
            run(capture, step)
        self.assertEqual(log.events, ["start job.rank00001.window000007", "stop"])

    def test_steps_and_stages_are_marked_while_it_runs(self):
        log, clock = Marker(), Clock()
        with tempfile.TemporaryDirectory() as folder:
            hub = Hub(1)
            perf = Recorder(os.path.join(folder, "run"), place(), window=100, clock=clock, group=hub.rank(0), trigger=Trigger(), profiler=log)
            perf._capture.request(Plan(0, (0,), 1, first=2))
            batches = perf.batches(range(6))
            kept = []
            for t, _ in enumerate(batches):
                with perf.step():
                    with perf.stage(FORWARD):
                        clock.spend(1_000)
                kept.append(list(log.events))
            perf.close()
        self.assertEqual(kept[1], [])
        self.assertEqual(kept[2], ["start run.rank00000.window000000", "+ProfilerStep#3"])
        self.assertEqual(kept[3][2:], ["+data.next_wait", "-data.next_wait", "+" + FORWARD, "-" + FORWARD, "-ProfilerStep#3", "stop"])
        self.assertEqual(kept[5], kept[3])

    def test_the_end_of_training_stops_it(self):
        log = Log()
        capture = Capture(log, "job", 1)
        capture.stop()
        capture.request(Plan(7, (1,), 5))
        run(capture, 0)
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
                            clock.spend(900_000_000 if rank == 2 else 100_000_000)
                        with perf.stage("model.backward_cpu_wall"):
                            clock.spend(900_000_000 if rank != 2 else 100_000_000)
                self.assertTrue(asked.wait(10))
                for _ in range(12):
                    with perf.step():
                        clock.spend(1)
                perf.close()

            ranks(4, one)
            got = packets(os.path.join(folder, "run"))
        ran = [rank for rank, log in enumerate(logs) if log.events]
        self.assertEqual(len(ran), 2)
        self.assertIn(2, ran)
        for rank in ran:
            self.assertEqual(logs[rank].events, ["start run.rank%05d.window000000" % rank, "stop"])
        # The steps of the capture, and the one after it, are none of the training's on any rank.
        recorded = [{t for p in got if p["rank"] == rank for t in range(p["first_step"], p["first_step"] + len(p["wall_ns"]))} for rank in range(4)]
        left_out = set(range(23)) - recorded[0]
        self.assertEqual(recorded, [recorded[0]] * 4)
        self.assertEqual(len(left_out), 4)
        self.assertGreater(min(left_out), 10)


if __name__ == "__main__":
    unittest.main()
