"""How long the training thread waits for a processor."""

import os
import shutil
import sys
import tempfile
import threading
import unittest
from unittest import mock

from sfstat_recorder import Identity, Recorder
from sfstat_recorder.runqueue import CHANNEL, RunQueue

from .support import packets


class Counter:
    """A schedstat file that says what the test wants."""

    def __init__(self, *waits, ran=7_000, slices=3):
        self.waits, self.ran, self.slices, self.opened = list(waits), ran, slices, []

    def open(self, path, flags):
        self.opened.append(path)
        return 1_000_000

    def pread(self, file, size, offset):
        if self.waits and isinstance(self.waits[0], Exception):
            raise self.waits.pop(0)
        waited = self.waits[0] if self.waits else 0
        return b"%d %d %d\n" % (self.ran, waited, self.slices)

    def step(self):
        self.waits.pop(0)


class RunQueueTest(unittest.TestCase):
    def measure(self, counter, act):
        queue = RunQueue()
        with mock.patch("os.open", counter.open), mock.patch("os.pread", counter.pread, create=True), mock.patch("os.close"):
            out = act(queue)
            del queue
        return out

    def test_what_is_between_two_readings(self):
        counter = Counter(50_000, 3_050_999, 3_051_000, 10_051_500)

        def act(queue):
            queue.begin()
            out = []
            while len(counter.waits) > 1:
                counter.step()
                queue.begin()  # nothing: it goes on
                out.append(queue.since())
            return out

        self.assertEqual(self.measure(counter, act), [3_000_000, 0, 7_000_000])
        self.assertEqual(len(counter.opened), 1)

    def test_not_known(self):
        def after(change):
            def act(queue):
                queue.begin()
                change(queue)
                return queue.since()
            return act

        for name, counter, change in (
            ("stopped", Counter(5_000), RunQueue.stop),
            ("a kernel that does not count", Counter(0, ran=0, slices=0), lambda queue: None),
            ("no such file", Counter(FileNotFoundError()), lambda queue: None),
            ("a counter that runs back", Counter(9_000, 5_000), lambda queue: counter.step()),
        ):
            with self.subTest(name):
                self.assertEqual(self.measure(counter, after(change)), -1)

    def test_a_thread_that_has_only_begun(self):
        counter = Counter(0, 2_000, ran=0, slices=1)

        def act(queue):
            queue.begin()
            counter.step()
            return queue.since()

        self.assertEqual(self.measure(counter, act), 2_000)

    def test_another_thread_of_the_same_identifier(self):
        """A thread has ended, and its successor has its identifier: one step is not known."""
        counter = Counter(5_000, ProcessLookupError(), 6_000, 9_000)

        def act(queue):
            queue.begin()
            counter.step()
            out = [queue.since()]
            queue.begin()
            counter.step()
            return out + [queue.since()]

        self.assertEqual(self.measure(counter, act), [-1, 3_000])
        self.assertEqual(len(counter.opened), 2)

    def test_without_a_counter_nothing_is_tried_again(self):
        counter = Counter(*[ValueError()] * 9)

        def act(queue):
            return [queue.begin() or queue.since() for _ in range(3)]

        self.assertEqual(self.measure(counter, act), [-1, -1, -1])
        self.assertEqual(len(counter.opened), 1)

    def test_another_thread(self):
        counter, got = Counter(5_000), []

        def act(queue):
            queue.begin()

            def other():
                got.append(queue.since())  # the counter is another thread's
                queue.begin()
                got.append(queue.since())

            thread = threading.Thread(target=other)
            thread.start()
            thread.join()
            return len(counter.opened)

        self.assertEqual(self.measure(counter, act), 2)
        self.assertEqual(got, [-1, 0])


@unittest.skipUnless(sys.platform == "linux" and os.path.exists("/proc/self/schedstat"), "the kernel does not count it")
class RecordedTest(unittest.TestCase):
    def test_a_sample_of_every_step(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        perf = Recorder(folder, Identity("job"), window=3, arrivals=False)
        for step in range(7):
            if step == 5:
                perf.pause()
            with perf.step():
                pass
        perf.close()
        side = [p["side"][CHANNEL] for p in packets(folder)]
        self.assertEqual([s["steps"] for s in side], [[0, 1, 2], [3, 4], [5, 6]])
        self.assertTrue(all(ms >= 0 for s in side for ms in s["ms"]))


if __name__ == "__main__":
    unittest.main()
