"""Device events, with a device that the test moves."""

from __future__ import annotations

import logging
import os
import tempfile
import types
import unittest

from sfstat_recorder import FORWARD, Recorder
from sfstat_recorder.events import CudaEvents, Pending, is_sampled

from .support import Clock, packets, place, spend

CHANNEL = "model.fwd_loss_cuda_event_ms"


class Device:
    """Times each pair by its number; the pairs in ``never`` do not complete."""

    def __init__(self, never=()):
        self.never = never
        self.begun = self.ended = 0

    def begin(self):
        self.begun += 1
        return self.begun

    def end(self, pair):
        self.ended += 1

    def elapsed_ms(self, pair):
        return None if pair in self.never else pair * 1.5


class ProbeTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name
        self.clock = Clock()

    def record(self, loop, **more):
        perf = Recorder(self.folder, place(), clock=self.clock, window=2, **more)
        loop(perf)
        perf.close()
        return [(p["first_step"], {name: (c["steps"], c["ms"]) for name, c in p.get("side", {}).items()}, p["durations_ns"]) for p in packets(self.folder)]

    def test_inside_a_stage(self):
        def loop(perf):
            for i in range(3):
                with perf.step():
                    with perf.stage(FORWARD):
                        with perf.probe("attention"), perf.probe("mask"):
                            self.clock.spend(4_000_000)
                        with perf.probe("attention"), perf.probe("attention"):
                            self.clock.spend(2_000_000)

        got = self.record(loop)
        self.assertEqual([(first, side) for first, side, _ in got], [
            (0, {"attention_probe_ms": ([0, 1], [6, 6]), "mask_probe_ms": ([0, 1], [4, 4])}),
            (2, {"attention_probe_ms": ([2], [6]), "mask_probe_ms": ([2], [4])}),
        ])
        self.assertEqual(got[0][2][0][1], 6_000_000)  # the stage has its time all the same

    def test_of_the_next_step_and_of_none(self):
        """Before a step it is of that one; of a step that is dropped, of none."""
        def loop(perf):
            for i in range(5):
                if i == 3:
                    perf.pause()
                with perf.stage("data.next_wait"), perf.probe("decode"):
                    self.clock.spend((i + 1) * 1_000_000)
                try:
                    with perf.step():
                        with perf.probe("loss"):
                            self.clock.spend(1_000_000)
                        if i == 2:
                            raise MemoryError
                except MemoryError:
                    pass

        got = self.record(loop)
        self.assertEqual([(first, side) for first, side, _ in got], [
            (0, {"decode_probe_ms": ([0, 1], [1, 2]), "loss_probe_ms": ([0, 1], [1, 1])}),
            (2, {"decode_probe_ms": ([2, 3], [4, 5]), "loss_probe_ms": ([2, 3], [1, 1])}),
        ])

    def test_too_many_names(self):
        def loop(perf):
            with perf.step():
                for i in range(100):
                    with perf.probe("p%d" % i):
                        self.clock.spend(1_000_000)

        (_, side, _), = self.record(loop)
        self.assertEqual(len(side), 64)


class EventsTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name
        self.clock = Clock()
        logging.getLogger("sfstat_recorder").setLevel(logging.CRITICAL)
        self.addCleanup(logging.getLogger("sfstat_recorder").setLevel, logging.NOTSET)

    def record(self, device, steps=6, fraction=0.5, accumulation=1, fail_at=-1):
        perf = Recorder(self.folder, place(), events=device, clock=self.clock, accumulation=accumulation, window=4)
        perf._writer._patience = 0.05
        for i in range(steps):
            try:
                with perf.step():
                    for _ in range(accumulation):
                        with perf.stage(FORWARD), perf.cuda_event_sample(CHANNEL, fraction):
                            self.clock.spend(1)
                        spend(perf, self.clock, "model.backward_cpu_wall", 1)
                    if i == fail_at:
                        raise MemoryError
            except MemoryError:
                pass
        perf.close()
        return [p.get("side") for p in packets(self.folder)]

    def test_samples(self):
        got = self.record(Device())
        self.assertEqual(got, [
            {CHANNEL: {"steps": [0, 2], "ms": [1.5, 3.0], "ready": [True, True]}},
            {CHANNEL: {"steps": [4], "ms": [4.5], "ready": [True]}},
        ])

    def test_what_is_not_ready(self):
        first, _ = self.record(Device(never={2}))
        self.assertEqual(first, {CHANNEL: {"steps": [0, 2], "ms": [1.5, None], "ready": [True, False]}})

    def test_microsteps_are_summed(self):
        first, _ = self.record(Device(never={4}), fraction=1.0, accumulation=2)
        self.assertEqual(first, {CHANNEL: {"steps": [0, 1, 2, 3], "ms": [4.5, None, 16.5, 22.5], "ready": [True, False, True, True]}})

    def test_a_dropped_step_takes_its_samples_along(self):
        got = self.record(Device(), steps=3, fraction=1.0, fail_at=1)
        self.assertEqual([g[CHANNEL]["steps"] for g in got], [[0], [1]])
        self.assertEqual([g[CHANNEL]["ms"] for g in got], [[1.5], [4.5]])

    def test_a_device_that_fails(self):
        class Broken(Device):
            def end(self, pair):
                raise RuntimeError("CUDA error: an illegal memory access was encountered")

        self.assertEqual(self.record(Broken()), [None, None])

    def test_no_device(self):
        self.assertEqual(self.record(None), [None, None])

    def test_fractions(self):
        for fraction, want in ((0.0, 0), (0.01, 10), (0.05, 50), (0.25, 250), (1.0, 1000)):
            with self.subTest(fraction):
                sampled = [n for n in range(1000) if is_sampled(n, fraction)]
                self.assertEqual(len(sampled), want)
                if want > 1:
                    gaps = [b - a for a, b in zip(sampled, sampled[1:])]
                    self.assertLessEqual(max(gaps) - min(gaps), 1)
                    self.assertEqual(sampled[0], 0)

    def test_a_fraction_that_makes_no_sense(self):
        self.assertEqual(self.record(Device(), fraction=float("nan")), [None, None])

    def test_patience_is_for_all_samples_together(self):
        slept = []
        pending = Pending(Device(never=set(range(100))), {CHANNEL: [(n, n) for n in range(1, 50)]})
        got = pending.read(0.0, slept.append)
        self.assertEqual([s.ms for s in got[CHANNEL]], [None] * 49)
        self.assertEqual(slept, [])


class FakeEvent:
    def __init__(self, enable_timing):
        assert enable_timing
        self.records = 0
        self.done = False

    def record(self):
        self.records += 1

    def query(self):
        return self.done

    def elapsed_time(self, other):
        return 2.25


class CudaEventsTest(unittest.TestCase):
    def test_pairs_are_read_when_they_are_done_and_used_again(self):
        events = CudaEvents(types.SimpleNamespace(Event=FakeEvent))
        pair = events.begin()
        events.end(pair)
        self.assertIsNone(events.elapsed_ms(pair))
        pair[1].done = True
        self.assertEqual(events.elapsed_ms(pair), 2.25)
        self.assertIs(events.begin(), pair)


if __name__ == "__main__":
    unittest.main()
